"""Every bound beside what is measured, at two sizes, and Gaussian widths by simulation beside proved ones.

Upper bounds are those that `hb.plan` shows, at the plan's own numbers, on tables that are hard for the algorithm where such are known (worst of several
strengths of signal) and on simulated ones elsewhere; losses are clipped nowhere. ε = 1, δ = 1e-6, replace-one. "bound / measured" is at least 1 for upper
bounds and at most 1 for lower ones.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import stream_bounds
from hullabaloo import theory
from hullabaloo.geometry import (
    BoundedCardinality,
    Box,
    ConcaveCardinality,
    ConvexSet,
    GroupCover,
    Intervals,
    L1Ball,
    L2Ball,
    SquaredL2Penalty,
    SubmodularBall,
    SubmodularPenalty,
)
from hullabaloo.losses import Huber, Logistic, Squared
from hullabaloo.planning.forecasts import Forecast
from hullabaloo.planning.theory.coordinate_bounds import strongly_convex_bound, updates_that_halve
from hullabaloo.planning.theory.upper_bounds import UpperBound, upper_bounds
from hullabaloo.privacy import Allowance, Budget
from hullabaloo.reproduce.widths import sets
from hullabaloo.reproduce.worst_cases import STEEP, Case, linear, spread_lasso, worst_linear
from hullabaloo.solvers import (
    CoordinateDescentSolver,
    FrankWolfeSolver,
    MirrorDescentSolver,
    ObjectivePerturbationSolver,
    OutputPerturbationSolver,
    Solver,
)
from hullabaloo.solvers.coordinate.coordinate_rule import Schedule

SIZES, DRAWS, P = (10_000, 100_000), 6, 64
GIVEN = Allowance(Budget(1.0, 1e-6))


def fingerprint() -> dict[str, Any]:
    """The bounds at the smaller size, and widths in sixteen dimensions."""
    rows = [row for part in (_perturbed, _frank_wolfe) for row in part(1000, 1)]
    return {
        "bounds": [row["bound"] for row in rows],
        "widths": [row["certified / simulated"] for row in _widths((16,), 200)],
    }


def run() -> dict[str, Any]:
    """All theorems at both sizes; all sets in three dimensions."""
    parts = (_mirror, _perturbed, _frank_wolfe, _composite, _coordinates, _sampling)
    return {
        "bounds_against_measurements": [row for part in parts for n in SIZES for row in part(n, DRAWS)]
        + list(_streams()),
        "gaussian_widths": _widths((16, 64, 256), 2000),
    }


def _row(theorem: str, problem: str, n: int, measured: float, bound: float) -> dict[str, Any]:
    return {
        "theorem": theorem,
        "problem": problem,
        "n": n,
        "measured": measured,
        "bound": bound,
        "bound / measured": bound / measured,
    }


def _bound(case: Case, solver: Solver, n: int) -> UpperBound:
    plan = solver.plan(case.problem(n), case.prices(n), GIVEN)
    (found,) = upper_bounds(case.problem(n), [Forecast(solver, plan)])
    assert not found.clipped
    return found


def _mirror(n: int, draws: int) -> Iterator[dict[str, Any]]:
    solver, u = MirrorDescentSolver(), np.full(P, P**-0.5)
    for name, body in (("l2 ball", L2Ball(0.5)), ("l1 ball", L1Ball(0.5))):
        direction = u if name == "l2 ball" else np.eye(P)[0]
        measured = worst_linear(solver, direction, body, n, GIVEN, draws)
        bound = _bound(linear(direction, 1.0, body), solver, n).value
        yield _row("002, Theorem 3.2", f"linear loss, {name}", n, measured, bound)
        if name == "l2 ball":
            floor = theory.two_points(n, 1.0, 1e-6, lipschitz=STEEP, radius=0.5).value
            yield _row("two tables, from below", f"linear loss, {name}", n, measured, floor)
    curved = linear(u, 0.3, L2Ball(0.5), penalty=SquaredL2Penalty(1.0))
    best = STEEP * curved.X[0]
    lost = np.mean([0.5 * np.sum((theta - best) ** 2) for theta in curved.fits(solver, n, GIVEN, draws)])
    yield _row("002, Theorem A.1", "linear loss, ridge 1, l2 ball", n, float(lost), _bound(curved, solver, n).value)


def _perturbed(n: int, draws: int) -> Iterator[dict[str, Any]]:
    for name, direction, body in (
        ("l2 ball", np.full(P, P**-0.5), L2Ball(0.5)),
        ("l1 ball", np.eye(P)[0], L1Ball(0.5)),
    ):
        for theorem, solver in (
            ("002, Theorem 4.1", ObjectivePerturbationSolver()),
            ("as 001, Theorem 1, a set", OutputPerturbationSolver()),
        ):
            measured = worst_linear(solver, direction, body, n, GIVEN, draws)
            yield _row(
                theorem, f"linear loss, {name}", n, measured, _bound(linear(direction, 1.0, body), solver, n).value
            )
    rng, sigma, strong, width = np.random.default_rng(n), 100.0, 1.0, L2Ball(1.0).gaussian_width(P).high
    b = sigma * rng.normal(size=(200, P)) / (n * strong)
    excess = 0.5 * strong * float(np.mean(np.sum(b**2, axis=1)))
    bound = theory.gauge_rise(sigma, strong, n, width=width, size=1.0)
    yield _row("002, Theorem 4.1, strongly convex", "½‖θ‖², l2 ball, σ = 100", n, excess, bound)


def _frank_wolfe(n: int, draws: int) -> Iterator[dict[str, Any]]:
    worst, bound = 0.0, 0.0
    for nonzero in (8, 32, 128):
        case, solver = spread_lasso(256, nonzero, L1Ball(1.0), Squared()), FrankWolfeSolver(clip=2.0)
        aim = case.X.T @ case.y / len(case.y)
        lost = np.mean([0.5 * np.sum((theta - aim) ** 2) for theta in case.fits(solver, n, GIVEN, draws)])
        worst, bound = max(worst, float(lost)), _bound(case, solver, n).value
    yield _row("002, Theorem 5.5; 000, Theorem 2.5", "spread lasso, p = 256", n, worst, bound)
    general, u = FrankWolfeSolver(form="general"), np.full(P, P**-0.5)
    measured = worst_linear(general, u, L2Ball(0.5), n, GIVEN, draws)
    yield _row(
        "002, Theorem B.2", "linear loss, l2 ball", n, measured, _bound(linear(u, 1.0, L2Ball(0.5)), general, n).value
    )


def _simulated(loss: Any, seed: int, p: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """500 rows on the sphere that stand for n."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.clip(X @ np.linspace(-0.6, 0.6, p) + 0.1 * rng.normal(size=500), -1.0, 1.0)
    return X, np.where(y > 0.0, 1.0, -1.0) if isinstance(loss, Logistic) else y


def _objective(case: Case, theta: np.ndarray) -> float:
    return float(np.mean(case.loss.value(case.X @ theta, case.y))) + case.penalty.value(theta)  # type: ignore[arg-type]


def _lost(case: Case, solver: Solver, n: int, draws: int) -> float:
    exact = case.fits(OutputPerturbationSolver(), n, Allowance.gdp(math.inf), 1)[0]
    least = _objective(case, exact)
    return float(np.mean([_objective(case, theta) for theta in case.fits(solver, n, GIVEN, draws)])) - least


def _composite(n: int, draws: int) -> Iterator[dict[str, Any]]:
    """Penalties: a minimum over all θ is below that over the norms that a bound compares with, so that what is lost counts too much."""
    X, y = _simulated(Huber(0.5), 0)
    for name, function in (("intervals", Intervals(8)), ("groups", GroupCover([range(4), range(4, 8)]))):
        case = Case(X, y, 1.0, Huber(0.5), None, SubmodularPenalty(function, 0.005))  # type: ignore[arg-type]
        for theorem, solver in (
            ("001, Theorem 1", OutputPerturbationSolver()),
            ("001, Section 4.3", ObjectivePerturbationSolver()),
        ):
            measured = _lost(case, solver, n, draws)
            yield _row(theorem, f"Huber loss, penalty by {name}", n, measured, _bound(case, solver, n).value)


def _coordinates(n: int, draws: int) -> Iterator[dict[str, Any]]:
    X, y = _simulated(Logistic(), 1)
    case = Case(X, y, 1.0, Logistic(), Box(-1.0, 1.0))
    plain = CoordinateDescentSolver(order="uniform", constants="declared", rounds=1, clip=3.0)
    yield _row("004, convex", "logistic loss, box", n, _lost(case, plain, n, draws), _bound(case, plain, n).value)
    strength, constants = 0.25, np.full(8, 0.25)
    curved = Case(X, y, 1.0, Logistic(), None, SquaredL2Penalty(strength))  # type: ignore[arg-type]
    updates = updates_that_halve(8, strength / 0.25)
    solver = CoordinateDescentSolver(order="uniform", constants="declared", rounds=6, updates=updates, clip=3.0)
    plan = solver.plan(curved.problem(n), curved.prices(n), GIVEN)
    schedule = Schedule(**plan.settings)
    sigma = schedule.sigma * schedule.clips(constants, intercept=False)
    exact = curved.fits(OutputPerturbationSolver(), n, Allowance.gdp(math.inf), 1)[0]
    gap = _objective(curved, np.zeros(8)) - _objective(curved, exact)
    bound = strongly_convex_bound(gap, sigma, constants, 6, updates, strength / 0.25)
    yield _row("004, strongly convex", "logistic loss, ridge ¼", n, _lost(curved, solver, n, draws), bound)


def _sampling(n: int, draws: int) -> Iterator[dict[str, Any]]:
    """Linear losses of rows ±e_j: the largest difference of risk and mean over ‖θ‖₂ ≤ 1 is the length of the mean row; its 95 % quantile."""
    rng = np.random.default_rng(n)
    counts = rng.multinomial(n, np.full(2 * P, 1.0 / (2 * P)), size=200 * draws)
    longest = np.linalg.norm((counts[:, :P] - counts[:, P:]) / n, axis=1)
    bound = theory.uniform_deviation(n, lipschitz=1.0, norm=1.0, radius=1.0, failure=0.05)
    yield _row("001, Proposition 1", "linear losses, l2 ball", n, float(np.quantile(longest, 0.95)), bound)


def _streams() -> Iterator[dict[str, Any]]:
    few = stream_bounds._few(2)
    for row in (few[-3], few[-1]):
        n = row["records"]
        yield _row(
            "003, Theorem 4.2", "sums, l2 ball, ten columns", n, row["sums, buffered"], row["Theorem 4.2, buffered"]
        )
        yield _row("003, Theorem 3.1", "16 fits, l2 ball, ten columns", n, row["16 fits"], row["Theorem 3.1"])
    for row in stream_bounds._many(1):
        yield _row(
            "003, Theorem 5.7", "sketched sums, 400 columns in 40", row["records"], row["sketched"], row["Theorem 5.7"]
        )


def _widths(sizes: tuple[int, ...], draws: int) -> list[dict[str, Any]]:
    rows = []
    for p in sizes:
        side = math.isqrt(p)
        functions: dict[str, Any] = {
            "sum of the largest": BoundedCardinality(side),
            "sorted l1 norm": ConcaveCardinality([k**-0.5 for k in range(1, p + 1)]),
            "groups": GroupCover([range(j, j + side) for j in range(0, p, side)]),
            "overlapping groups": GroupCover([range(j, min(j + 4, p)) for j in range(p)]),
            "intervals": Intervals(p),
        }
        bodies: dict[str, ConvexSet] = sets(p) | {
            f"ball of {name}": SubmodularBall(function, 1.0) for name, function in functions.items()
        }
        for name, body in bodies.items():
            rng = np.random.default_rng(p)
            seen = np.array([body.support(g) for g in rng.normal(size=(draws, p))])
            known, found, mean = body.gaussian_width(p), theory.certified_width(body, p), float(seen.mean())
            rows.append({"set": name, "p": p, "simulated": mean, "relative error": float(seen.std() / mean / math.sqrt(draws)),
                         "known by": known.method, "known / simulated": known.high / mean,
                         "certified / simulated": found.high / mean})  # fmt: skip
    return rows
