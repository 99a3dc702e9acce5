"""Talwar, Thakurta and Zhang (2014), Private empirical risk minimization beyond the worst case: rates in n and p, widths, noise."""

import math
from typing import Any

import numpy as np

from hullabaloo import geometry
from hullabaloo.losses import Logistic
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours, ObjectivePerturbationEvent, epsilon_of
from hullabaloo.privacy.event_calibrate import paper_objective_perturbation
from hullabaloo.reproduce.claims import Claim, Picture, Reproduction, lines_of, mean_error, mean_rows, slopes
from hullabaloo.reproduce.worst_cases import Case, entropy_risk, linear, ridge_risk, spread_risk, worst_linear
from hullabaloo.solvers import Array, FrankWolfeSolver, MirrorDescentSolver
from hullabaloo.solvers.mirror.oracle import mirror_descent

DELTA, LOGARITHMS = 1e-6, 0.1
"""δ; and how far logarithms and few records may move a slope from its power."""
MIRROR = MirrorDescentSolver()


def sets(p: int) -> dict[str, geometry.ConvexSet]:
    """One of each set in R^p, p a square, of Euclidean radius ½."""
    side = math.isqrt(p)
    corners = np.random.default_rng(0).normal(size=(side, p))
    corners *= 0.5 / np.linalg.norm(corners, axis=1)[:, None]
    groups = tuple(tuple(range(side * j, side * j + side)) for j in range(side))
    return {
        "simplex": geometry.Simplex(0.5),
        "l1 ball": geometry.L1Ball(0.5),
        f"polytope of {side} vertices": geometry.Polytope(corners),
        "l_1.5 ball": geometry.LpBall(1.5, 0.5),
        "elastic ball": geometry.ElasticBall(0.5, 0.5),
        f"nuclear ball, {side} columns": geometry.NuclearBall(0.5, side),
        f"group ball, {side} groups": geometry.GroupBall(groups, 0.5),
        "box": geometry.Box(-0.5 / side, 0.5 / side),
        "l2 ball": geometry.L2Ball(0.5),
    }


def run(quick: bool) -> Reproduction:
    """Rates in n, dependence on p, risk by width of nine sets, an oracle with noise, the printed noise and what it costs."""
    repeats, given = (3 if quick else 5), Allowance(Budget(1.0, DELTA))
    records = [1000, 3200, 10_000, 32_000] if quick else [1000, 3200, 10_000, 32_000, 100_000]
    columns = [16, 64, 256, 1024] if quick else [16, 64, 256, 1024, 4096]
    spread, frank_wolfe = np.full(64, 0.125), 256 if quick else 1024
    by_n = {
        "mirror descent": [[worst_linear(MIRROR, spread, geometry.L2Ball(0.5), n, given, 1, first=i) for n in records] for i in range(repeats)],
        "mirror descent, ridge, steps of the least bound": [[ridge_risk(64, n, given, 1, first=i) for n in records] for i in range(repeats)],
        "mirror descent, composite entropy": [[entropy_risk(64, n, given, 1, first=i) for n in records] for i in range(repeats)],
        "Frank–Wolfe": [[spread_risk(frank_wolfe, n, given, 1, first=i) for n in records] for i in range(repeats)],
    }  # fmt: skip
    by_p = {
        "l1 ball": [[worst_linear(MIRROR, np.eye(1, p)[0], geometry.L1Ball(0.5), 10_000, given, 1, first=i) for p in columns] for i in range(repeats)],
        "l2 ball": [[worst_linear(MIRROR, np.full(p, p**-0.5), geometry.L2Ball(0.5), 10_000, given, 1, first=i) for p in columns] for i in range(repeats)],
    }  # fmt: skip
    widths = _widths(256 if quick else 1024, given, repeats)
    ranks = [np.argsort(np.argsort([row[key] for row in widths])) for key in ("width", "risk")]
    order = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    oracle, stops = _oracle(repeats)
    claims = (
        *(
            Claim(item, f"{name}: risk falls like n^({power:.2g}), {logs} logarithm(s) aside (0.1 of the power each)", *slopes(records, by_n[name]), power - LOGARITHMS * logs, power + LOGARITHMS * logs)
            for item, name, power, logs in (("Theorem 3.2", "mirror descent", -1.0, 1), ("Theorem A.1", "mirror descent, ridge, steps of the least bound", -2.0, 2), ("Theorem 4.1 (2)", "mirror descent, composite entropy", -2.0, 2), ("Theorem 5.5", "Frank–Wolfe", -2 / 3, 1))
        ),
        Claim("Equation (13)", "l2 ball: risk grows like √p", *slopes(columns, by_p["l2 ball"]), 0.5 - LOGARITHMS, 0.5 + LOGARITHMS),
        Claim("Equation (14)", "l1 ball: risk grows with log p, power of log p between a half and 1 (0.1 more)", *slopes([math.log(p) for p in columns], by_p["l1 ball"]), 0.5 - LOGARITHMS, 1.0 + LOGARITHMS),
        Claim("Theorem 3.2", "mirror descent's risk is below its bound over every set: largest ratio", max(row["risk"] / row["bound"] for row in widths), high=1.0),
        Claim("Theorem 1.1", "risk is ordered by Gaussian width: rank correlation over nine sets of one radius", order, low=0.5),
        Claim("Section 2.2, Gaussian width", "widths by simulation are at most the library's (0.02 of noise): largest ratio", max(row["simulated / width"] for row in widths), high=1.02),
        Claim("Corollary 3.6", "a noisy oracle without privacy: power of T", *slopes(stops, oracle[0]), -0.5 - LOGARITHMS, -0.5 + LOGARITHMS),
        Claim("Corollary 3.6", "and its excess is below R(L + σs)√(2/N): mean ratio, worst T", *max(mean_error(ratio) for ratio in zip(*oracle[1], strict=True)), high=1.0),
        *_printed(),
    )  # fmt: skip
    rows, wide = mean_rows("n", records, by_n), mean_rows("p", columns, by_p)
    by_width = [{key: row[key] for key in ("width", "risk", "bound")} for row in widths]
    pictures = {
        "records": Picture("Excess risk by records", "worst case of a family, ε = 1, δ = 1e-6", "records n", "excess risk", lines_of("n", rows)),
        "columns": Picture("Excess risk by columns", "mirror descent, rows of norm at most 1, n = 10 000", "columns p", "excess risk", lines_of("p", wide)),
        "width": Picture("Excess risk by Gaussian width", "nine sets of radius ½ of as many columns", "Gaussian width", "excess risk", lines_of("width", by_width)),
    }  # fmt: skip
    return Reproduction(claims, {"records": rows, "columns": wide, "width": widths}, pictures)


def _widths(p: int, given: Allowance, repeats: int) -> list[dict[str, Any]]:
    """Worst risk over strengths of signal towards an extreme point of each set; n = 10 000."""
    rows = []
    for name, body in sets(p).items():
        extreme = body.vertex(-np.random.default_rng(1).normal(size=p))
        direction = extreme / np.linalg.norm(extreme)
        problem = linear(direction, 1.0, body)
        plan = MIRROR.plan(problem.problem(10_000), problem.prices(10_000), given)
        width = body.gaussian_width(p)
        seen = np.mean([body.support(g) for g in np.random.default_rng(2).normal(size=(400, p))])
        risk = worst_linear(MIRROR, direction, body, 10_000, given, repeats)
        bound = MIRROR.predicted_risk(problem.problem(10_000), plan)
        about = {"set": name, "width": width.value, "simulated / width": float(seen) / width.high}
        rows.append({**about, "risk": risk, "bound": bound})
    return sorted(rows, key=lambda row: float(row["width"]))


def _oracle(repeats: int, p: int = 32) -> tuple[tuple[list[list[float]], list[list[float]]], list[int]]:
    """Excess and its share of the bound, by steps: f = ⟨c, θ⟩ over the unit l2 ball, noise σ = 1, ‖c‖ such that it is hardest."""
    stops, excess, shares = [100, 400, 1600, 6400], [], []
    for seed in range(repeats):
        rng, found, parts = np.random.default_rng(seed), [], []
        for steps in stops:
            slope = math.sqrt(p / steps) * np.eye(1, p)[0]

            def noisy(_: Array, slope: Array = slope, rng: np.random.Generator = rng) -> Array:
                return np.asarray(slope + rng.normal(size=p))

            size = float(slope[0])
            theta = mirror_descent(noisy, geometry.L2Ball(1.0), steps=steps, lipschitz=size, noise=1.0, dimension=p)
            found.append(size * (1.0 + float(theta[0])))
            parts.append(found[-1] / (math.sqrt(0.5) * (size + math.sqrt(p)) * math.sqrt(2.0 / steps)))
        excess.append(found)
        shares.append(parts)
    return (excess, shares), stops


def _printed(records: int = 1000, p: int = 20) -> tuple[Claim, ...]:
    """σ of Algorithms 1, 2 and 5 against their formulas, L = sup |φ'| of the logistic loss on the unit l2 ball; and the ε that each really costs."""
    case = Case(np.full((4, p), p**-0.5), np.ones(4), 1.0, Logistic(), geometry.L2Ball(1.0))
    paper = Allowance(Budget(1.0, DELTA), calibration=Calibration.PAPER)
    lipschitz, claims = 1.0 / (1.0 + math.exp(-1.0)), []
    for item, private, solver in (
        ("Algorithm 1", "Theorem 3.1", MIRROR),
        ("Algorithm 5", "Theorem B.1", FrankWolfeSolver(form="general")),
    ):
        plan = solver.plan(case.problem(records), case.prices(records), paper)
        query: Any = plan.queries[0]
        count = query.count + (item == "Algorithm 5")
        theirs = math.sqrt(32.0 * count) * lipschitz * math.log(count / DELTA)
        claims.append(Claim.agrees(item, "σ = √(32 T) L ln(T/δ)/(nε)", query.sigma / theirs))
        real = epsilon_of(plan.event, DELTA)
        claims.append(Claim(private, f"{item} as printed is (1, δ)-private: its real ε", real, high=1.0))
    multiplier, curvature = paper_objective_perturbation(Budget(1.0, DELTA))
    theirs = math.sqrt(2.0 * math.log(1.0 / DELTA))
    claims.append(Claim.agrees("Algorithm 2", "σ = L√(2 ln(1/δ))/(nε)", multiplier / theirs))
    real = epsilon_of(ObjectivePerturbationEvent(multiplier, curvature, Neighbours.REPLACE_ONE), DELTA)
    claims.append(Claim("Algorithm 2", "as printed it is (1, δ)-private: its real ε", real, high=1.0))
    return tuple(claims)
