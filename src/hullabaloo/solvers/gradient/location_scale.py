"""Where records lie and how long they are from there, as two private answers tell."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import NoPenalty
from hullabaloo.losses import KernelCode
from hullabaloo.solvers.base import Answers, Problem
from hullabaloo.solvers.gradient.histogram import edges, evened, quantile

Array = npt.NDArray[np.float64]

TINY = 1e-9
"""Weight of the constant column where the lengths of records are measured: it must not lengthen them."""


WIDEST, LARGEST = 2_000, 500_000_000
"""Columns, and cells, up to which records are kept as a matrix shows them: 4 GB."""


def led(problem: Problem) -> bool:
    """Whether, without a constant column, the coordinate along the records' mean takes its place (`Coordinates.along_mean`).

    Not under sets and penalties, whose projections such coordinates would make dear, nor for counts, whose rates need a true constant.
    """
    p, counts = problem.dimension, problem.loss.kernel_code is KernelCode.POISSON
    free = problem.constraint is None and isinstance(problem.penalty, NoPenalty)
    return not problem.intercept and free and not counts and 1 < p <= WIDEST and p * problem.records <= LARGEST


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


@final
@dataclass(frozen=True, slots=True, eq=False)
class PrivateLocationScale:
    """Functions of two released answers.

    Attributes:
        centre: m, (q,); means shrunk by what of their length is noise.
        typical: the median of ‖x_s − m‖, the constant column left out.
    """

    centre: Array
    typical: float

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
        slopes = problem.dimension - problem.intercept
        centre = np.zeros(slopes)
        if centred(problem):
            centre = curator.answer("means")[:slopes]
            noise, size = slopes * mean_noise**2, float(centre @ centre)
            centre = centre * (max(0.0, 1.0 - noise / size) if size > 0.0 else 0.0)
            centre = np.clip(centre, -problem.norm_linf, problem.norm_linf)
        grid, weight = edges(bound, bins - 1), TINY if problem.intercept else 1.0
        shares = curator.answer(
            "norm_histogram",
            None,
            centre=np.append(centre, [0.0] * problem.intercept),
            intercept_weight=weight,
            edges=grid,
        )
        shares = evened(shares, grid) if uneven else shares
        return cls(centre, quantile(shares, grid, share_noise, above=0.5, likely=likely))
