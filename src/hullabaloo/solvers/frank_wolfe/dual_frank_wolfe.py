"""Dual Frank–Wolfe: structured sparsity by minimisers whose linear term walks towards vertices of the dual norm's ball.

For `P(w) = L(w) + λΩ(w)`, `L(w) = mean φ_c + (ν/2)‖w‖²`, the dual is `max −L*(−s)` over K = λ|P|(F), the polyhedron of the set function F, with
gradient `w(s) = argmin L(w) + ⟨s, w⟩` (Bach 2013, section 9; Kumar & Deisenroth (2019), section 4.2). Algorithm 1 goes from s_t towards the vertex of K that is
greedy for w(s_t); Algorithm 2 does so with a noisy w(s_t). Both ask for nothing but minimisers with a public linear term.

Public constants of dual Frank–Wolfe: the clip, the ridge, how many answers to buy and how to weigh them.

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
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Cardinality, L1Penalty, NoPenalty, SubmodularPenalty, SubmodularPolyhedron
from hullabaloo.geometry.submodular.norm import greedy_vertex, singletons
from hullabaloo.geometry.width import expected_largest_magnitude
from hullabaloo.losses import Pinball, Squared
from hullabaloo.privacy import Allowance, Calibration
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.loop import Averaging, iterate
from hullabaloo.solvers.mirror.mirror_rule import printed
from hullabaloo.solvers.options import (
    MOST_PASSES,
    PASSES,
    POSITIVE,
    WHOLE,
    YES_OR_NO,
    check_options,
    check_passes,
    one_prediction,
    paper_pair,
)
from hullabaloo.solvers.perturbation.objective_perturbation import clip_for, curvature_at, reference_terms

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
        penalty, p = structured(problem), problem.dimension - problem.intercept
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
    if isinstance(one_prediction(problem, "Dual Frank–Wolfe", "solver='output_perturbation'"), Pinball):
        raise CapabilityError(
            "Dual Frank–Wolfe was given the pinball loss, whose minimisers with noise nothing certifies: it needs a loss with a "
            "Lipschitz derivative. Use solver='gradient' or 'mirror_descent' for quantiles."
        )
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
        (values, theta2), bend = reference_terms(problem), curvature_at(problem)
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


THRESHOLD = 0.5
"""ηλ in parts of the level at which pure noise becomes 0: all of it served worse on simulated tables wherever there was signal."""


@final
@dataclass(frozen=True, slots=True)
class DualFrankWolfeSolver(Solver):
    """One model with a structured penalty, of which only the greedy algorithm of its set function is needed.

    `s_{t+1} = (1 − μ_t)s_t + μ_t s̃_t`, `s̃_t = argmax over K of ⟨s, w̃_t⟩`, `μ_t = 2/(t+2)`, s_0 = 0; s acts on the slopes alone, the ridge
    on the intercept too. The result is `prox_{ηλΩ}(w̄ + η s̄)`, w̄ and s̄ the means of the w̃_t and s_t with the public weights γ_t of
    this page. As −s_t is the gradient of L at w(s_t), this is a proximal gradient step whose gradient is known without
    asking: what Ω can tell from noise is set to 0, and where s̄ says that the penalty holds with its full weight, as it does on the support,
    nothing is shrunk twice. η is such that `ηλ` is `THRESHOLD` times the multiple of the known noise of w̄ at which pure noise becomes 0, and
    at least one over the smoothness of L.

    Ridge, T and weights are those of the least predicted risk. Without noise 1000 steps (100 of other losses) lead to within the gap of the trace
    of the optimum for a small ridge; the optimum itself comes from "output_perturbation", wherever Ω has a prox.

    Attributes:
        steps: T; None for the public rule.
        ridge: ν, of the mean loss; None for the public rule.
        unclipped: whether squared residuals keep their full size, at the certified bound of `residual_bound` and its larger
            noise; None for whichever has the smaller predicted risk.
        max_passes: answers at most, each a pass over the table or more; None for no limit. More are refused before the charge.

    **Guarantee.** The plan buys T answers of the minimiser query, each μ/√T-GDP, together μ-GDP exactly; its linear terms are functions
    of earlier answers and public facts, no longer than the bound S that was priced. Everything else is post-processing. With
    `calibration="paper"` the noise is Laplace's at the printed scale, and the query's event states what that really costs.

    Source: 001, Algorithm 2.
    """

    steps: int | None = None
    ridge: float | None = None
    unclipped: bool | None = None
    max_passes: int | None = field(default=MOST_PASSES, repr=False)
    name: ClassVar[str] = "dual_frank_wolfe"

    def __post_init__(self) -> None:
        check_options(self, steps=WHOLE, ridge=POSITIVE, unclipped=YES_OR_NO, max_passes=PASSES)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """T minimisers of equal price.

        Raises:
            CapabilityError: no structured (or l1) penalty, a set, several targets, a loss that is not smooth; more answers than `max_passes`.
            InvalidParameter: the paper's noise is asked without ε or δ.
        """
        about, mu = Polyhedron.of(problem), allowance.mu
        paper = allowance.calibration is Calibration.PAPER and allowance.is_private
        whole = paper and self.unclipped is None  # the paper clips nothing
        rule = best_rule(problem, about, mu, steps=self.steps, ridge=self.ridge, unclipped=whole or self.unclipped)
        asked: dict[str, Any] = {"loss": problem.loss, "clip": rule.clip, "ridge": rule.ridge, "feasible": None}
        asked |= {"penalty": NoPenalty(), "linear_bound": about.largest}
        if paper:
            return self._paper(problem, prices, allowance, about, rule, asked)
        told = check_passes(self, problem, rule.steps, self.max_passes)
        query = prices.price("output_perturbation", mu=mu / math.sqrt(rule.steps), count=rule.steps, **asked)
        noisy = "noisy" if allowance.is_private else "exact"
        clipped = f"derivatives clipped at {rule.clip:.3g}, " if math.isfinite(rule.clip) else ""
        reason = f"{rule.steps} {noisy} minimisers, {clipped}ridge {rule.ridge:.3g} on the mean loss; with searches, more than {told}"
        return self._planned(problem, about, rule, query, reason)

    def _paper(
        self, problem: Problem, prices: QueryPrices, allowance: Allowance, about: Polyhedron, rule: Rule, asked: Any
    ) -> Plan:
        """`T = (Γnε/(L₁‖K‖₁))^{2/3}` as in 002, Theorem 5.5, to which the paper refers, and Laplace noise on w(s_t).

        A record moves the score ⟨s, w⟩ of a vertex by at most `SG/(nν)` under add-or-remove, so that SG/ν stands for L₁‖K‖₁, with Γ = (2S)²/ν, G
        the bound of a record's gradient. Scores of 2^p p! vertices cannot be drawn one by one: "a random vector" has the scale
        `b = (G/ν)√(8T ln(1/δ))/(nε)` in each coordinate, with which the score of a vertex along one coordinate has the printed `L₁‖K‖₁√(8T ln(1/δ))/(nε)`.

        Source: 001, Algorithm 2; 001, Theorem 3; 001, Theorem 4.
        """
        epsilon, delta = paper_pair(allowance, "Lap(L₁‖K‖₁ √(8T ln(1/δ))/(nε)) on each score")
        moved, n = problem.max_weight * rule.clip * problem.norm_l2 / rule.ridge, problem.records
        score = about.largest * moved
        wanted = (about.curvature(rule.ridge) * n * epsilon / score) ** (2.0 / 3.0) if score else 1.0
        count, short = printed(wanted, 1)
        told = check_passes(self, problem, count, self.max_passes)
        scale = moved * math.sqrt(8.0 * count * math.log(1.0 / delta)) / (n * epsilon)
        unit = prices.price("laplace_minimiser", epsilon=1.0, count=count, **asked)
        query = prices.price("laplace_minimiser", epsilon=unit.scale / scale, count=count, **asked)
        reason = (
            "scale and T as Kumar and Deisenroth (2019), Theorems 3 and 4, have them of Talwar, Thakurta, Zhang 2014: Laplace noise of scale "
            f"{scale:.3g} on each coefficient, L₁‖K‖₁ = {score:.3g}, T = {count}{short}, ridge {rule.ridge:.3g}; with searches, more than {told}"
        )
        return self._planned(problem, about, Rule(count, count, rule.ridge, rule.clip), query, reason)

    def _planned(self, problem: Problem, about: Polyhedron, rule: Rule, query: Any, reason: str) -> Plan:
        gamma = weights(rule.steps, rule.peak)
        sigma = query.sigma * math.sqrt(float(gamma @ gamma))
        settings = {
            "steps": rule.steps,
            "peak": rule.peak,
            "ridge": rule.ridge,
            "clip": rule.clip if math.isfinite(rule.clip) else None,
            "sigma": query.sigma,
            "averaged_sigma": sigma,
            "shrinkage": _shrinkage(problem, about, rule.ridge, sigma),
            "curvature": about.curvature(rule.ridge),
        }
        return Plan(self.name, (query,), settings, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Walk; the number and kind of questions is the plan's. The trace's gaps are those that the answers show, noise included.

        Source: 001, Equation (13).
        """
        penalty, settings = structured(problem), plan.settings
        gamma = weights(settings["steps"], settings["peak"])
        walk = _Walk(penalty, problem.dimension - problem.intercept, gamma, curator, plan.queries[0].name)
        last = iterate(np.zeros(problem.dimension), walk.step, steps=settings["steps"], averaging=Averaging.LAST)
        theta, slopes = walk.mean.copy(), walk.slopes
        certified = penalty.value(walk.mean[:slopes]) - float(walk.dual @ walk.mean) if slopes else 0.0
        if settings["shrinkage"] > 0.0:
            moved = walk.mean[:slopes] + settings["shrinkage"] * walk.dual[:slopes]
            theta[:slopes] = penalty.prox(moved, settings["shrinkage"])
        trace = {
            "steps": settings["steps"],
            "gap": min(walk.gaps),
            "gap_of_mean": certified,
            "nonzero": int(np.count_nonzero(theta[:slopes])),
            "dual_point": tuple(last[:slopes].tolist()),
        }
        return Solution(theta[:, None], trace=(trace,))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """What the ridge misses, and usual shares of what noise, early steps and noisy vertices cost, on the reference table."""
        settings, about = plan.settings, Polyhedron.of(problem)
        one = settings["sigma"] / math.sqrt(settings["steps"])  # of one answer at the price of all
        moved = problem.change * problem.norm_l2 / problem.records / settings["ridge"]
        mu = moved * settings["clip"] / one if one else math.inf
        clip = np.array([math.inf if settings["clip"] is None else settings["clip"]])
        ridge = np.array([settings["ridge"]])
        return float(Parts.of(problem, about, ridge, clip, mu).risk(settings["steps"], settings["peak"])[0])

    def predicted_noise(self, problem: Problem, plan: Plan, gram: Array) -> Array:
        """σ_T √(Σ γ_t²), of the mean before coefficients are set to 0."""
        return np.full(problem.dimension, float(plan.settings["averaged_sigma"]))


class _Walk:
    """Means and gaps of one run."""

    def __init__(self, penalty: SubmodularPenalty, slopes: int, gamma: Array, curator: Answers, query: str) -> None:
        self.query, self.penalty, self.slopes, self.gamma, self.curator = query, penalty, slopes, gamma, curator
        self.mean: Array = np.zeros(0)
        self.dual: Array = np.zeros(0)
        self.gaps: list[float] = []

    def step(self, t: int, s: Array) -> Array:
        """One step of Algorithm 1, or 2 where answers are noisy.

        Source: 001, Algorithm 1.
        """
        w = self.curator.answer(self.query, s)
        vertex = np.zeros_like(s)
        if self.slopes and self.penalty.strength > 0.0:
            vertex[: self.slopes] = self.penalty.strength * greedy_vertex(self.penalty.function, w[: self.slopes])
        self.gaps.append(float((vertex - s) @ w))
        self.mean = self.gamma[t] * w + (self.mean if t else 0.0)
        self.dual = self.gamma[t] * s + (self.dual if t else 0.0)
        mu = 2.0 / (t + 2)
        return (1.0 - mu) * s + mu * vertex


def _shrinkage(problem: Problem, about: Polyhedron, ridge: float, sigma: float) -> float:
    """η: one over the smoothness of L, and at least what makes pure noise 0; 0 without a penalty."""
    strength = about.penalty.strength
    if strength == 0.0 or problem.dimension == problem.intercept:
        return 0.0
    bound = problem.loss.constants(math.inf, 1.0).smoothness
    bend = bound if math.isfinite(bound) else curvature_at(problem)
    smooth = problem.max_weight * bend * problem.norm_l2**2 + ridge
    return max(1.0 / smooth, THRESHOLD * about.threshold * sigma / strength)
