"""`hullabaloo fit`: one private fit of a table in a file, charged, saved and explained."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from hullabaloo.cli import build, charge
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, ModelOptions, command
from hullabaloo.cli.output import Output, table

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel


@command
def fit(
    source: Path,
    *,
    domain: Path,
    out: Path,
    target: str | None = None,
    budget: BudgetOptions,
    model: ModelOptions,
    ledger: LedgerOptions,
    confidence: float = 0.95,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Fit a private linear model and save the release.

    The order is fixed: check, plan, charge the ledger, read the table, draw noise, release.

    A refusal comes before the charge and spends nothing; what was charged stays charged.

    Args:
        out FILE: Where the released model is saved (JSON).
        confidence LEVEL: Level of the intervals that are shown.
    """
    build.output(out, overwrite, lost="a release that was paid for")
    build.level(confidence)
    declared = build.read_domain(domain)
    terms = build.terms(budget, ledger)
    made = build.estimator(model, declared, **terms)
    path = str(build.existing(source, "table"))
    output = Output("fit", json_)
    with output.working(charge.ORDER):
        made.fit(path, build.target(declared, target))
    charge.save(out, made.save, "The release was made", "fitting")
    remaining, sentence = charge.left(terms)
    output.result(
        {**result(made, confidence), "model": str(out), "remaining": remaining},
        coefficients(made, confidence),
        charge.guarantee(made.statement_),
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
    summary = model.summary(confidence=confidence)
    several = len({row.target for row in summary.rows}) > 1
    moved = ["debiased"] if summary.moved else []
    head = [*(["target"] if several else []), "", "coefficient", *moved, "sampling s.e.", "privacy s.e."]
    body = []
    for row in summary.rows:
        known = not math.isnan(row.low)
        style = "bold" if known and row.low * row.high > 0.0 and row.name != "(intercept)" else ""
        errors = ["–" if math.isnan(e) else f"{e:.3g}" for e in (row.sampling_error, row.privacy_error)]
        interval = f"{row.low:.3g} … {row.high:.3g}" if known else "–"
        debiased = ["–" if math.isnan(row.estimate) else f"{row.estimate:.4g}"] if moved else []
        cells = [row.name, f"{row.coefficient:.4g}", *debiased, *errors, interval]
        body.append([Text(cell, style=style) for cell in ([*([row.target] if several else []), *cells])])
    made = table([*head, f"{100 * confidence:g}% interval"], body, left=1 + several)
    made.caption, made.caption_justify = summary.note, "left"
    return made
