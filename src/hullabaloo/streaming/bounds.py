"""How far the models of a stream can be from the best at most: Theorems 3.1, 4.2 and 5.7 with constants, and their proofs.

Kasiviswanathan, Nissim and Jin (2017), Private Incremental Regression, state rates; every constant below is ours, noise is what exact
accounting needs, and logarithms that only their composition or their union bounds need are gone. All bounds are of the excess of the **sum**
over the records so far, `F_t(θ) − min_C F_t`, `F_t(θ) = Σ_{i≤t} φ(⟨x_i, θ⟩, y_i)`, for every stream of the domain; divide by t for the mean.
A record's gradient by θ has norm at most L, C has diameter D and norms at most R, rows have norm at most B, targets lie in [−1, 1]. An
intercept is a coordinate as any other. The squared loss is `½(⟨x, θ⟩ − y)²`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from hullabaloo.privacy.schedule import Schedule

Batch = Callable[["Shape", int, float], float]
"""Excess risk of one fit: of a shape, n records and μ."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a problem's bounds are made of.

    Attributes:
        lipschitz: L, the largest norm of a record's gradient over C.
        diameter: D of C.
        coordinates: p.
        sensitivity: Δ of a sum of gradients: L under add-or-remove, 2L under replace-one.
        width: w(C), its Gaussian width.
        curvature: Γ of a record's loss over C, `sup 2/γ² (φ(θ_c) − φ(θ_a) − ⟨φ', θ_c − θ_a⟩)`, `θ_c = θ_a + γ(θ_b − θ_a)`.
        strong: ν by which a record's loss, its part of the penalty included, is strongly convex.
    """

    lipschitz: float
    diameter: float
    coordinates: int
    sensitivity: float
    width: float = math.inf
    curvature: float = math.inf
    strong: float = 0.0


def convex(shape: Shape, records: int, mu: float) -> float:
    """`D √(L² + pΔ²/μ²)`: one fit by n² noisy projected subgradients, in expectation.

    **Guarantee.** K steps at μ/√K each have noise `σ² = KΔ²/μ²` a coordinate; the noisy gradient of the sum has mean square at most
    `G² = n²L² + pσ²`, and steps `D/(G√K)` leave an excess of `DG/√K` at the mean of the iterates. At K = n² this is the bound. Its rate is
    that of Bassily, Smith and Thakurta (2014), Theorem 2.4.

    Source: 003, Theorem 3.1 (1).
    """
    del records
    return shape.diameter * math.hypot(shape.lipschitz, math.sqrt(shape.coordinates) * shape.sensitivity / mu)


def strongly_convex(shape: Shape, records: int, mu: float) -> float:
    """`(L² + pΔ²/μ²)(1 + 2 ln n)/(2nν)`: the same for a ν-strongly convex record, in expectation.

    **Guarantee.** The sum is λ = nν-strongly convex, and K steps of 1/(λk) leave `G²(1 + ln K)/(2λK)` at the mean of the iterates; G and K as in
    `convex`.

    Source: 003, Theorem 3.1 (2).
    """
    square = shape.lipschitz**2 + shape.coordinates * (shape.sensitivity / mu) ** 2
    return square * (1.0 + 2.0 * math.log(records)) / (2.0 * records * shape.strong)


def by_width(shape: Shape, records: int, mu: float) -> float:
    """`min_K 2nΓ/(K + 2) + Δ√K w(C)/μ`: K steps of noisy Frank–Wolfe, in expectation.

    **Guarantee.** The step `s = argmin ⟨∇F + b, s⟩`, b ~ N(0, σ²I) independent of ∇F, misses the best of `⟨∇F, ·⟩` by at most
    `⟨b, s*⟩ + h_C(−b)`, of mean σ w(C). With weights 2/(k+2) the excess obeys `h_{k+1} ≤ (1 − γ)h_k + γσw + γ²nΓ/2`, hence
    `h_K ≤ 2nΓ/(K+2) + σw`; σ = Δ√K/μ. Its rate is that of Talwar, Thakurta and Zhang (2014), for a polytope.

    Source: 003, Theorem 3.1 (3); 002, Theorem B.2.
    """
    bend, noise = 2.0 * records * shape.curvature, shape.sensitivity * shape.width / mu
    best = max(1, math.floor(math.pow(2.0 * bend / noise, 2.0 / 3.0)))  # the continuous minimum; neighbours are tried
    near = (max(1, best - 2), max(1, best - 1), best, best + 1)
    return min(float(bend / (k + 2) + noise * math.sqrt(k)) for k in near)


def refitted(
    shape: Shape, at: int, schedule: Schedule, shares: tuple[float, ...], mu: float, batch: Batch = convex
) -> float:
    """Theorem 3.1: at most this after `at` records of a stream that fits again, in expectation over its noise.

    `batch(n_k, μ√m_k) + (t − n_k) L D` for the last fit k, on n_k records with the share m_k of μ²; never more than `t L D`.

    **Guarantee.** Let θ_k be the model of the last fit, θ* the best of all t. `F_t(θ_k) − F_t(θ*) = [F_{n_k}(θ_k) − F_{n_k}(θ*)] + Σ_{n_k < i ≤ t}
    [φ_i(θ_k) − φ_i(θ*)]`. The first is at most θ_k's own excess, as θ* is no better there than the minimum; each of the others at
    most LD. Before the first fit nothing was read, and every difference is at most LD. That losses are positive is not needed.
    With equal shares, R = T/τ and τ by the rules of `streaming/refits.py`, the two parts are of one order: the three rates of
    Theorem 3.1.

    Source: 003, Theorem 3.1 (1); 003, Theorem 3.1 (2); 003, Theorem 3.1 (3).
    """
    trivial = float(at * shape.lipschitz * shape.diameter)
    step = schedule.completed(at)
    if step == 0:
        return trivial
    position = schedule.position(step)
    later = (at - position) * shape.lipschitz * shape.diameter
    return min(batch(shape, position, mu * math.sqrt(shares[step - 1])) + later, trivial)


def spectral(sigma: float, size: int, failure: float) -> float:
    """`σ(√(2d) + √(2 ln(2/β)))`: at least the spectral norm of the noise of d × d moments, with probability 1 − β.

    **Guarantee.** E is symmetric with `E_ii ~ N(0, σ²)`, `E_ij ~ N(0, σ²/2)`: its largest eigenvalue has mean at most `2(σ/√2)√d` (Slepian's
    comparison, as Davidson & Szarek 2001), and is 1-Lipschitz in the Frobenius norm, in which E has independent coordinates
    N(0, σ²). The same for −E.

    Source: 003, Proposition A.1.

    Source: 003, Lemma 4.1.
    """
    return sigma * (math.sqrt(2.0 * size) + math.sqrt(2.0 * math.log(2.0 / failure)))


def incremental(
    sigma: float,
    at: int,
    *,
    columns: int,
    radius: float,
    norm: float = 1.0,
    target_scale: float = 1.0,
    lift: float = 0.0,
    failure: float = 0.01,
) -> float:
    """Theorem 4.2: at most this after `at` records with probability 1 − β, where the noisy sum of moments has standard deviation σ.

    `‖E‖ (3/2 R² + κ⁻²) + ½ρR²` with R in units of rows of norm 1 (R·B) and ‖E‖ by `spectral` of p + 1; never more than `½t(1 + R)²`. The error of the
    sum grows with the logarithm of the releases, so that the bound does: with σ by the tree it is the paper's `√d log^{3/2} T`.

    **Guarantee.** With `a = (x/B, κy)` and `v = (−Bθ, 1/κ)` the sum is `F = ½vᵀ(Σaaᵀ)v`, and the noisy one `F̃ = F + ½vᵀEv`. Let θ̂ minimise
    `F̃ + ½(Bθ)ᵀM(Bθ)` over C, `0 ⪯ M ⪯ ‖E‖ + ρ`: what makes the noisy Gram positive is at most ‖E‖, any ridge is ρ. Then `F(θ̂) − F(θ*) ≤
    ½v*ᵀEv* − ½v̂ᵀEv̂ + ½(Bθ*)ᵀM(Bθ*) ≤ ‖E‖(R² + κ⁻²) + ½(‖E‖ + ρ)R²`. A union over releases divides β.

    Args:
        sigma: `query.sigma · query.error(step)`.
        at: t.
        columns: p, the intercept included.
        radius: R, the largest ‖θ‖₂ in C, the intercept's interval included.
        norm: B.
        target_scale: κ.
        lift: ρ, the ridge that was added to the Gram of rows of norm 1, of the sum.
        failure: β.

    Source: 003, Theorem 4.2.

    Source: 003, Definition 1; 003, Definition 10.
    """
    reach = radius * norm
    noise = spectral(sigma, columns + 1, failure)
    found = noise * (1.5 * reach**2 + 1.0 / target_scale**2) + 0.5 * lift * reach**2
    return min(found, 0.5 * at * (1.0 + reach) ** 2)


def distortion(width: float, size: int, failure: float) -> float:
    """`δ = (W + 3 + 2√(2 ln(2/β)))/√m`: how far a sketch moves norms of `x/‖x‖ ± θ/R`, all at once, with probability 1 − β.

    **Guarantee.** T = {x/‖x‖ ± θ/R} has radius 2 and Gaussian width at most W. For a Gaussian m × p matrix G and `a = E‖h‖`, h ~ N(0, I_m),
    the processes `⟨Gu, v⟩ + ‖u‖g` and `‖u‖⟨h, v⟩ + ⟨g', u⟩` over u in T, ‖v‖ = 1 have increments that differ by
    `2(1 − ⟨v, v'⟩)(‖u‖‖u'‖ − ⟨u, u'⟩) ≥ 0`; so `E sup (‖Gu‖ − a‖u‖) ≤ w(T) + 2E(‖h‖ − a)₊ ≤ w(T) + 2` (Sudakov and Fernique, after Gordon 1988), its
    min-max form gives the same for the infimum, and both are 2-Lipschitz in G. `|a − √m| ≤ 1/(2√m)` adds at most 1 on T.

    Source: 003, Theorem 5.1.

    Source: 003, Corollary 5.2.
    """
    return (width + 3.0 + 2.0 * math.sqrt(2.0 * math.log(2.0 / failure))) / math.sqrt(size)


def sketched(
    sigma: float,
    at: int,
    *,
    width: float,
    size: int,
    radius: float,
    least: float,
    norm: float = 1.0,
    target_scale: float = 1.0,
    lift: float = 0.0,
    failure: float = 0.01,
) -> float:
    """Theorem 5.7: at most this after `at` records with probability 1 − 2β, of sums of rows seen through a sketch of m coordinates.

    `½[(√((√(2F*) + g)² + 2N) + g)² − 2F*]` with `g = γR√t`, `γ = δ(3 + 3δ/2)`, N the bound of `incremental` in m coordinates at the
    radius (1 + δ)R, and δ by `distortion`; never more than `½t(1 + R)²`.

    **Guarantee.** The sketch shows `x̃` with `‖Φx̃‖ = ‖x‖`. By polarisation `|⟨Φx, Φθ⟩ − ⟨x, θ⟩| ≤ δ(2 + δ/2)R‖x‖`, and
    `|⟨Φx̃, Φθ⟩ − ⟨Φx, Φθ⟩| ≤ δ‖x‖ ‖Φθ‖ ≤ δ(1 + δ)R‖x‖`: together γR for rows of norm at most 1. So the residuals of the sketched problem differ
    by at most g in l2, and `|√(2F_Φ(θ)) − √(2F(θ))| ≤ g` for all θ in C. The noisy minimiser has `F_Φ(θ̂) ≤ F_Φ(θ*) + N`;
    go from F to F_Φ and back. Lifting keeps Φθ. With m of order W²/γ² this is the paper's `T^{1/3}W^{2/3}` and the two terms with
    the optimum; its terms with fourth roots come from bounding norms where residuals suffice.

    Args:
        sigma, at, radius, norm, target_scale, lift, failure: as for `incremental`.
        width: W = w(rows, each divided by its norm) + w(C)/R.
        size: m.
        least: `F* = min_C F_t`, or an upper bound of it such as t/2.

    Source: 003, Theorem 5.7.

    Source: 003, Lemma 5.4; 003, Lemma 5.5; 003, Lemma 5.6; 003, Remark 5.8.
    """
    reach = radius * norm
    trivial = 0.5 * at * (1.0 + reach) ** 2
    delta = distortion(width, size, failure)
    about = {"target_scale": target_scale, "lift": lift, "failure": failure}
    noise = incremental(sigma, at, columns=size, radius=(1.0 + delta) * reach, **about)
    moved = delta * (3.0 + 1.5 * delta) * reach * math.sqrt(at)
    best = math.sqrt(2.0 * least)
    found = 0.5 * ((math.sqrt((best + moved) ** 2 + 2.0 * noise) + moved) ** 2 - best**2)
    return min(found, trivial)


def estimator_alpha(
    bound: Callable[[int, float], float], schedule: Schedule, horizon: int, failure: float, between: float
) -> float:
    """Definition 1: α of an (α, β)-estimator, the excess that no t = 1 … T exceeds with probability 1 − β.

    `max_k bound(n_k, β/R) + (n_{k+1} − 1 − n_k) B` over the R releases, and `(n_1 − 1) B` before the first.

    **Guarantee.** A union over the releases; between them the last model is kept, and each further record adds at most B to
    its excess, as in `refitted`.

    Args:
        bound: of the excess after t records, with probability 1 − failure: `incremental` or `sketched` with the rest of their arguments.
        schedule: where releases are.
        horizon: T.
        failure: β.
        between: B, the most by which one record's losses at two points of C differ: LD, or ½(1 + RB)² of the squared loss.

    Source: 003, Definition 1.
    """
    positions = [schedule.position(step) for step in range(1, schedule.completed(horizon) + 1)]
    ends = [*positions[1:], horizon + 1][: len(positions)]
    before = (min([*positions[:1], horizon + 1]) - 1) * between
    spans, share = zip(positions, ends, strict=True), failure / max(1, len(positions))
    return max((before, *(bound(at, share) + (end - 1 - at) * between for at, end in spans)))
