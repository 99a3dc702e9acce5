"""Inference beside any solver of a smooth loss: after its coefficients a noisy score, its curvature and its spread, where records are round.

The solver's θ₁ may be shrunk, stopped early, held by a set or clipped; what a score of all records says at θ₁ does not depend on why. The
records' centre and two covariances, the second of records that the first has made round, give coordinates `u = Bᵀ(x − m)` with `E uuᵀ ≈ I` for ordinary records, by the symmetric root, so that each coordinate stays near its own
column. There the curvature `E φ''uuᵀ` at θ₁ is released; coordinates in which it is large, of heavy tails, are scaled down by its diagonal to the power −¼, and the score and its spread are released. Lengths at which records are shortened come from histograms (`lengths.py`).
Estimates, errors and intervals are post-processing: `inference/from_score.py`. Private Newton steps and sandwich errors are by Avella-Medina, Bradshaw & Loh (2023).
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hullabaloo.errors import BudgetError, CalibrationError, CapabilityError
from hullabaloo.geometry import NoPenalty
from hullabaloo.losses import Huber, Logistic, Loss, MultinomialLogistic, Poisson, Squared, VectorLoss
from hullabaloo.privacy import Allowance, GaussianEvent, NoisyScore, compose_answers
from hullabaloo.solvers.base import Answers, Array, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.histogram import edges
from hullabaloo.solvers.gradient.location_scale import TINY, PrivateLocationScale, centred, led, reach
from hullabaloo.solvers.gradient.measured_gradient import MeasuredGradientSolver
from hullabaloo.solvers.moments.moments import MomentsSolver
from hullabaloo.solvers.score import spread
from hullabaloo.solvers.score.lengths import Lengths, floor, tail, typical
from hullabaloo.solvers.score.normal_predictions import STEEP, WEIGHTS, NormalPredictions
from hullabaloo.solvers.score.step import skew, stepped
from hullabaloo.solvers.separate_targets import SeparateTargetsSolver, largest_share

SHARE = 0.6
"""Of the budget (of μ²), unless another is asked for: at 0.5 half as many tables tell most of their strong effects at ε = 1, and 0.7 costs a point of the share of gain kept (`benchmarks/inference.py`, development)."""
LARGEST_SHARE = 0.8
"""What is told rests on a fit by the rest: on hourly bikes (15 000 records, 49 columns, budgets that just pay for it) 2.8 and 3.0 % of the intervals missed at 0.6 and 0.8, 7.3 and 12 % at 0.9 and 0.98, all of a category together."""
MEANS, LENGTHS, FIRST, SECOND, CURVATURE, TAILS, SCORE, SPREAD = 0.04, 0.035, 0.07, 0.07, 0.2, 0.1, 0.4, 0.05
"""Shares of that for the means, both histograms of records, the covariances, the curvature, the gradients' histogram, the score and its spread; what a solver has released itself is not bought again, and what is left grows in proportion.
Several targets share what is about records alone, of the squared loss the curvature, too, and each takes its own of the rest, all shares less in proportion. Where parts v of an interval's squared width fall like one over their shares a, the sum is least at shares in proportion to √(va): so score and histogram stand to each other, as what shortening may lose follows the noise of shares."""
COARSE, FINE = 11, 25
AROUND = 1.5
"""How many typical lengths records are shortened to for the covariances."""
DOUBT_SCORE, DOUBT_CURVATURE = 0.4, 0.7
"""Weights of what shortening can cost against noise: the excess of gradients points not all one way (0.1 to 0.9 of its length is left in the mean on the development tables of
`benchmarks/inference.py`, 0.4 in the median; at 0.5 intervals are 3 % wider and cover a point more at ε = 1), and a step is short where the curvature's matters."""
TAIL_SPREAD = 0.01
"""Share of the gradients that is shortened for their spread."""
HEAVY = 0.25
"""Power of the curvature's diagonal by which heavy coordinates are scaled down."""
CALM = 0.15
"""Spectral radius of the curvature's noise, over that of ordinary records, up to which few long records are let in: what they add is not worth hiding the rest (seen on a capital gain within (0, 99999): without it ε = 3 told less than ε = 1)."""
WIDEST, LARGEST = 256, 500_000_000
"""Columns up to which a curvature is released, and cells up to which records are kept as its coordinates show them: 4 GB."""
LOUDEST = 0.5
"""Spectral radius of the curvature's noise, over the curvature, up to which anything can be told."""
BLURRED = 0.008
"""Noise of a share of the histograms up to which enough of the tails is seen: costs (`benchmarks/inference.py`) cover 97 % at 0.006 and 0.005, 89 and 75 % at 0.009, 83 % at 0.013."""
SMOOTH = (Squared, Logistic, Huber, Poisson)


def refusal(problem: Problem, prices: QueryPrices, allowance: Allowance, share: float) -> tuple[str, str]:
    """Why nothing valid would be told of this problem, "" where it would; and what helps, in a sentence, as far as it is known."""
    loss, q = problem.loss, problem.dimension
    if not isinstance(loss, SMOOTH):
        instead = "multi_class='one-vs-rest'" if isinstance(loss, MultinomialLogistic) else "LinearRegression"
        together = f", whose targets are fitted together; {instead} fits one after the other, and tells them"
        needed = ": intervals need the squared, logistic, Huber or Poisson loss"
        why = together if isinstance(loss, VectorLoss) else needed
        return f"nothing valid is known of the {loss.name} loss{why}", ""
    if q - problem.intercept < 1 or q > WIDEST or q * problem.records > LARGEST:
        return f"a curvature of {q:,} columns is not released: at most {WIDEST} columns and {LARGEST:,} cells", ""
    try:
        mu = allowance.mu
    except CalibrationError:
        return "the budget takes no Gaussian noise", ""
    mu *= math.sqrt(share / _total(problem))
    squares = prices.price("gradient_moments", loss=loss, mu=mu * math.sqrt(CURVATURE))
    loud = squares.sigma / (problem.records * problem.max_weight) * 1.5 * q * math.sqrt(2.0 * q)
    counts = prices.price("norm_histogram", loss=loss, bins=FINE, mu=mu * math.sqrt(TAILS))
    blurred = counts.sigma / problem.records
    excess, m = max(blurred / BLURRED, loud / LOUDEST), problem.records_per_unit
    if excess <= 1.0:
        return "", ""
    many = f"{problem.records:,} records, {m} of which change together as those of one unit, so that noise is {m} times that of single ones,"
    why = many if m > 1 else f"{problem.records:,} records"
    if blurred > BLURRED:
        why += f" are too few at this budget: the noise of each share of a histogram of lengths would be {blurred:.3g}, and at most {BLURRED} is taken"
    else:
        why += f" are too few for {q} columns at this budget: the noise of the curvature would be {loud:.3g} times the curvature, and at most {LOUDEST} is taken"
    enough = math.ceil(100.0 * share * excess**2 + 0.5) / 100.0
    larger = (
        f"inference={enough:.2f}, a larger share of the budget than {share:g}"
        if enough <= LARGEST_SHARE
        else f"about {excess:,.{int(excess < 10.0)}f} times the epsilon"
    )
    units = "; a smaller records_per_unit, or a table that is an aggregate of one record a unit" if m > 1 else ""
    most = int(q / (loud / LOUDEST) ** (2.0 / 3.0))
    fewer = f", or at most {most} columns: fewer levels, and indicators=False where nothing is missing"
    return why, f"What helps: {larger}{units}{fewer * (most > 2 and blurred <= BLURRED)}."


def refuse(why: str, helps: str) -> None:
    """Refuse inference that was asked for by a word, where there is a reason.

    Raises:
        CapabilityError: there is one.
    """
    if why:
        raise CapabilityError(
            f"Inference was asked for, but {why}. Nothing was charged or read. {helps}{' ' * bool(helps)}Or leave it out: inference=False."
        )


@dataclass(frozen=True, slots=True)
class WithInference(Solver):
    """`solver` on a share of the budget, and on the rest what estimates with errors are computed from.

    Attributes:
        solver: the solver of the coefficients; a name, or "auto", until the planner has looked it up.
        share: of the budget (of μ²) for inference.
        errors: a word of `spread.py`; "auto": robust, unless the solver releases moments, which tell homoskedastic ones.

    **Guarantee.** The plan buys what `solver` buys, one answer of means, two covariances and two histograms, and for each target a histogram, a curvature,
    a gradient and a spread: Gaussian releases at points, views and lengths that are functions of earlier answers, each of one target's column; the
    allowance takes their adaptive composition.
    """

    solver: str | Solver
    share: float = SHARE
    errors: str = "auto"

    name: ClassVar[str] = "with_inference"

    def inner_allowance(self, allowance: Allowance) -> Allowance:
        """What the solver of the coefficients may spend, about: for the planner's choice of it."""
        return allowance.scaled(math.sqrt(1.0 - self.share))

    def of(self, solver: Solver) -> Solver:
        """The same of this solver; itself where what it releases tells the errors."""
        itself = solver.name == MomentsSolver.name and self.errors in ("auto", "homoskedastic")
        return solver if itself else replace(self, solver=solver)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """The solver's own plan, then what inference takes.

        Raises:
            CapabilityError: the solver cannot do what is asked, or nothing valid would be told.
        """
        inner = self._resolved()
        refuse(*refusal(problem, prices, allowance, self.share))

        draft = inner.plan(problem, prices, self.inner_allowance(allowance))
        if not all(isinstance(query.event, GaussianEvent) for query in draft.queries):  # no part of ε is the right one
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
        inner = inner.solver if isinstance(inner, SeparateTargetsSolver) else inner
        located = isinstance(inner, MeasuredGradientSolver)
        whitened = isinstance(inner, MeasuredGradientSolver) and inner.whitened
        total = _total(problem) - located * (MEANS + LENGTHS) - whitened * FIRST

        def part(share: float) -> float:
            return mu * math.sqrt(share / total)

        queries: list[PricedQuery] = []
        if not located:
            queries += [prices.price("means", mu=part(MEANS))] if centred(problem) else []
            queries.append(prices.price("norm_histogram", loss=loss, bins=COARSE, mu=part(LENGTHS)))
        mean_noise = queries[0].sigma * problem.norm_l2 / n if len(queries) > 1 else 0.0  # type: ignore[attr-defined]
        first = prices.price("covariance", mu=part(FIRST))
        queries += [] if whitened else [first]
        spreads = [SPREAD * one for one in spread.shares(self.errors, loss)]
        own_shares = [CURVATURE, *spreads]
        shares = [SECOND, *own_shares, *(spreads if isinstance(loss, Squared) else own_shares) * (k - 1)]
        squares = [prices.price("gradient_moments", loss=loss, mu=part(one)) for one in shares]
        fine = prices.price("norm_histogram", loss=loss, bins=FINE, mu=part(LENGTHS))
        tails = prices.price("norm_histogram", loss=loss, bins=FINE, mu=part(TAILS), count=k)
        step = prices.price("centred_gradient", loss=loss, mu=part(SCORE + SPREAD - sum(spreads)), count=k)
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
            "score_noise": step.sigma / n,
        }
        reason = f"{own.reason}; {self.share:.0%} of the budget for errors and intervals"
        return Plan(own.solver, (*own.queries, *queries, *squares, fine, tails, step), settings, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Coefficients, then of each target the score there, and where nothing holds the coefficients the step that it speaks for."""
        solution = self._resolved().run(problem, self._own(problem, plan), curator)
        asked, theta = _Scores(problem, plan, curator, solution.coordinates), solution.theta
        scores = tuple(asked.at(np.ascontiguousarray(column), k) for k, column in enumerate(theta.T))
        if problem.constraint is None and isinstance(problem.penalty, NoPenalty):
            theta = np.column_stack([stepped(problem, found, asked.hidden(found)) for found in scores])
        weight = asked.found.mean_weight
        return replace(
            solution,
            theta=theta,
            scores=scores,
            trace=solution.trace if problem.alike else (*solution.trace, {"mean weight": weight}),
            mean_weight=weight,
            privacy_covariance=None,
            sampling_covariance=None,
        )

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


def _total(problem: Problem) -> float:
    """The shares of all that is bought, 1 for one target."""
    shared = MEANS + 2.0 * LENGTHS + FIRST + SECOND + CURVATURE * isinstance(problem.loss, Squared)
    return 1.0 + (problem.targets - 1) * (1.0 - shared)


class _Scores:
    """What is asked after the fit, of all targets."""

    def __init__(self, problem: Problem, plan: Plan, curator: Answers, known: Coordinates | None) -> None:
        assert isinstance(problem.loss, Loss)  # the plan saw to it
        self.known = known
        self.problem, self.settings, self.curator, self.loss = problem, plan.settings, curator, problem.loss
        self.slopes = problem.dimension - problem.intercept
        q, first = problem.dimension, self.settings["noises"][1]
        self.W = self.rounded()
        weight = self.found.mean_weight
        if problem.intercept:
            self.W[:, -1] *= self.slopes**0.25  # the constant column, as long as √slopes directions together
        self.ordinary = lengths = self.lengths(curator.projected(self.W), None, np.ones(q), 40.0 * math.sqrt(q))
        calm = math.sqrt(CALM * weight / (first * math.sqrt(2.0 * q)))
        self.R = min(lengths.moment_clip(first / weight, q, DOUBT_CURVATURE), max(calm, AROUND * math.sqrt(q)))
        self.seen: tuple[Array, float] | None = None

    def curved(self, theta: Array, curator: Answers) -> tuple[Array, float]:
        """The curvature at θ, and the length that was taken; of the squared loss the same for all targets."""
        if self.seen is None or not isinstance(self.loss, Squared):
            R, about = self.R * math.sqrt(self.bend(theta)), {"of": "curvature", "intercept_weight": 1.0}
            point, records = np.linalg.solve(self.W, theta), curator.projected(self.W)
            self.seen = records.answer("gradient_moments", point, clip_norm=R, **about), R
            told = self.problem.intercept and isinstance(self.loss, Logistic | Poisson)
            bends = (self.usual(theta).curvatures, WEIGHTS) if told else (np.array([self.bend(theta)]), np.ones(1))
            self.shortened = self.ordinary.taken(R, *bends) * self.found.mean_weight / len(self.W)  # if of all alike
        return self.seen

    def at(self, theta: Array, target: int) -> NoisyScore:
        """The target's score at θ, in coordinates that are round for its curvature."""
        problem, q, settings = self.problem, self.problem.dimension, self.settings
        size, heaviest, (_, first, *others) = float(q), problem.max_weight, settings["noises"]
        weight = self.found.mean_weight
        curator = self.curator if problem.targets == 1 else self.curator.of_target(target)
        gram, R = self.curved(theta, curator)
        own = np.maximum(np.diag(gram), 0.0)
        scale = np.maximum(own, 0.5 * max(float(np.median(own)), 1e-12)) ** -HEAVY
        scale /= float(np.exp(np.mean(np.log(scale))))
        V = self.W * scale
        # Records through V are those through W, which are kept, beside weights.
        records, point = curator.projected(self.W), np.asarray(np.linalg.solve(self.W, theta), np.float64)
        curvature, errors = gram * scale[:, None] * scale[None, :], settings["errors"]
        slope = min(self.loss.constants(1.0, 1.0).lipschitz, 1.0)
        gradients = self.lengths(records, point, scale, 16.0 * slope * math.sqrt(size))
        if problem.intercept and isinstance(self.loss, Logistic):
            top = 0.5 + 0.5 * skew(float(curvature[-1, -1] / V[-1, -1] ** 2))
            gradients = gradients.at_least(self.ordinary, 1.0 - top, top)
        c, lost = gradients.gradient_clip(settings["score_noise"] / weight, q, DOUBT_SCORE)
        g = records.answer("centred_gradient", point, centre=np.zeros(q), intercept_weight=scale, clip_norm=c)
        wide = gradients.quantile(TAIL_SPREAD)

        def ask(of: str, reach: float) -> Array:
            answer = records.answer(
                "gradient_moments", point, of=of, intercept_weight=scale, clip_norm=reach / heaviest
            )
            return np.asarray(answer, dtype=np.float64)

        noises, seen = [one / heaviest for one in others], first * R**2 * float(np.linalg.norm(scale**2))
        around, spread_noise = spread.asked(
            ask, errors, noises, wide * heaviest, curvature, problem.records_per_unit, seen
        )
        squares = heaviest**2 * float(gradients.excess(2)[0])
        return NoisyScore(
            point=theta,
            matrix=V,
            score=-g * scale,
            curvature=curvature,
            spread=around,
            scale=scale,
            score_noise=settings["score_noise"] * c,
            curvature_noise=first * R**2,
            spread_noise=spread_noise,
            excess=lost * heaviest,
            records=float(problem.records),
            errors=errors,
            dispersion=squares / max(float(np.trace(curvature)), TINY * q) if errors == "unit" else 0.0,
            shortened=self.shortened,
        )

    def lengths(self, records: Answers, point: Array | None, weights: Array, largest: float) -> Lengths:
        """Of records or, at a point, of their gradients, beside weights of the columns."""
        grid = edges(largest, FINE - 1)
        noise = self.settings["share_noise" if point is None else "tail_noise"]
        nowhere = np.zeros(len(weights))
        shares = records.answer("norm_histogram", point, centre=nowhere, intercept_weight=weights, edges=grid)
        counted = self.found.counted
        return tail(shares / counted, grid, noise / counted, 0.25 if point is None else 0.5)

    def hidden(self, found: NoisyScore) -> Array:
        """Curvature that is not released, (p, p): what shortened records hide, if of all directions alike, and as many as noise hides at the end of a column."""
        problem, slopes = self.problem, found.matrix[: self.slopes]
        middle = found.centre if problem.intercept else np.zeros(self.slopes)
        ends = (problem.norm_linf + np.abs(middle))[:, None] * slopes
        unseen = self.settings["share_noise"] / self.found.counted * ends.T @ ends
        return np.asarray(found.shortened * np.diag(found.scale**2) + self.bend(found.point) * unseen)

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

    def rounded(self) -> Array:
        """W, (p, p): `Wᵀx = (u, 1)`, u of the records' centre and covariance."""
        problem, q = self.problem, self.slopes
        self.found = first = self.first()
        R = AROUND * typical(float(first.gain.sum()))
        weight = TINY if problem.intercept else 1.0
        again = first.seen(self.curator).answer(
            "gradient_moments", np.zeros(problem.dimension), of="records", intercept_weight=weight, clip_norm=R
        )
        assert first.matrix is not None
        least = floor(self.settings["noises"][0] * R**2 / first.mean_weight, q)
        second = Coordinates.whitened(again[:q, :q], first, least, intercept=False)
        assert second.matrix is not None
        B = _symmetric(first.matrix @ second.matrix)
        return replace(first, matrix=B).whole if problem.intercept else B

    def first(self) -> Coordinates:
        """The solver's own coordinates, whitened where they are not yet; or new ones."""
        problem, settings, known = self.problem, self.settings, self.known
        if known is not None and known.matrix is not None:
            return known
        if known is None:
            bound = reach(problem)
            noise: dict[str, Any] = {name: settings[name] for name in ("mean_noise", "share_noise")}
            about: dict[str, Any] = {"bins": COARSE, "bound": bound, "likely": 0.4 * bound}
            seen = PrivateLocationScale.bought(problem, self.curator, **about, **noise)
            known = Coordinates.plain(seen, intercept=problem.intercept)
        R = AROUND * known.typical
        covariance = self.curator.answer("covariance", centre=known.centre, clip_norm=R)
        least = floor(settings["first_noise"] * R**2 / known.mean_weight, self.slopes)
        found = Coordinates.whitened(covariance, known, least, intercept=problem.intercept)
        return found.along(known).linear if led(problem) else found


def _symmetric(A: Array) -> Array:
    """B with `BBᵀ = AAᵀ` whose columns stay near those of the records: `B = D^{-1}(D^{-1}ΣD^{-1})^{-1/2}`, `Σ = (AAᵀ)^{-1}`, D² its diagonal."""
    inverse = np.linalg.inv(A)
    covariance = inverse.T @ inverse
    size = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-12))) @ vectors.T / size[:, None], dtype=np.float64)
