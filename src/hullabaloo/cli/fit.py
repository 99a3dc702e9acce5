"""`hullabaloo fit`: one private fit of a table in a file, charged, saved and explained."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.panel import Panel
from rich.text import Text

from hullabaloo.cli import build, options
from hullabaloo.cli.boundary import NotSaved
from hullabaloo.cli.voice import Voice, table
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel


def fit(
    *,
    source: options.Table,
    domain: options.DomainFile,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the released model is saved (JSON).")],
    target: options.Target = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    mu: options.Mu = None,
    rho: options.Rho = None,
    neighbours: options.Neighbours = options.Relation.REPLACE_ONE,
    kind: options.Kind = options.Estimator.LINEAR,
    multi_class: options.Classes = None,
    quantile: options.Quantile = None,
    threshold: options.Threshold = None,
    smoothing: options.Smoothing = None,
    exposure: options.Exposure = None,
    groups: options.Groups = None,
    radius: options.Radius = None,
    strength: options.Strength = None,
    structure: options.Structure = None,
    constraint: options.Set = None,
    penalty: options.Penalty = None,
    solver: options.SolverName = options.Solver.AUTO,
    intercept: options.Intercept = True,
    calibration: options.NoiseOf = options.Calibration.EXACT,
    ledger: options.LedgerUrl = None,
    dataset: options.Dataset = None,
    confidence: Annotated[float, typer.Option(metavar="LEVEL", help="Level of the intervals that are shown.")] = 0.95,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Fit a private linear model and save the release.

    The order is fixed: check, plan, charge the ledger, read the table, draw noise, release.

    A refusal comes before the charge and spends nothing; what was charged stays charged.
    """
    build.output(out, overwrite, lost="a release that was paid for")
    if not 0.0 < confidence < 1.0:
        raise InvalidParameter(
            f"A confidence level lies strictly between 0 and 1, and {confidence:g} was asked; try 0.95."
        )
    declared = build.read_domain(domain)
    model = build.estimator(
        kind,
        domain=declared,
        budget=build.budget(epsilon, delta, mu, rho),
        constraint=constraint,
        penalty=penalty,
        solver=solver,
        neighbours=neighbours,
        intercept=intercept,
        ledger=build.ledger(ledger, dataset),
        dataset=dataset,
        calibration=calibration,
        own=build.own(multi_class, quantile, threshold, smoothing, exposure, groups, radius, strength, structure),
    )
    path = str(build.existing(source, "table"))
    voice = Voice("fit", as_json)
    with voice.working("Charging, reading, drawing noise"):
        model.fit(path, build.target(declared, target))
    _save(model, out)
    remaining = _remaining(model)
    voice.result(
        {**result(model, confidence), "model": str(out), "remaining": remaining and remaining.to_dict()},
        coefficients(model, confidence),
        guarantee(model),
        *([] if remaining is None else [f"Left for dataset {dataset!r}: {remaining.sentence}"]),
        f"Saved {out}. Next: hullabaloo card {out} --out card.html, or hullabaloo predict {out} TABLE",
    )


def _save(model: "PrivateLinearModel", out: Path) -> None:
    """Save the release; where that fails, rescue it: it was paid for."""
    try:
        model.save(out)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="hullabaloo-")) / out.name
        model.save(rescue)
        raise NotSaved(
            f"The release was made, but {out} could not be written ({error.strerror}). It was saved as {rescue} instead; "
            "move it from there rather than fitting again, which would cost the budget a second time."
        ) from None


def _remaining(model: "PrivateLinearModel") -> Any:
    from hullabaloo.ledger import Ledger

    if isinstance(model.ledger, Ledger) and model.dataset is not None:
        return model.ledger.remaining(model.dataset)
    return None


def result(model: "PrivateLinearModel", confidence: float) -> dict[str, Any]:
    """A fitted model for scripts: released numbers and public facts only."""
    return {
        "estimator": type(model).__name__,
        "solver": model.release_.plan["solver"],
        "summary": model.summary(confidence=confidence).to_dict(),
        "statement": model.statement_.to_dict(),
        "guarantee": model.statement_.lines(),
    }


def coefficients(model: "PrivateLinearModel", confidence: float) -> Any:
    """The coefficients as a table, largest effects not singled out: order is the domain's."""
    import math

    summary = model.summary(confidence=confidence)
    several = len({row.target for row in summary.rows}) > 1
    interval = f"{100 * confidence:g}% interval"
    moved = ["debiased"] if summary.moved else []
    head = [*(["target"] if several else []), "", "coefficient", *moved, "sampling s.e.", "privacy s.e.", interval]
    body = []
    for row in summary.rows:
        known = not math.isnan(row.low)
        style = "bold" if known and row.low * row.high > 0.0 and row.name != "(intercept)" else ""
        errors = ["–" if math.isnan(e) else f"{e:.3g}" for e in (row.sampling_error, row.privacy_error)]
        interval = f"{row.low:.3g} … {row.high:.3g}" if known else "–"
        debiased = ["–" if math.isnan(row.estimate) else f"{row.estimate:.4g}"] if moved else []
        cells = [row.name, f"{row.coefficient:.4g}", *debiased, *errors, interval]
        body.append([Text(cell, style=style) for cell in ([row.target, *cells] if several else cells)])
    made = table(head, body, left=2 if several else 1)
    made.caption, made.caption_justify = summary.note, "left"
    return made


def guarantee(model: "PrivateLinearModel") -> Panel:
    """The privacy statement in a frame: green, yellow when nothing counts the fit, red when nothing is protected."""
    statement = model.statement_
    colour = "red" if not statement.private else "yellow" if statement.ledger is None else "green"
    text = Text("\n").join(Text(f"{line[:1].upper()}{line[1:]}.") for line in statement.lines())
    return Panel(text, title="What this release guarantees", title_align="left", border_style=colour)
