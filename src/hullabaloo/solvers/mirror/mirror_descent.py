"""Noisy mirror descent: T noisy gradients, steps in the geometry of the set, the mean of the points as the model.

Talwar, Thakurta and Zhang 2014, Algorithm 1, its line 4 read as `θ_{t+1} = argmin_{θ∈C} ⟨η(∇L(θ_t) + b_t) − ∇Ψ(θ_t), θ − θ_t⟩
+ Ψ(θ)`, which is `argmin_{θ∈C} η⟨∇L(θ_t) + b_t, θ⟩ + B_Ψ(θ, θ_t)`. Its start, "an arbitrary point", has to be the minimiser
of Ψ: from elsewhere the range of Ψ does not bound the distance to go.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import ClassVar

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import HasComposite, HasMirrorMap, NoPenalty, Projectable, SquaredL2Penalty
from hullabaloo.losses import Loss
from hullabaloo.privacy import Allowance, Calibration, paper_pair
from hullabaloo.solvers import options
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.loop import Averaging, iterate
from hullabaloo.solvers.mirror import mirror_rule as rules


def descend(
    blocks: Sequence[rules.Block],
    oracle: Callable[[Array], Array],
    steps: Sequence[rules.Step],
    *,
    count: int,
    with_start: bool,
) -> Array:
    """Algorithm 1 on a flattened θ: the mean of θ₁ … θ_N, N = T + 1, or of θ₂ … θ_N without the start.

    Source: 002, Algorithm 1.
    """
    starts = [block.mirror.start() for block in blocks]  # line 2: θ₁ = argmin Ψ
    ends = np.cumsum([state.size for state in starts])[:-1]

    def points(states: Array) -> Array:  # what is stepped is a map's own state; θ is linear in it
        parts = zip(blocks, np.split(states, ends), strict=True)
        return np.concatenate([block.mirror.point(state) for block, state in parts])

    def step(t: int, states: Array) -> Array:  # line 3: t = 1 to T
        noisy = oracle(points(states))  # ∇L(θ_t) + b_t
        moved = [
            size.moved(block.mirror, state, noisy[block.start : block.end], t + 1)
            for block, state, size in zip(blocks, np.split(states, ends), steps, strict=True)
        ]
        return np.concatenate(moved)  # line 4: θ_{t+1}

    start = np.concatenate(starts)
    mean = iterate(start, step, steps=count, averaging=Averaging.ALL)
    return points(mean + (start - mean) / (count + 1) if with_start else mean)  # line 5


@dataclass(frozen=True, slots=True)
class Descent:
    """What a plan fixes, in numbers: a rule with its steps and its bound of the risk."""

    rule: str
    steps: int
    clip: float
    euclidean: bool
    sigma: float
    sizes: tuple[float, ...]
    strength: float
    optimisation: float
    noise: float
    least: float
    composite: float = 0.0
    missed: float = 0.0

    @property
    def schedule(self) -> tuple[rules.Step, ...]:
        """Steps by block; the first block of the strongly convex and the composite rule takes `1/(λt)`."""
        plain = tuple(rules.Step(size) for size in self.sizes)
        if self.composite:
            return rules.Step(0.0, self.composite, True), *plain[1:]
        return plain if self.rule != rules.Rule.STRONGLY_CONVEX else (rules.Step(0.0, self.strength), *plain[1:])

    @property
    def risk(self) -> float:
        """The bound of the excess loss, `missed` of it what the potential beside the loss may cost, or that of staying at the start."""
        return min(self.optimisation + self.noise + self.missed, self.least)


@dataclass(frozen=True, slots=True)
class MirrorDescentSolver(Solver):
    """One model over a bounded convex set, by steps in the set's own geometry; scalar and vector losses, smooth or not.

    The potential is the set's own or ½‖θ‖², the rule of the steps Lipschitz, smooth or strongly convex, whichever has the
    least bound (`mirror_rule.py`). T is the number of gradients at which the optimisation error of the bound has come
    down to its noise, at most `max_passes`, and the plan says so where that ends them. The intercept has a block of its own, ½θ_p² on its public interval;
    the bound compares with models whose intercept is at most 2 away from the start's.

    Attributes:
        clip: bound of a record's derivative φ'. By default the largest |φ'| at the prediction zero: the gradient at θ = 0 is
            then exact. A record whose |φ'| is larger counts as in a loss that is linear from there on, so the bound of
            the risk is about that loss; pass the largest |φ'| over the set to have none clipped.
        max_passes: gradients at most, each a pass over the table; None for no limit. The public rule takes no more; a paper's T
            above it is refused before the charge.
        rule: "lipschitz", "smooth" or "strongly convex" (Theorem A.1 with `η_t = 1/(λt)`: a squared l2 penalty beside the set); "auto" for
            the one of the least bound.
        composite: Δ of a multiple of the potential that is added to the loss, for composite steps `1/(Δt)`: `f + ΔΨ` over C, Ψ the set's own
            (the entropy of a Simplex, the power of a norm of an L1Ball, a NuclearBall …), else ½‖θ‖². Its excess falls like n⁻²
            (Theorem A.1, of which the strongly convex case of Theorem 4.1 is one), f's own is at most ΔR² more.

    **Guarantee.** The plan buys T answers of `μ/√T`-GDP each: `μ`-GDP for every adaptive sequence of points (Dong, Roth,
    Su 2022). Rule, steps, clip and T come from public facts. With `calibration="paper"` the noise is the one that
    the paper prints and the query's event states what that really costs.
    """

    clip: float | None = None
    max_passes: int | None = field(default=options.MOST_PASSES, repr=False)
    rule: str = "auto"
    composite: float | None = None
    name: ClassVar[str] = "mirror_descent"

    def __post_init__(self) -> None:
        options.check_options(
            self,
            clip=options.POSITIVE,
            max_passes=options.PASSES,
            rule=options.words("auto", "lipschitz", "smooth", "strongly convex"),
            composite=options.POSITIVE,
        )

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """T gradients at `μ/√T` each, T where optimisation meets noise; without noise T = 1000.

        Raises:
            CapabilityError: no bounded set, a set that cannot be projected onto, several targets with a loss of one, or a
                penalty other than the squared l2 norm; the paper's T is above `max_passes`.
            InvalidParameter: the paper's noise is asked without ε or δ.
        """
        self._check(problem)
        if allowance.calibration is Calibration.PAPER and allowance.is_private:
            return self._paper(problem, prices, allowance)
        clip = rules.slope_bound(problem, problem.offset_bound) if self.clip is None else self.clip
        strength = rules.penalty_strength(problem)
        mu = allowance.mu
        one = prices.price("gradient", loss=problem.loss, clip=clip, mu=mu, count=1).sigma / problem.records
        choices = []
        own = self._own(problem)
        for euclidean in _potentials(problem)[-1 if own else 0 :]:
            blocks = rules.blocks_of(problem, clip, euclidean)
            for found in rules.settled(blocks, one, strength, self.max_passes, own):
                if self.rule in ("auto", found[1].rule):
                    choices.append((euclidean, blocks, *found))
        if not choices:
            raise self._no_rule()
        euclidean, blocks, count, bound = rules.best(choices)
        query = prices.price("gradient", loss=problem.loss, clip=clip, mu=mu / math.sqrt(count), count=count)
        descent = _descent(bound, blocks, count, clip, euclidean, query.sigma / problem.records, strength, own)
        potential = "½‖θ‖²" if euclidean else "the set's own potential"
        reason = f"{count} noisy gradients, {potential}, {bound.rule} steps; risk bound {bound.risk:.3g}; {options.passes(problem, count)}"
        if count == self.max_passes and bound.optimisation > bound.noise:
            reason += f", ended by max_passes short of where optimisation ({bound.optimisation:.2g}) meets noise ({bound.noise:.2g})"
        return Plan(self.name, (query,), asdict(descent), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Algorithm 1 with the curator's gradients; the squared penalty's own gradient is public and exact."""
        descent = Descent(**plan.settings)
        blocks = rules.blocks_of(problem, descent.clip, descent.euclidean)
        vector = not isinstance(problem.loss, Loss)
        slopes = problem.slopes * problem.targets

        def oracle(theta: Array) -> Array:
            asked = theta.reshape(problem.dimension, problem.targets) if vector else theta
            gradient: Array = curator.answer("gradient", asked).ravel()
            if descent.strength > 0.0:
                gradient[:slopes] += descent.strength * theta[:slopes]
            return gradient

        with_start = descent.rule != rules.Rule.SMOOTH
        mean = descend(blocks, oracle, descent.schedule, count=descent.steps, with_start=with_start)
        return Solution(mean.reshape(problem.dimension, problem.targets))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """The theorem's bound, of the clipped loss, or that of staying at the start where it is smaller."""
        return Descent(**plan.settings).risk

    def _paper(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """The paper's σ, T and η with its constants: `T = (‖Q‖₂εn)²/(ln²(n/δ)(w(Q)² + ‖Q‖₂²))`, `η = R/(L‖Q‖₂√T)`.

        Both as in the proof of its Theorem 3.2 (the statement has another L in T and no R in η; neither fits the units). Strongly convex, where
        `composite` or rule="strongly convex" asks for it: T without the logarithm and `η_t = 1/(Δt)`, as in the proof of Theorem A.1 (its
        statement's `2/(Δt)` is of a Δ that is twice ours).

        Source: 002, Algorithm 1; 002, Theorem 3.1; 002, Theorem A.1; 002, Theorem 4.1 (2).
        """
        epsilon, delta = paper_pair(allowance.budget, "32 L² T ln²(T/δ)/(nε)²")
        n = problem.records
        slope = rules.slope_bound(problem, rules.prediction_bound(problem))
        lipschitz = problem.max_weight * slope * problem.norm_l2
        strength, own, curved = rules.penalty_strength(problem), self._own(problem), self.rule == "strongly convex"
        if (own and self.rule != "auto") or (curved and not (strength and _potentials(problem)[0])):
            raise self._no_rule()
        euclidean = _potentials(problem)[0 if curved else -1]
        blocks = rules.blocks_of(problem, slope, euclidean)
        radius = max(block.mirror.unit_radius for block in blocks)
        width = math.hypot(*(block.noise for block in blocks))
        logarithm = 1.0 if curved or own else math.log(n / delta)
        wanted = (radius * epsilon * n / (logarithm * width)) ** 2
        count, short = rules.printed(wanted, 1)
        told = options.check_passes(self, problem, count, self.max_passes)
        sigma = math.sqrt(32.0 * count) * lipschitz * math.log(count / delta) / (n * epsilon)
        query = rules.gradients_at(problem, prices, slope, sigma, count)
        if own:
            bound, eta = rules.composite(blocks, count, sigma, own), f"Theorem A.1's composite η = 1/({own:.3g} t)"
        elif curved:
            bound = rules.strongly_convex(blocks, count, sigma, strength)
            eta = f"Theorem A.1's η = 1/({strength:.3g} t)"
        else:
            sizes = [block.reach / (lipschitz * radius * math.sqrt(count)) for block in blocks]
            bound, eta = rules.fixed(blocks, count, sigma, sizes, rules.Rule.PAPER), "η = R/(L‖Q‖√T)"
        descent = _descent(bound, blocks, count, slope, euclidean, sigma, strength, own)
        reason = f"as printed by Talwar, Thakurta, Zhang 2014, Algorithm 1: σ² = 32 L² T ln²(T/δ)/(nε)² with L = {lipschitz:.3g}, T = {count}{short}, {eta}; {told}"
        return Plan(self.name, (query,), asdict(descent), reason)

    def _own(self, problem: Problem) -> float:
        """Δ, which needs a potential of the library's, and slopes."""
        if self.composite is None or problem.constraint is None or problem.dimension == problem.intercept:
            return 0.0
        size = problem.slopes * problem.targets
        mirror = rules.potential(problem.constraint, size, euclidean=_potentials(problem)[-1])
        if not isinstance(mirror, HasComposite):
            raise CapabilityError(
                f"Mirror descent was asked with composite={self.composite} over {problem.constraint!r}, whose mirror map does not say where its "
                "slope is a part of another point's. Derive it from HasComposite, or leave composite out."
            )
        return self.composite

    def _no_rule(self) -> CapabilityError:
        return CapabilityError(
            f"Mirror descent was asked with rule={self.rule!r}, which this fit has not: 'smooth' needs a loss whose derivative does not jump, "
            "'strongly convex' a squared l2 penalty beside a set that can be projected onto, and composite steps are a rule of their own. Pass "
            "penalty=SquaredL2Penalty(0.1), say, or rule='auto'."
        )

    def _check(self, problem: Problem) -> None:
        if problem.constraint is None:
            raise CapabilityError(
                "Mirror descent was asked without a set, and its steps and its bound are those of a bounded one. Pass "
                "constraint=L2Ball(radius) or another set, or use solver='gradient'."
            )
        require_step(problem.constraint)
        if not isinstance(problem.penalty, NoPenalty | SquaredL2Penalty):
            raise CapabilityError(
                f"Mirror descent was given the penalty {problem.penalty!r}; its bound covers a squared l2 penalty at most. Put "
                "the penalty into the set, such as constraint=L1Ball(radius), or use solver='gradient'."
            )
        if isinstance(problem.loss, Loss):
            options.one_prediction(problem, "Mirror descent", "solver='moments', whose one release serves them all")


def require_step(body: object) -> None:
    """Refuse what no step of mirror descent can be made over."""
    if not isinstance(body, HasMirrorMap | Projectable):
        raise CapabilityError(
            f"Mirror descent was given {body!r}, which has neither a mirror map nor a projection, and a step "
            "needs one of them. Use an L2Ball or an L1Ball, or solver='frank_wolfe', which needs vertices only."
        )


def _potentials(problem: Problem) -> list[bool]:
    """Which potentials the set has: ½‖θ‖² (True) where it can be projected onto, its own (False) last."""
    found: list[bool] = [True] if isinstance(problem.constraint, Projectable) else []
    return [*found, False] if isinstance(problem.constraint, HasMirrorMap) else found


def _descent(
    bound: rules.Bound,
    blocks: Sequence[rules.Block],
    count: int,
    clip: float,
    euclidean: bool,
    sigma: float,
    strength: float,
    own: float,
) -> Descent:
    """The numbers of a plan; `least` bounds the risk of the start: `G‖θ₁ − θ*‖ ≤ √2 G R`.

    Beside ΔΨ the risk is f's: `f(θ̄) − f(θ*) ≤ [F(θ̄) − F(θ*)] + ΔR²`, F = f + ΔΨ.
    """
    least = math.sqrt(2.0) * sum(block.gradient * block.reach for block in blocks)
    sizes = tuple(step.constant for step in bound.steps)
    terms = (strength, bound.optimisation, bound.noise, least)
    missed = own * blocks[0].mirror.range if own else 0.0
    return Descent(str(bound.rule), count, clip, euclidean, sigma, sizes, *terms, own, missed)
