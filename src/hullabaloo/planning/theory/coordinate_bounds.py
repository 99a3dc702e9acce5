"""Utility bounds of coordinate descent: those of the poster, with every constant, for the noise that is really drawn.

Mangold, Bellet, Salmon and Tommasi (2022). F = f + ψ, f convex with `|∇_j f(θ) − ∇_j f(θ + te_j)| ≤ M_j|t|`, ψ convex and separable,
j uniform, `γ_j = s/M_j` with 0 < s ≤ 1, `η_j ~ N(0, σ_j²)`. They are for partial derivatives that no clip has touched.

**One update.** With `G = E F(θ) − F*`, `D = E‖θ − w*‖²_M`, `‖u‖²_M = Σ M_j u_j²` and `S = Σ σ_j²/M_j`,

    G⁺ ≤ (1 − 1/p) G + (D − D⁺)/(2s) + sS/p.

Proof for s = 1 (else put M/s for M). For Δ the move of coordinate j and u = w*_j, smoothness and the optimality of the prox give
`F(θ⁺) − F(θ) ≤ ∇_j f (u − θ_j) + ψ_j(u) − ψ_j(θ_j) + (M_j/2)[(u − θ_j)² − (u − θ_j⁺)²] − η_j (θ_j⁺ − u)`. The mean over j of the first three
terms is at most `(F* − F(θ))/p` by convexity, that of the fourth `(D − D⁺)/2`; and `−E η_j(θ_j⁺ − u) ≤ σ_j²/M_j`, because a prox does not
lengthen differences, so that θ_j⁺ lies within |η_j|/M_j of where it would be without noise.

**One round.** Summed over k = 1 … K, and by convexity of F, the average `w̄` of θ¹ … θᴷ has

    E F(w̄) − F* ≤ (p/K) (G⁰ + D⁰/(2s)) + sS ≤ 3pR²/(2K) + S   (s = 1, R² = max(D⁰, G⁰)).

**Three misprints.** Of its clips `C_j = C√(M_j/tr M)` the poster says ‖C_j‖_{M⁻¹} = C, but `Σ C_j²/M_j = pC²/tr M`: the norm is `C√(p/tr M)`, which is
C where tr M = p alone. (In ‖·‖₂ it is C; `C_j = C√(M_j/p)` would have the norm that is said.) The poster prints `R_M = max(‖w⁰ − w*‖_{M⁻¹}, F(w⁰) − F*)`: the norm is ‖·‖_M and R_M² is the larger one (else units do not
fit). And for the strongly convex case it prints `(F(w⁰) − F*)/2T` in plain text, which is `/2^T`: with `D⁰ ≤ 2G⁰/μ_M`, and
`K = 2p(1 + 1/(sμ_M))` updates a round, each round halves G and adds sS, so `G_T ≤ G⁰/2^T + 2sS`. Its noise terms `12K…` and `48pT…` are S
and 2S at `σ_j² = 12 T K L_j² ln(1/δ)/(nε)²`; Gaussian-DP accounting has `4 T K L_j²/(nμ)²` (replace-one).
"""

import numpy as np

from hullabaloo.solvers.base import Array


def weighted_noise(sigma: Array, constants: Array) -> float:
    """`S = ‖σ‖²_{M⁻¹} = Σ σ_j²/M_j`.

    Source: 004, Coordinate-wise clipping.
    """
    return float(np.sum(np.square(sigma) / constants))


def convex_bound(
    gap: float, distance2: float, sigma: Array, constants: Array, updates: int, *, step: float = 1.0
) -> float:
    """`(p/K)(G⁰ + D⁰/(2s)) + sS`, of one round of K uniform updates from a point with F-gap `gap` and `D⁰ = distance2`.

    The poster's form of it is `3pR_M²/(2K) + S`, s = 1 and R_M² ≥ G⁰, D⁰: never less.

    Source: 004, Utility, convex.
    """
    start = gap + distance2 / (2.0 * step)
    return constants.size / updates * start + step * weighted_noise(sigma, constants)


def updates_that_halve(dimension: int, strong: float, *, step: float = 1.0) -> int:
    """`K = 2p(1 + 1/(sμ_M))`, rounded up: the poster's Õ(p/μ_M).

    Source: 004, Utility, strongly convex.
    """
    return int(np.ceil(2.0 * dimension * (1.0 + 1.0 / (step * strong))))


def strongly_convex_bound(
    gap: float, sigma: Array, constants: Array, rounds: int, updates: int, strong: float, *, step: float = 1.0
) -> float:
    """`q^T G⁰ + (1 + q + … + q^(T−1)) sS`, `q = (p/K)(1 + 1/(sμ_M))`; for K = 2p(1 + 1/(sμ_M)) at most `G⁰/2^T + 2sS`.

    Source: 004, Utility, strongly convex.
    """
    shrink = constants.size / updates * (1.0 + 1.0 / (step * strong))
    noise = step * weighted_noise(sigma, constants)
    return float(shrink**rounds * gap + noise * sum(shrink**t for t in range(rounds)))
