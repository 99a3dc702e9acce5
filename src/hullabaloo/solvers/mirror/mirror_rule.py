"""Steps, step sizes and risk bounds of noisy mirror descent, from public constants alone.

θ is split into blocks, the slopes and the intercept, each with its own potential and step: the linearised regret of a sum is
the sum of the blocks' regrets. `N = T + 1` points are averaged for T gradients, because the last gradient of a run moves
nothing that is averaged. Among the constants is how far predictions can reach over the set.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import Box, ConvexSet, HasComposite, HasMirrorMap, MirrorMap, NoPenalty, product_bound
from hullabaloo.geometry.mirror import EuclideanMap, euclidean_map
from hullabaloo.solvers.base import Array, PricedQuery, Problem, QueryPrices

T = TypeVar("T", bound=tuple[Any, ...])

EXACT_STEPS = 1000
"""Gradients where there is no noise, and so nothing that optimisation could meet."""
ALIKE = 0.05
"""Rules whose bounds differ by less are equally good, and the one of fewest gradients is taken."""


class Rule(StrEnum):
    """Which theorem sets the steps."""

    LIPSCHITZ = "lipschitz"
    SMOOTH = "smooth"
    STRONGLY_CONVEX = "strongly convex"
    COMPOSITE = "composite"
    PAPER = "paper"


@dataclass(frozen=True, slots=True)
class Block:
    """Coordinates `start` to `end` of the flattened θ, their potential and the constants of their regret.

    Attributes:
        mirror: Ψ on the block's set, 1-strongly convex in a norm ‖·‖ with unit ball Q.
        gradient: G, bound of the mean clipped gradient in the dual norm ‖·‖_*.
        curvature: β, smoothness of the mean clipped loss in ‖·‖.
        nearby: bound of B(θ*, θ₁) for the θ* that risks are compared with; ∞ for all of the set.

    Source: 002, Theorem 3.2.
    """

    start: int
    end: int
    mirror: MirrorMap
    gradient: float
    curvature: float
    nearby: float = math.inf

    @property
    def reach(self) -> float:
        """R: square root of the range of Ψ, so that B(θ, θ₁) ≤ R² all over the set, or of `nearby` where that is less.

        Source: 002, Remark 1.
        """
        return math.sqrt(min(self.mirror.range, self.nearby))

    @property
    def noise(self) -> float:
        """`s = √(w(Q)² + ‖Q‖₂²) ≥ √(E‖b‖_*²)` for b standard normal: the variance of a ‖Q‖₂-Lipschitz function is ≤ ‖Q‖₂²."""
        return math.hypot(self.mirror.unit_width.high, self.mirror.unit_radius)


@dataclass(frozen=True, slots=True)
class Step:
    """The step of a block at time t = 1, 2, …: of size `constant`, or `1/(strength · t)` where `strength` > 0.

    A composite step of size `η_t = 1/(strength · t)` carries `strength` times Ψ itself: with `1 + η_t strength = (t + 1)/t` it is an eased
    step of size `η_t/(1 + η_t strength) = 1/(strength (t + 1))`. The paper's line 4 has the same: its step at t is η_{t+1}, on the whole gradient.
    """

    constant: float
    strength: float = 0.0
    composite: bool = False

    def at(self, t: int) -> float:
        """The factor of the gradient."""
        return 1.0 / (self.strength * (t + self.composite)) if self.strength else self.constant

    def moved(self, mirror: MirrorMap, state: Array, gradient: Array, t: int) -> Array:
        """The next state."""
        if self.composite:
            assert isinstance(mirror, HasComposite)  # the plan saw to it
            state = mirror.eased(state, (t + 1) / t)
        return mirror.step(state, self.at(t) * gradient)


@dataclass(frozen=True, slots=True)
class Bound:
    """A rule at T gradients of noise σ: the steps of its blocks and what the theorem says of the average point.

    Attributes:
        optimisation: the part of the risk that further steps without noise would remove.
        noise: the part that noise makes, which does not shrink with T where σ grows with √T.
    """

    rule: Rule
    steps: tuple[Step, ...]
    optimisation: float
    noise: float

    @property
    def risk(self) -> float:
        """Bound of the expected excess mean (clipped, penalised) loss."""
        return self.optimisation + self.noise


def lipschitz(blocks: Sequence[Block], count: int, sigma: float) -> Bound:
    """`η = R√(2/N)/V`, V = G + σs: expected excess loss of the average of θ₁ … θ_N at most `Σ R V √(2/N)`.

    Proof: `⟨g̃_t, θ_t − θ*⟩ ≤ (B_t − B_{t+1})/η + η‖g̃_t‖_*²/2`, B_t = B(θ*, θ_t), because the step's optimality
    gives `⟨ηg̃_t, θ_{t+1} − θ*⟩ ≤ B_t − B_{t+1} − ½‖θ_{t+1} − θ_t‖²` and Hölder the rest; noise has mean zero given
    θ_t and `E‖g̃_t‖_*² ≤ V²` (Minkowski); sum, and use convexity (Talwar, Thakurta, Zhang 2014, Theorem 3.2).

    Source: 002, Theorem 3.2; 002, Claim 3.3.
    """
    scale = math.sqrt(2.0 / (count + 1))
    steps = tuple(Step(block.reach * scale / (block.gradient + sigma * block.noise)) for block in blocks)
    reached = sum(block.reach * block.gradient for block in blocks)
    return Bound(Rule.LIPSCHITZ, steps, scale * reached, scale * sigma * sum(b.reach * b.noise for b in blocks))


def smooth(blocks: Sequence[Block], count: int, sigma: float) -> Bound:
    """`η = 1/(β + σs√(T/2)/R)`: excess of the average of θ₂ … θ_N at most `(Σ√β R)²/T + Σ R σ s √(2/T)`.

    Proof: β-smoothness and the step's optimality give `f(θ_{t+1}) − f(θ*) ≤ (B_t − B_{t+1})/η − ⟨b_t, θ_t − θ*⟩ +
    max_D [‖b_t‖_* D − (1/η − β)D²/2]`, and the maximum is `‖b_t‖_*²/(2(1/η − β))`; sum, minimise over η (Lan 2012).
    Across blocks `(u + v)² ≤ (1 + c)u² + (1 + 1/c)v²` at the best c shares the curvature.
    """
    together = sum(math.sqrt(block.curvature) * block.reach for block in blocks)
    steps = []
    for block in blocks:
        own = math.sqrt(block.curvature) * block.reach
        shared = block.curvature * together / own if own > 0.0 else block.curvature
        rough = sigma * block.noise * math.sqrt(count / 2.0) / block.reach if block.reach > 0.0 else 0.0
        steps.append(Step(1.0 / (shared + rough) if shared + rough > 0.0 else 0.0))
    noise = math.sqrt(2.0 / count) * sigma * sum(block.reach * block.noise for block in blocks)
    return Bound(Rule.SMOOTH, tuple(steps), together**2 / count, noise)


def strongly_convex(blocks: Sequence[Block], count: int, sigma: float, strength: float) -> Bound:
    """First block λ-strongly convex against its Euclidean Ψ: `η_t = 1/(λt)`, excess ≤ `V²(1 + ln N)/(2λN)` for it.

    The other blocks go by `lipschitz`. Proof: as there, with `−λB_t` from `f(θ*) ≥ f(θ_t) + ⟨γ_t, θ* − θ_t⟩ + λB_t`;
    `1/η_t − 1/η_{t−1} − λ = 0`, so the sum of B's telescopes to nothing (Talwar, Thakurta, Zhang 2014, Theorem A.1).
    In the Euclidean norm `V² = G² + σ²s²` exactly.

    Source: 002, Section 2.2, strong convexity in a function; 002, Theorem A.1; 002, Claim A.2.
    """
    first, rest = blocks[0], lipschitz(blocks[1:], count, sigma)
    weight = (1.0 + math.log(count + 1)) / (2.0 * strength * (count + 1))
    steps = (Step(0.0, strength), *rest.steps)
    optimisation = weight * first.gradient**2 + rest.optimisation
    return Bound(Rule.STRONGLY_CONVEX, steps, optimisation, weight * (sigma * first.noise) ** 2 + rest.noise)


def composite(blocks: Sequence[Block], count: int, sigma: float, strength: float) -> Bound:
    """`f + ΔΨ`, Ψ the first block's own: composite steps `1/(Δt)`, excess of the average of θ₁ … θ_N at most `(ΔR² + V²(1 + ln N)/(2Δ))/N` for it.

    `f + ΔΨ` is Δ-strongly convex relative to Ψ and in the norm ‖·‖, such as C's gauge: f's own slope bounds V = G + σs, as ΔΨ is stepped exactly
    and not by its gradient, which the entropy has none of at the border (Duchi, Shalev-Shwartz, Singer, Tewari 2010). Proof: what a step
    minimises is (1 + η_tΔ)-strongly convex relative to Ψ, so that `⟨g̃_t, θ_t − θ*⟩ + Δ(Ψ(θ_{t+1}) − Ψ(θ*)) ≤ B_t/η_t − (1/η_t + Δ)B_{t+1} +
    η_t‖g̃_t‖_*²/2`; the sum of B's telescopes to `ΔB_1 ≤ ΔR²`, and `Σ Ψ(θ_{t+1}) ≥ Σ Ψ(θ_t)`, θ₁ being the minimiser of Ψ.

    Source: 002, Theorem A.1; 002, Theorem 4.1 (2); 002, Remark 3; 002, Section 2.2, strong convexity in a function.
    """
    first, rest = blocks[0], lipschitz(blocks[1:], count, sigma)
    weight = (1.0 + math.log(count + 1)) / (2.0 * strength * (count + 1))
    quiet = weight * first.gradient**2
    noise = weight * (first.gradient + sigma * first.noise) ** 2 - quiet
    steps = (Step(0.0, strength, True), *rest.steps)
    optimisation = quiet + strength * first.reach**2 / (count + 1) + rest.optimisation
    return Bound(Rule.COMPOSITE, steps, optimisation, noise + rest.noise)


def fixed(blocks: Sequence[Block], count: int, sigma: float, sizes: Sequence[float], rule: Rule) -> Bound:
    """Any constant steps: `Σ R²/(ηN) + ηV²/2`, the sum that `lipschitz` minimises."""
    optimisation = noise = 0.0
    for block, size in zip(blocks, sizes, strict=True):
        if block.reach == 0.0:  # a set of one point, where steps of length 0 lose nothing
            continue
        optimisation += block.reach**2 / (size * (count + 1)) + size * block.gradient**2 / 2.0
        noise += size * ((block.gradient + sigma * block.noise) ** 2 - block.gradient**2) / 2.0
    return Bound(rule, tuple(Step(size) for size in sizes), optimisation, noise)


def candidates(blocks: Sequence[Block], count: int, sigma: float, strength: float, own: float = 0.0) -> Iterator[Bound]:
    """Every rule that applies, at T gradients of noise σ; of `own` times the potential beside the loss there is one."""
    if own > 0.0:
        yield composite(blocks, count, sigma, own)
        return
    yield lipschitz(blocks, count, sigma)
    if all(math.isfinite(block.curvature) for block in blocks):
        yield smooth(blocks, count, sigma)
    if strength > 0.0 and isinstance(blocks[0].mirror, EuclideanMap):
        yield strongly_convex(blocks, count, sigma, strength)


def settled(
    blocks: Sequence[Block], sigma_of_one: float, strength: float, most: int | None = None, own: float = 0.0
) -> list[tuple[int, Bound]]:
    """For each rule the first T at which its optimisation error has come down to its noise, at most `most`.

    T gradients share one budget, so that each has noise `σ₁√T`: from there on further steps buy half of the bound at most.
    In T every rule's optimisation error falls and its noise does not, so that T is found by bisection.

    Source: 002, Theorem 1.1.
    """
    limit = EXACT_STEPS if sigma_of_one == 0.0 else 2**53 if most is None else most

    def at(count: int) -> list[Bound]:
        return list(candidates(blocks, count, sigma_of_one * math.sqrt(count), strength, own))

    found = []
    for number in range(len(at(1))):
        low, high = 0, 1
        while high < limit and at(high)[number].optimisation > at(high)[number].noise:
            low, high = high, min(2 * high, limit)
        while high - low > 1:
            middle = (low + high) // 2
            rough = at(middle)[number].optimisation > at(middle)[number].noise
            low, high = (middle, high) if rough else (low, middle)
        found.append((high, at(high)[number]))
    return found


def best(found: Sequence[T]) -> T:
    """Of choices that end with a number of gradients and its bound: of those whose bounds are `ALIKE` to the least, the one of fewest gradients."""
    least = (1.0 + ALIKE) * min(bound.risk for *_, bound in found)
    return min((one for one in found if one[-1].risk <= least), key=lambda one: one[-2])


NEAR = 2.0
"""How far from the start the intercept is that risks are compared with. Its interval may be far wider (logistic: [−8, 8]), and steps
sized for a best intercept at its end would keep the slopes from moving; from farther off it is reached too, only later."""


def potential(body: ConvexSet, size: int, *, euclidean: bool) -> MirrorMap:
    """The set's own potential, or ½‖θ‖² on a set that can be projected onto."""
    if not euclidean and isinstance(body, HasMirrorMap):
        return body.mirror_map(size)
    if math.isinf(body.max_norm(2.0, size)):
        raise InvalidParameter(
            f"Mirror descent was given {body!r}, which is not bounded, so that no number of steps need come near the least loss. Bound every coordinate."
        )
    return euclidean_map(body, size)


def blocks_of(problem: Problem, clip: float, euclidean: bool) -> list[Block]:
    """Slopes and intercept with the constants of the mean loss with |φ'| ≤ clip, the squared penalty included.

    A record's gradient by the slopes is `x ⊗ u`, ‖u‖₂ ≤ clip. Its norms are bounded by those of x times the clip, and the
    smoothness of the mean loss in ‖·‖ by `sup φ'' · ‖x ⊗ u‖_*²` over ‖u‖₂ = 1.
    """
    body, k = problem.body, problem.targets
    size = problem.slopes * k
    curved = problem.loss.constants(prediction_bound(problem), math.sqrt(k), clip).smoothness
    found = []
    if size:
        mirror = potential(body, size, euclidean=euclidean)
        unit = problem.max_weight * mirror.dual_bound(*_row_norms(problem))
        strength = penalty_strength(problem)
        pull = strength * mirror.dual_bound(*(body.max_norm(q, size) for q in (1.0, 2.0, math.inf)))
        curvature = curved * unit * unit / problem.max_weight + strength * mirror.unit_radius**2
        found.append(Block(0, size, mirror, clip * unit + pull, curvature))
    if problem.intercept:
        interval = Box(*problem.loss.intercept_bounds)
        mirror = potential(interval, k, euclidean=True)
        gradient, curvature, nearby = problem.max_weight * clip, problem.max_weight * curved, 0.5 * k * NEAR**2
        found.append(Block(size, size + k, mirror, gradient, curvature, nearby))
    return found


def slope_reach(problem: Problem) -> float:
    """`max |⟨x, θ⟩|` over the domain and the set, the intercept left out."""
    k = problem.targets
    size = problem.slopes * k
    l1, l2, linf = _row_norms(problem)  # norms of x ⊗ u, ‖u‖₂ = 1, but for √k
    return product_bound(problem.body, size, math.sqrt(k) * l1, l2, linf) if size else 0.0


def prediction_bound(problem: Problem) -> float:
    """Z = max |⟨x, θ⟩ + offset| over the domain and the set; ‖·‖₂ for a loss of k predictions."""
    end = max(map(abs, problem.loss.intercept_bounds)) if problem.intercept else 0.0
    return slope_reach(problem) + math.sqrt(problem.targets) * end + problem.offset_bound


def slope_bound(problem: Problem, prediction: float) -> float:
    """The largest |φ'| (‖∇φ‖₂) at predictions of at most that size."""
    return problem.loss.constants(prediction, math.sqrt(problem.targets)).lipschitz


def printed(wanted: float, least: int) -> tuple[int, str]:
    """The number of steps that a paper prints, at least the smallest that is one; and words where it is another."""
    return max(round(wanted), least), "" if round(wanted) >= least else f" (the paper's T is {wanted:.3g})"


def gradients_at(problem: Problem, prices: QueryPrices, clip: float, sigma: float, count: int) -> PricedQuery:
    """Gradients at the noise σ of the mean that a paper prints, at the price that this really has."""
    unit = prices.price("gradient", loss=problem.loss, clip=clip, mu=1.0, count=count)
    mu = unit.sigma / (problem.records * sigma)
    return prices.price("gradient", loss=problem.loss, clip=clip, mu=mu, count=count)  # type: ignore[no-any-return]


def penalty_strength(problem: Problem) -> float:
    """λ of a squared l2 penalty, 0 without a penalty."""
    return 0.0 if isinstance(problem.penalty, NoPenalty) else problem.penalty.strong_convexity


def _row_norms(problem: Problem) -> tuple[float, float, float]:
    """Bounds of ‖x‖_q, q = 1, 2, ∞, without the constant column."""
    l2 = math.sqrt(max(0.0, problem.norm_l2**2 - problem.intercept))
    return problem.norm_l1 - problem.intercept, l2, min(problem.norm_linf, l2)
