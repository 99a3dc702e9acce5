"""`hullabaloo audit`: what runs on worst-case tables prove about an estimator, before anybody's records are trusted to it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.panel import Panel
from rich.text import Text

from hullabaloo.cli import build, options
from hullabaloo.cli.boundary import ExitCode
from hullabaloo.cli.voice import Voice, facts, table


class Method(StrEnum):
    """What the attacker sees."""

    TRANSCRIPT = "transcript"
    RELEASED = "released"


@options.grouped
def audit(
    *,
    domain: options.DomainFile,
    runs: Annotated[int, typer.Option(metavar="N", help="How many fits, half of them of either table.")] = 1000,
    confidence: Annotated[float, typer.Option(metavar="LEVEL", help="Level of the lower bounds.")] = 0.95,
    method: Annotated[
        Method, typer.Option(help="The attacker sees every noisy answer, or the released coefficients only.")
    ] = Method.TRANSCRIPT,
    records: Annotated[
        int | None,
        typer.Option("--records", metavar="N", help="Number of records of the fit that is meant: what auto goes by."),
    ] = None,
    columns: Annotated[
        int | None,
        typer.Option("--columns", metavar="P", help="Number of columns, where the domain is a row norm only; else 2."),
    ] = None,
    processes: Annotated[
        int, typer.Option(min=1, metavar="N", help="In how many processes; the result is the same.")
    ] = 1,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the report is saved (JSON).")] = None,
    spend: options.Spend,
    model: options.Fit,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Fit worst-case tables again and again, and say what an attacker learns.

    Tables are made from the domain's declarations: nobody's records are read and nothing is spent.

    Exit code 5 where the runs contradict the claim, or the tables were too weak, or the runs too few, to tell.
    """
    from hullabaloo.audit import audit as run_audit

    build.output(out, overwrite)
    made = build.described(model, build.read_domain(domain), build.budget(*spend), None, None)
    voice = Voice("audit", as_json)
    with voice.steps("Fitting worst-case tables", runs) as step:
        asked = {"method": method.value, "n": records, "n_features": columns, "progress": step}
        found = run_audit(made, runs=runs, confidence=confidence, processes=processes, **asked)  # type: ignore[arg-type]
    if out is not None:
        found.save(out)
    colour = "green" if found.passed else "red" if found.caught else "yellow"
    claimed = "–" if found.mu is None else f"{found.mu:.4g}"
    realised = "–" if found.mu is None or found.mu_realised != found.mu_realised else f"{found.mu_realised:.4g}"
    wrong = found.errors.alarms + found.errors.misses
    voice.result(
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
        "Nothing was read or spent.",
        ok=found.passed,
    )
    if not found.passed:
        raise typer.Exit(ExitCode.FAULTS)
