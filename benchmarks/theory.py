"""What the theorems say, measured: rates in n and p, Gaussian width against risk, the hard lasso, noise against the papers' noise.

Each problem is the worst of a family (strengths of signal, or numbers of nonzero coefficients): theorems are about the worst
table. Deterministic: public keys, fixed seeds.
"""

import math
from typing import Any

import numpy as np

from benchmarks.timing import alternate
from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.geometry import L1Ball, L2Ball, SquaredL2Penalty
from hullabaloo.losses import Logistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.theory.hard_instances import hard_lasso
from hullabaloo.planning.theory.lower_bounds import lasso_rate, two_points
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours, epsilon_of, objective_noise_multiplier
from hullabaloo.reproduce.widths import sets
from hullabaloo.reproduce.worst_cases import (
    STEEP,
    Case,
    linear,
    spread_lasso,
    spread_risk,
    worst_linear,
)
from hullabaloo.solvers import FrankWolfeSolver, MirrorDescentSolver, Plan

EPSILON, DELTA = 1.0, 1e-6
MIRROR = MirrorDescentSolver()
STRONGLY = MirrorDescentSolver(rule="strongly convex")
DRAWS = 4
SPREAD = 100_000  # records up to which 1024 columns are enough to spread coefficients on


def fingerprint() -> dict[str, Any]:
    """The papers' noise beside ours, widths of all sets, and the risk of small worst cases."""
    given, direction = Allowance(Budget(EPSILON, DELTA)), np.full(16, 0.25)
    lasso = spread_lasso(16, 4, L1Ball(1.0), Squared()).fits(FrankWolfeSolver(clip=1.0, steps=4), 1000, given, 1)
    return {
        "noise": _noise(),
        "widths": {name: body.gaussian_width(16).value for name, body in sets(16).items()},
        "ridge": linear(direction, 0.3, L2Ball(0.5), penalty=SquaredL2Penalty(1.0)).fits(
            STRONGLY, 300, Allowance.gdp(0.1), 1
        ),
        "mirror": [worst_linear(MIRROR, direction, body, 1000, given, 1) for body in (L1Ball(0.5), L2Ball(0.5))],
        "lasso": lasso,
        "bounds": [two_points(1000, EPSILON, DELTA, lipschitz=STEEP, radius=0.5).value, lasso_rate(1000).value],
        "hard": hard_lasso(4, 16, generator=np.random.default_rng(0), share=0.25).y,
    }


def run() -> dict[str, Any]:
    """All parts."""
    return {
        "fitted_slopes": _slopes(rates := _rates(), dimensions := _dimensions(), hard := _hard()),
        "risk_against_n": rates,
        "risk_against_p": dimensions,
        "risk_against_width": _widths(),
        "hard_lasso": hard,
        "noise_against_the_papers": _noise(),
        "cost_of_a_step": _step(),
    }


def _rates() -> list[dict[str, Any]]:
    """Excess risk over three decades of n: linear losses, the same with a ridge by the steps of Theorem A.1, and the lasso of spread coefficients."""
    rows: list[dict[str, Any]] = []
    u = np.full(64, 0.125)
    given = Allowance(Budget(EPSILON, DELTA))
    for n in (1000, 3200, 10_000, 32_000, 100_000, 320_000, 1_000_000):
        ridge = linear(u, 0.3, L2Ball(0.5), penalty=SquaredL2Penalty(1.0))
        best = STEEP * ridge.X[0]
        strong = np.mean([0.5 * np.sum((theta - best) ** 2) for theta in ridge.fits(STRONGLY, n, given, DRAWS)])
        plain = worst_linear(MIRROR, u, L2Ball(0.5), n, given, DRAWS)
        floor = two_points(n, EPSILON, DELTA, lipschitz=STEEP, radius=0.5).value
        rows.append(
            {
                "n": n,
                "mirror_descent": plain,
                "lower_bound_two_tables": floor,
                "mirror_descent_ridge": float(strong),
            }
            | ({"frank_wolfe": spread_risk(1024, n, given, DRAWS)} if n <= SPREAD else {})
        )
    return rows


def _dimensions() -> list[dict[str, Any]]:
    """Mirror descent over the l1 and the l2 ball of radius ½ as p grows; n = 10 000."""
    given, n, rows = Allowance(Budget(EPSILON, DELTA)), 10_000, []
    for p in (16, 64, 256, 1024, 4096):
        one, spread = np.zeros(p), np.full(p, 1.0 / math.sqrt(p))
        one[0] = 1.0
        first = worst_linear(MIRROR, one, L1Ball(0.5), n, given, DRAWS)
        second = worst_linear(MIRROR, spread, L2Ball(0.5), n, given, DRAWS)
        width = L1Ball(0.5).gaussian_width(p).value
        rows.append({"p": p, "l1_ball": first, "l2_ball": second, "l1_ball / width": first / width,
                     "l2_ball / sqrt p": second / math.sqrt(p)})  # fmt: skip
    return rows


def _slopes(
    rates: list[dict[str, Any]], dimensions: list[dict[str, Any]], hard: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    private = [min(value for key, value in row.items() if "excess" in key) for row in hard]
    n = np.array([row["n"] for row in rates], dtype=float)
    p = np.array([row["p"] for row in dimensions], dtype=float)
    spread = [row["frank_wolfe"] for row in rates if "frank_wolfe" in row]
    lines = [
        ("frank_wolfe, log risk by log n", "-2/3", n[: len(spread)], spread),
        ("mirror_descent, log risk by log n", "-1", n, [row["mirror_descent"] for row in rates]),
        ("mirror_descent with a ridge (A.1), log risk by log n", "-2", n, [row["mirror_descent_ridge"] for row in rates]),
        ("hard lasso, best of zero and private models, by log n", "-2/3, up to logarithms",
         np.array([row["n"] for row in hard], dtype=float), private),
        ("l2 ball, log risk by log p", "1/2", p, [row["l2_ball"] for row in dimensions]),
        ("l1 ball, log risk by log log p", "between 1/2 and 1", np.log(p), [row["l1_ball"] for row in dimensions]),
    ]  # fmt: skip
    fitted = [(name, theory, _slope(x, np.array(y))) for name, theory, x, y in lines]
    return [
        {"measured": name, "theory": theory, "slope": found, "standard error": error}
        for name, theory, (found, error) in fitted
    ]


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Of log y against log x, by least squares, with its standard error."""
    x, y = np.log(x), np.log(y)
    line = np.polyfit(x, y, 1)
    left = y - np.polyval(line, x)
    return float(line[0]), math.sqrt(float(left @ left) / (len(x) - 2) / float(np.sum((x - x.mean()) ** 2)))


def _widths() -> list[dict[str, Any]]:
    """Worst risk over strengths of signal towards an extreme point of each set; n = 10 000, p = 1024, every set of l2 radius ½."""
    given, n, p, rows = Allowance(Budget(EPSILON, DELTA)), 10_000, 1024, []
    for name, body in sets(p).items():
        extreme = body.vertex(-np.random.default_rng(1).normal(size=p))
        direction = extreme / np.linalg.norm(extreme)
        problem = linear(direction, 1.0, body)
        plan = MIRROR.plan(problem.problem(n), problem.prices(n), given)
        width = body.gaussian_width(p).value
        risk = worst_linear(MIRROR, direction, body, n, given, 2)
        bound = MIRROR.predicted_risk(problem.problem(n), plan)
        potential = "euclidean" if plan.settings["euclidean"] else "own"
        rows.append(
            {
                "set": name,
                "potential": potential,
                "width": width,
                "risk": risk,
                "bound": bound,
                "risk / width": risk / width,
            }
        )
    return sorted(rows, key=lambda row: float(row["width"]))


def _hard() -> list[dict[str, Any]]:
    """The padded Tardos code over an orthogonal block, w rows, p = w² columns, share ¼: excess over the proof's reference model."""
    rows = []
    for w in (8, 16, 32):
        instance = hard_lasso(w, w * w, generator=np.random.default_rng(w), share=0.25)
        n = len(instance.y)
        case = Case(instance.X, instance.y, float(w), Squared(), L1Ball(1.0))
        best = instance.loss(instance.reference)
        row: dict[str, Any] = {"n": n, "p": w * w, "excess_of_zero": instance.loss(np.zeros(w * w)) - best}
        for epsilon in (0.1, 1.0, 10.0):
            fits = case.fits(FrankWolfeSolver(), n, Allowance(Budget(epsilon, 1.0 / n**2)), 2)
            row[f"excess, epsilon {epsilon:g}"] = float(np.mean([instance.loss(theta) for theta in fits])) - best
            row[f"signs named, epsilon {epsilon:g}"] = float(np.mean([instance.agreement(theta) for theta in fits]))
        row["rate (n ln n)^(-2/3)"] = lasso_rate(n).value
        rows.append(row)
    return rows


def _noise() -> list[dict[str, Any]]:
    """Noise of the papers against the exact one at equal (ε, δ), n = 20 000, δ = 1/n²; per answer, for the papers' number of answers."""
    n = 20_000
    budget = Budget(EPSILON, 1.0 / n**2)
    printed, exact = Allowance(budget, calibration=Calibration.PAPER), Allowance(budget)
    delta = 1.0 / n**2
    p = 20
    smooth = Case(np.full((4, p), 1.0 / math.sqrt(p)), np.ones(4), 1.0, Logistic(), L2Ball(1.0))
    wide = Case(np.ones((4, p)), np.ones(4), math.sqrt(p), Squared(), L1Ball(1.0))
    rows = []

    def add(method: str, plan: Plan, factor: float) -> None:
        real = epsilon_of(plan.event, delta)
        rows.append({"method": method, "answers": plan.queries[0].count, "paper / exact": factor, "real_epsilon": real})

    for method, solver in (
        ("mirror descent (2014, Alg. 1)", MirrorDescentSolver(max_passes=None)),
        ("Frank-Wolfe, general set (2014, Alg. 5)", FrankWolfeSolver(form="general")),
    ):
        theirs = solver.plan(smooth.problem(n), smooth.prices(n), printed)  # type: ignore[attr-defined]
        count = theirs.queries[0].count
        slope_bound = theirs.queries[0].clip
        ours = smooth.prices(n).price(
            "gradient", loss=smooth.loss, clip=slope_bound, mu=exact.mu / math.sqrt(count), count=count
        )
        add(method, theirs, theirs.queries[0].sigma / ours.sigma)
    theirs = FrankWolfeSolver().plan(wide.problem(n), wide.prices(n), printed)
    count = theirs.queries[0].count
    add("Frank-Wolfe, polytope (2015, Alg. 2)", theirs, exact.selection_epsilon(count) / theirs.queries[0].epsilon)
    curvature = EPSILON / 2.0
    ours_multiplier = objective_noise_multiplier(exact, curvature, Neighbours.REPLACE_ONE)
    paper_multiplier = math.sqrt(2.0 * math.log(1.0 / delta)) / EPSILON
    rows.append({"method": "objective perturbation (2014, Alg. 2)", "answers": 1, "paper / exact": paper_multiplier / ours_multiplier,
                 "real_epsilon": _objective_epsilon(paper_multiplier, curvature, delta)})  # fmt: skip
    return rows


def _objective_epsilon(multiplier: float, curvature: float, delta: float) -> float:
    from hullabaloo.privacy import ObjectivePerturbationEvent

    return epsilon_of(ObjectivePerturbationEvent(multiplier, curvature, Neighbours.REPLACE_ONE), delta)


def _step() -> dict[str, float]:
    """A whole fit of ten mirror steps on 200 000 × 100 rows against its ten gradients alone."""
    rng = np.random.default_rng(0)
    n, p = 200_000, 100
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.clip(X @ rng.normal(size=p), -1.0, 1.0)
    case = Case(X, y, 1.0, Squared(), L1Ball(1.0))
    given, solver = Allowance.gdp(0.0015), MIRROR
    plan = solver.plan(case.problem(n), case.prices(n), given)
    steps, rows = plan.queries[0].count, Rows(X, y[:, None])

    def fit() -> None:
        solver.run(case.problem(n), plan, Curator(rows, plan.queries, key=TestKey(bytes(32))))

    def gradients() -> None:
        curator = Curator(rows, plan.queries, key=TestKey(bytes(32)))
        for _ in range(steps):
            curator.answer("gradient", np.zeros(p))

    whole, alone = alternate(fit, gradients, repeats=3)
    return {
        "rows": n,
        "columns": p,
        "steps": steps,
        "fit_seconds": whole,
        "gradients_seconds": alone,
        "fit / gradients": whole / alone,
    }
