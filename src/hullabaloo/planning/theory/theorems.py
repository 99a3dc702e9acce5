"""Upper bounds of the papers as functions of n, ε and δ, with every constant, for the noise that exact accounting needs.

All are of the expected excess mean loss over C, for every table of the domain, of the algorithm whose public settings are chosen as said. A record
is n's share of the mean: under replace-one it moves a sum of gradients of norm at most L by 2L, under add-or-remove by L. Noise is that of
`Allowance(Budget(ε, δ))`. `hb.plan` shows the same theorems at the numbers of its own plans.
"""

import math
from collections.abc import Callable
from typing import Any

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet
from hullabaloo.geometry.norm_balls import product_bound
from hullabaloo.privacy import Allowance, Budget, Neighbours, objective_noise_multiplier
from hullabaloo.solvers.perturbation.output_bounds import gauge_rise, ridge_rise

REPLACE = Neighbours.REPLACE_ONE
_MANY = 1024  # selections beyond which ε₀√T no longer changes


def mirror_descent_bound(
    records: int,
    epsilon: float,
    delta: float,
    *,
    lipschitz: float,
    potential_range: float,
    width: float,
    radius: float,
    neighbours: Neighbours = REPLACE,
    steps: int | None = None,
) -> float:
    """`R (G + σs) √(2/(T + 1))`, `R² = max_C Ψ − min_C Ψ`, `G = L‖Q‖₂`, `s² = w(Q)² + ‖Q‖₂²`, `σ = Δ√T/(nμ)`.

    At the default T, where both parts are alike, it is `2√2 R s Δ/(nμ)` at most: the paper's rate `L√((w² + ‖Q‖²) max Ψ)/(nε)`.
    Proof: `solvers/mirror/mirror_rule.py`, `lipschitz`.

    Args:
        records, epsilon, delta: n, ε, δ.
        lipschitz: L of a record's loss in l2.
        potential_range: R² of the potential Ψ, 1-strongly convex in the norm of unit ball Q.
        width, radius: w(Q) and ‖Q‖₂, the largest l2 norm in Q.
        neighbours: the relation.
        steps: T; by default `(G nμ/(sΔ))²`.

    Source: 002, Theorem 3.2.
    """
    size, points = _noisy(records, epsilon, delta, lipschitz, width, radius, neighbours, steps)
    return math.sqrt(2.0 * potential_range / points) * size


def strongly_convex_mirror_descent_bound(
    records: int,
    epsilon: float,
    delta: float,
    *,
    lipschitz: float,
    strength: float,
    width: float,
    radius: float,
    potential_range: float = 0.0,
    neighbours: Neighbours = REPLACE,
    steps: int | None = None,
) -> float:
    """`(G + σs)²(1 + ln(T + 1))/(2Δ(T + 1))` for losses that are Δ-strongly convex relative to Ψ: steps `1/(Δt)`.

    Of `f + ΔΨ` by composite steps L is f's own, and `ΔR²/(T + 1)` is added.

    Proof: that of `mirror_descent_bound` with `−Δ B(θ*, θ_t)` from the curvature, so that the sum of the B's telescopes to nothing.
    The paper's steps `2/(Δt)` and its logarithm of δ are its own.

    Args:
        strength: Δ.
        potential_range: R² of composite steps; 0 where L is of the whole loss.
        records, epsilon, delta, lipschitz, width, radius, neighbours, steps: as in `mirror_descent_bound`.

    Source: 002, Theorem A.1; 002, Theorem 4.1 (2).
    """
    size, points = _noisy(records, epsilon, delta, lipschitz, width, radius, neighbours, steps)
    return (strength * potential_range + size**2 * (1.0 + math.log(points)) / (2.0 * strength)) / points


def objective_perturbation_bound(
    records: int,
    epsilon: float,
    delta: float,
    *,
    lipschitz: float,
    smoothness: float,
    width: float,
    size: float,
    strength: float = 0.0,
    neighbours: Neighbours = REPLACE,
) -> float:
    """Lipschitz case: `σ w(C)/n + (ζ/2n)‖C‖₂²`. With curvature Δ in the gauge of Q: `σ²(w(Q)² + ‖Q‖₂²)/(2Δn²)`, and no ridge.

    ζ = 2β/ε as printed, σ the least for it (ε, δ)-DP has been proved for: `docs/objective-perturbation.md`. Losses of one prediction.

    Args:
        records, epsilon, delta: n, ε, δ.
        lipschitz, smoothness: L and β of a record's loss in l2.
        width, size: w(C) and `max_C ‖θ‖₂`; in the strongly convex case those of Q, the symmetric hull of C.
        strength: Δ of the mean loss of every table in the gauge of Q; 0 for the Lipschitz case.
        neighbours: the relation.

    Raises:
        InvalidParameter: Δ > 0 is less than `2β‖C‖₂²/(nε)`, and the curvature does not pay for the noise.

    Source: 002, Theorem 4.1 (1); 002, Theorem 4.1 (2).
    """
    _mu(records, epsilon, delta)
    multiplier = objective_noise_multiplier(Allowance(Budget(epsilon, delta)), 0.5 * epsilon, neighbours)
    sigma, ridge = multiplier * lipschitz, 2.0 * smoothness / epsilon
    if strength == 0.0:
        return sigma * width / records + ridge_rise(ridge / records, size)
    if strength < ridge * size**2 / records:
        raise InvalidParameter(
            f"Theorem 4.1's strongly convex case was asked with Δ = {strength:.3g}, but holds from 2β‖C‖²/(nε) = "
            f"{ridge * size**2 / records:.3g}. Leave `strength` out: the Lipschitz case holds for every Δ."
        )
    return gauge_rise(sigma, strength, records, width=width, size=size)


def frank_wolfe_bound(
    records: int,
    epsilon: float,
    delta: float,
    *,
    curvature: float,
    vertices: int,
    lipschitz: float,
    size: float,
    start: float | None = None,
    neighbours: Neighbours = REPLACE,
    steps: int | None = None,
) -> float:
    """`2Γ/(T + 2) + λ ln V + 2h₁/((T + 1)(T + 2))`, λ = 2Δ/(nε₀) with `Δ = 2 L₁‖C‖₁` the range of a score: polytopes of V vertices.

    T steps `2/(t + 2)`, each a choice by the exponential mechanism at ε₀, T of which compose to (ε, δ). Proof:
    `solvers/frank_wolfe/frank_wolfe_rule.py`.

    Args:
        records, epsilon, delta: n, ε, δ.
        curvature: Γ, see `curvature_bound`.
        vertices: V.
        lipschitz, size: L₁, the largest |∂ℓ/∂θ_j| of a record over C, and `max_C ‖θ‖₁`.
        start: h₁, the excess of the first point; by default `2 L₁‖C‖₁`.
        neighbours: the relation.
        steps: T; by default where the first two terms are least.

    Source: 002, Theorem 5.5; 000, Theorem 2.5; 001, Theorem 4.
    """
    _mu(records, epsilon, delta)
    given, reach = Allowance(Budget(epsilon, delta)), lipschitz * size

    def error(count: int) -> float:
        return 2.0 * (neighbours.copies * reach) / (records * given.selection_epsilon(count)) * math.log(vertices)

    many = error(_MANY) / math.sqrt(_MANY)
    return _walk(curvature, error, many, 2.0 * reach if start is None else start, steps)


def frank_wolfe_bound_by_width(
    records: int,
    epsilon: float,
    delta: float,
    *,
    curvature: float,
    lipschitz: float,
    width: float,
    start: float,
    neighbours: Neighbours = REPLACE,
    steps: int | None = None,
) -> float:
    """`2Γ/(T + 2) + σ w(C) + 2h₁/((T + 1)(T + 2))`, `σ = Δ√T/(nμ)`: any bounded set, by T noisy gradients.

    The step `argmin_C ⟨∇f + b, ·⟩` misses the best by `⟨b, s*⟩ + h_C(−b)` at most, of mean σ w(C), as b is drawn after s*.

    Args:
        lipschitz: L₂ of a record's loss.
        width: w(C).
        start: h₁, such as `L₂` times the diameter.
        records, epsilon, delta, curvature, neighbours, steps: as in `frank_wolfe_bound`.

    Source: 002, Theorem B.2.
    """
    one = neighbours.copies * lipschitz * width / (records * _mu(records, epsilon, delta))
    return _walk(curvature, lambda count: one * math.sqrt(count), one, start, steps)


def lasso_bound(records: int, columns: int, epsilon: float, delta: float, *, neighbours: Neighbours = REPLACE) -> float:
    """`frank_wolfe_bound` for `½(⟨x, θ⟩ − y)²`, |x_ij| ≤ 1, |y| ≤ 1, ‖θ‖₁ ≤ 1: Γ = 4, L₁ = 2, V = 2p, h₁ = ½ from θ₁ = 0.

    The paper's rate is `log(np/δ)/(nε)^{2/3}`.

    Source: 002, Corollary 5.7; 000, Theorem 1.1.
    """
    sizes: dict[str, Any] = {"curvature": 4.0, "lipschitz": 2.0, "size": 1.0, "start": 0.5}
    return frank_wolfe_bound(records, epsilon, delta, vertices=2 * columns, neighbours=neighbours, **sizes)


def curvature_bound(
    body: ConvexSet, dimension: int, smoothness: float, *, norm_l1: float, norm_l2: float, norm_linf: float
) -> float:
    """`β min_q (2 max_C ‖θ‖_q · ‖x‖_r)²`, 1/q + 1/r = 1, q = 1, 2, ∞ and that of an l_q ball: at least the curvature constant Γ of a mean of losses `φ(⟨x, θ⟩)`.

    Γ is `sup 2/γ² (f(θ_c) − f(θ_a) − ⟨∇f(θ_a), θ_c − θ_a⟩)` over `θ_c = θ_a + γ(θ_b − θ_a)` in C, and β = sup φ''.

    Source: 002, Remark 4; 002, Remark 5.
    """
    return smoothness * (2.0 * product_bound(body, dimension, norm_l1, norm_l2, norm_linf)) ** 2


def records_for_free(bound: Callable[[int], float], target: Callable[[int], float], *, most: int = 10**15) -> int:
    """The least n, to a hundredth, from which a private bound is no more than what sampling costs anyhow: where privacy is "for free".

    Source: 000, Section 1, privacy for free; 002, Section 1, privacy for free.

    Args:
        bound: of the private excess after n records, such as `lambda n: hb.theory.lasso_bound(n, 1000, 1.0, 1e-9)`.
        target: the sampling error, such as `lambda n: (math.log(1000) / n) ** 0.5`.
        most: where the search ends.

    Raises:
        InvalidParameter: the bound is above the target even there.
    """
    above = [n for n in (1 << k for k in range(most.bit_length())) if bound(n) > target(n)]
    low, high = max(above, default=0), 2 * max(above, default=0) or 1
    if high > most:
        raise InvalidParameter(
            f"The bound is still above the target at {low:,} records; raise `most`, or compare with a rate that falls more slowly."
        )
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if bound(middle) > target(middle) else (low, middle)
    return high


def _walk(curvature: float, error: Callable[[int], float], one: float, start: float, steps: int | None) -> float:
    """The least over T near the continuous minimum of `2Γ/T + e₁√T`; never more than the start."""

    def at(count: int) -> float:
        return 2.0 * curvature / (count + 2) + error(count) + 2.0 * start / ((count + 1) * (count + 2))

    if steps is not None:
        return min(at(steps), start)
    near = max(1, math.ceil((4.0 * curvature / one) ** (2.0 / 3.0)))
    return min(start, *(at(count) for count in {max(1, near // 2), near, 2 * near}))


def _noisy(
    records: int, epsilon: float, delta: float, lipschitz: float, width: float, radius: float, neighbours: Neighbours, steps: int | None
) -> tuple[float, int]:  # fmt: skip
    """`G + σs` and `N = T + 1`; T is where both are alike unless it is given."""
    spread, moved, steep = math.hypot(width, radius), neighbours.copies * lipschitz, lipschitz * radius
    mu = _mu(records, epsilon, delta)
    count = steps or max(1, math.ceil((steep * records * mu / (spread * moved)) ** 2))
    return steep + moved * math.sqrt(count) / (records * mu) * spread, count + 1


def _mu(records: int, epsilon: float, delta: float) -> float:
    if records < 1 or not 0.0 < delta < 1.0:
        raise InvalidParameter(
            f"A bound was asked for n = {records} and δ = {delta}; pass at least one record and 0 < δ < 1, without which Gaussian noise is not private."
        )
    return Allowance(Budget(epsilon, delta)).mu
