"""What the theorems of streams say of the ways that `hb.streaming.plan` compares, after as many records as it looks at.

Each is proved for the papers' way of doing it: fits by n² noisy subgradients in which every record counts once (Theorem 3.1), sums without the ridge that
is added to them (Theorems 4.2 and 5.7). Without a bounded set there is none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hullabaloo.planning.theory.certified_width import planned_width
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.solvers import TARGET_SCALE, Problem, prediction_bound, slope_bound
from hullabaloo.streaming.bounds import Shape, incremental, refitted, sketched
from hullabaloo.streaming.refits import divided

FAILURE = 0.01
"""Probability with which a bound of sums may fail at a release."""


@dataclass(frozen=True, slots=True)
class StreamBound:
    """Excess risk a record at most, at each release that is compared; in expectation (fits), or with probability 0.99 (sums).

    Attributes:
        way: the class of `hullabaloo.streaming`.
        values: at each release; never more than any two models of the set differ by.
        trivial: that number.
        holds: for what, in words.
        source: the theorem.
    """

    way: str
    values: tuple[float, ...]
    trivial: float
    holds: str
    source: str

    def cells(self) -> tuple[str, ...]:
        """A line's texts; "–" where no more is said than that the set is bounded."""
        said = ["–" if one >= self.trivial * (1.0 - 1e-9) else f"{one:.2g}" for one in self.values]
        return ("rate", self.way, "≤ " + " ".join(said), f"{self.holds}; {self.source}")


def of_sums(way: str, problem: Problem, query: Any, schedule: Schedule, looks: Sequence[int]) -> list[StreamBound]:
    """Sums of all columns.

    Source: 003, Theorem 4.2.
    """
    bound = partial(incremental, columns=problem.dimension)
    return _of_noise(way, problem, query, schedule, dict.fromkeys(looks, bound), "0.99", "Theorem 4.2")


def of_sketch(
    way: str, problem: Problem, query: Any, width: float, schedule: Schedule, looks: Sequence[int]
) -> list[StreamBound]:
    """Sums of sketched rows, against F* = t/2, the loss of predicting 0 of the largest targets.

    Source: 003, Theorem 5.7.
    """
    bound = partial(sketched, width=width, size=query.moments.facts.width)
    bounds = {at: partial(bound, least=0.5 * at) for at in looks}
    return _of_noise(way, problem, query, schedule, bounds, "0.98", "Theorem 5.7")


def _of_noise(
    way: str, problem: Problem, query: Any, schedule: Schedule, bounds: Mapping[int, Any], chance: str, source: str
) -> list[StreamBound]:
    """A bound of noisy sums at each position; none without a bounded set."""
    if problem.feasible is None:
        return []
    radius = problem.feasible.max_norm(2.0, problem.dimension)
    about = {"radius": radius, "norm": problem.norm_l2, "target_scale": TARGET_SCALE, "failure": FAILURE}
    noise = {at: query.sigma * query.error(schedule.completed(at)) for at in bounds}
    found = [bound(noise[at], at, **about) for at, bound in bounds.items()]
    holds = f"with probability {chance}, without the ridge that is added"
    most = 0.5 * (1.0 + radius * problem.norm_l2) ** 2
    return _made(way, found, list(bounds), most, holds, source)


def of_fits(way: str, problem: Problem, schedule: Schedule, mu: float, looks: Sequence[int]) -> list[StreamBound]:
    """Fits by n² noisy subgradients, each record counted once.

    Source: 003, Theorem 3.1 (1).
    """
    body, size = problem.feasible, problem.dimension * problem.targets
    if body is None or not math.isfinite(mu):
        return []
    steep = problem.max_weight * slope_bound(problem, prediction_bound(problem))
    diameter = 2.0 * body.max_norm(2.0, size)
    lipschitz = steep * problem.norm_l2
    shape = Shape(lipschitz, diameter, size, problem.change * steep * problem.norm_l2, planned_width(body, size))
    shares = divided(tuple(schedule.position(step) for step in range(1, schedule.steps + 1)))
    printed = [refitted(shape, at, schedule, shares, mu) for at in looks]
    most = lipschitz * diameter
    return _made(way, printed, looks, most, "fits by n² noisy subgradients", "Theorem 3.1")


def _made(
    way: str, found: Sequence[float], looks: Sequence[int], most: float, holds: str, source: str
) -> list[StreamBound]:
    values = tuple(min(one / at, most) for one, at in zip(found, looks, strict=True))
    paper = f"Kasiviswanathan, Nissim, Jin 2017, {source}"
    return [StreamBound(way, values, most, holds, paper)] if min(values) < most else []
