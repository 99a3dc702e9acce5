"""Public constants of dual Frank–Wolfe: the clip, the ridge, how many answers to buy and how to weigh them.

Let P(w) = L(w) + λΩ(w), D(s) = −L*(−s), w_t = w(s_t), so that P(w_t) = D(s_t) + g_t, `g_t = max_K ⟨s − s_t, w_t⟩`. D being 1/ν-smooth, a step
μ_t = 2/(t+2), t = 0 … T−1, towards a vertex whose value is e_t short of the best gives `D(s_{t+1}) ≥ D(s_t) + μ_t(g_t − e_t) − μ_t²C/2`,
`C = diam(K)²/ν`. Times (t+1)(t+2), with P(w_t) − D(s_t) for g_t, and summed up to any k,

    Σ_{t<k} (t+1)(P(w_t) − D* − e_t) ≤ Ck,

so that for weights γ_t of sum 1 with γ_t/(t+1) not rising, by Abel's summation and convexity (after Bach 2015, Proposition 4.2),

    P(Σ γ_t w_t) − D* ≤ C Σ γ_t/(t+1) + Σ γ_t e_t.

Weights γ_t ∝ t + 1 give 2C/(T+1). T noisy answers of a budget μ have σ_T = √T σ₁ each: their mean is as noisy as one answer that costs
all of it, and weights add the factor `√(T Σ γ_t²)`, 1.15 for γ_t ∝ t + 1. The least of both terms is near `γ_t ∝ min(t+1, m)`: what early
answers are far from the optimum counts against their share of the mean. A vertex of the noisy w_t + ξ has, in expectation,
`e_t ≤ E max_K ⟨s, ξ⟩ = σ_T w(K)` (Jensen), w the Gaussian width: noise of the choice does grow with T, and decides it.
"""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Cardinality, L1Penalty, NoPenalty, SubmodularPenalty, SubmodularPolyhedron
from hullabaloo.geometry.submodular.norm import singletons
from hullabaloo.geometry.width import expected_largest_magnitude
from hullabaloo.losses import Squared
from hullabaloo.solvers.base import Array, Problem
from hullabaloo.solvers.options import no_jump, one_prediction
from hullabaloo.solvers.perturbation.objective_perturbation import clip_for, reference_terms

STEPS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""The numbers of answers that a plan chooses from; fewer served worse on simulated tables (docs/algorithms.md) at every budget."""
EXACT_STEPS, EXACT_SEARCHES = 1000, 100
"""Steps without noise: where all answers come out of one factorisation, and where each is a search over the table."""
FACTORISED = 1500
"""Columns up to which the curator factorises."""
USUAL_CURVATURE, USUAL_ERROR = 0.01, 0.5
"""What simulated tables showed of the two terms of the bound, which is that of the worst table."""
USUAL_NOISE = 0.05
"""What is left of the noise's risk where coefficients within it are set to 0 and rows are shorter than their bound, on the same tables:
the ridge that it leads to is near the best, half of it does far worse, twice of it little."""


@dataclass(frozen=True, slots=True)
class Polyhedron:
    """Public constants of K = λ|P|(F).

    Attributes:
        penalty: λΩ.
        largest: S = max over K of ‖s‖₂.
        width: a lower bound of w(K) = E max over K of ⟨s, g⟩ = λ E Ω(g), g standard normal: `Ω(g) ≥ min F({j}) ‖g‖_∞`, and `E Ω(g) ≥
            Ω(E|g|) = F(V)√(2/π)`, which is exact for the cardinality; for predictions alone.
        threshold: a lower bound of E Ω*(g), the multiple of σ at which the prox of Ω takes pure noise for 0: `Ω*(g) ≥ ‖g‖_∞/max F({j})`
            and `≥ ‖g‖₁/F(V)`; for the cardinality it is exact.

    Source: 001, Equation (12).
    """

    penalty: SubmodularPenalty
    largest: float
    width: float
    threshold: float

    @classmethod
    def of(cls, problem: Problem) -> "Polyhedron":
        """The constants, of the slopes' columns.

        Raises:
            CapabilityError: what is no problem of a single smooth prediction with a structured penalty.
        """
        penalty, p = structured(problem), problem.slopes
        if penalty.strength == 0.0 or p == 0:
            return cls(penalty, 0.0, 0.0, 0.0)
        alone, whole = singletons(penalty.function, p), penalty.function.value(np.ones(p, dtype=bool))
        highest, typical = expected_largest_magnitude(p), math.sqrt(2.0 / math.pi)
        largest = SubmodularPolyhedron(penalty.function, penalty.strength).max_norm(2.0, p) * (1.0 + 1e-12)
        width = penalty.strength * max(whole * typical, float(alone.min()) * highest)
        return cls(penalty, largest, width, max(highest / float(alone.max()), p * typical / whole))

    def curvature(self, ridge: float) -> float:
        """C = (2S)²/ν.

        Source: 001, Theorem 2.
        """
        return (2.0 * self.largest) ** 2 / ridge


def structured(problem: Problem) -> SubmodularPenalty:
    """λΩ, the l1 penalty as that of the cardinality; what dual Frank–Wolfe cannot do is refused with the remedy."""
    if problem.constraint is not None:
        raise CapabilityError(
            f"Dual Frank–Wolfe was given the set {problem.constraint!r}, and its dual problem is that of a penalty. Pass "
            "penalty=SubmodularPenalty(function, strength) in its place, or use solver='frank_wolfe' or 'gradient'."
        )
    loss = one_prediction(problem, "Dual Frank–Wolfe", "solver='output_perturbation'")
    no_jump(loss, "Dual Frank–Wolfe", loss.constants(math.inf, 1.0, 1.0).smoothness)  # of clipped derivatives
    penalty = problem.penalty
    if isinstance(penalty, SubmodularPenalty):
        return penalty
    if isinstance(penalty, L1Penalty):
        return SubmodularPenalty(Cardinality(), penalty.strength)
    given = "no penalty" if isinstance(penalty, NoPenalty) else f"the penalty {penalty!r}"
    raise CapabilityError(
        f"Dual Frank–Wolfe was given {given}, and its steps go towards vertices of the polyhedron of a set function. Pass "
        "SubmodularPenalty(function, strength) or L1Penalty(strength), or use solver='output_perturbation'."
    )


def residual_bound(problem: Problem, largest: float, ridge: float) -> float:
    """A clip that no residual of the squared loss reaches at any w(s), ‖s‖₂ ≤ S: `B·W_ν + R`.

    **Guarantee.** Precondition: rows as declared, at most `records` of them, |y| ≤ Y = 1, offsets |o| ≤ O, weights in [0, W]. Let
    R = Y + O bound |o − y|. With `L(w) = (1/n) Σ w_i ½(⟨x_i, w⟩ + o_i − y_i)² + (ν/2)‖w‖²`, the intercept a coordinate of w, the minimiser
    w of L + ⟨s, ·⟩ has `L(w) + ⟨s, w⟩ ≤ L(0) ≤ WR²/2`; the data's part of L(w) being at least 0, `(ν/2)‖w‖² ≤ WR²/2 + S‖w‖`, so
    `‖w‖ ≤ W_ν = (S + √(S² + νWR²))/ν` and `|⟨x_i, w⟩ + o_i − y_i| ≤ B W_ν + R`. A loss clipped there has the same value, slope and
    minimiser, so that its gradients G = B(BW_ν + R) bound those of the squared loss at every w(s). Privacy never rests on this: the
    query's loss *is* clipped, and its sensitivity holds for tables of any size.
    """
    height = 1.0 + problem.offset_bound
    size = (largest + math.sqrt(largest**2 + ridge * problem.max_weight * height**2)) / ridge
    return problem.norm_l2 * size * (1.0 + 1e-9) + height


def weights(steps: int, peak: int) -> Array:
    """γ_t ∝ min(t + 1, m)."""
    rising = np.minimum(np.arange(1.0, steps + 1.0), peak)
    return np.asarray(rising / rising.sum(), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Rule:
    """What is fixed before any data is read: T, m of the weights, ν and the bound of |φ'|."""

    steps: int
    peak: int
    ridge: float
    clip: float


def best_rule(
    problem: Problem, about: Polyhedron, mu: float, *, steps: int | None, ridge: float | None, unclipped: bool | None
) -> Rule:
    """ν of the least predicted risk of one answer, then T and m of the least in all; what is given stays.

    Two bounds of |φ'| are certified: the clip, of a loss that is Huber's beyond it, and for the squared loss `residual_bound`,
    which leaves it as it is. No clip of the public rule is above R ≤ `residual_bound`, so that the second one is never the quieter:
    it is taken where it is asked for.

    Source: 001, Theorem 4.
    """
    ridges = np.geomspace(1e-6, 1e3, 91) * problem.norm_l2**2 if ridge is None else np.array([ridge])
    clips = np.array([_clip(problem, about, value, mu, unclipped) for value in ridges.tolist()])
    factorised = isinstance(problem.loss, Squared) and problem.dimension <= FACTORISED
    exact = EXACT_STEPS if factorised else EXACT_SEARCHES
    counts = (steps,) if steps is not None else (exact,) if math.isinf(mu) else STEPS
    parts = Parts.of(problem, about, ridges, clips, mu)
    at = int(np.argmin(parts.noise + parts.bias + (parts.curvature / exact if math.isinf(mu) else 0.0)))
    shapes = [(count, max(1, count >> k)) for count in counts for k in range(4)]
    count, peak = min(shapes, key=lambda shape: (float(parts.risk(*shape)[at]), *shape))
    return Rule(count, peak, float(ridges[at]), float(clips[at]))


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Excess risk on the reference table for several ridges: what the ridge misses, and usual shares of noise and of the bound above.

    Attributes:
        noise: the risk of one answer's noise at the price of all.
        bias: what the ridge misses.
        curvature: C.
        chosen: what a vertex loses to that noise.
        most: S‖θ‖, θ the reference table's best model: what the penalty could be worth.
    """

    noise: Array
    bias: Array
    curvature: Array
    chosen: Array
    most: float

    @classmethod
    def of(cls, problem: Problem, about: Polyhedron, ridges: Array, clips: Array, mu: float) -> "Parts":
        """From public facts."""
        values, theta2, bend = reference_terms(problem)
        moved = problem.change * problem.norm_l2 / problem.records  # the minimiser, by one unit, times ν/c
        sigma = np.zeros(ridges.size) if math.isinf(mu) else moved * clips / (ridges * mu)
        missed = ridges[:, None] / (bend * values + ridges[:, None])
        return cls(
            noise=0.5 * USUAL_NOISE * bend * sigma**2 * float(values.sum()),
            bias=0.5 * bend * (missed**2 @ (values * theta2)),
            curvature=USUAL_CURVATURE * about.curvature(1.0) / ridges,
            chosen=USUAL_ERROR * sigma * about.width,
            most=about.largest * math.sqrt(float(theta2.sum())),
        )

    def risk(self, steps: int, peak: int) -> Array:
        """The sum, for so many answers and weights of that peak."""
        gamma = weights(steps, peak)
        early = self.curvature * float(np.sum(gamma / np.arange(1.0, steps + 1.0)))
        total: Array = self.noise * (steps * float(gamma @ gamma)) + self.bias
        return total + np.minimum(early + math.sqrt(steps) * self.chosen, self.most)


def _clip(problem: Problem, about: Polyhedron, ridge: float, mu: float, unclipped: bool | None) -> float:
    if math.isinf(mu):
        return math.inf
    clip = clip_for(problem)
    if not isinstance(problem.loss, Squared) or unclipped is False:
        return clip
    wide = residual_bound(problem, about.largest, ridge)
    return wide if unclipped else min(clip, wide)
