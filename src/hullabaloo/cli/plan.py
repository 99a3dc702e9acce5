"""`hullabaloo plan`, `price` and `audit`: what can be said of a fit from public facts. Nobody's records are read and nothing is spent."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.panel import Panel
from rich.text import Text

import hullabaloo as hb
from hullabaloo.cli import build
from hullabaloo.cli.boundary import ExitCode
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, ModelOptions, Relation, command
from hullabaloo.cli.output import NOTHING, Output, facts, table
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.losses import AnyLoss


@command
def plan(
    *,
    records: int,
    domain: Path | None = None,
    columns: int | None = None,
    loss: str | None = None,
    exposure: str | None = None,
    budget: BudgetOptions,
    neighbours: Relation = "replace-one",
    set_: str | None = None,
    penalty: str | None = None,
    structure: str | None = None,
    radius: float | None = None,
    strength: float | None = None,
    public: str | None = None,
    intercept: bool = True,
    picture: Path | None = None,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Compare every solver for a problem, from public facts: reads no table and spends nothing.

    Args:
        records N: Number of records; a rough number will do.
        columns P: Number of columns, without a domain or where it is a row norm.
        picture FILE: Draw the table: a file ending in .svg, .png or .pdf.

    Model options:
        loss LOSS: squared, logistic, huber:0.5, hinge:0.5, poisson, quantile:0.9 or multinomial; else logistic where the domain declares classes, squared where it does not.
        public FILE: A table of the same columns that nobody has to protect; forecasts are those of a wrong one.
    """
    from hullabaloo.planning.table import HEAD

    build.output(picture, overwrite)
    declared = None if domain is None else build.read_domain(domain)
    body, cost = (build.setting(name, text, declared) for name, text in (("set_", set_), ("penalty", penalty)))
    build.refuse_two_shapes(structure, set_, penalty)
    shaped = [name for name, given in (("--radius", radius), ("--strength", strength)) if given is not None]
    if structure is None and shaped:
        raise InvalidParameter(f"{shaped[0]} was given without --structure, which it is of. Pass both, or neither.")
    if structure is not None:
        from hullabaloo.linear_model import shape_of

        encoding = (declared or hb.Domain(row_norm=1.0)).encoding(n_features=columns, fit_intercept=intercept)
        shape = build.setting("structure", structure, declared)
        body, cost = shape_of(shape, 1.0 if radius is None else radius, strength, encoding)
        cost = None if isinstance(cost, hb.NoPenalty) else cost
    asked: dict[str, Any] = {"n": records, "p": columns, "domain": declared, "neighbours": neighbours}
    asked |= {"set": body, "penalty": cost, "fit_intercept": intercept, "exposure": exposure, "public": public}
    loss = loss or ("logistic" if build.of_classes(declared) else "squared")
    found = hb.plan(loss=loss_from_text(loss), budget=build.budget(budget), **asked)
    if picture is not None:
        found.plot().savefig(picture)
    lines = [("→ " * (one.solver == found.chosen) + one.solver, *one.cells()[1:]) for one in found.rows]
    shown = [found.title, "", table(HEAD, lines), *found.notes(), picture and f"Drawn in {picture}."]
    Output("plan", json_).result({"plan": found.to_dict(), "picture": picture}, *shown)


@command
def price(
    *,
    domain: Path,
    records: int | None = None,
    columns: int | None = None,
    known: list[str] | None = None,
    budget: BudgetOptions,
    model: ModelOptions,
    ledger: LedgerOptions,
    json_: bool = False,
) -> None:
    """Say what a fit would cost and gain, from public facts: reads no table and spends nothing.

    Args:
        records N: Number of records; else the domain's `records`.
        columns P: Number of columns, where the domain is a row norm only.
        known NAME=NUMBER: A standard deviation that is publicly known, of a column or of what is left of the target, or the target's mean ("mean of Y=2.5"); may be repeated.
    """
    declared = build.read_domain(domain)
    if records is None and declared.records is None:
        raise InvalidParameter(
            "A price depends on the number of records, and none was given. Pass --records N (a rough number will do), or declare `records` in the domain."
        )
    build.width(declared, columns, f" {domain}")
    made = build.estimator(model, declared, **build.terms(budget, ledger))
    found = made.price(n=records, n_features=columns, known=dict(map(deviation, known or ())))
    about = {
        "spend": spend(found),
        "records": f"{found.records:,}",
        "solver": f"{found.solver} ({found.reason})" if found.reason else found.solver,
        "gain": found.expectation,
    }
    notes = [f"Note: {note}." for note in (*found.withheld, *found.notes)]
    said = expected("", ["of", "standard error"], found.expected)
    shown = [facts(about), *said, *notes, NOTHING]
    Output("price", json_).result({"price": found.to_dict()}, *shown)


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
    build.output(out, overwrite)
    made = build.estimator(model, build.read_domain(domain), budget=build.budget(budget))
    output = Output("audit", json_)
    asked: dict[str, Any] = {"method": method, "n": records, "n_features": columns}
    with output.steps("Fitting worst-case tables", runs) as step:
        found = hb.audit(made, runs=runs, confidence=confidence, processes=processes, progress=step, **asked)
    if out is not None:
        found.save(out)
    colour = "green" if found.passed else "red" if found.caught else "yellow"
    verdict = Panel(Text(f"{found.lines()[0]}."), title="What the audit found", title_align="left", border_style=colour)
    shown = [verdict, *(f"{line}." for line in found.lines()[1:]), NOTHING]
    output.result({"report": found.to_dict()}, *shown, ok=found.passed)
    if not found.passed:
        raise typer.Exit(ExitCode.FAULTS)


def spend(found: Any) -> str:
    """What a price costs, in words."""
    private = math.isfinite(found.epsilon)
    return f"epsilon {found.epsilon:.4g} at delta {found.delta:.3g}" if private else "no privacy: epsilon is infinite"


def deviation(text: str) -> tuple[str, float]:
    """A name and what is known of it.

    Raises:
        InvalidParameter: it is no name with a number.
    """
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        raise InvalidParameter(
            f"--known {text!r} is no name with a number. Write a standard deviation, such as --known age=12, or a target's mean, --known 'mean of y=2.5'."
        ) from None


def expected(when: str, head: list[str], lines: list[Any]) -> list[Any]:
    """A table of the errors to expect, with what they are; an empty line where none are told."""
    said = f"Expected standard errors{when}, of sampling and privacy, in the units of the table: eight to nine tables of ten are within the range"
    narrower = "" if when else "; public knowledge narrows it (--known NAME=DEVIATION, --known 'mean of TARGET=MEAN')"
    return ["", f"{said}{narrower}:", table(head, lines)] if lines else [""]


def loss_from_text(text: str) -> "AnyLoss":
    """The loss of a command line, such as `squared` or `huber:0.5`; a parameter that is left out is 0.5."""
    from hullabaloo.geometry.serialise import from_text, numbers

    words: dict[str, Callable[[str], AnyLoss]] = {
        "squared": numbers(hb.Squared, 0), "logistic": numbers(hb.Logistic, 0), "hinge": numbers(hb.SmoothedHinge, 0, 1),
        "huber": lambda rest: numbers(hb.Huber, 1)(rest or "0.5"), "poisson": numbers(hb.Poisson, 0),
        "quantile": numbers(hb.Pinball, 0, 1), "multinomial": numbers(hb.MultinomialLogistic, 0),
    }  # fmt: skip
    return from_text(words, text, "loss", "squared, quantile:0.5 or huber:0.5")
