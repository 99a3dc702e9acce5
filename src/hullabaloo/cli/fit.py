"""`hullabaloo fit` and `hullabaloo search`: a model of a table in a file, charged, saved and explained."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

import hullabaloo as hb
from hullabaloo.cli import build
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, ModelOptions, PartsOptions, command, flag, parameter
from hullabaloo.cli.output import NOTHING, ORDER, Output, facts, guarantee, left, save, table
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.inference.summary import Summary
    from hullabaloo.linear_model.base import PrivateLinearModel


@command
def fit(
    source: str,
    *,
    domain: Path,
    out: Path,
    target: str | None = None,
    budget: BudgetOptions,
    model: ModelOptions,
    ledger: LedgerOptions,
    confidence: float = 0.95,
    parts: PartsOptions,
    cache: Path | None = None,
    verbose: bool = False,
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
    rows = build.table(source, declared, parts, cache=cache, verbose=verbose)
    output = Output("fit", json_)
    with output.working(ORDER):
        made.fit(rows, build.target(declared, target))
    save(out, made.save, "The release was made", "fitting")
    _say(output, made, made, out, terms, confidence)


@command
def search(
    source: Path,
    *,
    domain: Path,
    grid: Path,
    out: Path | None = None,
    target: str | None = None,
    budget: BudgetOptions,
    model: ModelOptions,
    ledger: LedgerOptions,
    expected_runs: float | None = None,
    shape: str = "geometric",
    metric: str | None = None,
    holdout: float = 0.25,
    state: Path | None = None,
    key_file: Path | None = None,
    price: bool = False,
    records: int | None = None,
    confidence: float = 0.95,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Try settings on one part of the records, compare them on the other, and release the best alone.

    The number of runs is random and stays hidden, so that the cost hardly grows with the candidates. One charge, made before the table is read.

    A refusal comes before the charge and spends nothing; what was charged stays charged.

    Args:
        out FILE: Where the best model is saved (JSON); not needed for --price.
        price: Say what it would cost and gain; reads and spends nothing.
        records N: For --price: the number of records; else the domain's `records`.
        confidence LEVEL: Level of the intervals that are shown.

    Search options:
        grid FILE: TOML, a list for each option of `fit` that is to be chosen: penalty = ['l2:0.001', 'l2:0.1']. All combinations are candidates.
        expected_runs M: The number of runs to be expected; else four for each candidate, up to 30.
        shape LAW: Of their number: geometric, logarithmic.
        metric NAME: What candidates are compared by, as in `evaluate`.
        holdout SHARE: The share of records that only compare.
        state FILE: Where the search is kept: run again after a crash it goes on under the same charge. Private data.
        key_file FILE: A key that the state is encrypted with.
    """
    if not price:
        build.output(out, overwrite, lost="a release that was paid for")
    build.places(state, key_file)
    build.level(confidence)
    declared = build.read_domain(domain)
    terms = build.terms(budget, ledger)
    runs = "auto" if expected_runs is None else expected_runs
    terms |= {"shape": shape, "metric": metric and metric.replace("-", "_"), "holdout": holdout}
    terms |= {"state": state, "key_file": key_file}
    asked = build.estimator(model, declared), candidates(grid, declared)
    made = hb.PrivateSearchCV(*asked, expected_candidates=runs, **terms)
    output = Output("search", json_)
    if price:
        found = made.price(declared.records if records is None else records)
        output.result({"price": found.to_dict()}, str(found), NOTHING)
        return
    if out is None:
        raise InvalidParameter(
            "A search saves the best model, and no file was named for it. Nothing was read or charged. Pass --out best.json, or --price for what it would cost."
        )
    path = build.existing(source, "table")
    with output.working(ORDER):
        made.fit(path, build.target(declared, target))
    save(out, made.save, "The search was made", "searching")
    score = {"metric": made.metric_, "value": made.best_score_, "privacy_error": made.best_score_error_}
    said = f"{made.best_score_:.4g} ± {made.best_score_error_:.2g}, the best of several"
    shown = facts({**made.best_params_, made.metric_: said})
    chosen = {"chosen": made.best_params_, "score": score}
    _say(output, made, made.best_estimator_, out, terms, confidence, chosen, shown)


def _say(
    output: Output, made: Any, model: Any, out: Path, terms: Any, confidence: float, chosen: Any = (), shown: Any = None
) -> None:
    """What was released by `made`: a model, what else was `chosen`, the guarantee and what is left."""
    remaining, sentence = left(terms)
    output.result(
        {**dict(chosen), **result(model, confidence), "model": out, "remaining": remaining},
        shown,
        coefficients(model.summary(confidence=confidence)),
        guarantee(made.statement_),
        sentence,
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


def coefficients(summary: "Summary") -> Any:
    """A summary's block, table, in bold where an interval excludes 0, and note."""
    from hullabaloo.data.encoding import INTERCEPT

    head, body = summary.cells()
    lines = []
    for row, cells in zip(summary.shown, body, strict=True):
        clear = row.p_value < 1.0 - summary.confidence and row.name != INTERCEPT
        lines.append([Text(cell, style="bold" if clear else "") for cell in cells])
    made = table(head, lines, left=1 + (head[0] == "target"))
    return Group(facts(dict(summary.header)), made, Text(summary.note))


def candidates(path: Path, domain: "hb.Domain") -> dict[str, list[Any]]:
    """The lists of a grid file, by the parameter that each option sets."""
    from hullabaloo.data.files import read_toml

    options = {flag(name)[2:]: name for name in ModelOptions._fields}
    made = {}
    for word, values in read_toml(path, "grid of candidates").items():
        if not isinstance(values, list):
            raise InvalidParameter(
                f"The grid file {path} gives {word!r} as {values!r}, which is no list. Write the settings to try in brackets: {word} = […]."
            )
        name = options.get(word, word.replace("-", "_"))
        made[parameter(name)] = [build.setting(name, value, domain) for value in values]
    return made
