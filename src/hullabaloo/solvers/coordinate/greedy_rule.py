"""Public rule of the greedy solvers: how many coordinates, how a mixed budget is split, what is bought for what.

A solver picks coordinates by the exponential mechanism on `|Σ clip(φ', ±c) x_j|` and moves each by noisy partial derivatives.

*Budget.* Selections of range ε₀ are ε₀²/8-zCDP each and Gaussian answers ρ_i-zCDP, so shares of a common ρ = τ² are shares of accuracy:
`ε₀ = τ√(8a/k)`, `μ_i = τ√(2a_i)`, the shares a adding up to 1. τ is the largest that the allowance takes of the composed events, by bisection:
for (ε, δ), Gaussian, zCDP budgets and every filter alike.

*How many.* The mean score of a coordinate that carries a kth of the signal falls like 1/√k, and the temperature of k choices among p grows
like √k: `λ = 2Δ/(ε₀n) = A√k`. So `k = WORTH/(A ln p)`, between `FEWEST` and `MOST`: where nε is large against ln p more is selected than a sparse
truth has, which costs noise in the refit alone; where it is small, few, as further ones would be chosen by chance.
"""

import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import (
    Box,
    ConvexSet,
    ElasticNetPenalty,
    L1Ball,
    L1Penalty,
    L2Ball,
    NoPenalty,
    Simplex,
    SquaredL2Penalty,
)
from hullabaloo.losses import Loss, Squared
from hullabaloo.privacy import DRAWS, Allowance, Event, GaussianEvent, Neighbours, SelectionEvent, compose
from hullabaloo.solvers.base import Menu, PricedQuery, Problem
from hullabaloo.solvers.gradient.route import symmetric
from hullabaloo.solvers.gradient.travel import smooth_and_steep
from hullabaloo.solvers.ordinary import check_curvature

Array = npt.NDArray[np.float64]

WORTH = 0.1
"""k A ln p: the constant of the rule, chosen between 0.05 and 0.14 on two synthetic designs and four real sets."""
FEWEST, MOST = 2, 32
OPENING = 8
"""Updates of the intercept before the first choice."""
WINDOW = 8
"""How many earlier coordinates are brought up to date after a choice, in turn."""
BINS = 11
UNCUT = 2.0**100
"""Clip where there is no noise."""
ROOM = 2.0**-34
"""Relative part of τ left unspent, for rounding."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of the budget (of ρ), adding up to 1: choices, partial derivatives, second moments, how large |φ'| is, the refit."""

    choices: float
    partials: float
    squares: float
    lengths: float
    refit: float


@dataclass(frozen=True, slots=True)
class Prices:
    """What one budget buys: ε₀ of a choice, and μ of all partials, all second moments, the histogram and the refit."""

    choice: float
    partials: float
    squares: float
    lengths: float
    refit: float


@dataclass(frozen=True, slots=True)
class Search:
    """Everything that a search for coordinates needs, fixed from public facts.

    Attributes:
        picks: k, how many coordinates are chosen, one after the other.
        again: whether one may be chosen again.
        window: how many earlier ones are updated after each choice.
        opening: updates of the intercept before the first choice.
        partial_noise: of one mean partial derivative, in units of its clip.
        square_noise: of one column's mean square.
        share_noise: of each share of the histogram of |φ'|.
        smoothness, slope: bounds of φ'' and |φ'| on ordinary predictions.
        measured: whether |φ'| is measured: for residuals, whose cut leaves a location.
        together: whether second moments are released for all columns at once, and scores divided by their roots.
        epsilon: ε₀ of one choice, None without noise.
    """

    picks: int
    again: bool
    window: int
    opening: int
    partial_noise: float
    square_noise: float
    share_noise: float
    smoothness: float
    slope: float
    measured: bool
    together: bool
    epsilon: float | None

    @property
    def partials(self) -> int:
        """How many partial derivatives are bought."""
        return _updates(self.picks, self.window, self.opening)

    def to_dict(self) -> dict[str, Any]:
        """The settings of a plan."""
        return asdict(self)


def _updates(picks: int, window: int, opening: int) -> int:
    """The intercept's first updates, then each choice, the window behind it and the intercept."""
    return opening + sum(1 + min(window, t) + bool(opening) for t in range(1, picks + 1))


def picks(problem: Problem, allowance: Allowance, share: float) -> int:
    """k by the rule of this page."""
    slopes = problem.dimension - problem.intercept
    if not allowance.is_private:
        return min(MOST, slopes)
    _ = allowance.mu  # refuses a budget of δ = 0, with the remedy
    copies = 2.0 if problem.neighbours is Neighbours.REPLACE_ONE else 1.0
    load = copies * problem.max_weight * problem.records_per_unit
    many = 1024  # beyond the exact composition: ε₀ √T is then constant
    single = allowance.selection_epsilon(many) * math.sqrt(many * share)
    cooling = 2.0 * load * math.log(max(slopes, 2)) / (problem.records * single)
    return min(max(int(WORTH / cooling), FEWEST), MOST, slopes)


def prices_of(allowance: Allowance, shares: Shares, count: int) -> Prices:
    """The prices at the largest τ; all infinite without noise."""
    if not allowance.is_private:
        return Prices(math.inf, math.inf, math.inf, math.inf, math.inf)
    tau = _tau(allowance, shares.choices, count)
    mu = (tau * math.sqrt(2.0 * part) for part in (shares.partials, shares.squares, shares.lengths, shares.refit))
    return Prices(tau * math.sqrt(8.0 * shares.choices / count), *mu)


@lru_cache(maxsize=512)
def _tau(allowance: Allowance, choices: float, count: int) -> float:
    """The largest τ, to a relative 1e-6, whose choices and Gaussian answers the allowance takes.

    **Guarantee.** Claim: the allowance takes `count` selections of range `τ√(8 choices/count)` with any Gaussian answers whose μ² add up to at most
    `2τ²(1 − choices)`. Proof: `takes` was evaluated at a slightly larger τ, with one Gaussian release in place of the answers, which
    compose to no more (Dong, Roth & Su 2022, Cor. 3.3), and `DRAWS` lattice draws.
    """

    def cost(tau: float) -> Event:
        selections = compose(SelectionEvent(tau * math.sqrt(8.0 * choices / count)), count=count)
        if choices >= 1.0:
            return selections
        return compose(selections, GaussianEvent(1.0 / (tau * math.sqrt(2.0 * (1.0 - choices))), DRAWS))

    low = allowance.mu / math.sqrt(2.0)  # refuses a budget of δ = 0, with the remedy
    while not allowance.takes(cost(low)):
        low *= 0.5
    high = 2.0 * low
    while allowance.takes(cost(high)):
        low, high = high, 2.0 * high
    while high > low * (1.0 + 1e-6):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if allowance.takes(cost(middle)) else (low, middle)
    return low * (1.0 - ROOM)


def bought(
    problem: Problem, menu: Menu, prices: Prices, count: int, *, window: int, again: bool, together: bool = False
) -> tuple[Search, list[PricedQuery]]:
    """The search for `count` coordinates and its quotes."""
    loss = problem.loss
    assert isinstance(loss, Loss)  # the solver saw to it
    smoothness, slope = smooth_and_steep(loss)
    opening = OPENING if problem.intercept else 0
    free, measured = math.isinf(prices.choice), symmetric(loss)
    updates = _updates(count, window, opening)
    one = menu.of_columns(1)
    choice = menu.price("select", loss=loss, clip=UNCUT if free else slope, epsilon=prices.choice, count=count)
    partial = menu.price("partial", loss=loss, mu=prices.partials / math.sqrt(updates), count=updates)
    if together:
        square = menu.price("second_moments", mu=prices.squares)
    else:
        square = one.price("second_moments", mu=prices.squares / math.sqrt(count), count=count)
    quotes: list[PricedQuery] = [choice, partial, square]
    share_noise = 0.0
    if measured and not free:
        lengths = one.price("scales", loss=loss, bins=BINS, mu=prices.lengths, count=1)
        share_noise = lengths.sigma / problem.records
        quotes.append(lengths)
    noise = (partial.sigma / problem.records, square.sigma / problem.records, share_noise)
    chosen = (*noise, smoothness, slope, measured and not free, together, None if free else prices.choice)
    return Search(count, again, window, opening, *chosen), quotes


def of_columns(problem: Problem, count: int) -> Problem:
    """The problem on any `count` of the slopes and the intercept: bounds as `RowFacts.of_columns` has them, set and penalty cut down."""
    largest, constant = problem.norm_linf, float(problem.intercept)
    return replace(
        problem,
        dimension=count + problem.intercept,
        norm_l1=min(problem.norm_l1, count * largest + constant),
        norm_l2=min(problem.norm_l2, math.sqrt(count * largest**2 + constant)),
        constraint=cut_down(problem.constraint, None),
    )


def cut_down(body: ConvexSet | None, columns: npt.NDArray[np.int64] | None) -> ConvexSet | None:
    """The points of a set that are 0 outside some columns, by those columns; of a box with columns None, a box around each such one.

    Raises:
        CapabilityError: a set whose cut is no set of the same kind, or a box without 0.
    """
    if body is None or isinstance(body, L1Ball | L2Ball | Simplex):
        return body
    if isinstance(body, Box):
        lower, upper = np.atleast_1d(body.lower), np.atleast_1d(body.upper)
        if np.any(lower > 0.0) or np.any(upper < 0.0):
            raise CapabilityError(
                f"Few coordinates were to be selected in {body!r}, in which some coefficients may not be 0. Use a box that holds 0, "
                "or another solver."
            )
        if body.dimension is None:
            return body
        if columns is None:
            return Box(float(lower.min()), float(upper.max()))
        return Box(tuple(lower[columns].tolist()), tuple(upper[columns].tolist()))
    raise CapabilityError(
        f"Few coordinates were to be selected in {body!r}, whose points on these alone are no set that a refit knows. Use L1Ball, "
        "L2Ball, Box, Simplex or a penalty, or another solver."
    )


def check(problem: Problem, who: str) -> Loss:
    """Refuse what greedy choices cannot do, with the remedy."""
    if problem.targets != 1 or not isinstance(problem.loss, Loss):
        raise CapabilityError(
            f"{who} fits one target by a loss of one prediction, but the loss {problem.loss.name!r} was given for {problem.targets} "
            "targets. Fit one target at a time, or use solver='gradient' or 'moments'."
        )
    if problem.dimension - problem.intercept < 1:
        raise CapabilityError(
            f"{who} was asked of a table without features, among which there is nothing to choose. Use another solver."
        )
    check_curvature(problem, smooth_and_steep(problem.loss)[0], who)
    return problem.loss


def check_penalty(problem: Problem, who: str) -> None:
    """Refuse penalties that are not cut down to a part of the coordinates by themselves, and one beside a set."""
    if not isinstance(problem.penalty, NoPenalty | L1Penalty | SquaredL2Penalty | ElasticNetPenalty):
        raise CapabilityError(
            f"{who} was given the penalty {problem.penalty!r}, whose part on a selection of coordinates it does not know. Use L1Penalty, "
            "SquaredL2Penalty or ElasticNetPenalty, or another solver."
        )
    if problem.constraint is not None and not isinstance(problem.penalty, NoPenalty):
        raise CapabilityError(f"{who} takes a set or a penalty, not both; keep one of them.")


def expected_loss(problem: Problem, search: Search, signal: float) -> float:
    """Excess loss to expect of what is not selected, of a signal (a variance) of which the jth best coordinate has a part ∝ 1/j.

    A choice is right with weight `s²/(s² + t²)`: s the mean score of the jth best, for columns and residuals that fill a third of their ranges,
    t the temperature times ln p.
    """
    slopes = problem.dimension - problem.intercept
    parts = 1.0 / np.arange(1.0, slopes + 1.0)
    parts /= parts.sum()
    best = parts[: search.picks]
    if search.epsilon is None:
        return 0.5 * signal * float(1.0 - best.sum())
    copies = 2.0 if problem.neighbours is Neighbours.REPLACE_ONE else 1.0
    load = copies * problem.max_weight * problem.records_per_unit
    heat = 2.0 * load * math.log(max(slopes, 2)) / (problem.records * search.epsilon)
    score = np.sqrt(best) / 3.0 * (0.8 if isinstance(problem.loss, Squared) else 0.5)
    found = float((best * score**2 / (score**2 + heat**2)).sum())
    return 0.5 * signal * (1.0 - found)
