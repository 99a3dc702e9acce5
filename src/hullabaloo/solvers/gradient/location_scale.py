"""Where records lie, how long they are from there and what they weigh, as two private answers tell."""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.losses import KernelCode
from hullabaloo.solvers.base import Answers, Array, Problem
from hullabaloo.solvers.gradient.histogram import edges, evened, quantile

LEAST = 2.0
TINY = 1e-9
"""Weight of the constant column where the lengths of records are measured: it must not lengthen them."""

WIDEST, LARGEST = 2_000, 10**12
"""Columns p, and products n p² of a pass, up to which records are seen through a matrix: minutes of a core."""


def led(problem: Problem) -> bool:
    """Whether, without a constant column, the coordinate along the records' mean takes its place (`Coordinates.along_mean`).

    Not under sets and penalties, whose projections such coordinates would make dear, nor for counts, whose rates need a true constant,
    nor for weighted records, whose mean weight only a constant column tells.
    """
    p, counts = problem.dimension, problem.loss.kernel_code is KernelCode.POISSON
    free = problem.free and not problem.weighted
    return not problem.intercept and free and not counts and 1 < p <= WIDEST and p**2 * problem.records <= LARGEST


def centred(problem: Problem) -> bool:
    """Whether means are bought: an intercept takes up what a centre leaves, or the coordinate along them does."""
    return (problem.intercept and problem.dimension > 1) or led(problem)


def reach(problem: Problem) -> float:
    """Bound of ‖x_s‖₂, the constant column left out."""
    return (
        math.sqrt(max(problem.norm_l2**2 - 1.0, 1e-6))
        if problem.intercept and problem.dimension > 1
        else problem.norm_l2
    )


@dataclass(frozen=True, slots=True, eq=False)
class PrivateLocationScale:
    """Functions of two released answers.

    Attributes:
        centre: m, (q,); means shrunk by what of their length is noise.
        typical: the median of ‖x_s − m‖, the constant column left out.
        mean_weight: w̄ = Σw/n, over which sums of weighted records are means: the constant column's released mean, at least `LEAST` deviations of its noise; 1
            where it is known to be, and where no means are bought.
        counted: records of positive weight over n, as the histogram of lengths has them; 1 where it is known to be.
    """

    centre: Array
    typical: float
    mean_weight: float = 1.0
    counted: float = 1.0

    @classmethod
    def bought(
        cls,
        problem: Problem,
        curator: Answers,
        *,
        bins: int,
        bound: float,
        likely: float,
        mean_noise: float,
        share_noise: float,
        uneven: bool = False,
    ) -> "PrivateLocationScale":
        """Buy the means, where the problem is `centred`, and one histogram of lengths up to `bound`."""
        centre, mean_weight = np.zeros(problem.slopes), 1.0
        if centred(problem):
            means = curator.answer("means")
            if problem.intercept:
                mean_weight = 1.0 if problem.alike else max(float(means[-1]), LEAST * mean_noise)
            centre, mean_noise = means[: problem.slopes] / mean_weight, mean_noise / mean_weight
            noise, size = problem.slopes * mean_noise**2, float(centre @ centre)
            centre = centre * (max(0.0, 1.0 - noise / size) if size > 0.0 else 0.0)
            centre = np.clip(centre, -problem.norm_linf, problem.norm_linf)
        grid, weight = edges(bound, bins - 1), TINY if problem.intercept else 1.0
        middle = np.append(centre, [0.0] * problem.intercept)
        shares = curator.answer("norm_histogram", None, centre=middle, intercept_weight=weight, edges=grid)
        least = LEAST * share_noise * math.sqrt(bins)
        counted = 1.0 if problem.alike else max(float(shares.sum()), least)
        shares, share_noise = shares / counted, share_noise / counted
        shares = evened(shares, grid) if uneven else shares
        typical = quantile(shares, grid, share_noise, above=0.5, likely=likely)
        return cls(centre, typical, mean_weight, counted)
