"""When to fit again and with how much of the budget: both are fixed by public facts, before any record is read."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from hullabaloo.curation.prefixes import Refits, together
from hullabaloo.data import Domain, Encoding
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.lazy import recalled
from hullabaloo.planning.choose import best_of, forecasts
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import CONSTANT, FAVOUR, ROUND, weights
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Calibration, Schedule, compose, paper_pair
from hullabaloo.release import PlannedFit
from hullabaloo.release.planned import Task, check, plan_context, prepare, problem_of
from hullabaloo.release.request import refuse_overspent
from hullabaloo.solvers import Problem, QueryPrices, Solver
from hullabaloo.solvers.mirror.mirror_rule import penalty_strength, prediction_bound, slope_bound

MOST = 10_000
"""Fits up to which a stream is planned; long before, each has next to nothing of the budget."""
RULES = ("convex", "strongly_convex", "width")
REHEARSED = 8
"""Releases at which the solver is chosen anew, evenly spaced by the logarithm of the records; between two of them it stays."""
NEAR = 1.25
"""Times the records within which noise that drowns a solver at both ends, or at neither, is taken to do so between: it falls along a stream, but a rehearsal is a draw. Chosen on eight streams of
500 releases together, where all plans are those of trying each out; without it two of them moved."""
ROUGH = "preconditioned_gradient"


def planned(
    task: Task, encoding: Encoding, schedule: Schedule, begun: Sequence[str] = (), even: bool = False
) -> Refits:
    """Plan every release; reads, draws and charges nothing.

    Args:
        task, encoding, schedule: of the stream.
        begun: the fits' solvers as "auto" took them when the stream was begun; without them it chooses.
        even: every record counts once in each fit, as it does where that is not known to be paid for otherwise.

    Raises:
        InvalidParameter: more than `MOST` fits.
        CapabilityError: inference was asked for, and no fit can tell anything.
        BudgetError: the fits of a solver of the user's cost more than they were given.
    """
    check(task, encoding)
    if schedule.steps > MOST:
        raise InvalidParameter(
            f"{schedule.steps:,} fits were asked for, and at most {MOST:,} are planned, as they share the budget. Nothing was charged or read. Fit less often (every=…), or keep running sums."
        )
    positions = tuple(map(schedule.position, range(1, schedule.steps + 1)))
    even = even or task.inference is not False or task.calibration is Calibration.PAPER or not encoding.facts.alike
    even = even or not task.budget.is_private
    plain = positions, _budgets(task, positions), ()
    sizes, budgets, heights = plain if even else rising(task.allowance().mu, positions)
    solvers: list[str | Solver] = (
        list(begun) if len(begun) == len(positions) else _solvers(task, encoding, sizes, budgets)
    )
    each = replace(task, inference="auto") if task.inference is True else task  # of those that can

    def fit(step: int, solver: str | Solver) -> PlannedFit:
        alone = _alone(replace(each, solver=solver), sizes[step], budgets[step], step + 1)
        return prepare(alone, encoding, sizes[step])

    fits = _each(fit, solvers, positions)
    if task.inference is True and all(one.without for one in fits):
        raise CapabilityError(
            f"Inference was asked for. {fits[-1].without} That is so of each of {len(fits)} fits. Nothing was charged or read. Fit less often (every=…), or leave it out: inference=False."
        )
    event = compose(*(one.bought.event for one in fits))
    if heights:
        less = together(fits, heights)
        if less is None or not task.allowance().takes(less):
            return planned(task, encoding, schedule, begun, even=True)
        event = less
    refuse_overspent(f"The plan of {len(fits)} fits up to the horizon", task.budget, task.allowance().takes(event))
    return Refits(schedule, fits, event, heights)


def _each(
    fit: Callable[[int, str | Solver], PlannedFit], solvers: list[str | Solver], positions: tuple[int, ...]
) -> tuple[PlannedFit, ...]:
    """Every fit; of two by one name that are `NEAR`, what lies between is planned as they are where noise drowns both or neither, and else tried out at half way."""
    fits: dict[int, PlannedFit] = {}

    def fill(low: int, high: int) -> None:
        fits.update({step: fit(step, solvers[step]) for step in (low, high) if step not in fits})
        name, first, last = solvers[low], fits[low], fits[high]
        near = positions[high] <= NEAR * positions[low] and solvers[low : high + 1].count(name) > high - low
        drowned = first.solver.name == last.solver.name == CONSTANT
        if near and isinstance(name, str) and (drowned or first.plan.solver == last.plan.solver == name):
            for step in range(low + 1, high):
                one = fit(step, SOLVERS[CONSTANT if drowned else name])
                plan = replace(one.plan, reason=first.plan.reason if drowned else one.plan.reason)
                fits[step] = replace(one, plan=plan, task=replace(one.task, solver=name))
        elif high - low > 1:
            fill(low, (low + high) // 2)
            fill((low + high) // 2, high)

    fill(0, len(solvers) - 1)
    return tuple(fits[step] for step in range(len(solvers)))


def divided(positions: tuple[int, ...]) -> tuple[float, ...]:
    """Shares of μ² that make the sum of the releases' expected excess risks least, those of sums over records: `m_k ∝ 1/√n_k`.

    The excess risk of a fit on n records with μ²m goes like `1/(n m)`, whatever the solver; its derivative by m is the same for
    all where m ∝ 1/√n. Early prefixes are short, and need more.
    """
    weights = [1.0 / math.sqrt(position) for position in positions]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def rising(mu: float, positions: tuple[int, ...]) -> tuple[tuple[int, ...], list[Budget], tuple[float, ...]]:
    """Records that count in each fit, its budget, and the heights of blocks, so that every record pays all of μ, not the first ones alone.

    With shares s and `S_k = Σ_{i≥k} s_i` fit k has `μ √(s_k/S_k)`, and a record of block j counts `√(S_k/S_j)` times in it: over all fits it
    pays `μ² Σ_{k≥j} s_k/S_j = μ²`. Noise over records is never more than where all count once, at `μ √s_k`, as no S_j exceeds 1; at the last of four releases
    it is 1.5 times less, of a thousand 2.7 times. Later records count more; a thousandth of a tenth of μ is left for rounding.
    """
    shares = np.array(divided(positions))
    left = np.cumsum(shares[::-1])[::-1]
    heights = 1.0 / np.sqrt(left)
    sizes = np.cumsum(heights * np.diff((0, *positions))) / heights
    budgets = [Budget.gdp(mu * math.sqrt(part) * (1.0 - 1e-4)) for part in shares / left]
    return tuple(int(one + 1e-6) for one in sizes), budgets, tuple(heights.tolist())


def spacing(rule: str, task: Task, encoding: Encoding, horizon: int) -> int:
    """τ, the number of records between two fits, by one of the rules of Kasiviswanathan, Nissim and Jin (2017), Theorem 3.1.

    `⌈(Td)^{1/3}/ε^{2/3}⌉` for convex losses; `⌈√(dL)/(ν^{1/2} ε ‖C‖^{1/2})⌉` for ν-strongly convex ones (ν from the penalty); and
    `⌈√(T w(C)) Γ^{1/4}/((L‖C‖)^{1/4} ε^{1/2})⌉` by Gaussian width; never more than T. L bounds a record's gradient, Γ its
    curvature over C, ‖C‖ is the largest norm in C, the interval of the intercept included.

    Raises:
        InvalidParameter: the rule needs a set or a penalty that was not given.

    Source: 003, Theorem 3.1 (1); 003, Theorem 3.1 (2); 003, Theorem 3.1 (3).
    """
    problem, budget = problem_of(task, encoding, horizon), task.budget
    if not budget.is_private:
        return 1
    epsilon = budget.epsilon if budget.kind == "dp" else budget.epsilon_at(min(horizon**-2.0, 0.1))
    size = problem.dimension * problem.targets
    if rule == "convex":
        tau = (horizon * size) ** (1.0 / 3.0) / epsilon ** (2.0 / 3.0)
    elif rule == "strongly_convex":
        bend = penalty_strength(problem)
        if not bend > 0.0:
            raise InvalidParameter(
                "rule='strongly_convex' needs a penalty with a squared l2 part, and this estimator has none. Pass penalty=hb.SquaredL2Penalty(0.01), for example, or take rule='convex'."
            )
        ends = np.array([[-1.0], [1.0]]) * np.ones((1, problem.targets))
        height = float(np.max(np.sum(problem.loss.value(np.zeros_like(ends), ends), axis=-1)))  # of the prediction 0
        radius = math.sqrt(2.0 * float(problem.max_weight) * height / bend)
        lipschitz = _lipschitz(problem, problem.norm_l2 * radius)
        tau = math.sqrt(size * lipschitz) / (math.sqrt(bend * radius) * epsilon)
    else:
        body = problem.feasible
        if body is None:
            raise InvalidParameter(
                "rule='width' needs the Gaussian width of a set, and this estimator has none. Pass constraint=hb.L1Ball(1.0), for example, or take rule='convex'."
            )
        reach, radius = prediction_bound(problem), body.max_norm(2.0, size)
        curvature = problem.max_weight * problem.loss.curvature(reach)
        width = body.gaussian_width(size).high
        tau = math.sqrt(horizon * width / epsilon) * (curvature / (_lipschitz(problem, reach) * radius)) ** 0.25
    return int(max(1, min(horizon, math.ceil(tau))))


def _lipschitz(problem: Problem, reach: float) -> float:
    return problem.max_weight * slope_bound(problem, reach) * problem.norm_l2


def _budgets(task: Task, positions: tuple[int, ...]) -> list[Budget]:
    """What each fit may spend: its share of μ², or as Kasiviswanathan, Nissim and Jin (2017) print it, Mechanism PrivIncERM.

    Theirs is `ε' = ε/(2√(2R ln(2/δ)))`, `δ' = δ/(2R)` for each of R fits: less than exact composition allows, so always within it.
    """
    budget, count = task.budget, len(positions)
    if not budget.is_private:
        return [budget] * count
    if task.calibration is Calibration.PAPER:
        epsilon, delta = paper_pair(budget, "ε/(2√(2R ln(2/δ))) and δ/(2R) for each of R fits")
        return [Budget(epsilon / (2.0 * math.sqrt(2.0 * count * math.log(2.0 / delta))), delta / (2.0 * count))] * count
    mu = task.allowance().mu
    return [Budget.gdp(mu * math.sqrt(share)) for share in divided(positions)]


def _solvers(task: Task, encoding: Encoding, positions: tuple[int, ...], budgets: list[Budget]) -> list[str | Solver]:
    """The solver of each release: the user's, or what is chosen at up to `REHEARSED` releases and kept until the next."""
    if task.solver != "auto" or not task.budget.is_private:
        return [task.solver] * len(positions)
    last = len(positions) - 1
    grid = {round(math.expm1(math.log1p(last) * k / (REHEARSED - 1))) for k in range(REHEARSED)}
    chosen: list[str | Solver] = []
    for step, (position, budget) in enumerate(zip(positions, budgets, strict=True)):
        if step in grid:
            best = recalled(_best, plan_context(_alone(task, position, budget, 0), encoding, position), step == 0)
        chosen.append(best)
    return chosen


def favours(problem: Problem, prices: QueryPrices, allowance: Allowance, first: bool = False) -> Mapping[str, float]:
    """`weights` of what solvers can be expected to do, made for shares of a budget and for fits that start from each other.

    Without a set or penalty the preconditioned gradient is favoured no more than the adaptive one, as fits that start from each other catch up
    in directions that one of them leaves behind; and not at all where noise is not low (`QUIET`), as its covariance then takes too much
    of a share and blows up what is rare. The first fit starts from no other: where noise is low it is planned as a fit alone.
    """
    found = dict(weights(problem, prices, allowance))
    favour = found.get(ROUGH, 0.0)
    if problem.free and FAVOUR <= favour < (FAVOUR * ROUND if first else math.inf):
        found[ROUGH] = FAVOUR if favour > FAVOUR else 1.0
    return found


@lru_cache(maxsize=256)
def _best(posed: PlanContext, first: bool) -> str:
    times = favours(*posed.facts, first)
    return best_of(forecasts(posed, times), times).solver.name


def _alone(task: Task, position: int, budget: Budget, step: int) -> Task:
    """The task of one fit: the clock of a stream is public under either relation, and so the number of records."""
    domain = Domain.from_dict({**task.domain.to_dict(), "records": position})
    key = None if task.key is None else task.key.derive(step)
    return replace(
        task,
        budget=budget,
        domain=domain,
        key=key,
        ledger=None,
        dataset=None,
        calibration=Calibration.EXACT,
        held=False,
    )
