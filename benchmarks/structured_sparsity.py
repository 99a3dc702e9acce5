"""Structured sparsity against l1 at equal (ε, δ): risk and support where the support has a structure that was declared.

Replace-one neighbours, δ = 1/n², the same solver and the same rule of size for both norms: the l1 norm, that of `hb.Lasso`, and the
norm Ω of the structure. Four rules:

- "true radius": the ball whose radius is the norm of the coefficients that made the table, each in its own norm; objective perturbation.
  Beside it four fifths of that radius;
- "true radius, auto": the true radius, and the planner chooses the solver, for each norm by itself;
- "noise × 0.3" and "noise × 1": a penalty of strength `q·(σ/n)·E Ω*(g)`, g standard normal and σ the noise of the perturbed objective:
  public, as σ is; for q = 1 a table without any signal selects nothing about every second time. Objective perturbation;
- "best rule": the best of the rules but auto for each norm, in hindsight; the columns of solvers then name the rules.

On real tables the radius is the norm of the non-private model, each in its own norm.

Planted tables: the excess risk on fresh rows over that of the null model, `Σ over rows ⟨x, θ − θ*⟩²/⟨x, θ*⟩²`; F1 and exact recovery of the
support {θ_j ≠ 0}. Each draw is a fresh table with fresh noise, both the same for the two norms; `p_value` is of a one-sided paired t-test that Ω's
risk is not lower, and "lower" says that it is below 0.001: the probability of a false alarm in a row. Real tables: one split, several draws
of noise, the share kept of what the non-private model gains over a constant on the held-out rows.
"""

import itertools
import math
import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from benchmarks.structured_tables import REAL, Design, Real, Structured, designs
from hullabaloo.curator import Curator
from hullabaloo.geometry import (
    Cardinality,
    Intervals,
    L1Ball,
    L1Penalty,
    NoPenalty,
    SetFunction,
    SubmodularBall,
    SubmodularPenalty,
)
from hullabaloo.geometry.submodular.norm import dual_omega, omega
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import choose
from hullabaloo.planning.context import PlanContext
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Plan, Problem, Solver

EPSILONS = (0.5, 1.0, 3.0)
DRAWS, AUTO_DRAWS, REAL_DRAWS = 20, 3, 3
FIXED = "objective_perturbation"
RADIUS = {"true radius": 1.0, "true radius × 0.8": 0.8}
AUTO, BEST = "true radius, auto", "best rule"
NOISE = {"noise × 0.3": 0.3, "noise × 1": 1.0}
CERTAIN = 1e-3
RISKS = ("pattern", "structure", "epsilon", "l1 risk", "risk", "ratio", "better in", "p_value", "lower")
SUPPORTS = ("pattern", "structure", "epsilon", "l1 F1", "F1", "l1 exact", "exact", "l1 risk", "risk")
Array = np.ndarray
Fit = tuple[Problem, Solver, Plan]


def fingerprint() -> dict[str, Any]:
    """Every rule but that of the planner, for both norms, on a small planted block: the plan's solver, risk and support."""
    block = Design("block", np.arange(12) // 4 == 1, {"intervals": Intervals(12)}, (1, 12), 400)
    made, found = block.table(7000, held=100), {}
    for rule, (said, function) in itertools.product((*RADIUS, *NOISE), _functions(block)):
        asked = planned(made, function, rule, 3.0, made.truth)
        theta = answered(made, asked, 0)
        found[f"{rule}, {said}"] = {"solver": asked[2].solver, "theta": theta, "judged": judged(made, theta)}
    return found


def run(draws: int = DRAWS, auto: int = AUTO_DRAWS, real: int = REAL_DRAWS) -> dict[str, Any]:
    """Planted and real tables, and the patterns that are drawn."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = list(itertools.product(range(len(designs())), EPSILONS))
        planted = [pool.submit(planted_lines, *job, draws, auto) for job in jobs]
        later = [pool.submit(real_lines, number, epsilon, real) for number in range(len(REAL)) for epsilon in EPSILONS]
        shown = [pool.submit(pattern, number) for number in range(len(designs()))]
        weeks = [pool.submit(week, number) for number, one in enumerate(REAL) if one.shape is not None]
        lines = [line for one in planted for line in one.result()]
        weekly = [line for one in later for line in one.result()]
        patterns = {"planted": [one.result() for one in shown], "weeks": [one.result() for one in weeks]}
    return {
        **goal(lines),
        "widths": widths(),
        "risk by the best rule": [_only(line, *RISKS) for line in lines if line["rule"] == BEST],
        **{
            f"support by {rule}": [_only(line, *SUPPORTS) for line in lines if line["rule"] == rule]
            for rule in ("noise × 1", "true radius × 0.8")
        },
        "real tables by the best rule": best_shares(weekly),
        "planted": lines,
        "real": weekly,
        "patterns": patterns,
    }


def planted_lines(number: int, epsilon: float, draws: int, auto: int) -> list[dict[str, Any]]:
    """One planted pattern at one ε: a line for each rule and structure."""
    design = designs()[number]
    seen: dict[tuple[str, str], list[tuple[float, float, bool]]] = {}
    chosen: dict[tuple[str, str], str] = {}
    plans: dict[tuple[str, str], Fit] = {}
    for draw in range(draws):
        table = design.table(7000 + draw)
        assert table.truth is not None
        for rule, (said, function) in itertools.product((*RADIUS, AUTO, *NOISE), _functions(design)):
            if rule == AUTO and (draw >= auto or said not in ("l1", next(iter(design.structures)))):
                continue
            key = (rule, said)
            if key not in plans:  # plans depend on public facts, and the truth's norm is the same in every draw
                plans[key] = planned(table, function, rule, epsilon, table.truth)
            chosen[key] = plans[key][2].solver
            seen.setdefault(key, []).append(judged(table, answered(table, plans[key], draw)))
    lines = []
    for rule, said in [*seen, *((BEST, said) for said in design.structures)]:
        if said == "l1":
            continue
        mine, other_rule = (rule if rule != BEST else _best(seen, one) for one in (said, "l1"))
        ours, theirs = seen[mine, said], seen[other_rule, "l1"]
        risk, other = (np.array([one[0] for one in part]) for part in (ours, theirs))
        p_value = paired(other - risk)
        lines.append(
            {
                "pattern": design.name,
                "structure": said,
                "epsilon": epsilon,
                "rule": rule,
                "l1 risk": float(other.mean()),
                "risk": float(risk.mean()),
                "ratio": float(risk.mean() / other.mean()),
                "better in": f"{int((risk < other).sum())} of {risk.size}",
                "p_value": p_value,
                "lower": p_value < CERTAIN,
                "l1 F1": _mean(theirs, 1),
                "F1": _mean(ours, 1),
                "l1 exact": _mean(theirs, 2),
                "exact": _mean(ours, 2),
                "l1 solver": chosen[other_rule, "l1"] if rule != BEST else other_rule,
                "solver": chosen[mine, said] if rule != BEST else mine,
            }
        )
    return lines


def real_lines(number: int, epsilon: float, draws: int) -> list[dict[str, Any]]:
    """One real table at one ε: a line for each rule."""
    real = REAL[number]
    table, function, best = real.read()
    constant = table.held_loss(_constant(table))
    gain = constant - table.held_loss(best)
    lines = []
    for rule in (*RADIUS, *NOISE):
        shares = {}
        columns = {}
        for said, one in (("l1", Cardinality()), ("Ω", function)):
            plan = planned(table, one, rule, epsilon, best[: table.slopes])
            thetas = [answered(table, plan, draw) for draw in range(draws)]
            shares[said] = [(constant - table.held_loss(theta)) / gain for theta in thetas]
            columns[said] = float(np.mean([np.count_nonzero(theta[: table.slopes]) for theta in thetas]))
        lines.append(
            {
                "table": real.name,
                "records": table.records,
                "columns": table.slopes,
                "structure": real.structure,
                "epsilon": epsilon,
                "rule": rule,
                "l1 share": float(np.mean(shares["l1"])),
                "share": float(np.mean(shares["Ω"])),
                "± of a share": float(np.std(shares["Ω"]) / math.sqrt(draws)),
                "l1 columns": columns["l1"],
                "columns used": columns["Ω"],
            }
        )
    return lines


def pattern(number: int, epsilon: float = 1.0) -> dict[str, Any]:
    """What was planted, and what the two norms find in the first table, by the public rule that selects."""
    design = designs()[number]
    table = design.table(7000)
    assert table.truth is not None
    found = {
        said: answered(table, planned(table, function, "noise × 1", epsilon, table.truth), 0)
        for said, function in list(_functions(design))[:2]
    }
    return {"pattern": design.name, "shape": design.shape, "truth": table.truth, "found": found}


def week(number: int, epsilon: float = 0.5) -> dict[str, Any]:
    """The coefficients of the cells of a week, without privacy and with it."""
    real: Real = REAL[number]
    table, function, best = real.read()
    found = {
        said: answered(table, planned(table, one, "noise × 0.3", epsilon, best[: table.slopes]), 0)[: table.slopes]
        for said, one in (("l1", Cardinality()), (real.structure, function))
    }
    return {"table": real.name, "shape": real.shape, "truth": best[: table.slopes], "found": found}


def planned(table: Structured, function: SetFunction, rule: str, epsilon: float, truth: Array) -> Fit:
    """A problem of one of the rules, with the solver that is named or chosen, and its plan."""
    plain = isinstance(function, Cardinality)
    if rule in NOISE:
        strength = NOISE[rule] * _noise(table, epsilon) * width(function, table.slopes)
        penalty = L1Penalty(strength) if plain else SubmodularPenalty(function, strength)
        return _planned(table, epsilon, FIXED, penalty=penalty)
    size = RADIUS.get(rule, 1.0) * omega(function, truth)
    body = L1Ball(size) if plain else SubmodularBall(function, size)
    return _planned(table, epsilon, "auto" if rule == AUTO else FIXED, constraint=body)


def answered(table: Structured, planned: Fit, draw: int) -> Array:
    """Coefficients; the noise is the draw's, so that norms are compared at the same noise."""
    problem, solver, plan = planned
    key = TestKey((1 + draw).to_bytes(32, "big"))
    return solver.run(problem, plan, Curator(table.rows, plan.queries, key=key)).theta[:, 0]  # type: ignore[arg-type]


def judged(table: Structured, theta: Array) -> tuple[float, float, bool]:
    """Excess risk over the null model's, F1 of the support, whether it is exact."""
    assert table.truth is not None
    error, signal = table.held.X @ (theta - table.truth), table.held.X @ table.truth
    found, true = theta != 0.0, table.truth != 0.0
    f1 = 2.0 * float((found & true).sum()) / float(found.sum() + true.sum())
    return float(error @ error / (signal @ signal)), f1, bool(np.array_equal(found, true))


def paired(gains: Array) -> float:
    """p-value of the one-sided paired t-test that the mean gain is not above 0."""
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(gains, 0.0, alternative="greater").pvalue) if gains.size > 1 else 1.0


def best_shares(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best rule of each norm for every real table and ε, in hindsight."""
    found = []
    for key in dict.fromkeys((line["table"], line["structure"], line["epsilon"]) for line in lines):
        part = [line for line in lines if (line["table"], line["structure"], line["epsilon"]) == key]
        shares = {said: max(line[said] for line in part) for said in ("l1 share", "share")}
        found.append({"table": key[0], "structure": key[1], "epsilon": key[2], **shares})
    return found


def goal(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """In how many rows the structured model's risk is lower, by the test; rows of few draws by their means alone."""
    tested = [line for line in lines if line["rule"] != AUTO]
    return {
        "rows": len(tested),
        "rows in which the risk is lower (paired t-test at 0.001)": sum(line["lower"] for line in tested),
        "rows of auto": len(lines) - len(tested),
        "rows of auto in which the mean risk is lower": sum(
            line["ratio"] < 1.0 for line in lines if line["rule"] == AUTO
        ),
    }


def widths() -> list[dict[str, Any]]:
    """How loud noise is in each norm's dual, times the norm of what was planted: what Theorem 1 says the penalty's noise costs."""
    found = []
    for design in designs():
        p, planted = design.support.size, design.support.astype(float)
        l1 = width(Cardinality(), p)
        for said, function in design.structures.items():
            one = width(function, p)
            found.append(
                {
                    "pattern": design.name,
                    "columns": p,
                    "in the support": int(planted.sum()),
                    "structure": said,
                    "Ω of the pattern": omega(function, planted),
                    "E Ω*(g)": one,
                    "E Ω*(g) of l1": l1,
                    "Ω E Ω*, over l1's": float(omega(function, planted) * one / (planted.sum() * l1)),
                }
            )
    return found


@cache
def width(function: SetFunction, p: int, draws: int = 400) -> float:
    """E Ω*(g), by the same public numbers for every norm."""
    normal = np.random.default_rng(5).standard_normal((draws, p))
    return float(np.mean([dual_omega(function, g).value for g in normal]))


def _noise(table: Structured, epsilon: float) -> float:
    """σ/n: the standard deviation of the random linear term beside the mean loss."""
    plan = _planned(table, epsilon, FIXED)[2]
    return float(plan.settings["sigma"]) / table.records


def _planned(table: Structured, epsilon: float, asked: str, constraint: Any = None, penalty: Any = None) -> Fit:
    facts, n, neighbours = table.facts, table.records, Neighbours.REPLACE_ONE
    norms = (facts.norm_l1, facts.norm_l2, facts.norm_linf)
    shape = {"constraint": constraint, "penalty": NoPenalty() if penalty is None else penalty}
    problem = Problem(table.loss, facts.width, facts.intercept, *norms, 1, n, neighbours, **shape)
    allowance = Allowance(Budget(epsilon, 1.0 / n**2))
    solver, plan = choose(PlanContext(problem, PricedQueries(facts, neighbours, n), allowance, rehearsal), asked)
    return problem, solver, plan


def _best(seen: dict[tuple[str, str], list[tuple[float, float, bool]]], said: str) -> str:
    """The rule of the least mean risk for a norm, in hindsight."""
    return min((*RADIUS, *NOISE), key=lambda rule: _mean(seen[rule, said], 0))


def _functions(design: Design) -> list[tuple[str, SetFunction]]:
    return [("l1", Cardinality()), *design.structures.items()]


def _constant(table: Structured) -> Array:
    theta, mean = np.zeros(table.facts.width), float(table.rows.Y.mean())
    theta[-1] = mean if table.loss.name == "squared" else math.log((1.0 + mean) / (1.0 - mean))
    return theta


def _only(line: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: line[key] for key in keys}


def _mean(rows: list[tuple[float, float, bool]], place: int) -> float:
    return float(np.mean([row[place] for row in rows]))
