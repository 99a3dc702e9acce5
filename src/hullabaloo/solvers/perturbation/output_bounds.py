"""What the perturbed minimisers lose at most, by Gaussian width: Theorem 1 of Kumar & Deisenroth (2019) with constants, and what follows.

The paper: Kumar & Deisenroth (2019), Differentially Private Empirical Risk Minimization with Sparsity-Inducing Norms.

Losses φ are convex in ⟨x, θ⟩, L-Lipschitz and β-smooth there (β may be ∞), weights and clip included; ‖x‖₂ ≤ B; f is the mean loss, g a
standard normal vector. All bounds are of expectations over the noise, for every table of the domain, of the objective with the
*clipped* loss, which is the one that is minimised. Where a set or penalty leaves intercepts alone, they are coordinates of x and of the noise as
any other.

`w(|P|(F)) = E Ω(g)` and `w(C) = E h_C(g)`: how far noise reaches in the norm is a matter of the structure, no power of p by itself. For
Ω = ‖·‖₁ it is `p√(2/π)`, for Ω = ‖·‖_∞ some `√(2 ln 2p)`.
"""

import math

_MEAN = math.sqrt(2.0 / math.pi)  # E|g₁|


def loss_rise(sigma: float, *, lipschitz: float, smoothness: float, norm: float) -> float:
    """`min{σ L B √(2/π), ½ β σ² B²}`, at least `E f(θ + b) − f(θ)` for `b ~ N(0, σ²I)` drawn independently of θ and the records.

    **Guarantee.** `⟨x, b⟩` is normal with standard deviation at most σB, so `E|φ(z + ⟨x, b⟩) − φ(z)| ≤ L E|⟨x, b⟩| ≤ σLB√(2/π)`. Its
    mean is 0, so that the first-order term of a β-smooth φ vanishes: `E φ(z + ⟨x, b⟩) − φ(z) ≤ ½β E⟨x, b⟩²`. The second is
    sharper than the paper's where `σ B β < 2√(2/π) L`. The mean over records keeps both, and so does that over a distribution of records.
    """
    straight = _MEAN * sigma * lipschitz * norm
    return min(straight, 0.5 * smoothness * (sigma * norm) ** 2) if math.isfinite(smoothness) else straight


def penalised_rise(
    sigma: float, *, lipschitz: float, smoothness: float, norm: float, strength: float, width: float
) -> float:
    """Lemma 1: `E F(θ + b) − F(θ) ≤ loss_rise + σ·strength·w(|P|(F))` for `F = f + strength·Ω`.

    **Guarantee.** F is nondecreasing and submodular, so Ω is a norm (Bach 2010, Proposition 2), and `Ω(θ + b) ≤ Ω(θ) + Ω(b)`. As the support function
    of |P|(F), `E Ω(b) = σ E max_{s ∈ |P|} ⟨s, g⟩ = σ w(|P|(F))`. At θ = 0 this part is attained.

    Source: 001, Lemma 1.

    Source: 001, Theorem 1.
    """
    return loss_rise(sigma, lipschitz=lipschitz, smoothness=smoothness, norm=norm) + sigma * strength * width


def ridge_rise(ridge: float, size: float) -> float:
    """`(ν/2)‖θ‖²`: the most by which the minimiser of `F + (ν/2)‖·‖²` is worse in F than a θ of that Euclidean size.

    **Guarantee.** `F(θ̂) ≤ F(θ̂) + (ν/2)‖θ̂‖² ≤ F(θ) + (ν/2)‖θ‖²`.
    """
    return 0.5 * ridge * size**2


def generalisation(ridge: float, records: int, *, lipschitz: float, norm: float) -> float:
    """`2 (LB)²/(νn)`, at least the expected difference of risk and empirical risk of θ̂, over n independent records.

    With it Theorem 1 reads, in expectation over records and noise, for every θ and a distribution's risk F̄:
    `E F̄(θ̂ + b) − F̄(θ) ≤ penalised_rise + ridge_rise + generalisation`.

    **Guarantee.** One record replaced moves θ̂ by at most `2LB/(νn)` (the minimiser query's sensitivity), and any record's loss by LB times
    that. The risk is the mean loss on a record that θ̂ has not seen; exchanged for one that it has seen, θ̂ moves so far: on average the two differ by
    no more (stability: Bousquet & Elisseeff 2002; Shalev-Shwartz, Shamir, Srebro & Sridharan 2009). The penalty and the ridge are the same in both. And
    `penalised_rise` holds for the risk as for the mean.

    Source: 001, Theorem 1.

    Source: 001, Proposition 1.
    """
    return 2.0 * (lipschitz * norm) ** 2 / (ridge * records)


def risk_rise(
    sigma: float,
    ridge: float,
    records: int,
    *,
    lipschitz: float,
    smoothness: float,
    norm: float,
    strength: float,
    width: float,
    size: float,
) -> float:
    """Theorem 1: `E F̄(θ̂ + b) − F̄(θ)` at most, F̄ the risk of a distribution, penalty included, θ of Euclidean norm `size`.

    `penalised_rise + ridge_rise + generalisation`, for b ~ N(0, σ²I) and the minimiser θ̂ over n independent records.

    Source: 001, Theorem 1.
    """
    noise = penalised_rise(sigma, lipschitz=lipschitz, smoothness=smoothness, norm=norm, strength=strength, width=width)
    return noise + ridge_rise(ridge, size) + generalisation(ridge, records, lipschitz=lipschitz, norm=norm)


def uniform_deviation(records: int, *, lipschitz: float, norm: float, radius: float, failure: float) -> float:
    """`L R B (2 + 2√(2 ln(2/δ)))/√n`: what may be added in place of `generalisation` with probability 1 − δ over the records.

    Both θ̂ and the θ compared with must have norm at most R; `√(2h/ν)` serves for θ̂, h the largest mean loss at 0.

    **Guarantee.** Let φ̃ = φ − φ(0, y), in [−LRB, LRB] and with the same differences. `E sup (risk − mean) ≤ 2LRB/√n` by symmetrisation and
    contraction; one record changes the supremum by `2LRB/n`, so it exceeds its mean by `LRB√(2 ln(2/δ)/n)` with probability δ/2 at most
    (McDiarmid), and so does the fixed θ's mean its risk (Hoeffding). This is the paper's Proposition 1 with constants: Shalev-Shwartz et al. (2009),
    Theorem 1, states the rate.

    Source: 001, Proposition 1.
    """
    return lipschitz * radius * norm * (2.0 + 2.0 * math.sqrt(2.0 * math.log(2.0 / failure))) / math.sqrt(records)


def projected_rise(sigma: float, *, lipschitz: float, norm: float, width: float, coordinates: int) -> float:
    """`L B √min{σ²p, 2σ w(C)}`, at least `E f(P_C(θ + b)) − f(θ)` for θ in C: output perturbation over a set.

    **Guarantee.** `u = P_C(θ + b)` obeys `⟨θ + b − u, θ − u⟩ ≤ 0`, so `‖u − θ‖² ≤ ⟨b, u − θ⟩ ≤ h_C(b) + h_C(−b)`, whose mean is `2σ w(C)`; and
    projections do not expand, so `‖u − θ‖ ≤ ‖b‖`. By Jensen `E‖u − θ‖` is at most the root of either mean.

    Source: 001, Theorem 1.
    """
    return lipschitz * norm * math.sqrt(min(sigma**2 * coordinates, 2.0 * sigma * width))


def perturbed_rise(sigma: float, ridge: float, records: int, *, width: float, coordinates: int) -> float:
    """`min{σ w(C), σ²p/(2λ)}/n`, at least `E F(θ̂_b) − min_C F` of objective perturbation, `F = f + ψ + (λ/2n)‖·‖²`; σ and λ of the sum.

    **Guarantee.** Let J = nF and θ̂ its minimiser over C. `J(θ̂_b) + ⟨b, θ̂_b⟩ ≤ J(θ̂) + ⟨b, θ̂⟩`, so `J(θ̂_b) − J(θ̂) ≤ ⟨b, θ̂⟩ + h_C(−b)`; θ̂ does not depend on b,
    so the mean is at most σ w(C): the Lipschitz case of Talwar, Thakurta & Zhang (2014) and of Kumar & Deisenroth (2019), section 4.3, with constant
    1 and whatever the Lipschitz constant. And −b is a subgradient of J over C at θ̂_b, so by λ-strong convexity
    `J(θ̂) ≥ J(θ̂_b) − ⟨b, θ̂ − θ̂_b⟩ + (λ/2)‖θ̂ − θ̂_b‖² ≥ J(θ̂_b) − ‖b‖²/(2λ)`. The strongly convex case is `gauge_rise`.

    Source: 002, Theorem 4.1 (1); 001, Section 4.3, Lipschitz case.

    Source: 001, Section 4.3, strongly convex case; 002, Theorem 4.1 (2).
    """
    return min(sigma * width, sigma**2 * coordinates / (2.0 * ridge)) / records


def gauge_rise(sigma: float, strong: float, records: int, *, width: float, size: float) -> float:
    """`σ²(w(Q)² + ‖Q‖₂²)/(2Δn²)`, at least `E F(θ̂_b) − min_C F` where F is Δ-strongly convex in the gauge of Q, the symmetric hull of C.

    A mean of losses of one prediction has such curvature only from a penalty, or where every table is known to have it.

    **Guarantee.** −b/n is a subgradient of F over C at θ̂_b, so `F(θ̂) ≥ F(θ̂_b) − ⟨b/n, u⟩ + (Δ/2)‖u‖_Q²`, u = θ̂ − θ̂_b, and `⟨b, u⟩ ≤ h_Q(b)‖u‖_Q`: the
    difference is at most `h_Q(b)²/(2Δn²)`. h_Q is ‖Q‖₂-Lipschitz, so that `E h_Q(b)² ≤ σ²(w(Q)² + ‖Q‖₂²)` (Poincaré).

    Source: 002, Theorem 4.1 (2); 001, Section 4.3, strongly convex case.
    """
    return sigma**2 * (width**2 + size**2) / (2.0 * strong * float(records) ** 2)
