"""What the solvers that adapt to records have in common: where the records lie, how long they are, and how far a signal speaks for walking."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import NoPenalty, Projectable, require
from hullabaloo.losses import Loss
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Problem
from hullabaloo.solvers.gradient.histogram import edges, evened, quantile

Array = npt.NDArray[np.float64]

TINY = 1e-9
"""Weight of the constant column where the lengths of records are measured: it must not lengthen them."""


def centred(problem: Problem) -> bool:
    """Whether means are bought: an intercept takes up what a centre leaves."""
    return problem.intercept and problem.dimension > 1


@final
@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Where records lie and how long they then are: functions of two released answers.

    Attributes:
        centre: m, (p,), 0 for the intercept; means shrunk by what of their length is noise.
        typical: the median of ‖x − m‖, the constant column left out.
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
    ) -> "Survey":
        """Buy the means, where the problem is `centred`, and one histogram of lengths up to `bound`."""
        p, slopes = problem.dimension, problem.dimension - problem.intercept
        centre = np.zeros(p)
        if centred(problem):
            centre[:-1] = curator.answer("means")[:-1]
            noise, size = slopes * mean_noise**2, float(centre @ centre)
            centre *= max(0.0, 1.0 - noise / size) if size > 0.0 else 0.0
            centre = np.clip(centre, -problem.norm_linf, problem.norm_linf)
        grid = edges(bound, bins - 1)
        shares = curator.answer(
            "norm_histogram", None, centre=centre, intercept_weight=TINY if problem.intercept else 1.0, edges=grid
        )
        shares = evened(shares, grid) if uneven else shares
        return cls(centre, quantile(shares, grid, share_noise, above=0.5, likely=likely))


def boldness(gradient: Array, variance: float, *, doubt: float, careful: float, eager: float) -> float:
    """How much of the full travel a mean gradient of slopes speaks for: from `careful` to 1.

    Without any signal `q = ‖g‖²/V` is χ²_p in p coordinates, V the known variance of the noise in each. Evidence begins `doubt` standard
    deviations above its mean, and the full travel is walked where at least one part in `eager` of q is evidence.
    """
    p = gradient.size
    if p == 0:
        return 1.0
    q = float(gradient @ gradient) / variance
    mean = p + doubt * math.sqrt(2.0 * p)
    return min(max(careful, eager * (1.0 - mean / q)), 1.0) if q > mean else careful


def held(problem: Problem, theta: Array, centre: Array) -> Array:
    """θ with its intercept within its bounds, where a set needs them.

    Slopes along the centre make up for what is cut off, so that the prediction there stays: a walk that sees records from the centre hardly
    feels these slopes, and noise may have left much in them.
    """
    constraint = problem.constraint
    if constraint is None or not problem.intercept:
        return theta
    slopes, last = theta[:-1], np.clip(theta[-1], *problem.loss.intercept_bounds)
    middle = centre[: slopes.size]
    length = float(middle @ middle)
    if last != theta[-1] and length > 0.0:
        slopes = slopes + (theta[-1] - last) / length * middle
        slopes = constraint.project(slopes)  # type: ignore[attr-defined]  # the plan saw to it
    return np.append(slopes, last)


def check_adaptive(problem: Problem, allowance: Allowance, who: str) -> Loss:
    """Refuse what steps that adapt to records cannot do; `who` is "adaptive gradient", for example.

    Raises:
        CapabilityError: no noise is asked for, several targets, a set without a projection, or a set beside a penalty.
    """
    if not allowance.is_private:
        raise CapabilityError(
            f"Without noise the {who} has nothing to adapt to, and its steps end short of the optimum. Use "
            "solver='auto' or 'output_perturbation', which give the exact optimum, or a finite budget."
        )
    if problem.targets != 1 or not isinstance(problem.loss, Loss):
        raise CapabilityError(
            f"The {who} fits one target, but the loss {problem.loss.name!r} has {problem.targets}. Fit one "
            "target at a time, or use solver='gradient'."
        )
    if problem.constraint is not None:
        require(problem.constraint, [Projectable], f"The {who} solver")
        if not isinstance(problem.penalty, NoPenalty):
            raise CapabilityError(f"The {who} solver takes a set or a penalty, not both; keep one of them.")
    return problem.loss
