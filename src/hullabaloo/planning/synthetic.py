"""Synthetic tables of a declared domain, on which plans are tried out before any data is read.

A table is a fixed function of public facts: its numbers come from a counter hashed to uniform bits, never from a generator
with a state. Rows resemble those of real tables: columns are correlated (the jth eigenvalue of their second moments falls
like 1/j), every bound of the domain holds, and the model that makes the targets lies in the declared set.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import SetFunction, SubmodularBall
from hullabaloo.losses import KernelCode, VectorLoss
from hullabaloo.solvers import TARGET_VARIANCE, Array, Problem
from hullabaloo.solvers.perturbation.objective_perturbation import structure_of
from hullabaloo.solvers.public_numbers import uniforms

TWO_CLASSES = (KernelCode.LOGISTIC, KernelCode.SMOOTHED_HINGE, KernelCode.MARGIN_TABLE)


CELLS_DECLARED = 3.0
"""Bound of a row's norm over that of a cell from which cells count as declared. Under a row norm alone they are the same, and rows mostly as long as it."""
FEWEST_CELLS = 3.0
"""Filled cells of a row from which rows of wide tables are made of filled and empty cells; of fewer, dense rows tell more (`WIDE`)."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is not declared: how much there is to learn.

    Attributes:
        name: a word for it.
        explained: share of the target's variance that the best linear model explains; for classes, what makes log-odds of
            variance `explained/(1 − explained)·π²/3`, the same share of a latent logistic variable.
        decay: eigenvalues of the second moments fall like `j^−decay`.
        centre: share of the rows' mean square that their mean makes up: declared bounds are seldom symmetric around the records,
            and of prepared rows a constant column is often one.
        filled: mean square of a row over that of its declared bound.
        number: which stream of numbers to use.
        rarity: of counts, how many times as large the declared bound is as the mean: bounds are declared for the worst
            record, and most tables of claims or falls hold zeros next to it.
        sparse: whether few columns carry most of the signal.
        level: of numbers, their mean before they are cut at their bounds.
        rare: of classes, the share of each that is told from the rest, at most even shares; 0 is about a quarter.
        numbers: of numbers, the share of variance in place of `explained`, where it is not 0.
        alone: whether the model within a set is one extreme point, along the columns that vary most; else it is a mean of three.
        varied: how many times as large as usual the rows' variance is.
        left: of numbers, the deviation of what the model leaves over half the range, where it is not 0; the target's own is at most half of it. Else that is as usual.
    """

    name: str
    explained: float
    decay: float
    centre: float
    filled: float
    number: int
    rarity: float
    sparse: bool = False
    level: float = 0.1
    rare: float = 0.0
    numbers: float = 0.0
    alone: bool = False
    varied: float = 1.0
    left: float = 0.0


SCENARIOS = (
    Scenario("weak signal", 0.1, 1.0, 0.8, 0.5, 1, 75.0),
    Scenario("strong signal", 0.5, 1.0, 0.6, 0.3, 2, 7.5),
)
SILENCE = Scenario("no signal", 0.0, 1.0, 0.7, 0.4, 3, 200.0)
"""Nothing to learn: what a plan loses here is harm, as a constant loses nothing. Counts are as rare as an event in each twentieth record under a bound of ten: of motor
claims (fremtpl2), on which it was chosen; at 20 "auto" took slopes that noise had made; of bicycle hire (10 000 records, ε = 1) it took the constant at 20, and keeps 0.76 of the gain now."""


PRICED = (
    Scenario("weak signal, priced", 0.02, 2.0, 0.8, 0.5, 1, 200.0, rare=0.1, alone=True),
    Scenario("strong signal, priced", 0.5, 2.0, 0.6, 0.3, 2, 7.5, rare=0.5, numbers=0.9, alone=True),
)
"""What a price tells a range from: tables further apart than those that plans are compared on, as a plan that is taken may meet either. In many real tables few directions hold most of the
columns' variance, a class is rare and hardly told, nine tenths of a number are explained, or one column reaches the end of the set. Chosen on one half of 32 tables, the weak signal on both (docs/planning.md)."""


WIDE = (
    Scenario("weak signal, wide", 0.5, 1.0, 0.3, 0.1, 4, 75.0),
    Scenario("strong signal, wide", 0.8, 1.0, 0.2, 0.1, 5, 7.5, sparse=True),
    Scenario("no signal, wide", 0.0, 1.0, 0.3, 0.5, 6, 20.0, level=0.5),
)
"""The same for wide tables: more columns explain more, and rows fill less of their bounds. Chosen on six tables at add-or-remove
(docs/high-dimension.md), and reported on eleven others. Without a signal the target's mean, usually half-way to an end (of 14 real tables its root mean square
is 0.52), is what a solver that noise has drowned loses."""


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticTable:
    """Encoded rows (m, p), targets (m, k), offsets (m,) or None, and the slopes θ* (p′, k) that made the targets."""

    X: Array
    Y: Array
    offset: Array | None
    slopes: Array

    def part(self, rows: slice) -> "SyntheticTable":
        """Some of the rows."""
        offset = None if self.offset is None else self.offset[rows]
        return replace(self, X=self.X[rows], Y=self.Y[rows], offset=offset)


def synthetic_table(problem: Problem, scenario: Scenario, rows: int) -> SyntheticTable:
    """`rows` records of the problem's domain."""
    X = _features(problem, scenario, rows, problem.slopes)
    theta = _model(problem, scenario, X, problem.slopes)
    signal = X @ theta
    offset = None
    if problem.offset_bound > 0.0:
        offset = problem.offset_bound * (2.0 * uniforms(rows, 40 + scenario.number) - 1.0)
    # Of wide tables what made the targets is the yardstick: without an intercept its mean is part of it, and where there is no signal there is no mean to learn.
    free = scenario in WIDE and not problem.intercept
    told, middle = (replace(scenario, level=0.0), 0.0) if free else (scenario, signal.mean(axis=0))
    Y = _targets(problem, told, signal - middle, offset)
    if problem.intercept:
        X = np.column_stack([X, np.ones(rows)])
    return SyntheticTable(np.ascontiguousarray(X), Y, offset, theta)


def normals(count: int, stream: int) -> Array:
    """Standard normal numbers, by inversion."""
    from scipy.special import ndtri

    return np.asarray(ndtri(uniforms(count, stream)), dtype=np.float64)


def _features(problem: Problem, scenario: Scenario, rows: int, slopes: int) -> Array:
    """Correlated columns around a mean, as long as the scenario says and never longer than declared."""
    if slopes == 0:
        return np.zeros((rows, 0))
    longest = (problem.norm_l2**2 - problem.intercept) / problem.norm_linf**2
    if scenario in WIDE and longest < CELLS_DECLARED**2:
        scenario = replace(scenario, filled=1.0, centre=0.1)
    elif scenario in WIDE and FEWEST_CELLS <= scenario.filled * longest < slopes / 4:
        return _indicators(problem, scenario, rows, slopes, scenario.filled * longest)
    X = normals(rows * slopes, 2 * scenario.number).reshape(rows, slopes)
    falling = np.arange(1.0, slopes + 1.0) ** -scenario.decay
    X *= np.sqrt(falling / falling.sum())
    for reflection in range(3):  # products of reflections spread the directions over the columns
        v = normals(slopes, 100 + 3 * scenario.number + reflection)
        v /= np.linalg.norm(v)
        X -= 2.0 * np.outer(X @ v, v)
    room = math.sqrt(max(problem.norm_l2**2 - problem.intercept, 1e-12))
    X *= math.sqrt(scenario.varied * (1.0 - scenario.centre) * scenario.filled) * room
    middle = np.where(uniforms(slopes, 90 + scenario.number) < 0.5, -1.0, 1.0)
    X += middle * math.sqrt(scenario.centre * scenario.filled / slopes) * room
    np.clip(X, -problem.norm_linf, problem.norm_linf, out=X)
    X *= np.minimum(1.0, room / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, None]
    return X


def _indicators(problem: Problem, scenario: Scenario, rows: int, slopes: int, cells: float) -> Array:
    """Rows of about `cells` cells at their bound, the others 0; the jth column is filled as often as 1/j says, and at most in every second row."""
    often = 1.0 / np.arange(1.0, slopes + 1.0)
    for _ in range(30):
        often = np.minimum(often * (cells / often.sum()), 0.5)
    X = np.where(uniforms(rows * slopes, 2 * scenario.number).reshape(rows, slopes) < often, problem.norm_linf, 0.0)
    room = math.sqrt(problem.norm_l2**2 - problem.intercept)
    return np.asarray(X * np.minimum(1.0, room / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, None])


def _model(problem: Problem, scenario: Scenario, X: Array, slopes: int) -> Array:
    """θ*: in the set, at the scenario's signal where the set allows it; without a set alike in all directions."""
    k = problem.targets
    if slopes == 0:
        return np.zeros((0, k))
    theta = np.column_stack([normals(slopes, 200 + 10 * scenario.number + column) for column in range(k)])
    if scenario.sparse:
        theta **= 3
    function = structure_of(problem)
    if function is not None:
        theta = _of_structure(problem, function, scenario, slopes)
    elif problem.constraint is not None:
        theta = _member(problem, scenario, theta, X)
    scale = float(np.sqrt(np.mean((X @ theta - (X @ theta).mean(axis=0)) ** 2)))
    wanted = math.sqrt(_signal_variance(problem, scenario))
    if scale > 0.0:
        factor = wanted / scale
        theta = theta * (factor if problem.constraint is None else min(1.0, factor))
    return np.asarray(theta, dtype=np.float64)


def _of_structure(problem: Problem, function: SetFunction, scenario: Scenario, slopes: int) -> Array:
    """Coefficients on supports that the set function makes cheap; under a ball of its norm, at its radius."""
    k, stream = problem.targets, 1000 + 100 * scenario.number
    if k > 1 and function.dimension == slopes * k:
        theta = structured(function, 1, slopes * k, stream).reshape(slopes, k)
    else:
        theta = structured(function, k, slopes, stream)
    body = problem.constraint
    if body is None:
        return theta
    assert isinstance(body, SubmodularBall)
    parts = theta.reshape(-1, 1) if isinstance(problem.loss, VectorLoss) else theta
    return np.column_stack([part / body.gauge(part) for part in parts.T]).reshape(theta.shape)


def _member(problem: Problem, scenario: Scenario, direction: Array, X: Array) -> Array:
    """The mean of the points of C farthest along three directions: sparse for the l1 ball, spread out for the l2 ball; or one alone."""
    if scenario.alone:
        direction = np.sign(direction) * X.var(axis=0)[:, None] ** 2
    body, flat = problem.body, direction.ravel()
    matrix = direction.shape[1] > 1 and body.dimension not in (None, direction.shape[0])
    columns = [flat] if direction.shape[1] == 1 or matrix or body.dimension is None else list(direction.T)
    made = []
    for column in columns:
        ways = [normals(column.size, 300 + 10 * scenario.number + way) for way in range(0 if scenario.alone else 2)]
        made.append(np.mean([body.vertex(way) for way in (column, *ways)], axis=0))
    if len(made) == 1:
        return np.asarray(made[0], dtype=np.float64).reshape(direction.shape)
    return np.stack(made, axis=1)


def _signal_variance(problem: Problem, scenario: Scenario) -> float:
    code = problem.loss.kernel_code
    odds = scenario.explained / (1.0 - scenario.explained)
    if code in (*TWO_CLASSES, KernelCode.MULTINOMIAL):
        return odds * math.pi**2 / 3.0
    if code == KernelCode.POISSON:
        return odds
    share, left = scenario.numbers or scenario.explained, scenario.left**2
    return min(left * share / (1.0 - share), 1.0 - left) if left else share * TARGET_VARIANCE


def _levels(signal: Array, scenario: Scenario) -> Array:
    """(k,) levels below which log-odds have to lie for each class to have its share."""
    from scipy.optimize import brentq
    from scipy.special import expit

    share = min(scenario.rare, 1.0 / max(signal.shape[1], 2))
    ends = np.abs(signal).max() + abs(math.log(share)) + 1.0
    return np.array([brentq(lambda at, z=z: float(np.mean(expit(z - at))) - share, -ends, ends) for z in signal.T])


def _targets(problem: Problem, scenario: Scenario, signal: Array, offset: Array | None) -> Array:
    rows, k = signal.shape
    code = problem.loss.kernel_code
    chance = np.column_stack([uniforms(rows, 500 + 10 * scenario.number + column) for column in range(k)])
    if code in TWO_CLASSES:
        # The rarer of two classes has about a quarter, each of k about one part in k.
        odds = signal - (_levels(signal, scenario) if scenario.rare else math.log(max(k - 1.0, math.e)))
        return np.where(chance < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)
    if code == KernelCode.MULTINOMIAL:
        winner = np.argmax(signal - np.log(-np.log(chance)), axis=1)
        return np.where(winner[:, None] == np.arange(k), 1.0, -1.0)
    if code == KernelCode.POISSON:
        from scipy.special import pdtrik

        rate = np.exp(signal + (0.0 if offset is None else offset[:, None]))
        rate = np.minimum(rate / (scenario.rarity * rate.mean(axis=0)), 1.0)
        # The law's quantiles, bit for bit those of scipy.stats, which takes half a second to import.
        return np.asarray(np.minimum(np.ceil(pdtrik(chance, 5.0 * rate)) / 5.0, 1.0), dtype=np.float64)
    from scipy.special import ndtri

    noise = scenario.left or math.sqrt(max(TARGET_VARIANCE - float(np.var(signal)), 0.0))
    return np.asarray(np.clip(scenario.level + signal + noise * ndtri(chance), -1.0, 1.0), dtype=np.float64)


Members = npt.NDArray[np.bool_]

SHARE = 0.125
"""The share of columns that count, if the structure has supports so small."""

MOST = 12
"""How often a support is grown at most."""


def cheap_support(function: SetFunction, p: int, stream: int) -> Members:
    """A closed set of some p/8 columns, grown from one by the column that costs least; closed: any further column costs.

    For an interval function it is an interval, for groups a few whole groups, for a tree a subtree with its root, for the cardinality any columns.
    """
    luck = uniforms(p, stream)
    members = np.zeros(p, dtype=np.bool_)
    wanted = max(1, min(math.ceil(SHARE * p), MOST))
    for step in range(wanted):
        if step and int(members.sum()) >= wanted:
            break
        costs = _costs(function, members)
        cheapest = np.flatnonzero(costs <= float(costs.min()) * (1.0 + 1e-9))
        members[cheapest[int(luck[step] * cheapest.size)]] = True
        members |= _costs(function, members) <= 1e-9 * function.value(np.ones(p, dtype=np.bool_))
        if members.all():
            break
    return members


def structured(function: SetFunction, columns: int, p: int, stream: int) -> Array:
    """Coefficients (p, columns) on such supports, of magnitudes between ½ and 1½, any signs."""
    made = []
    for first in range(stream, stream + 3 * columns, 3):
        size, sign = 0.5 + uniforms(p, first + 1), np.where(uniforms(p, first + 2) < 0.5, -1.0, 1.0)
        made.append(np.where(cheap_support(function, p, first), sign * size, 0.0))
    return np.column_stack(made)


def _costs(function: SetFunction, members: Members) -> Array:
    """F(A ∪ {j}) − F(A) for every column j outside A, infinity inside."""
    base = function.value(members) if members.any() else 0.0
    costs = np.full(members.size, math.inf)
    for j in np.flatnonzero(~members):
        members[j] = True
        costs[j] = function.value(members) - base
        members[j] = False
    return costs
