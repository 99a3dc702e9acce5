"""`hullabaloo fit`: one private fit of a table in a file, charged, saved and explained."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hullabaloo.cli import build, options, paid
from hullabaloo.cli.voice import Voice, table

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel


@options.grouped
def fit(
    *,
    source: options.Table,
    domain: options.DomainFile,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the released model is saved (JSON).")],
    target: options.Target = None,
    spend: options.Spend,
    model: options.Fit,
    book: options.Book,
    confidence: Annotated[float, typer.Option(metavar="LEVEL", help="Level of the intervals that are shown.")] = 0.95,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Fit a private linear model and save the release.

    The order is fixed: check, plan, charge the ledger, read the table, draw noise, release.

    A refusal comes before the charge and spends nothing; what was charged stays charged.
    """
    build.output(out, overwrite, lost="a release that was paid for")
    build.level(confidence)
    declared = build.read_domain(domain)
    budget, ledger = build.budget(*spend), build.ledger(*book)
    made = build.described(model, declared, budget, ledger, book.dataset)
    path = str(build.existing(source, "table"))
    voice = Voice("fit", as_json)
    with voice.working("Charging, reading, drawing noise"):
        made.fit(path, build.target(declared, target))
    paid.save(out, made.save, "The release was made", "fitting")
    remaining, sentence = paid.left(ledger, book.dataset)
    voice.result(
        {**result(made, confidence), "model": str(out), "remaining": remaining},
        coefficients(made, confidence),
        paid.guarantee(made.statement_),
        *sentence,
        f"Saved {out}. Next: hullabaloo card {out} --out card.html, or hullabaloo predict {out} TABLE",
    )


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
