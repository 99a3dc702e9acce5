"""Kumar and Deisenroth (2019), sparsity-inducing norms: the greedy algorithm, widths, output perturbation, the dual and its Frank–Wolfe."""

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from hullabaloo.geometry import Cardinality, ConcaveCardinality, GroupCover, Intervals, SetFunction, SubmodularPenalty
from hullabaloo.geometry.submodular.norm import omega
from hullabaloo.geometry.submodular.shapes import SubmodularPolyhedron
from hullabaloo.losses import Squared
from hullabaloo.privacy import Allowance, Budget
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.reproduce.claims import Claim, Picture, Reproduction, mean_error, slope
from hullabaloo.reproduce.worst_cases import Case
from hullabaloo.solvers import Array, DualFrankWolfeSolver, OutputPerturbationSolver, Solver
from hullabaloo.solvers.perturbation.output_bounds import penalised_rise, ridge_rise

RIDGE, STRENGTH = 0.01, 0.01
STEPS = (10, 30, 100, 300, 1000)


def functions(p: int) -> dict[str, SetFunction]:
    """One of each family on p columns; groups of three overlap by one."""
    return {
        "l1": Cardinality(),
        "power": ConcaveCardinality.power(p, 0.6),
        "groups": GroupCover(tuple(tuple(range(j, min(j + 3, p))) for j in range(0, p - 1, 2))),
        "intervals": Intervals(p),
    }


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of norm at most √p, |x_ij| ≤ 1, a stretch of five coefficients, and λΩ with |s_j| ≤ 0.01 on its polyhedron."""

    X: Array
    y: Array
    function: SetFunction

    @property
    def penalty(self) -> SubmodularPenalty:
        """λΩ."""
        p = self.X.shape[1]
        return SubmodularPenalty(self.function, STRENGTH / self.function.value(np.arange(p) == 0))

    def run(self, solver: Solver, budget: Budget, draw: int = 0) -> tuple[Array, Any, Any]:
        """θ, its trace and the plan."""
        n, p = self.X.shape
        case = Case(self.X, self.y, math.sqrt(p), Squared(), penalty=self.penalty)
        (found,), plan = case.solved(solver, n, Allowance(budget), 1, draw)
        return found.theta[:, 0], found.trace[0] if found.trace else {}, plan

    def value(self, theta: Array, clip: float = math.inf) -> float:
        """Mean loss, Huber's beyond the clip, + λΩ."""
        r = np.abs(self.X @ theta - self.y)
        losses = np.where(r <= clip, 0.5 * r**2, clip * r - 0.5 * np.minimum(clip, 1e9) ** 2)
        return float(np.mean(losses)) + self.penalty.value(theta)


def table(n: int, p: int, function: SetFunction, seed: int = 0) -> Table:
    """Uniform columns, half of the target's range noise."""
    rng = np.random.default_rng(seed)
    X, theta = rng.uniform(-1.0, 1.0, (n, p)), np.zeros(p)
    theta[5:10] = 0.5 / math.sqrt(5.0)
    return Table(X, np.clip(X @ theta + 0.25 * rng.normal(size=n), -1.0, 1.0), function)


def run(quick: bool) -> Reproduction:
    """Formulas against every vertex and simulation; gaps; Proposition 2; output perturbation against Theorem 1; structure against l1."""
    p, n, draws = (15, 2000, 5) if quick else (30, 20_000, 10)
    rng = np.random.default_rng(7)
    greedy: list[float] = []
    rows: list[dict[str, Any]] = []
    gaps, private = [], []
    for function in functions(6).values():
        greedy += [abs(_best(function, g) / omega(function, g) - 1.0) for g in rng.normal(size=(5, 6))]
    for name, function in functions(p).items():
        width, seen = function.gaussian_width(p), [omega(function, g) for g in rng.normal(size=(4000, p))]
        mean, error = mean_error(seen)
        flat = omega(function, np.full(p, 0.2))
        rise = float(np.mean([omega(function, 0.2 + g) - flat for g in rng.normal(size=(1000, p))]))
        about = {"norm": name, "width": width.value, "simulated / width": mean / width.value}
        rows.append({**about, "error": error / width.value, "rise / width": rise / width.high})
        case = table(n, p, function)
        gaps.append(_gaps(case, name))
        private.append(_private(case, name, draws))
    worst = max(rows, key=lambda row: abs(row["simulated / width"] - 1.0))
    duality = [_apart(table(200, 9, function), seed) for seed in range(3) for function in functions(9).values()]
    claims = (
        Claim("Equation (5)", "greedy = largest ⟨s, w⟩ over all vertices (6 columns): largest relative difference", max(greedy), high=1e-12),
        Claim("Section 2, Gaussian width", "E Ω(g) simulated over the library's w(|P|): the norm furthest off", worst["simulated / width"], worst["error"], 0.99, 1.01),
        Claim("Lemma 1", "E Ω(w + g) − Ω(w) is at most w(|P|): largest ratio", max(row["rise / width"] for row in rows), high=1.0),
        Claim("Theorem 2", "dual Frank–Wolfe's gap is at most 2C/(T+1): largest ratio", max(row["gap / bound"] for part in gaps for row in part), high=1.0),
        Claim("Theorem 2", "dual Frank–Wolfe converges like 1/T or faster (0.1 of the power): slowest norm", max(slope(STEPS, [row["gap"] for row in part]) for part in gaps), high=-0.9),
        Claim("Proposition 2", "perturbed primal and shifted dual give one w: largest difference", max(duality), high=1e-6),
        *(Claim("Theorem 1", f"output perturbation with {row['norm']} loses at most its bound: ratio", row["excess / bound"], row["error"], high=1.0) for row in private),
    )  # fmt: skip
    lines = {part[0]["norm"]: (STEPS, [row["gap"] for row in part]) for part in gaps}
    bound = {"bound: 2C/(T+1), l1": (STEPS, [row["bound"] for row in gaps[0]])}
    picture = Picture("Dual Frank–Wolfe", f"gap without noise, {p} columns", "steps T", "gap", lines | bound)
    tables = {"widths": rows, "gaps": [row for part in gaps for row in part], "output perturbation": private}
    note = "Structured norms beside the lasso on planted patterns and real tables, at several ε: the page structured-sparsity.md of the documentation."
    return Reproduction(claims, tables, {"gap": picture}, (note,))


def _best(function: SetFunction, w: Array) -> float:
    """max ⟨s, w⟩ over |P|(F), by all of its vertices: those along every order of the columns, with the signs of w."""
    return max(float(function.gains(np.array(order)) @ np.abs(w)[list(order)]) for order in permutations(range(w.size)))


def _gaps(case: Table, name: str) -> list[dict[str, Any]]:
    rows = []
    for steps in STEPS:
        _, trace, plan = case.run(DualFrankWolfeSolver(steps=steps, ridge=RIDGE), Budget(math.inf))
        gap, bound = trace["gap"], 2.0 * plan.settings["curvature"] / (steps + 1)
        rows.append({"norm": name, "steps": steps, "gap": gap, "bound": bound, "gap / bound": gap / bound})
    return rows


def _private(case: Table, name: str, draws: int) -> dict[str, Any]:
    """Excess of the clipped objective over the best of θ*'s size, in parts of Theorem 1's bound with our constants; ε = 1."""
    p, delta = case.X.shape[1], len(case.y) ** -2.0
    best, _, _ = case.run(OutputPerturbationSolver(), Budget(math.inf))
    found = []
    for draw in range(draws):
        theta, _, plan = case.run(OutputPerturbationSolver(), Budget(1.0, delta), draw)
        sigma, ridge, clip = (float(plan.settings[key]) for key in ("sigma", "ridge", "clip"))
        found.append(case.value(theta, clip) - case.value(best, clip))
    width, strength = case.function.gaussian_width(p).high, case.penalty.strength
    bound = penalised_rise(sigma, lipschitz=clip, smoothness=1.0, norm=math.sqrt(p), strength=strength, width=width)
    bound += ridge_rise(ridge, float(np.linalg.norm(best)))
    mean, error = mean_error(found)
    about = {"norm": name, "width": width, "excess": mean, "bound": bound}
    return {**about, "excess / bound": mean / bound, "error": error / bound}


def _apart(case: Table, seed: int) -> float:
    """How far the w of the perturbed primal is from that of the dual with its argument shifted by b, L with the ridge ν."""
    n, p = case.X.shape
    b = 0.05 * np.random.default_rng(seed).normal(size=p)
    hessian, slope_ = case.X.T @ case.X / n + RIDGE * np.eye(p), case.X.T @ case.y / n - b
    inverse, body = np.linalg.inv(hessian), SubmodularPolyhedron(case.function, case.penalty.strength)
    w = minimise_quadratic(hessian, slope_, penalty=case.penalty).theta
    s = minimise_quadratic(0.5 * (inverse + inverse.T), inverse @ slope_, feasible=body).theta
    return float(np.linalg.norm(w - inverse @ (slope_ - s)))
