"""Dual Frank–Wolfe: structured sparsity by minimisers whose linear term walks towards vertices of the dual norm's ball.

For `P(w) = L(w) + λΩ(w)`, `L(w) = mean φ_c + (ν/2)‖w‖²`, the dual is `max −L*(−s)` over K = λ|P|(F), the polyhedron of the set function F, with
gradient `w(s) = argmin L(w) + ⟨s, w⟩` (Bach 2013, section 9; Kumar & Deisenroth (2019), section 4.2). Algorithm 1 goes from s_t towards the vertex of K that is
greedy for w(s_t); Algorithm 2 does so with a noisy w(s_t). Both ask for nothing but minimisers with a public linear term.
"""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import CalibrationError
from hullabaloo.geometry import NoPenalty, SubmodularPenalty
from hullabaloo.geometry.submodular.norm import greedy_vertex
from hullabaloo.privacy import Allowance, Calibration
from hullabaloo.solvers.base import Answers, Menu, Plan, Problem, Solution, Solver
from hullabaloo.solvers.frank_wolfe.dual_frank_wolfe_rule import Parts, Polyhedron, best_rule, structured, weights
from hullabaloo.solvers.loop import Averaging, iterate
from hullabaloo.solvers.options import positive, whole, yes_or_no
from hullabaloo.solvers.perturbation.objective_perturbation import curvature_at

Array = npt.NDArray[np.float64]

THRESHOLD = 0.5
"""ηλ in parts of the level at which pure noise becomes 0: all of it served worse on simulated tables wherever there was signal."""


@final
@dataclass(frozen=True, slots=True)
class DualFrankWolfeSolver(Solver):
    """One model with a structured penalty, of which only the greedy algorithm of its set function is needed.

    `s_{t+1} = (1 − μ_t)s_t + μ_t s̃_t`, `s̃_t = argmax over K of ⟨s, w̃_t⟩`, `μ_t = 2/(t+2)`, s_0 = 0; s acts on the slopes alone, the ridge
    on the intercept too. The result is `prox_{ηλΩ}(w̄ + η s̄)`, w̄ and s̄ the means of the w̃_t and s_t with the public weights γ_t of
    `dual_frank_wolfe_rule.py`. As −s_t is the gradient of L at w(s_t), this is a proximal gradient step whose gradient is known without
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

    **Guarantee.** The plan buys T answers of the minimiser query, each μ/√T-GDP, together μ-GDP exactly; its linear terms are functions
    of earlier answers and public facts, no longer than the bound S that was priced. Everything else is post-processing.
    """

    steps: int | None = None
    ridge: float | None = None
    unclipped: bool | None = None
    name: ClassVar[str] = "dual_frank_wolfe"

    def __post_init__(self) -> None:
        whole(self, "steps")
        positive(self, "ridge")
        yes_or_no(self, "unclipped")

    def plan(self, problem: Problem, menu: Menu, allowance: Allowance) -> Plan:
        """T minimisers of equal price.

        Raises:
            CapabilityError: no structured (or l1) penalty, a set, several targets, a loss that is not smooth.
            CalibrationError: the paper's calibration.
        """
        about = Polyhedron.of(problem)
        if allowance.calibration is Calibration.PAPER and allowance.is_private:
            raise CalibrationError(
                "Dual Frank–Wolfe was asked with calibration='paper', but its paper (Theorems 3 and 4) refers to the Laplace noise of "
                "Talwar, Thakurta and Zhang (2014) for scores of finitely many vertices, which neither bounds how far a record moves "
                "w(s) nor can be drawn for the 2^p p! vertices of a polyhedron. Use calibration='exact'."
            )
        mu = allowance.mu
        rule = best_rule(problem, about, mu, steps=self.steps, ridge=self.ridge, unclipped=self.unclipped)
        quote = menu.price(
            "minimizer",
            loss=problem.loss,
            clip=rule.clip,
            ridge=rule.ridge,
            feasible=None,
            penalty=NoPenalty(),
            mu=mu / math.sqrt(rule.steps),
            count=rule.steps,
            linear_bound=about.largest,
        )
        gamma = weights(rule.steps, rule.peak)
        sigma = quote.sigma * math.sqrt(float(gamma @ gamma))
        settings = {
            "steps": rule.steps,
            "peak": rule.peak,
            "ridge": rule.ridge,
            "clip": rule.clip if math.isfinite(rule.clip) else None,
            "sigma": quote.sigma,
            "averaged_sigma": sigma,
            "shrinkage": _shrinkage(problem, about, rule.ridge, sigma),
            "curvature": about.curvature(rule.ridge),
        }
        noisy = "noisy" if allowance.is_private else "exact"
        clipped = f"derivatives clipped at {rule.clip:.3g}, " if math.isfinite(rule.clip) else ""
        reason = f"{rule.steps} {noisy} minimisers, {clipped}ridge {rule.ridge:.3g} on the mean loss"
        return Plan(self.name, (quote,), MappingProxyType(settings), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Walk; the number and kind of questions is the plan's. The trace's gaps are those that the answers show, noise included."""
        penalty, settings = structured(problem), plan.settings
        gamma = weights(settings["steps"], settings["peak"])
        walk = _Walk(penalty, problem.dimension - problem.intercept, gamma, curator)
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
        mu = math.inf if settings["sigma"] == 0.0 else _mu(plan)
        clip = np.array([math.inf if settings["clip"] is None else settings["clip"]])
        ridge = np.array([settings["ridge"]])
        return float(Parts.of(problem, about, ridge, clip, mu).risk(settings["steps"], settings["peak"])[0])

    def predicted_noise(self, problem: Problem, plan: Plan, gram: Array) -> Array:
        """σ_T √(Σ γ_t²), of the mean before coefficients are set to 0."""
        return np.full(problem.dimension, float(plan.settings["averaged_sigma"]))


class _Walk:
    """Means and gaps of one run."""

    def __init__(self, penalty: SubmodularPenalty, slopes: int, gamma: Array, curator: Answers) -> None:
        self.penalty, self.slopes, self.gamma, self.curator = penalty, slopes, gamma, curator
        self.mean: Array = np.zeros(0)
        self.dual: Array = np.zeros(0)
        self.gaps: list[float] = []

    def step(self, t: int, s: Array) -> Array:
        """One step of Algorithm 1, or 2 where answers are noisy."""
        w = self.curator.answer("minimizer", s)
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


def _mu(plan: Plan) -> float:
    """The μ of all answers together."""
    found: Any = plan.event.gdp_mu()
    return float(found)
