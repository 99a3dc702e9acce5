"""Talwar, Thakurta and Zhang (2015), Nearly-optimal private LASSO: its rate, its bound from below, its noise."""

import math
from typing import Any

import numpy as np

from hullabaloo.geometry import L1Ball
from hullabaloo.losses import Squared
from hullabaloo.planning.theory.hard_instances import hard_lasso
from hullabaloo.planning.theory.lower_bounds import lasso_rate
from hullabaloo.privacy import Allowance, Budget, Calibration
from hullabaloo.reproduce.claims import Claim, Picture, Reproduction, lines_of, mean_error, mean_rows, slope, slopes
from hullabaloo.reproduce.worst_cases import Case, spread_lasso, spread_risk
from hullabaloo.solvers import FrankWolfeSolver

DELTA, LOGARITHMS = 1e-6, 0.1
"""δ; and how far logarithms and few records may move a slope from its power."""


def run(quick: bool) -> Reproduction:
    """Rates in n and p over worst cases, convergence without noise, the hard instance, the printed noise."""
    columns, repeats = (256, 3) if quick else (1024, 5)
    records = [1000, 3200, 10_000, 32_000] if quick else [1000, 3200, 10_000, 32_000, 100_000]
    given = Allowance(Budget(1.0, DELTA))
    rates = [[spread_risk(columns, n, given, 1, first=one) for n in records] for one in range(repeats)]
    wide = [64, 128, 256, 512] if quick else [64, 128, 256, 512, 1024, 2048]
    widths = [[spread_risk(p, 3200, given, 1, first=one) for p in wide] for one in range(repeats)]
    steps, gaps, bounds = _exact(columns)
    hard, shares = _hard((4, 8, 16) if quick else (8, 16, 32), repeats)
    in_n, in_p = slopes(records, rates), slopes(wide, widths)
    named = mean_error(shares)
    private = slope([row["n"] for row in hard], [row["best private"] / row["rate"] for row in hard])
    claims = (
        Claim("Corollary 2.7", "risk falls like n^(-2/3), up to logarithms (0.1 of the power)", *in_n, -2 / 3 - LOGARITHMS, -2 / 3 + LOGARITHMS),
        Claim("Corollary 2.7", "risk grows with log p: power of p at most a quarter (of √p it is a half)", *in_p, high=0.25),
        Claim("Theorem 2.2", "without noise the gap is at most 2Γ/(T+2): largest ratio", max(gap / bound for gap, bound in zip(gaps, bounds, strict=True)), high=1.0),
        Claim("Theorem 2.2", "and falls at least like 1/T: power of T", slope(steps, gaps), high=-1.0 + LOGARITHMS),
        Claim("Equation (3)", "the code's model loses at most (2τ)²w + k/p on the hard table: largest ratio", max(row["reference over its bound"] for row in hard), high=1.0),
        Claim("Theorem 3.2", "at ε = 0.1 nobody names 3/4 of the signs: share named", *named, high=0.75),
        Claim("Theorem 3.1", "the best private model loses no less than (n ln n)^(-2/3): power of n of the ratio, up to 0.1", private, low=-LOGARITHMS),
        *_printed(),
    )  # fmt: skip
    rates_by_n = mean_rows("n", records, {"Frank–Wolfe, worst case": rates})
    by_p = mean_rows("p", wide, {"Frank–Wolfe, worst case": widths})
    theory = [rates_by_n[0]["Frank–Wolfe, worst case"] * (n / records[0]) ** (-2 / 3) for n in records]
    lines = lines_of("n", [{**row, "theory: n^(-2/3)": at} for row, at in zip(rates_by_n, theory, strict=True)])
    gap_lines = {"gap": (steps, gaps), "bound: 2Γ/(T+2)": (steps, bounds)}
    tables = {"rate": rates_by_n, "columns": by_p, "hard": hard}
    pictures = {
        "rate": Picture("The private lasso's risk by records", f"l1 ball in {columns} columns, |x| ≤ 1, ε = 1", "records n", "excess risk", lines),
        "convergence": Picture("Frank–Wolfe without noise", "eight coefficients on the edge of the l1 ball", "steps T", "gap", gap_lines),
    }  # fmt: skip
    note = "The lower bound's own constants (τ = 0.001) need k = τwp ≥ p rows in its block, so w ≥ 1000 and p = 1000 m² ≈ 10^11: smaller p and τ = ¼ here."
    return Reproduction(claims, tables, pictures, (note,))


def _exact(columns: int) -> tuple[list[float], list[float], list[float]]:
    """Steps, gaps and 2Γ/(T+2) without noise; Γ = 4 for predictions in [−1, 1]."""
    case, steps = spread_lasso(columns, 8, L1Ball(1.0), Squared()), [8.0, 16.0, 32.0, 64.0, 128.0]
    aim = case.X.T @ case.y / len(case.y)
    gaps = []
    for count in steps:
        theta = case.fits(FrankWolfeSolver(steps=int(count)), 1000, Allowance(Budget(math.inf)), 1)[0]
        gaps.append(0.5 * float(np.sum((theta - aim) ** 2)))
    return steps, gaps, [8.0 / (count + 2.0) for count in steps]


def _hard(codes: tuple[int, ...], repeats: int) -> tuple[list[dict[str, Any]], list[float]]:
    """The padded Tardos code over an orthogonal block, w rows, p = w² columns, τ = ¼; fits at ε = 0.1; and the share of signs that each names."""
    rows, shares = [], []
    for w in codes:
        instance = hard_lasso(w, w * w, generator=np.random.default_rng(w), share=0.25)
        n, p = instance.X.shape
        best = instance.loss(instance.reference)
        case = Case(instance.X, instance.y, math.sqrt(p), Squared(), L1Ball(1.0))
        fits = case.fits(FrankWolfeSolver(), n, Allowance(Budget(0.1, n**-2.0)), repeats)
        excess = min(float(np.mean([instance.loss(theta) for theta in fits])), instance.loss(np.zeros(p))) - best
        named = [instance.agreement(theta) for theta in fits]
        shares += named
        expected = 2.0 * n * best / (4.0 * 0.25**2 * w + (n - w) / p)
        about = {"n": n, "p": p, "best private": excess, "rate": lasso_rate(n).value}
        rows.append({**about, "reference over its bound": expected, "signs named": float(np.mean(named))})
    return rows, shares


def _printed(records: int = 1000, columns: int = 20) -> tuple[Claim, ...]:
    """Scale and T of Algorithm 2 as the library prints them: L₁‖C‖₁ = 2, Γ = 4 for |x_ij| ≤ 1, |y| ≤ 1 over the unit l1 ball."""
    case = Case(np.ones((4, columns)), np.ones(4), math.sqrt(columns), Squared(), L1Ball(1.0))
    paper = Allowance(Budget(1.0, DELTA), calibration=Calibration.PAPER)
    plan = FrankWolfeSolver().plan(case.problem(records), case.prices(records), paper)
    query: Any = plan.queries[0]
    points = query.count + 1
    scale = 2.0 * query.sensitivity / (records * query.epsilon)
    theirs = 2.0 * math.sqrt(8.0 * points * math.log(1.0 / DELTA)) / records
    return (
        Claim.agrees("Algorithm 2", "the scale L₁‖C‖₁√(8T ln(1/δ))/(nε)", scale / theirs),
        Claim("Theorem 2.5", "T = (Γnε/(L₁‖C‖₁))^(2/3), rounded", points, 0.0, (2.0 * records) ** (2 / 3) - 1.0, (2.0 * records) ** (2 / 3) + 1.0),
    )  # fmt: skip
