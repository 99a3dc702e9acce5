"""Inference beside any solver of a smooth loss: after its coefficients a noisy score, its curvature and its spread, where records are round.

The solver's θ₁ may be shrunk, stopped early, held by a set or clipped; what a score of all records says at θ₁ does not depend on why. The records' centre and two covariances, the second of records that the first has made round,
give coordinates `u = Bᵀ(x − m)` with `E uuᵀ ≈ I` for ordinary records, by the symmetric root, so that each coordinate stays near its own column. There the curvature `E φ''uuᵀ` at θ₁ is released; coordinates in which it is large,
of heavy tails, are scaled down by its diagonal to the power −¼, and the score and its spread are released. The score along the constant, of which totals are made, is released once more by itself: one coordinate's noise lets
residuals be many times as long there, and both answers together tell it (`_Scores.level`). Lengths at which records are shortened come from histograms (`lengths.py`). Estimates, errors and intervals are post-processing:
`inference/from_score.py`. Private Newton steps and sandwich errors are by Avella-Medina, Bradshaw & Loh (2023).
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from hullabaloo.errors import BudgetError
from hullabaloo.losses import Logistic, Poisson, Squared
from hullabaloo.privacy import Allowance, GaussianEvent, NoisyMoments, NoisyScore, compose_answers
from hullabaloo.solvers.base import Answers, Array, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.coordinates import Coordinates, symmetric
from hullabaloo.solvers.gradient.histogram import edges, far_edges
from hullabaloo.solvers.gradient.location_scale import TINY, PrivateLocationScale, centred, led, reach
from hullabaloo.solvers.gradient.measured_gradient import MeasuredGradientSolver
from hullabaloo.solvers.moments.moments import FIRST, MomentsFirstSolver, MomentsSolver
from hullabaloo.solvers.score import shares, spread
from hullabaloo.solvers.score.lengths import AROUND, BEGUN, DOUBT_CURVATURE, DOUBT_SCORE, Lengths, floor, tail, typical
from hullabaloo.solvers.score.normal_predictions import STEEP, WEIGHTS, NormalPredictions
from hullabaloo.solvers.score.step import skew, stepped
from hullabaloo.solvers.separate_targets import SeparateTargetsSolver, largest_share

HEAVY, ONE_SIGNED = 0.25, 0.6
"""Power of the curvature's diagonal by which heavy coordinates are scaled down; and `DOUBT_SCORE` of a number that is at a bound but for rare events, whose long residuals have one sign: of E(L − c)₊ 0.54 to 0.75 was lost of claims numbers of motor policies
and of simulated classes and amounts of 5 %, 0.6 in the median."""
STEPPED = "the slopes by a step from it, of what tells errors"
MOVED = 0.1
"""What noise in moments may add to the squared error of the step from their model, over what sampling adds. It is up to twice as much along one direction, if that model is off along it alone. Chosen on even columns (10⁶ records of 50, ε = 1: 0.08) and power plants (0.13: intervals 1.16 times as wide as after steps)."""
CALM = 0.15
"""Spectral radius of the curvature's noise, over that of ordinary records, up to which few long records are let in: what they add is not worth hiding the rest (seen on a capital gain within (0, 99999): without it ε = 3 told less than ε = 1)."""


@dataclass(frozen=True, slots=True)
class WithInference(Solver):
    """`solver` on a share of the budget, and on the rest what estimates with errors are computed from.

    Attributes:
        solver: the solver of the coefficients; a name, or "auto", until the planner has looked it up.
        share: of the budget (of μ²) for inference.
        errors: a word of `spread.py`; "auto": robust, unless the solver releases moments, which tell homoskedastic ones.

    **Guarantee.** The plan buys what `solver` buys, one answer of means, two covariances and two histograms, and for each target a histogram, a curvature, a gradient, where there is an intercept one more of which its place alone is meant,
    and a spread: Gaussian releases at points, views and lengths that are functions of earlier answers, each of one target's column; the allowance takes their adaptive composition.
    """

    solver: str | Solver
    share: float = shares.SHARE
    errors: str = "auto"

    name: ClassVar[str] = "with_inference"

    def inner_allowance(self, allowance: Allowance) -> Allowance:
        """What the solver of the coefficients may spend, about: for the planner's choice of it."""
        return allowance.scaled(math.sqrt(1.0 - self.share))

    def of(self, solver: Solver) -> Solver:
        """The same of this solver; itself where what it releases tells the errors."""
        itself = solver.name == MomentsSolver.name and self.errors in ("auto", "homoskedastic")
        return solver if itself else replace(self, solver=solver)

    def after_moments(self) -> Self:
        """The same with moments before, which take as much of inference as of the solver."""
        inner, share = self._resolved(), self.share * (1.0 - FIRST)
        first = MomentsFirstSolver(inner.name, inner, shares=(FIRST / (1.0 - share),), doubt=MOVED)
        return replace(self, share=share, solver=first)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """The solver's own plan, then what inference takes.

        Raises:
            CapabilityError: the solver cannot do what is asked, or nothing valid would be told.
        """
        inner = self._resolved()
        shares.refuse(*shares.refusal(problem, prices, allowance, self.share))

        draft = inner.plan(problem, prices, self.inner_allowance(allowance))
        # Of other noise no part of ε is the right one.
        if not (problem.earlier > 8 or all(isinstance(query.event, GaussianEvent) for query in draft.queries)):
            rest = compose_answers(self.composed(problem, prices, draft, allowance).queries[len(draft.queries) :])
            own = inner.plan(problem, prices, replace(allowance, beside=rest))
            return self.composed(problem, prices, own, allowance)

        def fits(factor: float) -> Plan | None:
            """The plan whose solver may spend `factor` of its share, where the allowance takes it."""
            own = inner.plan(problem, prices, allowance.scaled(math.sqrt(1.0 - self.share) * factor))
            made = self.composed(problem, prices, own, allowance)
            return made if allowance.takes(made.event) else None

        found = largest_share(fits, 1.0, 1.1, shorter=0.85, least=1e-3 * allowance.useful, fine=1.005)
        if found is None:
            raise BudgetError(
                f"The budget is too small to be shared between inference and the solver {inner.name!r}. Raise epsilon or delta, or leave inference out: inference=False."
            )
        return found

    def composed(self, problem: Problem, prices: QueryPrices, own: Plan, allowance: Allowance) -> Plan:
        """The solver's `own` plan and the queries of inference, at their share of the allowance."""
        mu = allowance.mu * math.sqrt(self.share)
        inner, loss, n, k = self._resolved(), problem.loss, problem.records, problem.targets
        inner = inner.solver if isinstance(inner, SeparateTargetsSolver | MomentsFirstSolver) else inner
        located = isinstance(inner, MeasuredGradientSolver)
        whitened = isinstance(inner, MeasuredGradientSolver) and inner.whitened
        bought = shares.total(problem) - located * (shares.MEANS + shares.LENGTHS) - whitened * shares.FIRST

        def part(share: float) -> float:
            return mu * math.sqrt(share / bought)

        queries: list[PricedQuery] = []
        if not located:
            queries += [prices.price("means", mu=part(shares.MEANS))] if centred(problem) else []
            queries.append(prices.price("norm_histogram", loss=loss, bins=shares.COARSE, mu=part(shares.LENGTHS)))
        mean_noise = queries[0].sigma * problem.norm_l2 / n if len(queries) > 1 else 0.0  # type: ignore[attr-defined]
        first = prices.price("covariance", mu=part(shares.FIRST))
        queries += [] if whitened else [first]
        spreads = [shares.SPREAD * one for one in spread.shares(self.errors, loss)]
        own_shares = [shares.CURVATURE, *spreads]
        asked = [shares.SECOND, *own_shares, *(spreads if isinstance(loss, Squared) else own_shares) * (k - 1)]
        squares = [prices.price("gradient_moments", loss=loss, mu=part(one)) for one in asked]
        fine = prices.price("norm_histogram", loss=loss, bins=shares.FINE, mu=part(shares.LENGTHS))
        tails = prices.price("norm_histogram", loss=loss, bins=shares.FINE, mu=part(shares.TAILS), count=k)
        left = shares.SPREAD - sum(spreads)
        alone = problem.intercept and problem.earlier < 9
        own_scores = [shares.SCORE + left, shares.LEVEL] if alone else [shares.SCORE + shares.LEVEL + left]
        steps = [prices.price("centred_gradient", loss=loss, mu=part(one)) for one in own_scores]
        settings: dict[str, Any] = {
            "solver settings": dict(own.settings),
            "share": self.share,
            "errors": "robust" if self.errors == "auto" else self.errors,
            "own queries": len(own.queries),
            "mean_noise": mean_noise,
            "share_noise": fine.sigma / n,
            "tail_noise": tails.sigma / n,
            "first_noise": first.sigma / n,
            "noises": [one.sigma / n for one in squares[: 2 + len(spreads)]],
            "score_noise": steps[0].sigma / n,
            "level_noise": steps[-1].sigma / n if len(steps) > 1 else None,
        }
        given = own.reason.replace("every slope 0", STEPPED if problem.free else "every slope 0")
        reason = f"{given}; {self.share:.0%} of the budget for errors and intervals"
        return Plan(own.solver, (*own.queries, *queries, *squares, fine, tails, *steps * k), settings, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Coefficients, then of each target the score there, and where nothing holds the coefficients the step that it speaks for."""
        # In streams of two versions ago gradients of a rare class were cut as those of an even one, as of three ago everywhere.
        walked, moments = replace(problem, earlier=problem.earlier + (problem.earlier == 2)), None
        solution = self._resolved().run(walked, self._own(problem, plan), curator)
        if isinstance(self.solver, MomentsFirstSolver) and solution.moments is not None:
            curator.give_up(plan.settings["own queries"] + 2)  # the walk, the second covariance and the curvature
            moments, solution = solution.moments, replace(solution, moments=None)
        asked, theta = _Scores(problem, plan, curator, solution.coordinates, moments), solution.theta
        scores = tuple(asked.at(np.ascontiguousarray(column), k) for k, column in enumerate(theta.T))
        if problem.free:
            theta = np.column_stack([stepped(problem, found, *asked.hidden(found)) for found in scores])
        weight, trace = asked.found.mean_weight, solution.trace
        trace = trace if problem.alike else (*trace, {"mean weight": weight})
        return replace(solution, theta=theta, scores=scores, trace=trace, mean_weight=weight)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """That of the solver of the coefficients."""
        return self._resolved().predicted_risk(problem, self._own(problem, plan))

    def _resolved(self) -> Solver:
        assert isinstance(self.solver, Solver)  # names are looked up by the planner
        return self.solver

    def _own(self, problem: Problem, plan: Plan) -> Plan:
        """The plan of the solver of the coefficients."""
        own = plan.queries[: plan.settings["own queries"]]
        return Plan(self._resolved().name, own, plan.settings["solver settings"])


class _Scores:
    """What is asked after the fit, of all targets."""

    def __init__(
        self, problem: Problem, plan: Plan, curator: Answers, known: Coordinates | None, moments: NoisyMoments | None
    ) -> None:
        self.known, self.drawn = known, np.zeros((problem.dimension,) * 2)
        self.beyond = math.inf if problem.earlier > 6 or isinstance(problem.loss, Poisson) else 0.0
        self.problem, self.settings, self.curator, self.loss = problem, plan.settings, curator, problem.loss
        q, self.W = problem.dimension, self.rounded() if moments is None else self.told(moments)
        first = self.settings["noises"][1] / self.found.mean_weight
        if problem.intercept:
            self.W[:, -1] *= problem.slopes**0.25  # the constant column, as long as √slopes directions together
        (self.ordinary,) = self.lengths(curator.projected(self.W), None, np.ones(q), 40.0 * math.sqrt(q), 0.25)
        self.beyond += self.ordinary.quantile(spread.TAIL_SPREAD)
        calm = math.sqrt(CALM / (first * math.sqrt(2.0 * q)))
        self.R = min(self.ordinary.moment_clip(first, q, DOUBT_CURVATURE), max(calm, AROUND * math.sqrt(q)))
        self.seen: tuple[Array, float] | None = None
        if moments is not None:
            weight, self.shortened = self.found.mean_weight, 0.0
            noise, inverse = moments.gram_noise / weight, np.linalg.inv(self.gram)
            self.seen = self.W.T @ self.gram @ self.W, noise * float(np.linalg.norm(self.W, 2)) ** 2
            self.drawn = 0.5 * noise**2 * (float(np.trace(inverse)) * np.eye(q) + inverse)

    def curved(self, theta: Array, curator: Answers) -> tuple[Array, float]:
        """The curvature at θ, and its noise; of the squared loss the same for all targets."""
        if self.seen is None or not isinstance(self.loss, Squared):
            R, about = self.R * math.sqrt(self.bend(theta)), {"of": "curvature", "intercept_weight": 1.0}
            point, records = np.linalg.solve(self.W, theta), curator.projected(self.W)
            gram = records.answer("gradient_moments", point, clip_norm=R, **about)
            self.seen = gram / self.found.mean_weight, self.settings["noises"][1] / self.found.mean_weight * R**2
            told = self.problem.intercept and isinstance(self.loss, Logistic | Poisson)
            h, often = (self.usual(theta).curvatures, WEIGHTS) if told else (np.array([self.bend(theta)]), np.ones(1))
            self.shortened = self.ordinary.taken(R, h, often, len(self.W), clusters=not self.problem.earlier)
        return self.seen

    def at(self, theta: Array, target: int) -> NoisyScore:
        """The target's score at θ, in coordinates that are round for its curvature; along the constant of both means, whose weights are least squares' for noise and what both lose of the same residuals."""
        problem, q, settings = self.problem, self.problem.dimension, self.settings
        weight = self.found.mean_weight
        noise, others = settings["score_noise"] / weight, [one / weight for one in settings["noises"][2:]]
        size, heaviest, counted = float(q), problem.max_weight, self.found.counted / weight
        curator = self.curator if problem.targets == 1 else self.curator.of_target(target)
        gram, curvature_noise = self.curved(theta, curator)
        bent = np.maximum(np.diag(gram), 0.0)
        scale = np.maximum(bent, 0.5 * max(float(np.median(bent)), curvature_noise)) ** -HEAVY  # above its noise
        scale /= float(np.exp(np.mean(np.log(scale))))
        V = self.W * scale
        # Records through V are those through W, which are kept, beside weights.
        records, point = curator.projected(self.W), np.asarray(np.linalg.solve(self.W, theta), np.float64)
        curvature, errors = gram * scale[:, None] * scale[None, :], settings["errors"]
        slope = min(self.loss.constants(1.0, 1.0).lipschitz, 1.0)
        longest = 16.0 * slope * math.sqrt(size)
        tails = self.lengths(records, point, scale, longest, 0.5, math.sqrt(0.5), 0.25)
        events, doubt = (0.0, 1.0), DOUBT_SCORE
        if problem.intercept and isinstance(self.loss, Logistic):
            top = 0.5 + 0.5 * skew(float(curvature[-1, -1] / V[-1, -1] ** 2))
            events = 1.0 - top, top
        elif problem.intercept and isinstance(self.loss, Squared):
            events, doubt = self.events(theta, tails[0], float(np.trace(curvature)))
        gradients, heavier, lighter = (one.at_least(self.ordinary, *events, problem.earlier < 2) for one in tails)
        c, lost = gradients.gradient_clip(noise, q, max(doubt, BEGUN) if problem.earlier > 1 else doubt)
        g = records.answer("centred_gradient", point, centre=np.zeros(q), intercept_weight=scale, clip_norm=c)
        score, level = -g * scale / weight + V.T @ (self.drawn @ theta), 0.0
        if settings["level_noise"] is not None and not self.drawn.any():
            alone, apart, less = (one / weight for one in self.level(records, point, float(scale[-1]), heavier))
            share = max(float(curvature[-1, -1]), 0.0) / max(float(np.trace(curvature)), TINY)
            more = math.sqrt(share) * heaviest * heavier.beyond(c, 1) * counted
            own, other, both = (noise * c) ** 2 + more**2, apart**2 + less**2, more * less
            score[-1] += (own - both) / (own + other - 2.0 * both) * (alone - score[-1])
            level = math.sqrt((own * other - both**2) / (own + other - 2.0 * both))
        wide = gradients.quantile(spread.TAIL_SPREAD)
        if others and problem.earlier < 6:
            wide = max(wide, lighter.moment_clip(others[0], q, math.sqrt(0.5 * size)))
        wide *= heaviest

        def ask(of: str, reach: float) -> Array:
            about: dict[str, Any] = {"of": of, "intercept_weight": scale, "clip_norm": reach / heaviest}
            return np.asarray(records.answer("gradient_moments", point, **about) / weight, dtype=np.float64)

        noises, seen = [one / heaviest for one in others], curvature_noise * float(np.linalg.norm(scale**2))
        around, spread_noise = spread.asked(ask, errors, noises, wide, curvature, problem.records_per_unit, seen)
        squares = heaviest**2 * counted * float(gradients.excess(2)[0])
        return NoisyScore(
            point=theta,
            matrix=V,
            score=score,
            curvature=curvature,
            spread=around,
            scale=scale,
            score_noise=noise * c,
            curvature_noise=curvature_noise,
            spread_noise=spread_noise,
            excess=doubt / DOUBT_SCORE * lost * heaviest * counted,
            records=float(problem.records),
            errors=errors,
            dispersion=squares / max(float(np.trace(curvature)), TINY * q) if errors == "unit" else 0.0,
            shortened=self.shortened,
            weight=weight,
            level=level,
            apart=gradients.off(c, wide / heaviest, problem.records * counted) * heaviest * counted,
            crowd=self.ordinary.crowd(problem.records * self.found.counted),
        )

    def events(self, theta: Array, lengths: Lengths, bent: float) -> tuple[tuple[float, float], float]:
        """The share and the size of a number's residuals where it is at a bound but for rare events, share 0 where it is no such; and how much of `E(L − c)₊` is taken as lost.

        Of a target that is 0 but for a share s of one size y, seen from the bound, `y = E y²/E y` and `s = (E y)²/E y²`: of events that are a quarter of the records or fewer, where the mean square of residuals is more than three times (E y)². `E y` is the mean prediction's
        distance from the bound, the mean square of residuals E L² over E‖v‖², and both are at least what a share of residuals from bound to bound makes of them that the histogram speaks for: a solver that did not see such events has left them out
        of the mean. No target within its bounds varies more than `E y (2 − E y)` (Bhatia & Davis 2000). Lengths of records are seen much better than those of the few gradients of events, which are as long in proportion.
        """
        share = lengths.share_of(2.0, self.ordinary)
        m = max(1.0 - abs(float(theta @ np.append(self.found.centre, 1.0))), 2.0 * share, TINY)
        odds = min(max(float(lengths.excess(2)[0]) / max(bent, TINY), 4.0 * share) / m**2, 2.0 / m - 1.0)
        return ((1.0 / (1.0 + odds), odds * m), ONE_SIGNED) if odds > 3.0 else ((0.0, 1.0), DOUBT_SCORE)

    def level(self, records: Answers, point: Array, scale: float, lengths: Lengths) -> tuple[float, float, float]:
        """The score along the constant a from gradients of that coordinate alone, `−E φ'a`, the deviation of its noise, and what shortening may take of it.

        It is the sum of a score with weights of next to nothing for all other columns, `UnitSum`'s at a length of its own: as the noise is one coordinate's, residuals may be √q times as long at the same error.
        `|φ'|` is taken as the gradients' lengths over that of a usual record, the lower end of the bin of the median; its tail may fall as slowly as one without a mean, and ends where the declared bounds do.
        """
        q, noise, steepest = len(point), self.settings["level_noise"], self.loss.constants(1.0, 1.0).lipschitz
        derivatives = np.minimum(lengths.ends / (math.sqrt(0.5) * self.ordinary.quantile(0.5)), max(steepest, 1.0))
        lengths = replace(lengths, ends=derivatives * self.W[-1, -1] * scale)
        c, lost = lengths.gradient_clip(noise / self.found.mean_weight, 1, 1.0)
        alone = np.append(np.full(q - 1, TINY), scale)
        g = records.answer("centred_gradient", point, centre=np.zeros(q), intercept_weight=alone, clip_norm=c)
        return -float(g[-1]) * scale, noise * c, lost * self.problem.max_weight * self.found.counted

    def lengths(self, of: Answers, point: Array | None, weights: Array, largest: float, *falls: float) -> list[Lengths]:
        """Of records or, at a point, of their gradients, beside weights of the columns; for each of the least falls of a tail. Gradients of events of usual records are no second hump, nor are those of counts, which have no bound.

        Where a cut at `largest` costs less noise than sampling a residual of 1, edges reach four times as far, the lowest two √8 apart. Beyond the last, lengths are what declared bounds permit at most."""
        longest, linf, far = 0.0, self.problem.norm_linf, False
        if not (self.problem.earlier or isinstance(self.loss, Poisson)):
            longest = linf * float(np.linalg.norm(self.W * weights, axis=1).sum())
        if longest and point is not None:
            longest *= self.loss.constants(linf * float(np.abs(self.W @ point).sum()), 1.0).lipschitz
            far = self.settings["score_noise"] / self.found.mean_weight * largest < self.problem.records**-0.5
        grid = far_edges(4.0 * largest, shares.FINE - 1, 2) if far else edges(largest, shares.FINE - 1)
        noise = self.settings["share_noise" if point is None else "tail_noise"]
        seen = of.answer("norm_histogram", point, centre=0.0 * weights, intercept_weight=weights, edges=grid)
        counted, usual = self.found.counted, min(self.loss.constants(1.0, 1.0).lipschitz, 1.0) * self.beyond
        found = [tail(seen / counted, grid, noise / counted, slowest, usual, longest) for slowest in falls]
        return [replace(one, even=self.problem.earlier < 3) for one in found]

    def hidden(self, found: NoisyScore) -> list[Array]:
        """Curvature that is not released, (p, p): what shortened records hide, if of all directions alike, and of records at the end of a column as many as the tail of lengths has, or as noise hides, if that is fewer; of counts this, or where the step is far with it, as many as noise hides.

        Were there as many as noise hides steps along columns within wide bounds would be a tenth as long (costs, ε = 1: .92 of the gain kept, .96 with the tail's; electricity .97, .99, of the report half). Records whose counts are predicted far too low weigh
        next to nothing, so that neither the curvature nor the lengths that it gives see them, and steps along their columns are the far ones.
        """
        problem, slopes = self.problem, found.matrix[: self.problem.slopes]
        middle = found.centre if problem.intercept else np.zeros(problem.slopes)
        ends = (problem.norm_linf + np.abs(middle))[:, None] * slopes
        likely = self.ordinary.about(np.linalg.norm(ends / found.scale, axis=1))
        noise = np.full_like(likely, self.settings["share_noise"] / self.found.counted)
        tried = [np.minimum(likely, noise), noise]
        if problem.earlier > 2 or (isinstance(self.loss, Poisson) and not problem.intercept):
            tried = tried[1:]
        elif not isinstance(self.loss, Poisson):
            tried = tried[:1]
        certain, bend = found.shortened * np.diag(found.scale**2), self.bend(found.point)
        return [np.asarray(certain + bend * (ends.T * share @ ends)) for share in tried]

    def bend(self, theta: Array) -> float:
        """A usual bound of φ'': of classes and counts that of what is seen, `E φ''²/E φ''`, within what it can be."""
        most = min(self.loss.constants(1.0, 1.0).smoothness, 1.0)
        if not self.problem.intercept or not isinstance(self.loss, Logistic | Poisson):
            return most
        return min(STEEP * self.usual(theta).steepness, most)

    def usual(self, theta: Array) -> NormalPredictions:
        """The records' predictions, as if these were normal; exposures spread evenly up to their bound have half of it in the mean."""
        mean = float(theta @ np.append(self.found.centre, 1.0))
        if (bound := self.problem.offset_bound) > 0.0:
            mean += max(bound - math.log(2.0), 0.0)
        slopes = np.asarray(np.linalg.solve(self.W, theta)[:-1], np.float64)
        return NormalPredictions(mean, slopes, isinstance(self.loss, Poisson))

    def told(self, moments: NoisyMoments) -> Array:
        """The same of released moments, for which no record is shortened."""
        weight, q = moments.mean_weight(intercept=True, weighted=False), self.problem.slopes
        self.gram = moments.gram / weight
        self.gram[-1, -1], centre = 1.0, self.gram[-1, :-1]
        B = symmetric(np.linalg.inv(np.linalg.cholesky(self.gram[:-1, :-1] - np.outer(centre, centre))).T)
        self.found = Coordinates(centre, typical(q), 1.0, True, B, mean_weight=weight, counted=weight)
        return self.found.whole

    def rounded(self) -> Array:
        """W, (p, p): `Wᵀx = (u, 1)`, u of the records' centre and covariance."""
        problem, q = self.problem, self.problem.slopes
        self.found = first = self.first()
        R = AROUND * typical(float(first.gain.sum()))
        weight = TINY if problem.intercept else 1.0
        again = first.seen(self.curator).answer(
            "gradient_moments", np.zeros(problem.dimension), of="records", intercept_weight=weight, clip_norm=R
        )
        least = floor(self.settings["noises"][0] * R**2 / first.mean_weight, q)
        second = Coordinates.whitened(again[:q, :q], first, least, intercept=False)
        B = symmetric(first.factor @ second.factor)
        return replace(first, matrix=B).whole if problem.intercept else B

    def first(self) -> Coordinates:
        """The solver's own coordinates, whitened where they are not yet; or new ones."""
        problem, settings, known = self.problem, self.settings, self.known
        if known is not None and known.matrix is not None:
            return known
        if known is None:
            bound = reach(problem)
            noise: dict[str, Any] = {name: settings[name] for name in ("mean_noise", "share_noise")}
            about: dict[str, Any] = {"bins": shares.COARSE, "bound": bound, "likely": 0.4 * bound}
            seen = PrivateLocationScale.bought(problem, self.curator, **about, **noise)
            known = Coordinates.plain(seen, intercept=problem.intercept)
        R = AROUND * known.typical
        covariance = self.curator.answer("covariance", centre=known.centre, clip_norm=R)
        least = floor(settings["first_noise"] * R**2 / known.mean_weight, problem.slopes)
        found = Coordinates.whitened(covariance, known, least, intercept=problem.intercept)
        return found.along(known).linear if led(problem) else found
