"""Lower bounds: what no private method can beat, to hold a plan's risk against.

Each says of which class of problems it speaks, whether its constant is explicit, and where it is from. A bound of a class is
reached by *some* data of the class: data at hand can be easier. It is a bound of every larger class, and of no smaller one: a problem is shown
those alone whose tables, losses, set, ε and δ it has itself. Where a paper gives a rate in Ω-notation only, the rate is
given with constant 1 and `explicit` is false: its size is no number to compare with, its slope is.

The class is all tables whose encoded rows obey the problem's norms, under its own loss, over its own set. A bound that was proved with other
losses, such as straight ones, holds here only where the problem's loss can be one of these.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hullabaloo.geometry import Box, ConvexSet, L1Ball, L2Ball, NoPenalty, SquaredL2Penalty
from hullabaloo.geometry.numerics import increasing_root
from hullabaloo.losses import KernelCode, Loss
from hullabaloo.planning.theory.lower_bound import LowerBound, check, told_apart
from hullabaloo.privacy import Neighbours
from hullabaloo.solvers import Problem

CODE_SHARE = 0.001
"""τ of the hard instance's proof: the share of columns of the code that are not padding."""

CODE_CONSTANT = (0.1 * CODE_SHARE - 4.0 * CODE_SHARE**2) / 3.0
"""c of the proof: from `(τ + 4τ² + 3c)w ≤ 1.1 τ w`."""


_COORDINATES = "Lipschitz along each coordinate, the L_j of like size, no bound of rows but by column; ε at most a constant, δ = o(1/n)"
_POSTER = "Mangold, Bellet, Salmon, Tommasi 2022, lower bounds"
_BASSILY = "Bassily, Smith, Thakurta 2014, Section 5"
_PAIR = "Le Cam's two points with group privacy"


def two_points(
    records: int,
    epsilon: float,
    delta: float,
    *,
    lipschitz: float,
    radius: float,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
) -> LowerBound:
    """`max_k (k/n) L r (1 − TV_k)`: one direction, two tables that differ in k records; for every p.

    Proof: losses `−L⟨d_i, θ⟩` with d_i ∈ {0, ±u}, ‖u‖₂ = 1, over a set that holds ±ru. Table D has k records u, table D' has
    them at −u, the others are 0. With z = ⟨u, θ⟩ ∈ [−r, r] the excess is `(kL/n)(r − z)` on D and `(kL/n)(r + z)` on D', and
    `E_D[r − z] + E_D'[r + z] ≥ 2r − 2r TV`. Under (ε, δ)-DP, k records apart, `TV ≤ (e^{kε} − 1 + 2δ_k)/(e^{kε} + 1)`,
    `δ_k = δ(e^{kε} − 1)/(e^ε − 1)` (group privacy; a replacement is two steps of add-or-remove).
    """
    holds = f"convex losses, {lipschitz:.3g}-Lipschitz in l2, sets that hold a segment of half-length {radius:.3g}; any p, ε, δ"
    return _pair(epsilon, lipschitz * radius / records, holds, records, delta, neighbours)


def two_tables(problem: Problem, epsilon: float, delta: float) -> LowerBound:
    """`max_k (k/n) G (1 − TV_k)` with the problem's own loss; one target, no penalty, an l1 or l2 ball.

    Proof: n − k records are rows of zeros, as many with the one end of the target as with the other; k records are one row x, in table D with the one end,
    in D' with the other. Both mean losses together are at every θ at least `(k/n) min_t (φ(t, y₁) + φ(t, y₂))` and twice the others' least; the least
    of one is at most what the others' best intercept b gives them, and `(k/n) min_z φ(b + z, y)`. So the two excesses add up to at least
    `2(k/n)G` (`gap`) at every θ, and one of their means is at least `(k/n) G (1 − TV)`. Beside an intercept n − k is even.
    """
    n, every = problem.records, 2 if problem.intercept else 1
    scale = gap(problem) * min(1.0, problem.max_weight) / n
    holds = f"this loss and set, rows with |x_ij| ≤ {problem.norm_linf:.3g}, targets at both of their ends; any p, ε, δ"
    return _pair(epsilon, scale, holds, n, delta, problem.neighbours, every)


def _pair(
    epsilon: float, scale: float, holds: str, n: int, delta: float, neighbours: Neighbours, every: int = 1
) -> LowerBound:
    """`scale · max_k k (1 − TV_k)` over the k = n, n − every, … above 0."""
    check(n, epsilon, delta)
    changes, first = 2 if neighbours is Neighbours.ADD_OR_REMOVE else 1, n % every or every
    value = scale * told_apart(n, epsilon, delta, changes, every, first)
    pairs = (n, delta, changes, every, first)
    return LowerBound("two tables", value, True, holds, _PAIR, scale, pairs=pairs)


def _rate(name: str, epsilon: float, scale: float, power: float, cap: float, holds: str, source: str) -> LowerBound:
    """`min{cap, scale/ε^power}`."""
    return LowerBound(name, min(cap, scale / epsilon**power), False, holds, source, scale, power, cap)


def l2_ball(records: int, dimension: int, epsilon: float, *, lipschitz: float, radius: float) -> LowerBound:
    """`L r min{1, √p/(nε)}`, rate only: Bassily, Smith, Thakurta 2014, Section 5.

    Source: 002, Table 1.
    """
    check(records, epsilon, 0.0)
    most = lipschitz * radius
    holds = "convex losses, Lipschitz in l2, over an l2 ball; ε at most a constant, δ = o(1/n)"
    return _rate("l2 ball", epsilon, most * math.sqrt(dimension) / records, 1.0, most, holds, _BASSILY)


def strongly_convex(
    records: int, dimension: int, epsilon: float, *, lipschitz: float, strength: float, radius: float
) -> LowerBound:
    """`min{L r, p L²/(λ n²ε²)}`, rate only: Bassily, Smith, Thakurta 2014, Section 5.

    Source: 002, Table 1.

    Source: 002, Remark 7.
    """
    check(records, epsilon, 0.0)
    scale = dimension * lipschitz**2 / (strength * float(records) ** 2)
    holds = "λ-strongly convex losses, Lipschitz in l2, over an l2 ball; ε at most a constant, δ = o(1/n)"
    return _rate("l2 ball, strongly convex", epsilon, scale, 2.0, lipschitz * radius, holds, _BASSILY)


def coordinate_wise(
    records: int, dimension: int, epsilon: float, *, lipschitz: Sequence[float] | float, radius: float
) -> LowerBound:
    """`r min{‖L‖₂, √p ‖L‖₂/(nε)}`, rate only: the convex lower bound of Mangold, Bellet, Salmon and Tommasi (2022).

    `|∇_j ℓ| ≤ L_j`, one number for all j or one for each; r stands for ‖w*‖₂. Its condition is that any ⌊p/75⌋ coordinates carry a
    constant share of ‖L‖₂²; where the L_j are alike they carry a 75th.

    Source: 004, Lower bound, convex.
    """
    check(records, epsilon, 0.0)
    most = _length(lipschitz, dimension) * radius
    scale = most * math.sqrt(dimension) / records
    return _rate("coordinate-wise", epsilon, scale, 1.0, most, f"convex losses, {_COORDINATES}", _POSTER)


def coordinate_wise_strongly_convex(
    records: int, dimension: int, epsilon: float, *, lipschitz: Sequence[float] | float, strength: float
) -> LowerBound:
    """`min{‖L‖₂²/(2λ), p ‖L‖₂²/(λ n²ε²)}`, rate only: the strongly convex lower bound of the same.

    λ is for ‖·‖₂. The poster writes μ_M, which is strong convexity in ‖·‖_M: with ‖L‖₂ beside it the units fit for M = 1 alone.

    Source: 004, Lower bound, strongly convex.
    """
    check(records, epsilon, 0.0)
    most = _length(lipschitz, dimension) ** 2 / strength
    scale, holds = most * dimension / float(records) ** 2, f"λ-strongly convex losses, {_COORDINATES}"
    return _rate("coordinate-wise, strongly convex", epsilon, scale, 2.0, 0.5 * most, holds, _POSTER)


def lasso_rate(records: int) -> LowerBound:
    """`1/(n ln n)^{2/3}`, rate only: Talwar, Thakurta, Zhang 2014, Theorem 1.3.

    Source: 002, Theorem 1.3.

    Source: 000, Theorem 1.2.
    """
    check(records, 1.0, 0.0)
    risk = (records * math.log(max(records, 3))) ** (-2.0 / 3.0)
    holds = "squared loss over the unit l1 ball, |x_ij| ≤ 1, |y| ≤ 1, p growing with n; ε = 0.1, δ = 1/n"
    return LowerBound("l1 ball, lasso", risk, False, holds, "Talwar, Thakurta, Zhang 2014, Theorem 1.3", risk)


def lasso_reduction(records: int) -> LowerBound:
    """`c w/(2n)`, the constant that the proof of Theorem 5.8 gives, n = w(1 + m²), w = m/ln m, p = 1000 m².

    The proof turns a model of unnormalised excess below `c w` into an algorithm that traces the code, so that
    `(τ + 4τ² + 3c)w ≤ 1.1 τ w` is all that c has to obey: c = 3.2e-5 at τ = 0.001. "Sufficiently large m" is not
    quantified there, so n is taken as large enough here.

    Source: 002, Theorem 5.8.

    Source: 000, Theorem 3.1.
    """
    check(records, 1.0, 0.0)
    size = code_size(records)
    risk = CODE_CONSTANT * (size / math.log(size)) / (2.0 * records)
    holds = "squared loss over the unit l1 ball, |x_ij| ≤ 1, |y| ≤ 1, p = 1000 m²; ε ≤ 0.1, δ = o(1/n²), n sufficiently large"
    source = "Talwar, Thakurta, Zhang 2014, Theorem 5.8"
    return LowerBound("l1 ball, the proof's constant", risk, True, holds, source, risk)


def code_size(records: int) -> float:
    """m with `(m/ln m)(1 + m²) = n`, at least e (below, the instance does not exist).

    Source: 002, Theorem 5.8.
    """
    return increasing_root(lambda m: m / math.log(m) * (1.0 + m**2) - records, math.e, max(2.0 * math.e, 2.0 * records))


def lower_bounds(problem: Problem, epsilon: float, delta: float) -> Sequence[LowerBound]:
    """Those whose class a problem's own holds: its loss, its set, rows of its norms, at this budget and relation.

    Raises:
        InvalidParameter: ε or δ is out of range.

    Source: 002, Table 1.
    """
    check(problem.records, epsilon, delta)
    body, slopes = problem.constraint, problem.slopes
    if slopes < 1 or not plain(problem):
        return ()
    free = isinstance(problem.penalty, NoPenalty)
    found: list[LowerBound] = []
    if isinstance(body, L1Ball | L2Ball) and free:
        found.append(two_tables(problem, epsilon, delta))
    steps = 2.0 if problem.neighbours is Neighbours.ADD_OR_REMOVE else 1.0  # that a replaced record is
    if steps == 2.0:
        epsilon, delta = 2.0 * epsilon, (1.0 + math.exp(min(epsilon, 700.0))) * delta
    if problem.intercept or problem.max_weight < 1.0:  # the papers' tables have neither
        return tuple(found)
    rates: list[LowerBound] = []
    if isinstance(body, L1Ball) and free and body.radius == 1.0 and problem.loss.name == "squared":
        rates += _lasso(problem, epsilon, delta)
    if epsilon <= 1.0 and delta * problem.records <= 1.0:
        rates += _straight(problem, epsilon, body)
    return (*found, *(replace(one, scale=one.scale / steps**one.power) for one in rates))


def _lasso(problem: Problem, epsilon: float, delta: float) -> list[LowerBound]:
    """Where rows may be ±1 in all 1000 m² columns of the hard table: |x_ij| ≤ 1, and no norm that makes them shorter."""
    n, columns = problem.records, math.ceil(1000.0 * code_size(problem.records) ** 2)
    if problem.dimension < columns or problem.norm_linf < 1.0 or not fills_box(problem, columns) or epsilon > 0.1:
        return []
    rate = [lasso_rate(n)] if delta * n <= 1.0 else []
    return [*rate, lasso_reduction(n)] if delta * n**2 <= 1.0 else rate


def _straight(problem: Problem, epsilon: float, body: ConvexSet | None) -> list[LowerBound]:
    """The bounds whose hard tables have losses `−⟨d, θ⟩`, |d_j| alike: where rows fill a box and φ is straight for all predictions.

    With a ridge λ the hard minimisers are `d/λ` long: they have to lie in the set, and φ has to be straight as far out as they are.
    """
    p, cell = problem.dimension, min(problem.norm_linf, problem.norm_l2 / math.sqrt(problem.dimension))
    cell = min(cell, problem.norm_l1 / p)
    boxed, n, length = fills_box(problem, p), problem.records, cell * math.sqrt(p)
    half = math.inf if body is None else _half(body, p)
    if isinstance(problem.penalty, NoPenalty) and 0.0 < half < math.inf:
        steep = steepness(problem, length * half)
        if steep == 0.0:
            return []
        ball = [l2_ball(n, p, epsilon, lipschitz=steep * length, radius=half)] if isinstance(body, L2Ball) else []
        return [*ball, coordinate_wise(n, p, epsilon, lipschitz=steep * cell, radius=half)] if boxed else ball
    if isinstance(problem.penalty, SquaredL2Penalty) and problem.penalty.strength > 0.0 and half > 0.0:
        strength = problem.penalty.strength
        steep = steepness(problem, length * steepness(problem, 0.0) * length / strength)
        far = steep * length / strength
        if steep == 0.0 or far > half:
            return []
        curved = strongly_convex(n, p, epsilon, lipschitz=steep * length, strength=strength, radius=0.5 * far)
        ball = [curved] if isinstance(body, L2Ball) else []
        alike = coordinate_wise_strongly_convex(n, p, epsilon, lipschitz=steep * cell, strength=strength)
        return [*ball, alike] if boxed else ball
    return []


def _half(body: ConvexSet, p: int) -> float:
    """Radius of a ball, half the diagonal of a cube around 0; 0 of every other set."""
    if isinstance(body, L2Ball):
        return body.radius
    cube = isinstance(body, Box) and isinstance(body.upper, float) and body.lower == -body.upper
    return body.max_norm(2.0, p) if cube else 0.0


def _length(lipschitz: Sequence[float] | float, dimension: int) -> float:
    """‖L‖₂."""
    if isinstance(lipschitz, float | int):
        return math.sqrt(dimension) * lipschitz
    return math.sqrt(math.fsum(one * one for one in lipschitz))


_HALVINGS = 200
_DOWN = 1.0 - 1e-9


def ends(loss: Loss) -> tuple[float, float]:
    """The least and the largest target: counts begin at 0."""
    return (0.0, 1.0) if loss.kernel_code is KernelCode.POISSON else (-1.0, 1.0)


def plain(problem: Problem) -> bool:
    """Whether a table of one target is meant, without known offsets, in which a record may count once."""
    return isinstance(problem.loss, Loss) and problem.targets == 1 and problem.offset_bound == 0.0


def fills_box(problem: Problem, columns: int) -> bool:
    """Whether rows may have ±b in so many columns and 0 elsewhere, b the bound of a cell, an intercept aside."""
    b, slack = problem.norm_linf, 1.0 + 1e-9
    constant = float(problem.intercept)
    return columns * b**2 + constant <= problem.norm_l2**2 * slack and columns * b + constant <= problem.norm_l1 * slack


def gap(problem: Problem) -> float:
    """G of the two tables of `two_tables`: by how much no prediction serves one row with either end of the target.

    `G = ½ [min_t (φ(t, y₁) + φ(t, y₂)) − min_z φ(b + z, y₁) − min_z φ(b + z, y₂)]`, z in `[−H, H]`, `H = max ⟨x, θ⟩` over the set for a row x of
    a few equal cells, t in all that row and intercept can give, b the intercept that serves rows of zeros with both ends half each; without an
    intercept b is 0.
    """
    loss, body = problem.loss, problem.body
    assert isinstance(loss, Loss)
    low, high = ends(loss)
    lower, upper = loss.intercept_bounds if problem.intercept else (0.0, 0.0)

    def slope(t: float, *targets: float) -> float:
        return sum(float(loss.derivative(np.array(t), np.array(y))) for y in targets)

    def least(at: float, far: float, *targets: float) -> float:
        point = np.array(_lowest(lambda t: slope(t, *targets), at - far, at + far))
        return sum(float(loss.value(point, np.array(y))) for y in targets)

    far = _reach(problem, body)
    with np.errstate(over="ignore"):  # of a mean that is far too large
        b = _lowest(lambda t: slope(t, low, high), lower, upper)
        both = least(0.5 * (lower + upper), 0.5 * (upper - lower) + far, low, high)
        return max(0.0, 0.5 * (both - least(b, far, low) - least(b, far, high))) * _DOWN


def steepness(problem: Problem, far: float) -> float:
    """The largest |φ'| of an end of the target at which φ is straight for all |z| ≤ far; 0 where it is at neither.

    φ is convex, so it is straight between two points of equal slope.
    """
    assert isinstance(problem.loss, Loss)
    with np.errstate(over="ignore"):
        slopes = [problem.loss.derivative(np.array([-far, far]), np.full(2, y)) for y in ends(problem.loss)]
    return max(abs(float(left)) if left == right else 0.0 for left, right in slopes)


def _reach(problem: Problem, body: ConvexSet) -> float:
    """H: of a row with one cell at its bound, or with all cells alike, whichever gives more."""
    p, constant = problem.slopes, float(problem.intercept)
    l1, l2 = problem.norm_l1 - constant, math.sqrt(max(problem.norm_l2**2 - constant, 0.0))
    found = []
    for count in {1, p}:
        cell = min(problem.norm_linf, l2 / math.sqrt(count), l1 / count)
        row = np.zeros(p)
        row[:count] = max(cell, 0.0)
        found.append(body.support(row))
    assert isinstance(body, L1Ball | L2Ball)  # which hold −θ with θ
    return max(found)


def _lowest(slope: Callable[[float], float], low: float, high: float) -> float:
    """Where a convex function with this slope is least on [low, high], to the last digits."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) >= 0.0 else (middle, high)
    return 0.5 * (low + high)
