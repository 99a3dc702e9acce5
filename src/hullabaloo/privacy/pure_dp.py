"""Closed forms for pure ε-DP: randomised response, which dominates it, and the Laplace mechanism, which is better.

Every value rounds up (256 ulps are added to forms without cancellation).
"""

import math

from hullabaloo.privacy._rounding import bisect, padded


def response_profile(strength: float, epsilon: float) -> float:
    """Give δ(ε) of randomised response of strength ε₀: ``(e^ε₀ − e^ε)/(1 + e^ε₀)`` below ε₀, 0 from there on.

    **Guarantee.** Claim: an upper bound for every ε₀-DP release. Proof: each such pair of output laws is a
    post-processing of randomised response. Source: Kairouz, Oh & Viswanath 2015, Thm 2.
    """
    if epsilon >= strength:
        return 0.0
    return min(1.0, padded(-math.expm1(epsilon - strength) / (1.0 + math.exp(-strength))))


def response_renyi(strength: float, alpha: float) -> float:
    """Give the Rényi divergence of randomised response: ``log(cosh((α − ½)ε₀)/cosh(ε₀/2))/(α − 1)``.

    **Guarantee.** Claim: an upper bound for every ε₀-DP release, at most ``min(ε₀, α ε₀²/2)``. Proof: post-processing, as
    above; Bun & Steinke 2016, Prop. 3.3 for ``α ε₀²/2``. Written with ``cosh u − cosh v = 2 sinh((u+v)/2) sinh((u−v)/2)``.
    """
    cap = min(strength, padded(alpha * strength * strength / 2.0))
    if alpha * strength > 300.0:
        return cap
    excess = 2.0 * math.sinh(alpha * strength / 2.0) * math.sinh((alpha - 1.0) * strength / 2.0)
    return min(cap, padded(math.log1p(excess / math.cosh(strength / 2.0)) / (alpha - 1.0), 1024.0))


def pure_mu(strength: float) -> float:
    """Give the μ for which ε₀-DP implies μ-GDP: ``−2 Φ⁻¹(1/(1 + e^ε₀))``, rounded up; about 1.2533 ε₀ for small ε₀.

    **Guarantee.** Claim: every ε₀-DP release is μ-GDP. Proof: its trade-off function is above that of randomised
    response, the piecewise linear one through (0, 1), (α, α), (1, 0) with α = 1/(1 + e^ε₀). The μ-Gaussian trade-off is
    convex, meets the two ends, and passes through (α, α) for this μ; so it is below the chords. In other words
    ``erf(μ/√8) = tanh(ε₀/2)``; the upper end of a bisection of that equation is returned. Where erf is too flat, ``2√(2ε₀)``
    holds, as ``Φ(−μ/2) ≤ ½ e^{−μ²/8} ≤ 1/(1 + e^ε₀)``. Source: Dong, Roth & Su 2022, §2 for the trade-off functions.
    """
    if strength > 2.0:
        goal = 2.0 / (1.0 + math.exp(min(strength, 700.0)))
        crude = padded(math.sqrt(8.0 * strength))
        if strength > 650.0:
            return crude

        def enough(mu: float) -> bool:
            return math.erfc(mu / math.sqrt(8.0)) <= goal * (1.0 - 2.0**-44)
    else:
        goal = math.tanh(strength / 2.0)
        crude = padded(1.3 * strength + 1e-300) if strength < 0.1 else padded(math.sqrt(8.0 * strength))

        def enough(mu: float) -> bool:
            return math.erf(mu / math.sqrt(8.0)) >= min(1.0, goal * (1.0 + 2.0**-48))

    return bisect(0.0, crude, enough)


def laplace_profile(strength: float, epsilon: float) -> float:
    """Give δ(ε) of the Laplace mechanism of scale b, l1 sensitivity Δ, ε₀ = Δ/b: ``1 − e^{(ε − ε₀)/2}`` below ε₀, else 0.

    **Guarantee.** Claim: exact for a shift of one coordinate by Δ, and an upper bound for every shift of l1 norm ≤ Δ of a
    vector with independent noise. Proof of the second: split Δ into shifts u and v of two coordinates, and take the law M
    halfway (the first shifted). With L_u, L_v the two losses, ``δ = E_M(e^{L_u} − e^{ε − L_v})₊``, a convex function of a
    sum of an increasing function of L_u and one of L_v, hence supermodular. Shifting a single coordinate by u and then by v
    gives L_u and L_v the same laws under its own M, both nonincreasing in the same variable: the comonotone coupling, which
    maximises the mean of a supermodular function. The same with other coordinates conditioned on. ∎
    """
    return 0.0 if epsilon >= strength else min(1.0, padded(-math.expm1((epsilon - strength) / 2.0)))


def laplace_renyi(strength: float, alpha: float) -> float:
    """Give ``log(α/(2α−1) e^{(α−1)ε₀} + (α−1)/(2α−1) e^{−αε₀})/(α − 1)``, exact for a shift of one coordinate.

    **Guarantee.** Claim: an upper bound for every shift of l1 norm ε₀b. Proof: (α − 1) times it is convex in ε₀ and 0 at 0,
    hence superadditive, and Rényi divergences of independent coordinates add. Source: Mironov 2017, Prop. 6.
    """
    cap = response_renyi(strength, alpha)
    if alpha * strength > 300.0:
        return cap
    up, down = _exp_minus_line((alpha - 1.0) * strength), _exp_minus_line(-alpha * strength)
    excess = (alpha * up + (alpha - 1.0) * down) / (2.0 * alpha - 1.0)
    return min(cap, padded(math.log1p(excess) / (alpha - 1.0), 1024.0))


def _exp_minus_line(x: float) -> float:
    """Give ``e^x − 1 − x ≥ 0`` without cancellation."""
    if abs(x) > 0.5:
        return math.expm1(x) - x
    term, total, k = x * x / 2.0, 0.0, 2
    while abs(term) > 1e-18 * abs(total):
        total += term
        k += 1
        term *= x / k
    return total
