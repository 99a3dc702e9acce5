"""Gradient solvers that measure, privately, what they clip and how they step: in the records' own coordinates, or whitened.

Bought before the steps: the columns' means, how long centred records are, whitened also their covariance. Noise is proportional to the
longest gradient that is let through, so records far from zero but near each other, and residuals far below their declared range, need
not pay for what they might have been. Steps, travel, cuts and both phases: `schedule.py`. Sets and penalties are met at every step.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.losses import Logistic, Loss
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Array, Marginals, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient import schedule
from hullabaloo.solvers.gradient.brief import CHEAP, CLEAR, SHARE, TOLD, brief
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.descent import Descent
from hullabaloo.solvers.gradient.histogram import BINS, LOW
from hullabaloo.solvers.gradient.location_scale import LARGEST, WIDEST, PrivateLocationScale, centred, led
from hullabaloo.solvers.gradient.public_start import ASKED
from hullabaloo.solvers.gradient.schedule import FINE, FINE_BINS, TYPICAL, TYPICAL_WHITENED, GradientSchedule
from hullabaloo.solvers.loop import require_proximal
from hullabaloo.solvers.options import YES_OR_NO, check_options, one_prediction
from hullabaloo.solvers.reference import Reference

USUAL_LINK = 2.0
"""How far logarithms of odds and of counts may lie from their mean (1.5 costs gain on bank marketing, 3 nothing); a residual target lies about as far as gradients
are cut, over a record's typical length: 0.8 to 2 standard deviations on California, diamonds, costs and rare levels."""


class MeasuredGradientSolver(Solver, ABC):
    """What both have in common: the plan, and the two phases."""

    __slots__ = ()
    whitened: ClassVar[bool]

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """Means, histograms, whitened a covariance, T steps; and the second phase's.

        Raises:
            CapabilityError: no noise is asked for, several targets, or a set without a projection.
        """
        loss = checked(problem, allowance, self.name.replace("_", " "))
        products = problem.records * problem.dimension**2
        if self.whitened and not (1 <= problem.slopes <= WIDEST and products <= LARGEST):
            raise CapabilityError(
                f"The preconditioned gradient releases the covariance of the features, between 1 and {WIDEST:,} of them, by at most {LARGEST:,} products, "
                f"but {problem.slopes:,} are encoded of {problem.records:,} records. Use solver='adaptive_gradient', which needs none."
            )

        def steps(mu: float, count: int) -> PricedQuery:
            return prices.price("centred_gradient", loss=loss, mu=mu / math.sqrt(count), count=count)  # type: ignore[no-any-return]

        mu, told = allowance.mu, []
        path = schedule.schedule(problem, prices, mu, whitened=self.whitened)
        if self._brief(problem, path):
            mu, told = mu * math.sqrt(1.0 - SHARE), [steps(mu * math.sqrt(SHARE), TOLD)]
            path = schedule.schedule(problem, prices, mu, whitened=True)
        to = schedule.budgets(problem, prices, mu, whitened=self.whitened)
        count = schedule.histograms(problem)
        queries: list[PricedQuery] = [prices.price("means", mu=to.means)] if to.means else []
        queries.append(prices.price("norm_histogram", loss=loss, bins=BINS, mu=to.lengths, count=1))
        bins = BINS + LOW * schedule.is_residual(loss)
        count -= 1 + bool(to.bend)
        queries += [prices.price("norm_histogram", loss=loss, bins=bins, mu=to.lengths, count=count)] if count else []
        queries += [prices.price("covariance", mu=to.covariance)] if to.covariance else []
        if to.check:
            one = prices.restricted(1)
            queries.append(one.price("norm_histogram", loss=loss, bins=BINS, mu=to.look, count=1))
            queries.append(one.price("centred_gradient", loss=loss, mu=to.check / math.sqrt(ASKED), count=ASKED))
        parts = [1 + CHEAP, path.steps - 1 - CHEAP - TOLD] if told else [path.steps]
        first, *others = [steps(to.steps * math.sqrt(one / sum(parts)), one) for one in parts]
        queries += [first, *told, *others]
        queries += [prices.price("gradient_moments", loss=loss, mu=to.bend)] if to.bend else []
        if path.late:
            shares = path.late_shares
            queries.append(prices.price("norm_histogram", loss=loss, bins=FINE_BINS, mu=to.late * FINE, count=2))
            level = problem.intercept or led(problem)
            levels = path.late_levels(loss)
            before, after = (
                [steps(to.late * math.sqrt(shares[0]) * math.sqrt(one / sum(levels)), one)] if level and one else []
                for one in levels
            )
            counts = [1] * path.late if to.bend else [1, path.late]
            walk = [steps(to.late * math.sqrt(share), count) for share, count in zip(shares[2:], counts, strict=True)]
            queries += [*before, *walk, *after]
        return Plan(self.name, tuple(queries), asdict(path), self._reason(path, problem))

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Measure, walk, measure, walk."""
        path = GradientSchedule(**plan.settings)
        view = self._coordinates(problem, path, curator)
        path = path.weighing(problem, view.mean_weight, view.counted)
        if self._brief(problem, path) and float(view.gain.min()) >= CLEAR:
            point, trace = brief(problem, path, view, curator, plan)
        else:
            descent, level = Descent(problem, path, view, view.seen(curator), curator).opened()
            point, trace = descent.second_phase(*descent.first_phase(level))
        name, seen = ("columns above the floor", view.gain.sum()) if self.whitened else ("typical length", view.typical)
        theta, told = view.feasible(problem, point)[:, None], ({**trace, name: float(seen)},)
        if not centred(problem) or led(problem):
            return Solution(theta, trace=told, coordinates=view.linear, mean_weight=view.mean_weight)
        usual = min(trace["gradients cut at"] / view.length, 1.0) if schedule.is_residual(problem.loss) else USUAL_LINK
        marginals = Marginals(view.centre[:, None], path.mean_noise, np.array([usual]))
        return Solution(theta, trace=told, coordinates=view, marginals=marginals, mean_weight=view.mean_weight)

    def _brief(self, problem: Problem, path: GradientSchedule) -> bool:
        """Whether steps along the covariance come first: of classes for which a curvature is bought, of records that count alike and whose predictions are all of slopes and level."""
        plain = problem.intercept and not (problem.weighted or problem.offset_bound or path.check_noise)
        return self == BRIEF and plain and path.bend_noise > 0.0 and isinstance(problem.loss, Logistic)

    @abstractmethod
    def _reason(self, path: GradientSchedule, problem: Problem) -> str:
        """What is done, in a line."""

    @abstractmethod
    def _coordinates(self, problem: Problem, path: GradientSchedule, curator: Answers) -> Coordinates:
        """Buy them."""


@dataclass(frozen=True, slots=True)
class AdaptiveGradientSolver(MeasuredGradientSolver):
    """One model by noisy gradient steps, in the records' own coordinates, that measure, privately, what they clip.

    **Guarantee.** The plan buys one answer of means, histograms and steps, Gaussian releases whose μ² add up to the
    allowance's: `μ`-GDP for every adaptive sequence of points, centres and lengths (Dong, Roth, Su 2022), each of which is a
    function of public facts and earlier answers.

    Noise is of one size in all columns: those much narrower than the others have to wait for larger budgets or tables than whitened
    ones. Quantiles do not approach the optimum as the budget grows; "preconditioned_gradient" does.

    Attributes:
        uneven: whether records may be 0 nearly everywhere in a few columns: their typical length is then the root mean square.
    """

    uneven: bool = False

    name: ClassVar[str] = "adaptive_gradient"
    whitened: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_options(self, uneven=YES_OR_NO)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table: what travel leaves out, and noise."""
        path, reference = GradientSchedule(**plan.settings), Reference.of(problem)
        values = path.smoothness * reference.eigenvalues
        travel, noise, middle = _expected_plain(problem, path)
        missed = (reference.coefficient * np.exp(-travel * values)) ** 2
        gathered = (noise / path.bound * np.minimum(travel, 1.0 / np.maximum(values, 1e-300))) ** 2
        return 0.5 * (float(values @ (missed + gathered)) + path.smoothness * middle**2)

    def _reason(self, path: GradientSchedule, problem: Problem) -> str:
        later = f", and {path.late} cut where it costs no bias" if path.late else ""
        return f"{path.steps} noisy gradients of {'centred ' * centred(problem)}records, cut at {path.cut:.0%} of them{later}"

    def _coordinates(self, problem: Problem, path: GradientSchedule, curator: Answers) -> Coordinates:
        seen = _located(problem, path, curator, TYPICAL, self.uneven)
        if led(problem):
            return Coordinates.along_mean(seen, np.eye(len(seen.centre)), seen.typical, seen.typical)
        return Coordinates.plain(seen, intercept=problem.intercept)


@dataclass(frozen=True, slots=True)
class PreconditionedGradientSolver(MeasuredGradientSolver):
    """One model by noisy gradient steps in coordinates in which the records' covariance is the identity.

    **Guarantee.** The plan buys one answer of means, one covariance, histograms and steps, Gaussian releases whose μ² add
    up to the allowance's: `μ`-GDP for every adaptive sequence of centres, lengths, matrices and points (Dong, Roth, Su 2022),
    each of which is a function of public facts and earlier answers.

    Attributes:
        brief: whether two classes try steps along the covariance first, which whiten nothing (`brief.py`).
    """

    brief: bool = False

    name: ClassVar[str] = "preconditioned_gradient"
    whitened: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_options(self, brief=YES_OR_NO)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table: what travel leaves out, and noise."""
        path, reference = GradientSchedule(**plan.settings), Reference.of(problem)
        values = reference.eigenvalues
        gain, reach, noise, middle = _expected_whitened(problem, path, values)
        left = np.exp(-reach * gain) * reference.coefficient
        gathered = noise * np.minimum(reach, 1.0 / np.maximum(gain, 1e-300)) / path.curvature
        slopes = float(values @ left**2 + gain @ gathered**2)
        return 0.5 * path.smoothness * (slopes + problem.intercept * middle**2)

    def _reason(self, path: GradientSchedule, problem: Problem) -> str:
        bend = ", the curvature that it leaves" if path.bend_noise else ""
        short = ", if steps along it alone are not enough" * self._brief(problem, path)
        return f"a noisy covariance{bend}, and {path.steps + path.late} noisy gradients of records that it has made round{short}"

    def _coordinates(self, problem: Problem, path: GradientSchedule, curator: Answers) -> Coordinates:
        seen = _located(problem, path, curator, TYPICAL_WHITENED, uneven=True)
        clip_norm = path.around * seen.typical
        covariance = curator.answer("covariance", centre=seen.centre, clip_norm=clip_norm)
        floor = path.weighing(problem, seen.mean_weight, seen.counted).floor(clip_norm, len(seen.centre))
        found = Coordinates.whitened(covariance, seen, floor, intercept=problem.intercept)
        return found.along(seen) if led(problem) else found


BRIEF = PreconditionedGradientSolver(brief=True)


def _located(
    problem: Problem, path: GradientSchedule, curator: Answers, typical: float, uneven: bool = False
) -> PrivateLocationScale:
    """Buy means and the first histogram."""
    lengths: dict[str, Any] = {"bins": BINS, "bound": path.bound, "likely": typical * path.bound, "uneven": uneven}
    lengths |= {"mean_noise": path.mean_noise, "share_noise": path.share_noise}
    return PrivateLocationScale.bought(problem, curator, **lengths)


def _expected_plain(problem: Problem, path: GradientSchedule) -> tuple[float, float, float]:
    """Travel, the noise of one coordinate of the mean gradient, and the intercept's, for rows of norm ≤ 1 and usual lengths."""
    clip_norm = 0.35 * path.slope * TYPICAL
    travel = path.travel(TYPICAL, clip_norm)
    if path.late:
        travel = max(travel, path.travel(TYPICAL, clip_norm, late=True))
    middle = path.result_noise * 0.35 * path.slope * max(problem.dimension - 1, 1) ** 0.25 / path.smoothness
    return travel, path.result_noise * clip_norm * path.bound, middle if problem.intercept else 0.0


def level_noise(problem: Problem, plan: Plan) -> float:
    """Standard deviation of the noise of steps in the intercept, in plain coordinates."""
    return _expected_plain(problem, GradientSchedule(**plan.settings))[2]


def _expected_whitened(problem: Problem, path: GradientSchedule, values: Array) -> tuple[Array, float, float, float]:
    """g, η h, the noise of one coordinate of the mean gradient of u, and the intercept's; rows of norm ≤ 1, usual lengths."""
    gain = values / (values + path.floor(path.around * TYPICAL_WHITENED, values.size))
    length = math.sqrt(max(float(gain.sum()), 1.0))
    intercept_weight = length * values.size**-0.25 if problem.intercept else 1.0
    noise = path.result_noise * 0.5 * path.slope
    noise *= math.hypot(length, intercept_weight if problem.intercept else 0.0)
    return gain, max(path.reach, path.late_reach), noise, noise / intercept_weight / path.curvature


def checked(problem: Problem, allowance: Allowance, who: str) -> Loss:
    """Refuse what steps that adapt to records cannot do; `who` is "adaptive gradient", for example.

    Raises:
        CapabilityError: no noise is asked for, several targets, a set without a projection, or one beside a penalty whose prox over it is not known.
    """
    if not allowance.is_private:
        raise CapabilityError(
            f"Without noise the {who} has nothing to adapt to, and its steps end short of the optimum. Use "
            "solver='auto' or 'output_perturbation', which give the exact optimum, or a finite budget."
        )
    loss = one_prediction(problem, f"The {who}", "solver='gradient'")
    require_proximal(problem, f"The {who} solver")
    return loss
