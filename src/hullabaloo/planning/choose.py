"""Which solver a fit uses: the user's word, or the one that does best in rehearsal, from public facts alone."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from hullabaloo.errors import BudgetError, CalibrationError, CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.geometry import GroupCover, HasProximalForm, Projectable, SetFunction, SubmodularPenalty
from hullabaloo.losses import KernelCode, Logistic, Loss, Squared
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import ADAPTIVE, CONSTANT, HOPEFUL, QUIET, SPARSE, loud, noise, weights
from hullabaloo.planning.forecasts import Forecast, Rehearsals, can_rehearse, contested, drowned, propose
from hullabaloo.planning.named import LABORIOUS, POINT, SOLVERS, solver_named
from hullabaloo.planning.narrowed import narrowed, share
from hullabaloo.planning.table import asks_public
from hullabaloo.privacy import Allowance
from hullabaloo.solvers import Plan, Problem, QueryPrices, SeparateTargetsSolver, Solver, WithInference, separate
from hullabaloo.solvers.floored import FAINT, HARDY, HOPELESS, SUFFICIENT, FlooredSolver, share_for
from hullabaloo.solvers.gradient.location_scale import led
from hullabaloo.solvers.gradient.measured_gradient import BRIEF
from hullabaloo.solvers.moments.moments import ALONE, CELLS, STEPS, MomentsFirstSolver, MomentsSolver, may_suffice
from hullabaloo.solvers.perturbation.objective_perturbation import structure_of

EXACT = ("moments", "output_perturbation")
"""The solvers that give the optimum itself where no noise is asked for, in the order of preference."""

NEARLY = "frank_wolfe"
"""What comes within its bound of the optimum over a set that has a linear minimisation and no projection."""

WIDE_ALONE = "subspace_descent"
"""The solver that is offered for wide problems alone: its models do not approach the optimum. It can be asked for by name."""

MOMENTS = "moments"
"""The solver by name that gives way to none, though it is held up: its release serves refits and tells how noisy it is."""
CHOOSING, LESS = (*ADAPTIVE, WIDE_ALONE, "greedy_coordinate_descent"), 0.5
"""What walks as far as it has evidence for, or first looks for a direction, does worse with less of the budget: half of the largest share holds it up. Chosen on the tables of `solvers/floored.py`, 2 000 records, ε = 0.1: at all of it 10 useful models of subspace descent and greedy steps lost 0.10 in the mean, at half 0.01. Greedy selection stands alone: its choice of columns lost 0.18 (0.39 at most, 8 useful models) at all of it and 0.04 (0.44) at half, where being held up brought 10 lines above 1.02 to 4 and to 8."""
STRUCTURED = "dual_frank_wolfe"
"""The solver that is offered beside norms of set functions alone: with an l1 penalty it can be asked for by name."""

WALKS, LONG = ("gradient", "mirror_descent", "frank_wolfe"), 300
"""Solvers of as many passes over the table as noise leaves room for: from `LONG` on "auto" took none of them beside whitened steps (of 58 problems drawn at random with a plan of so many, in sets, bare rows and without an intercept; of 60 others on 7, of at most 97 steps), and trying them out was most of a plan's time. `LABORIOUS` is not offered under norms whose prox takes minimum cuts or more: each of its steps is a quadratic that takes hundreds of proxes, and trying it out a minute. All can be asked for by name."""

RIDGED, STIFF = "objective_perturbation", 0.5
"""The solver that pays for privacy by a ridge, and the λ/σ from which "auto" leaves it out where noise is low (at most `QUIET`) and nothing else shrinks coefficients: a column whose variance
is a share v of that of a full one, and which explains a share e of the target, is moved by `λ/σ √(e/v)` times the noise, which no rehearsal shows, as its columns are alike. Chosen on
`benchmarks/consistency.py` (hinge 0.58 to 0.73: 2.5 standard errors away at ε = 50, others by name 0.1; rare classes 0.2 to 0.4). Elsewhere (10 000 records, ε = 10 and 50) it kept 94 to 100 % where another kept 100 on California, abalone and power plants (0.8 to 2.2), and as much or more on skin, law school and bank (0.2 to 0.8)."""

EQUAL = 0.01
"""Solvers that differ by less are equally good, as what is expected is told in whole percent: the one of the simpler tier is taken."""

WIDEST = 16_384
"""Columns up to which moments are formed: their matrix then takes 2 GB, and solving it some six times as much."""


def choose(context: PlanContext, asked: str | Solver, *, floor: bool = True) -> tuple[Solver, Plan]:
    """The solver that was asked, by name or itself, or for "auto" the one that the budget calls for, and its plan.

    `floor`: whether the intercept alone may be taken, by "auto" or in place of a name whose noise alone would lose more than any model could gain.

    Raises:
        InvalidParameter: no solver of that name, or one that takes nothing from the public table that was passed.
        CapabilityError: the named solver, or for "auto" every solver, cannot do what is asked.
    """
    problem, private = context.problem, context.allowance.is_private
    if isinstance(asked, WithInference):
        if asked.solver == "auto" and problem.public is None:
            return _chosen(context, floor=floor, inference=asked)
        inner, _ = choose(replace(context.beside(asked), held=False), asked.solver, floor=floor)
        solver = asked.of(inner)
        return solver, solver.plan(*context.facts)
    # As without the table; where that takes nothing from it, the best that does, if it can tell whether the table is right.
    if problem.public is not None and private:
        plain = replace(context, problem=replace(problem, public=None))
        if asked != "auto" and solver_named(asked).name not in ADAPTIVE:
            raise InvalidParameter(
                f"A public table was passed, and solver={solver_named(asked).name!r} takes nothing from one. Nothing was charged or read. Leave public out, or ask for 'auto' or one of {', '.join(map(repr, ADAPTIVE))}."
            )
        solver, plan = choose(plain, asked, floor=floor and asked == "auto")
        with suppress(HullabalooError):
            one = solver if solver.name in ADAPTIVE else _chosen(plain, floor=False, among=ADAPTIVE)[0]
            taking = one.plan(*context.facts)
            if asks_public(taking):
                whence = "from the public model as far as records confirm it"
                return one, replace(taking, reason=f"{whence}; {taking.reason}")
        return solver, replace(plan, reason=f"{plan.reason}; nothing is taken from the public table")
    if asked != "auto":
        solver = MomentsSolver(above_mean=context.held) if asked == MOMENTS else solver_named(asked)
        if solver.name == MOMENTS:
            _refuse_wide(problem, "ask for solver='gradient', or ")
        solver = _for_targets(problem, solver)
        plan = solver.plan(*context.facts)
        held = floor and context.perform is not None and isinstance(asked, str) and asked != CONSTANT
        return _held_up(context, Forecast(solver, plan)) if held else (solver, plan)
    found = _chosen(context, floor=floor) if private else exact(problem, context.prices)
    return floored(context, *found, brief=True) if context.held and floor else found


def _chosen(
    context: PlanContext, *, floor: bool, among: tuple[str, ...] = (), inference: WithInference | None = None
) -> tuple[Solver, Plan]:
    """What "auto" takes, of all solvers or `among` these; with `inference` each is judged by the whole run, whose last step forgets much of what the solver lost."""
    times = weights(*context.beside(inference).facts)
    found = [one for one in _proposed(context.beside(inference)) if not among or one.name in among]
    if inference and context.problem.free:
        found = [one for one in found if one.name != SPARSE]  # the step moves the columns that it does not select, too
    found = [_beside(one, inference, context) for one in found]
    if tables := staged(context, found, 2):
        found, small, rehearsals = tables
        found = contested(found, rehearsals, times, EQUAL)
        if floor:
            found += contested(_constant(context, found, small, inference), rehearsals, {}, EQUAL)
    best = best_of(found, times)
    assert best.plan is not None
    if isinstance(best.solver, WithInference):  # what is left over by drafts is used up
        if context.held and best.solver.solver == SOLVERS.get(LABORIOUS) and may_suffice(*context.facts):
            with suppress(HullabalooError):
                first = best.solver.after_moments()
                return first, first.plan(*context.facts)
        return best.solver, replace(best.solver.plan(*context.facts), reason=best.plan.reason)
    return best.solver, best.plan


def _held_up(context: PlanContext, one: Forecast) -> tuple[Solver, Plan]:
    """A solver by name, or the intercept alone where its noise would lose more than any model could gain; by public facts, where noise is not low.

    Of residuals of one target it may be held up by the intercept for a share of the budget; where weights have another bound than 1 or records share a unit, and where that is not worth a hundredth, it stands alone.
    """
    assert one.plan is not None
    with suppress(CapabilityError, CalibrationError):  # nothing to compare with, or a budget of no Gaussian noise
        unit, (noisy, plain) = noise(*context.facts, 1), loud(*context.facts)
        gives_way = noisy and one.name != MOMENTS and isinstance(context.problem.loss, Loss)
        if gives_way and (tables := staged(context, [one], 1)):
            (tried,), small, rehearsals = tables
            for level in _constant(context, [], small):
                hopeless = context.held and plain and unit > HOPELESS and one.name != HARDY
                if level.plan and tried.plan and (hopeless or drowned(tried, level, rehearsals)):
                    what = "and of what could hold it up is likely to" if hopeless else "alone would"
                    why = f"the noise of {one.name!r} {what} lose more than any model could gain (its class, passed as solver=, is taken at its word)"
                    return level.solver, replace(level.plan, reason=f"{why}; {level.plan.reason}")
    return floored(context, one.solver, one.plan) if context.held else (one.solver, one.plan)


def floored(context: PlanContext, solver: Solver, plan: Plan, *, brief: bool = False) -> tuple[Solver, Plan]:
    """The same held up by the constant: what looks for evidence itself where noise is not low, other names down to `FAINT` noise, and what "auto" takes by a `brief` look for less; or its whitened steps after moments, or these and two gradients, where by public facts they may be enough, or of classes of many cells after steps along the covariance."""
    with suppress(CapabilityError, CalibrationError):
        unit, careful = noise(*context.facts, 1), solver.name in CHOOSING
        enough = brief and solver.name == HARDY and unit < SUFFICIENT
        faint = QUIET if brief or careful or solver.name == MOMENTS else FAINT
        if solver.name not in (SPARSE, CONSTANT) and not enough and loud(*context.facts, faint)[1]:
            held = FlooredSolver(solver.name, solver, share_for(unit, brief, LESS if careful else 1.0), brief)
            return held, held.plan(*context.facts)
        if brief and solver == SOLVERS.get(LABORIOUS):
            cells = context.problem.records * context.problem.dimension
            if isinstance(context.problem.loss, Logistic) and cells >= CELLS:
                return BRIEF, BRIEF.plan(*context.facts)
            for shares in (STEPS, ALONE):
                if may_suffice(*context.facts, shares):
                    first = MomentsFirstSolver(solver.name, solver, shares=shares)
                    return first, first.plan(*context.facts)
    return solver, plan


def solvers_for(problem: Problem) -> dict[str, Solver]:
    """The solvers by name, each taking one target after the other where the loss is of one prediction."""
    fitting = {CONSTANT: False, STRUCTURED: isinstance(problem.penalty, SubmodularPenalty)}
    fitting[LABORIOUS] = not _slow(structure_of(problem))
    return {name: _for_targets(problem, one) for name, one in SOLVERS.items() if fitting.get(name, True)}


def _for_targets(problem: Problem, one: Solver) -> Solver:
    # What gives answers up counts them among the queries of one target.
    return SeparateTargetsSolver(SOLVERS[LABORIOUS] if one == BRIEF else one) if separate(problem, one) else one


def _slow(function: SetFunction | None) -> bool:
    """Whether the prox of a structure has neither a closed form nor one by nested groups."""
    if isinstance(function, GroupCover):
        return function.forest is None
    return function is not None and not isinstance(function, HasProximalForm)


def exact(problem: Problem, prices: QueryPrices) -> tuple[Solver, Plan]:
    """The solver of the optimum itself, without noise; over a set without a projection the one that comes near it."""
    refusals = []
    for name in EXACT if isinstance(problem.constraint, Projectable | None) else (NEARLY,):
        if name not in SOLVERS:
            continue
        try:
            if name == "moments":
                _refuse_wide(problem, "")
            solver = solvers_for(problem)[name]
            return solver, solver.plan(problem, prices, Allowance.gdp(float("inf")))
        except (CapabilityError, InvalidParameter) as refused:
            refusals.append(str(refused))
    raise CapabilityError(refusals[-1])


def forecasts(context: PlanContext, times: Mapping[str, float] | None = None, *, fewest: int = 2) -> list[Forecast]:
    """What each solver would do, best first among those that can; those that cannot at the end.

    Plans are rehearsed where at least `fewest` solvers can: one alone needs no comparison. Those that cannot be taken are told by fewer draws, or given up where each counts as so many `times` better.
    """
    found = _proposed(context)
    if tables := staged(context, found, fewest):
        found, small, rehearsals = tables
        counted = weights(*context.facts) if times is None else times
        found = contested(found, rehearsals, counted, EQUAL, told=times is None)
        found += contested(_constant(context, found, small), rehearsals, {}, EQUAL)
    return sorted(found, key=lambda one: (one.plan is None, one.expected))


def _proposed(context: PlanContext) -> list[Forecast]:
    problem, able = context.problem, solvers_for(context.problem)
    if context.held and "moments" in able:
        able["moments"] = _for_targets(problem, MomentsSolver(above_mean=True))
    if problem.dimension > WIDEST:
        able.pop("moments", None)
    if can_rehearse(problem):
        able.pop(WIDE_ALONE, None)
    return _consistent(context, propose(context, able))


def _beside(one: Forecast, inference: WithInference | None, context: PlanContext) -> Forecast:
    """A proposal with what inference buys beside it."""
    if inference is None or one.plan is None:
        return one
    solver = inference.of(one.solver)
    if not isinstance(solver, WithInference):
        return propose(context, {solver.name: solver})[0]
    plan = solver.composed(context.problem, context.prices, one.plan, context.allowance)
    return replace(one, solver=solver, plan=plan)


def staged(
    context: PlanContext, found: list[Forecast], fewest: int
) -> tuple[list[Forecast], PlanContext, Rehearsals] | None:
    """Proposals, the problem and prices of the synthetic tables on which they are tried out, and these; None where the formulas decide."""
    if context.perform is None or sum(one.plan is not None for one in found) < fewest:
        return None
    small, wide = context, 0
    if not can_rehearse(context.problem):
        if (less := narrowed(context.problem, context.prices)) is None:
            return None
        small, wide = replace(context, problem=less[0], prices=less[1]), context.problem.dimension
    ideal = exact(small.problem, small.prices.in_memory)
    found = [_narrow(one, context, small) for one in found] if wide else found
    return found, small, Rehearsals(small.problem, ideal, context.perform, context.kept, wide)


def _narrow(one: Forecast, context: PlanContext, small: PlanContext) -> Forecast:
    """With the plan of the narrowed problem."""
    if one.plan is None:
        return one
    spend = context.allowance.scaled(share(one.name, context.problem, small.problem))
    (found,) = propose(replace(small, allowance=spend), {one.name: one.solver})
    return replace(one, plan=one.plan if found.plan else None, refusal=found.refusal, narrow=found.plan)


def _constant(
    context: PlanContext, found: list[Forecast], small: PlanContext, inference: WithInference | None = None
) -> list[Forecast]:
    """The intercept alone, where there is one and no other promises much; not where weights have another bound than 1.

    Rehearsals take weights to be 1: where some are less, or records without a target count for nothing, a model is noisier than in them, and hopeless where it is in them.
    """
    times = weights(*context.facts) if found else {}
    hopeful = any(one.expected <= HOPEFUL * min(times.get(one.name, 1.0), 1.0) for one in found)
    one, problem = SOLVERS.get(CONSTANT), context.problem
    if one is None or not context.allowance.is_private or hopeful or problem.max_weight != 1.0:
        return []
    (level,) = propose(context.beside(inference), {CONSTANT: _for_targets(problem, one)})
    level = _beside(level, inference, context)
    level = level if small is context else _narrow(level, context, small)
    return [] if level.plan is None else [level]


def _consistent(context: PlanContext, found: list[Forecast]) -> list[Forecast]:
    """Without those that would end short of the optimum however large the budget is, where the preconditioned gradient does not.

    Nor is a walk of `LONG` steps or more offered beside it. Plain steps do end short where as many do not suffice, and for counts, whose loss is flat where their rate is low; steps in plain coordinates do for quantiles. A ridge that privacy asks for does in narrow columns (`STIFF`).
    Where the coordinate along the mean is the constant's place, what it varies by has to be taken back by the others, which plain steps hardly move: of claims in the unit ball (`benchmarks/bare_norm.py`, ε = 1 and 3) the adaptive gradient lost 1.12 to 1.25 times what the constant does, ever more as noise fell.
    """
    if not any(one.plan is not None and one.name == LABORIOUS for one in found):
        return found
    problem, quiet = context.problem, noise(*context.facts) <= QUIET
    code = problem.loss.kernel_code
    stiff = STIFF if problem.free and quiet else math.inf

    def short(one: Forecast) -> bool:
        if one.plan is None:
            return False
        known = one.plan.settings
        if one.name == RIDGED:
            return bool(known.get("ridge", 0.0) > stiff * known.get("sigma", math.inf))
        if one.name == "adaptive_gradient":
            return code == KernelCode.PINBALL or (quiet and led(problem))
        flat = one.name == "gradient" and code == KernelCode.POISSON
        return flat or (one.name in WALKS and known.get("steps", 0) >= LONG)

    refusal = CapabilityError(
        f"Its steps or its ridge would end short of the optimum, whatever the budget, or it would take {LONG} steps and more; it can be asked for by name."
    )
    return [Forecast(one.solver, None, refusal) if short(one) else one for one in found]


def best_of(found: list[Forecast], weights: Mapping[str, float]) -> Forecast:
    """What "auto" takes, its plan's reason completed."""
    able = [one for one in found if one.plan is not None]
    if not able:
        for one in found:
            if isinstance(one.refusal, BudgetError):  # a fault of the budget as it is, else what each solver said
                raise one.refusal
        said = " ".join(f"[{one.name}] {one.refusal}" for one in found)
        raise CapabilityError(f"No solver can do what is asked. Nothing was charged or read. {said}")
    expected = {one.name: one.expected / weights.get(one.name, 1.0) for one in able}
    equal = [one for one in able if expected[one.name] <= (1.0 + EQUAL) * min(expected.values())]
    best = min(equal, key=lambda one: (one.tier, expected[one.name]))
    if best.name == ADAPTIVE[0] and best.rehearsed:
        near = [one for one in able if one.name == LABORIOUS and one.passes < best.passes]
        best = min([best, *near], key=lambda one: expected[one.name] - POINT * (one.name == LABORIOUS))
    assert best.plan is not None
    if len(able) == 1:
        why = "the one solver that can"
    elif best.name == CONSTANT:
        why = "no solver is expected to do better with this budget"
    elif best.rehearsed:
        tables = "wide synthetic tables" if best.narrow else "synthetic tables of this domain"
        why = f"expected to keep {best.keeps} of the signal of {tables}"
    else:
        why = "the best by the formulas, as not rehearsed"
    return replace(best, plan=replace(best.plan, reason=f"{why}; {best.plan.reason}"))


def passed_over(best: Forecast, found: list[Forecast], weights: Mapping[str, float]) -> str:
    """Why "auto" does not take the solver whose line promises most, after the reason for what it takes; "" where it does."""
    leader = min((one for one in found if one.plan is not None), key=lambda one: one.expected)
    if leader.name == best.name:
        return ""
    times = weights.get(best.name, 1.0) / weights.get(leader.name, 1.0)
    if (leader.name, best.name) == ADAPTIVE and best.expected > times * leader.expected:
        return f". {leader.name} promises as much within a point of the constant's loss, in {leader.passes:,} passes over the records where {best.name} takes {best.passes:,}"
    if times == 1.0:
        return f". {leader.name} promises as much within {EQUAL:.0%}, and rests on more than sums with noise"
    why = "tables that wide mostly depend on few columns"
    if best.rehearsed:
        why = "no centre is looked for under a set or penalty without an intercept"
        if best.name == CONSTANT:
            why = "noise decides between them, and it promises nothing that it does not keep"
        elif best.name in ADAPTIVE:
            why = "real tables are further from their declared bounds than synthetic ones, which it makes up for"
    return f". By its line {leader.name} does better, but {best.name} is counted as {times:.2g} times better: {why}"


def _refuse_wide(problem: Problem, remedy: str) -> None:
    """A matrix that cannot be held is refused now: failing after the charge would spend the budget on nothing."""
    if isinstance(problem.loss, Squared) and problem.dimension > WIDEST:
        raise InvalidParameter(
            f"Moments of {problem.dimension:,} columns were asked for, a matrix of {8e-9 * problem.dimension**2:,.0f} GB; at most {WIDEST:,} columns are taken. Nothing was charged or read. To go on, {remedy}declare fewer columns."
        )
