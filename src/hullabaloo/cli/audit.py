"""`hullabaloo audit`: what runs on worst-case tables prove about an estimator, before anybody's records are trusted to it."""

from pathlib import Path
from typing import Any, Literal

import typer
from rich.panel import Panel
from rich.text import Text

from hullabaloo.cli import build
from hullabaloo.cli.boundary import ExitCode
from hullabaloo.cli.options import BudgetOptions, ModelOptions, command
from hullabaloo.cli.output import Output, facts, table
from hullabaloo.cli.price import NOTHING


@command
def audit(
    *,
    domain: Path,
    runs: int = 1000,
    confidence: float = 0.95,
    method: Literal["transcript", "released"] = "transcript",
    records: int | None = None,
    columns: int | None = None,
    processes: int = 1,
    out: Path | None = None,
    budget: BudgetOptions,
    model: ModelOptions,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Fit worst-case tables again and again, and say what an attacker learns.

    Tables are made from the domain's declarations: nobody's records are read and nothing is spent.

    Exit code 5 where the runs contradict the claim, or the tables were too weak, or the runs too few, to tell.

    Args:
        runs N: How many fits, half of them of either table.
        confidence LEVEL: Level of the lower bounds.
        method: The attacker sees every noisy answer, or the released coefficients only.
        records N: Number of records of the fit that is meant: what auto goes by.
        columns P: Number of columns, where the domain is a row norm only; else 2.
        processes N: In how many processes; the result is the same.
        out FILE: Where the report is saved (JSON).
    """
    from hullabaloo.audit import audit as run_audit

    build.output(out, overwrite)
    made = build.estimator(model, build.read_domain(domain), budget=build.budget(budget))
    output = Output("audit", json_)
    with output.steps("Fitting worst-case tables", runs) as step:
        asked: dict[str, Any] = {"method": method, "n": records, "n_features": columns, "progress": step}
        found = run_audit(made, runs=runs, confidence=confidence, processes=processes, **asked)
    if out is not None:
        found.save(out)
    colour = "green" if found.passed else "red" if found.caught else "yellow"
    claimed = "–" if found.mu is None else f"{found.mu:.4g}"
    realised = "–" if found.mu is None or found.mu_realised != found.mu_realised else f"{found.mu_realised:.4g}"
    wrong = found.errors.alarms + found.errors.misses
    output.result(
        {"report": found.to_dict()},
        Panel(Text(f"{found.verdict}."), title="What the audit found", title_align="left", border_style=colour),
        *(f"Fault: {fault}." for fault in found.faults),
        facts(
            [
                ("estimator", f"{found.estimator}, solver {found.solver}, {found.neighbours}, unit {found.unit}"),
                ("tables", f"{found.records} record{'s' * (found.records > 1)}; {found.canary}"),
                ("epsilon", f"at least {found.epsilon_lower:.4g} of {found.epsilon:.4g} at delta {found.delta:.3g}"),
                ("mu", f"at least {found.mu_lower:.4g} of {claimed} claimed; the tables realise {realised}"),
                ("attack", f"wrong in {wrong} of {found.errors.first + found.errors.second} runs that were judged"),
            ]
        ),
        table(
            ["noise", "of what is stated", "numbers", ""],
            [[one.name, f"{one.value:.4g}", f"{one.count}", "" if one.fine else "FAULT"] for one in found.checks],
        ),
        *(f"Note: {note}." for note in found.notes),
        NOTHING,
        ok=found.passed,
    )
    if not found.passed:
        raise typer.Exit(ExitCode.FAULTS)
