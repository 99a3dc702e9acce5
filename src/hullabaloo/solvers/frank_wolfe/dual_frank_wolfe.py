"""Dual Frank–Wolfe: structured sparsity by minimisers whose linear term walks towards vertices of the dual norm's ball.

For `P(w) = L(w) + λΩ(w)`, `L(w) = mean φ_c + (ν/2)‖w‖²`, the dual is `max −L*(−s)` over K = λ|P|(F), the polyhedron of the set function F, with
gradient `w(s) = argmin L(w) + ⟨s, w⟩` (Bach 2013, section 9; Kumar & Deisenroth (2019), section 4.2). Algorithm 1 goes from s_t towards the vertex of K that is
greedy for w(s_t); Algorithm 2 does so with a noisy w(s_t). Both ask for nothing but minimisers with a public linear term.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hullabaloo.geometry import NoPenalty, SubmodularPenalty, greedy_vertex
from hullabaloo.privacy import Allowance, Calibration, paper_pair
from hullabaloo.solvers import options
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.frank_wolfe.dual_frank_wolfe_rule import Parts, Polyhedron, Rule, best_rule, structured, weights
from hullabaloo.solvers.loop import Averaging, iterate
from hullabaloo.solvers.mirror.mirror_rule import printed
from hullabaloo.solvers.perturbation.objective_perturbation import typical

THRESHOLD = 0.5
"""ηλ in parts of the level at which pure noise becomes 0: all of it served worse on simulated tables wherever there was signal."""


@dataclass(frozen=True, slots=True)
class DualFrankWolfeSolver(Solver):
    """One model with a structured penalty, of which only the greedy algorithm of its set function is needed.

    `s_{t+1} = (1 − μ_t)s_t + μ_t s̃_t`, `s̃_t = argmax over K of ⟨s, w̃_t⟩`, `μ_t = 2/(t+2)`, s_0 = 0; s acts on the slopes alone, the ridge
    on the intercept too. The result is `prox_{ηλΩ}(w̄ + η s̄)`, w̄ and s̄ the means of the w̃_t and s_t with the public weights γ_t of
    the rule. As −s_t is the gradient of L at w(s_t), this is a proximal gradient step whose gradient is known without
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
    max_passes: int | None = field(default=options.MOST_PASSES, repr=False)
    name: ClassVar[str] = "dual_frank_wolfe"

    def __post_init__(self) -> None:
        options.check_options(
            self, steps=options.WHOLE, ridge=options.POSITIVE, unclipped=options.YES_OR_NO, max_passes=options.PASSES
        )

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
        told = options.check_passes(self, problem, rule.steps, self.max_passes)
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
        epsilon, delta = paper_pair(allowance.budget, "Lap(L₁‖K‖₁ √(8T ln(1/δ))/(nε)) on each score")
        moved, n = problem.max_weight * rule.clip * problem.norm_l2 / rule.ridge, problem.records
        score = about.largest * moved
        wanted = (about.curvature(rule.ridge) * n * epsilon / score) ** (2.0 / 3.0) if score else 1.0
        count, short = printed(wanted, 1)
        told = options.check_passes(self, problem, count, self.max_passes)
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
        clip, moved = rule.clip if math.isfinite(rule.clip) else None, _shrinkage(problem, about, rule.ridge, sigma)
        settings = {"steps": rule.steps, "peak": rule.peak, "ridge": rule.ridge, "clip": clip, "sigma": query.sigma}
        settings |= {"averaged_sigma": sigma, "shrinkage": moved, "curvature": about.curvature(rule.ridge)}
        return Plan(self.name, (query,), settings, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Walk; the number and kind of questions is the plan's. The trace's gaps are those that the answers show, noise included.

        Source: 001, Equation (13).
        """
        penalty, settings = structured(problem), plan.settings
        gamma = weights(settings["steps"], settings["peak"])
        walk = _Walk(penalty, problem.slopes, gamma, curator, plan.queries[0].name)
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
    bend = bound if math.isfinite(bound) else typical(problem.loss)[0]
    smooth = problem.max_weight * bend * problem.norm_l2**2 + ridge
    return max(1.0 / smooth, THRESHOLD * about.threshold * sigma / strength)
