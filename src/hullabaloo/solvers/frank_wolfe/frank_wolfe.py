"""Private Frank–Wolfe: every step goes towards a vertex of the set, chosen privately.

Polytope form: Talwar, Thakurta and Zhang 2015, Algorithm 2 (2014, Algorithm 4, whose fixed step 1/(T+2) would leave the start
a weight of 1/e: the step is 2/(t+2) here). General form: 2014, Algorithm 5. Their start is any point of C; here it
is the point of C nearest to zero, so that models on the l1 ball have at most T slopes that are not zero.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.foreign import foreign
from hullabaloo.geometry import HasVertices, require
from hullabaloo.losses import Loss, Squared
from hullabaloo.privacy import Allowance, Calibration, PermuteAndFlipEvent
from hullabaloo.solvers.base import Answers, Array, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.frank_wolfe import frank_wolfe_rule as rule
from hullabaloo.solvers.loop import Averaging, iterate
from hullabaloo.solvers.mirror.mirror_rule import prediction_bound, slope_bound
from hullabaloo.solvers.options import MOST_PASSES, PASSES, POSITIVE, WHOLE, check_options, check_passes, words


def descend(start: Array, towards: Callable[[Array], Array], *, steps: int) -> Array:
    """Algorithm 2 after its choice of a start: `θ_{t+1} = (1 − μ_t)θ_t + μ_t s_t`, `μ_t = 2/(t+2)`, for t = 1 … T.

    Source: 000, Algorithm 1; 002, Algorithm 3.
    """

    def step(t: int, theta: Array) -> Array:  # line 2, t counted from 0
        s = towards(theta)  # lines 3 and 4
        mu = 2.0 / (t + 3)
        return (1.0 - mu) * theta + mu * s  # line 5

    return iterate(start, step, steps=steps, averaging=Averaging.LAST)  # line 6


@dataclass(frozen=True, slots=True)
class FrankWolfeSolver(Solver):
    """One model over a bounded convex set, a mixture of few of its vertices: sparse over the l1 ball, with risk ∝ n^{-2/3} log p.

    Over a set with finitely many vertices each step is one exponential mechanism over them (`curator.vertex`); over other sets,
    and for losses of several predictions, one Gaussian gradient followed by the set's linear minimisation.

    The bound `2Γ/T + e(T)` of `frank_wolfe_rule.py` is least at `T₀ = (2Γ n ε₀₁/(Δ ln V))^{2/3}`, ε₀₁ = √(8ρ) for a budget of ρ-zCDP.
    T = T₀/8: on simulated tables (docs/algorithms.md) fewer, quieter choices than the bound asks for served better where there was signal
    to find. Where that is expected to lose more than there is to learn on the reference table, T is 500 at least, so that vertices chosen by
    noise average out; with an intercept at least 25 times the square of the largest prediction.

    Intercept: its interval stands beside the set, and its end is chosen together with the vertex; a step sees ends at most 2
    away, so that wide intervals (logistic: [−8, 8]) do not make it swing. The risk bound holds for a step's window that contains
    the best intercept.

    Without noise the steps are the classical ones, T = 2000: within 2Γ/T of the optimum, not at it; the optimum itself comes from
    "moments" or "output_perturbation".

    Attributes:
        clip: bound of |φ'| (‖∇φ‖₂); None for 1, or the largest |φ'| where that is less; for the squared loss without an intercept ½
            where the budget is small. A clipped φ is convex again, and the risk is about that loss.
        steps: T; None for the rule above.
        form: "auto", or one form asked for by name.
        max_passes: steps at most, each a pass over the table; None for no limit. The public rule takes no more; `steps` or a paper's T
            above it are refused before the charge.

    **Guarantee.** The plan buys T selections of range ε₀ (or T answers of μ/√T-GDP each), whose adaptive composition the allowance
    takes. Everything else is public or follows from the answers. With `calibration="paper"` the temperature is the scale
    of the paper's noise and the query's event states what that really costs.

    Source: 000, Theorem 1.1; 000, Algorithm 2; 000, Remark 2; 002, Algorithm 4; 002, Remark 6.
    """

    clip: float | None = None
    steps: int | None = None
    form: Literal["auto", "polytope", "general"] = "auto"
    max_passes: int | None = field(default=MOST_PASSES, repr=False)
    name: ClassVar[str] = "frank_wolfe"

    def __post_init__(self) -> None:
        """Refuse an option that is none."""
        check_options(self, clip=POSITIVE, steps=WHOLE, form=words("auto", "polytope", "general"), max_passes=PASSES)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """T selections, or T gradients, of equal price.

        Raises:
            CapabilityError: no set, a penalty, a loss that is not smooth, several targets with a loss of one, a set without
                vertices where the polytope form is asked, or more steps than `max_passes`.
            InvalidParameter: the paper's noise is asked without ε or δ.
        """
        rule.check(problem)
        polytope = self._is_polytope(problem)
        if allowance.calibration is Calibration.PAPER and allowance.is_private:
            printed = rule.printed_selections if polytope else rule.printed_gradients
            walk, query, reason = printed(problem, prices, allowance)
            told = check_passes(self, problem, walk.steps, self.max_passes)
            return Plan(self.name, (query,), asdict(walk), f"{reason}; {told}")
        buy, clip = self._selections if polytope else self._gradients, self.clip
        if clip is None:
            anywhere = slope_bound(problem, prediction_bound(problem))
            at_zero = slope_bound(problem, problem.offset_bound)
            clip = max(at_zero, min(1.0, anywhere)) if allowance.is_private else anywhere
        walk, query = buy(problem, prices, allowance, rule.terms(problem, clip))
        # beside an intercept a narrow clip would draw an unbalanced 0/1 target to its majority
        narrow = isinstance(problem.loss, Squared) and not problem.intercept and self.clip is None
        if narrow and allowance.is_private and walk.risk > rule.NARROW_ABOVE:
            walk, query = buy(problem, prices, allowance, rule.terms(problem, rule.NARROW))
        told = check_passes(self, problem, walk.steps, self.max_passes)
        how = "private choices of a vertex" if polytope else "noisy gradients"
        reason = f"{walk.steps} {how}, risk bound {walk.risk:.3g}; {told}"
        if walk.steps == self.max_passes and self.steps is None:
            reason += ", ended by max_passes"
        if not allowance.is_private:
            reason = f"no noise: {walk.steps} classical steps, within {walk.risk:.3g} of the optimum; {told}"
        return Plan(self.name, (query,), asdict(walk), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Iterates; the number and kind of questions is the plan's."""
        walk = rule.Iterates(**plan.settings)
        theta = descend(_start(problem), _towards(problem, curator, walk), steps=walk.steps)
        trace = ({"step": walk.steps, "nonzero": int(np.count_nonzero(theta[: problem.slopes]))},)
        return Solution(theta.reshape(problem.dimension, problem.targets), trace=trace)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """A hundredth of the bound's first term `2Γ/(T+2)` and an eighth of its second, e: what simulated tables showed.

        Nothing is below the bound itself, `Iterates.risk`, on the worst table.

        Source: 000, Corollary 2.7; 002, Corollary 5.7.
        """
        walk = rule.Iterates(**plan.settings)
        return walk.usual(walk.steps, walk.slope_error)

    def _count(self, ruled: int) -> int:
        """T: the caller's, or the rule's up to `max_passes`."""
        return self.steps or (ruled if self.max_passes is None else min(ruled, self.max_passes))

    def _is_polytope(self, problem: Problem) -> bool:
        if self.form == "polytope":
            require(problem.body, [HasVertices], "The polytope form of Frank–Wolfe")
        scalar = isinstance(problem.loss, Loss)
        if self.form == "polytope" and not scalar:
            raise InvalidParameter(
                f"The polytope form of Frank–Wolfe scores the gradient of one prediction, and {problem.loss.name!r} has several; use form='general'."
            )
        if self.form == "auto" and foreign(problem.constraint) is not None:  # it would score exact gradients
            return False
        return self.form != "general" and scalar and isinstance(problem.constraint, HasVertices)

    def _selections(
        self, problem: Problem, prices: QueryPrices, allowance: Allowance, about: rule.Terms
    ) -> tuple[rule.Iterates, PricedQuery]:
        asked = {"constraint": problem.feasible, "loss": problem.loss, "clip": about.clip}

        def query(epsilon: float, count: int, once: bool = False) -> Any:
            return prices.price("vertex", epsilon=epsilon, count=count, once=once, **asked)

        if not allowance.is_private:
            count = self._count(rule.EXACT_STEPS)
            return rule.Iterates.of("polytope", count, about, 0.0), query(math.inf, count)
        pure = allowance.budget.pair is not None and allowance.budget.pair[1] == 0.0
        many = 1024  # beyond the exact composition: ε₀ √T is then constant
        lone = allowance.selection_epsilon(1) if pure else math.sqrt(many) * allowance.selection_epsilon(many)
        error = rule.selection_error(problem, query(lone, 1), about)
        count = self._count(about.count(error, rule.signal(problem), pure=pure))
        epsilon = allowance.selection_epsilon(count)
        chosen = query(epsilon, count)
        if count == 1 and allowance.budget.pair is not None:
            single = min(epsilon, allowance.budget.pair[0])
            if single >= 0.99 * epsilon and allowance.takes(PermuteAndFlipEvent(single)):
                chosen = query(single, 1, once=True)
        return rule.Iterates.of("polytope", count, about, rule.selection_error(problem, chosen, about)), chosen

    def _gradients(
        self, problem: Problem, prices: QueryPrices, allowance: Allowance, about: rule.Terms
    ) -> tuple[rule.Iterates, PricedQuery]:
        if not allowance.is_private:
            count = self._count(rule.EXACT_STEPS)
            free = prices.price("gradient", loss=problem.loss, clip=about.clip, mu=math.inf, count=count)
            return rule.Iterates.of("general", count, about, 0.0), free
        mu = allowance.mu
        one = prices.price("gradient", loss=problem.loss, clip=about.clip, mu=mu, count=1).sigma / problem.records
        count = self._count(about.count(rule.noise_error(problem, one, about), rule.signal(problem), pure=False))
        query = prices.price("gradient", loss=problem.loss, clip=about.clip, mu=mu / math.sqrt(count), count=count)
        error = rule.noise_error(problem, query.sigma / problem.records, about)
        return rule.Iterates.of("general", count, about, error), query


def _start(problem: Problem) -> Array:
    """θ₁, the point of C nearest to zero: (p,), or (p, k) for a loss of several predictions."""
    body, k, slopes = problem.body, problem.targets, problem.slopes
    theta = np.zeros((problem.dimension, k))
    if slopes:
        theta[:slopes] = body.start(slopes * k).reshape(slopes, k)
    if problem.intercept:
        lower, upper = problem.loss.intercept_bounds
        theta[-1] = min(max(0.0, lower), upper)
    return theta[:, 0] if isinstance(problem.loss, Loss) else theta


def _towards(problem: Problem, curator: Answers, walk: rule.Iterates) -> Callable[[Array], Array]:
    """s_t: the vertex of C whose number the exponential mechanism gives, or `argmin over C of ⟨s, ∇f(θ_t) + b_t⟩` of a noisy gradient."""
    body, slopes, ends = problem.body, problem.slopes, problem.loss.intercept_bounds

    def towards(theta: Array) -> Array:
        s = np.zeros_like(theta)
        if walk.form == "polytope":
            assert isinstance(body, HasVertices)
            upper: Any
            upper, corner = divmod(curator.answer("vertex", theta), body.vertex_count(slopes) if slopes else 1)
            if slopes:
                s[:slopes] = body.vertex_at(corner, slopes)
        else:
            noisy: Array = curator.answer("gradient", theta)
            upper = noisy[-1] < 0.0
            if slopes:
                s[:slopes] = body.vertex(noisy[:slopes].ravel()).reshape(noisy[:slopes].shape)
        if problem.intercept:  # the end of its interval, or the point towards it that the window lets a step see
            end = np.where(upper, ends[1], ends[0])
            s[-1] = end if walk.window is None else theta[-1] + np.clip(end - theta[-1], -walk.window, walk.window)
        return s

    return towards
