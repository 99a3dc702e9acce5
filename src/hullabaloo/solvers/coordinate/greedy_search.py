"""The search for coordinates that the greedy solvers share: choose one privately, move it, bring earlier ones up to date.

Every step, clip and noise is public or a function of released numbers: the intercept first; how large |φ'| is, from one histogram; the
second moment of each chosen column, released when it is chosen, which gives its step `1/(L M_j)` and its clip. Columns of whose moment noise says
little take short steps.

A solver picks coordinates by the exponential mechanism on `|Σ clip(φ', ±c) x_j|` and moves each by noisy partial derivatives.

*Budget.* Selections of range ε₀ are ε₀²/8-zCDP each and Gaussian answers ρ_i-zCDP, so shares of a common ρ = τ² are shares of accuracy:
`ε₀ = τ√(8a/k)`, `μ_i = τ√(2a_i)`, the shares a adding up to 1. τ is the largest that the allowance takes of the composed events, by bisection:
for (ε, δ), Gaussian, zCDP budgets and every filter alike.

*How many.* The mean score of a coordinate that carries a kth of the signal falls like 1/√k, and the temperature of k choices among p grows
like √k: `λ = 2Δ/(ε₀n) = A√k`. So `k = WORTH/(A ln p)`, between `FEWEST` and `MOST`: where nε is large against ln p more is selected than a sparse
truth has, which costs noise in the refit alone; where it is small, few, as further ones would be chosen by chance.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Box, SeparableForm, separable_form
from hullabaloo.losses import Squared
from hullabaloo.privacy import DRAWS, Allowance, Event, GaussianEvent, SelectionEvent, compose
from hullabaloo.solvers.base import Answers, Array, PricedQuery, Problem, QueryPrices
from hullabaloo.solvers.coordinate.updates import check_curvature, descend, within_reach
from hullabaloo.solvers.gradient.histogram import edges, quantile
from hullabaloo.solvers.gradient.schedule import is_residual
from hullabaloo.solvers.gradient.travel import smooth_and_steep
from hullabaloo.solvers.options import one_prediction

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
class Parts:
    """Shares of the budget (of ρ), adding up to 1: choices, partial derivatives, second moments, how large |φ'| is, the refit.

    Or what they buy: ε₀ of a choice, and μ of all partials, all second moments, the histogram and the refit.
    """

    choices: float
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
    epsilon: float | None


def picks(problem: Problem, allowance: Allowance, share: float) -> int:
    """k by the rule of this page."""
    if not allowance.is_private:
        return min(MOST, problem.slopes)
    _ = allowance.mu  # refuses a budget of δ = 0, with the remedy
    many = 1024  # beyond the exact composition: ε₀ √T is then constant
    single = allowance.selection_epsilon(many) * math.sqrt(many * share)
    cooling = 2.0 * problem.change * math.log(max(problem.slopes, 2)) / (problem.records * single)
    return min(max(int(WORTH / cooling), FEWEST), MOST, problem.slopes)


def prices_of(allowance: Allowance, shares: Parts, count: int) -> Parts:
    """The prices at the largest τ; all infinite without noise."""
    if not allowance.is_private:
        return Parts(math.inf, math.inf, math.inf, math.inf, math.inf)
    tau = _tau(allowance, shares.choices, count)
    mu = (tau * math.sqrt(2.0 * part) for part in (shares.partials, shares.squares, shares.lengths, shares.refit))
    return Parts(tau * math.sqrt(8.0 * shares.choices / count), *mu)


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
    problem: Problem, prices: QueryPrices, parts: Parts, count: int, *, window: int, again: bool
) -> tuple[Search, list[PricedQuery]]:
    """The search for `count` coordinates and its queries."""
    loss = problem.loss
    smoothness, slope = smooth_and_steep(loss)
    opening = OPENING if problem.intercept else 0
    free, measured = math.isinf(parts.choices), is_residual(loss)
    behind = sum(min(window, t) for t in range(1, count + 1))
    updates = opening + count * (1 + problem.intercept) + behind  # a choice, the intercept, the window behind
    one = prices.restricted(1)
    choice = prices.price("select", loss=loss, clip=UNCUT if free else slope, epsilon=parts.choices, count=count)
    partial = prices.price("coordinate_gradient", loss=loss, mu=parts.partials / math.sqrt(updates), count=updates)
    square = one.price("second_moments", mu=parts.squares / math.sqrt(count), count=count)
    queries: list[PricedQuery] = [choice, partial, square]
    share_noise = 0.0
    if measured and not free:
        lengths = one.price("norm_histogram", loss=loss, bins=BINS, mu=parts.lengths, count=1)
        share_noise = lengths.sigma / problem.records
        queries.append(lengths)
    noise = (partial.sigma / problem.records, square.sigma / problem.records, share_noise)
    chosen = (*noise, smoothness, slope, measured and not free, None if free else parts.choices)
    return Search(count, again, window, opening, *chosen), queries


def check(problem: Problem, who: str) -> None:
    """Refuse what greedy choices cannot do, with the remedy."""
    loss = one_prediction(problem, who, "solver='gradient' or 'moments'")
    if problem.slopes < 1:
        raise CapabilityError(
            f"{who} was asked of a table without features, among which there is nothing to choose. Use another solver."
        )
    check_curvature(problem, smooth_and_steep(loss)[0], who)


def expected_loss(problem: Problem, search: Search, signal: float) -> float:
    """Excess loss to expect of what is not selected, of a signal (a variance) of which the jth best coordinate has a part ∝ 1/j.

    A choice is right with weight `s²/(s² + t²)`: s the mean score of the jth best, for columns and residuals that fill a third of their ranges,
    t the temperature times ln p.
    """
    parts = 1.0 / np.arange(1.0, problem.slopes + 1.0)
    parts /= parts.sum()
    best = parts[: search.picks]
    if search.epsilon is None:
        return 0.5 * signal * float(1.0 - best.sum())
    heat = 2.0 * problem.change * math.log(max(problem.slopes, 2)) / (problem.records * search.epsilon)
    score = np.sqrt(best) / 3.0 * (0.8 if isinstance(problem.loss, Squared) else 0.5)
    found = float((best * score**2 / (score**2 + heat**2)).sum())
    return 0.5 * signal * (1.0 - found)


BEHIND = 0.5
"""Steps of coordinates that were chosen before, in parts of 1/(L M_j)."""
CUT = 0.5
"""Clip of |φ' x_j|, in parts of c √(b √M_j)."""
FAINT = 10.0
"""A step moves predictions by noise at most a tenth of the typical |φ'|."""
LEAST = 5e-4
"""Least second moment that is believed, in parts of b²."""
AFAR = 1e6
"""From so far away every record looks equally long: the histogram of |φ'| ‖u‖ is then that of |φ'|."""


class GreedySearch:
    """State of one search: the point, the coordinates chosen so far, and their clips and steps."""

    def __init__(self, problem: Problem, search: Search, curator: Answers) -> None:
        p = problem.dimension
        self._problem, self._search, self._curator = problem, search, curator
        self._form = form_of(problem)
        self._load = problem.max_weight * problem.records_per_unit  # what one of the declared records may count
        self.clip = UNCUT if search.epsilon is None else search.slope
        self._clips, self._steps = np.full(p, self.clip), np.full(p, 1.0 / (search.smoothness * self._load))
        self._behind = 0
        self.picked: list[int] = []
        self.theta = np.zeros(p)

    def walk(self) -> None:
        """The intercept and the size of |φ'|, then one choice after another."""
        search, p = self._search, self._problem.dimension
        if search.opening:
            self._update([p - 1] * search.opening, 1.0)
        if search.measured:
            self.clip = self._typical()
        if self._problem.intercept:
            self._settle(p - 1, self._load)
        for _ in range(search.picks):
            self._advance()

    def _advance(self) -> None:
        """One choice, its update, and those of the intercept and of the earlier choices whose turn it is."""
        problem, search = self._problem, self._search
        excluded = np.arange(problem.dimension) >= problem.slopes
        if not search.again:
            excluded[self.picked] = True
        j = self._curator.answer("select", self.theta, excluded, clip=self.clip, within=self._still())
        squares = self._curator.restricted([j]).answer("second_moments")  # bought for every choice, new or not
        self._settle(j, self._believed(float(squares[0])))
        if problem.intercept:
            self._settle(problem.dimension - 1, self._counted(float(squares[-1])))
        self._update([j], 1.0)
        self.picked.append(j)
        order = [problem.dimension - 1] * problem.intercept + self._turn()
        if order:
            self._update(order, BEHIND)

    def _still(self) -> tuple[Array, Array]:
        """The subdifferential of ψ at θ: a coordinate whose −∂f lies in it does not move."""
        form, theta = self._form, self.theta
        bent = form.curvatures * theta
        lower, upper = (bent + form.kinks * np.where(theta == 0.0, side, np.sign(theta)) for side in (-1.0, 1.0))
        return np.where(theta <= form.lower, -np.inf, lower), np.where(theta >= form.upper, np.inf, upper)

    def _turn(self) -> list[int]:
        """The next `window` of the coordinates chosen so far, in a circle; all while there are fewer."""
        window, known = self._search.window, self.picked
        if len(known) <= window:
            return list(known)
        first, self._behind = self._behind, (self._behind + window) % len(known)
        return [known[(first + i) % len(known)] for i in range(window)]

    def _update(self, order: list[int], share: float) -> None:
        clips, steps = within_reach(self._clips), within_reach(share * self._steps)
        found = descend(
            self._curator, self.theta, order=np.array(order, dtype=np.int64), clips=clips, steps=steps, form=self._form
        )
        self.theta = found.theta

    def _settle(self, j: int, square: float) -> None:
        """Clip and step of a coordinate with that mean square."""
        search = self._search
        if search.epsilon is None:
            self._clips[j], self._steps[j] = UNCUT, 1.0 / (search.smoothness * square)
            return
        last = j == self._problem.dimension - 1 and self._problem.intercept
        usual = math.sqrt(square / self._load)  # of a cell
        part = 1.0 if last else min(1.0, CUT * math.sqrt(self._problem.norm_linf * usual))
        self._clips[j] = self.clip * part
        floor = FAINT * part * search.partial_noise * usual
        self._steps[j] = 1.0 / (search.smoothness * max(square, floor))

    def _believed(self, square: float) -> float:
        """A released mean square inside what it can be, and not below a third of its noise."""
        most = self._load * self._problem.norm_linf**2
        return min(max(square, 0.3 * self._search.square_noise, LEAST * most), most)

    def _counted(self, square: float) -> float:
        """The constant column's mean square, which is the mean weight: 1 where every record counts once."""
        return self._load if self._load == 1.0 else self._believed(square)

    def _typical(self) -> float:
        """The median of |φ'|: of records seen through one public column, from so far that all of them have one length."""
        far = AFAR * self._problem.norm_linf
        grid = edges(2.0 * self._search.slope, BINS - 1) * far
        if self._problem.intercept:
            centre, intercept_weight, point = np.zeros(2), far, np.array([0.0, self.theta[-1]])
        else:
            centre, intercept_weight, point = np.array([-far]), 1.0, np.zeros(1)
        shares = self._curator.restricted([0]).answer(
            "norm_histogram", point, centre=centre, intercept_weight=intercept_weight, edges=grid
        )
        likely = 0.25 * self._search.slope * far
        return quantile(shares, grid, self._search.share_noise, above=0.5, likely=likely) / far


def form_of(problem: Problem) -> SeparableForm:
    """The penalty and a box by coordinates; other sets are left to the refit."""
    body = problem.feasible if isinstance(problem.constraint, Box) else None
    try:
        return separable_form(problem.regulariser, body, problem.dimension)
    except CapabilityError:
        p = problem.dimension
        return SeparableForm(np.zeros(p), np.zeros(p), np.full(p, -np.inf), np.full(p, np.inf))
