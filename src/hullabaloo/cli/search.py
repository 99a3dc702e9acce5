"""`hullabaloo search`: the best of many settings of a model, found and fitted for one charge."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli import build, charge
from hullabaloo.cli.fit import coefficients, result
from hullabaloo.cli.options import PARAMETERS, BudgetOptions, LedgerOptions, ModelOptions, command, flag
from hullabaloo.cli.output import Output, facts
from hullabaloo.cli.price import NOTHING
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.data import Domain


@command
def search(
    source: Path,
    *,
    domain: Path,
    grid: Path,
    out: Path,
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
        out FILE: Where the best model is saved (JSON).
        price: Say what it would cost and gain; reads and spends nothing.
        records N: For --price: the number of records; else the domain's `records`.
        confidence LEVEL: Level of the intervals that are shown.

    Search options:
        grid FILE: TOML, a list for each option of `fit` that is to be chosen: penalty = ['l2:0.001', 'l2:0.1']. All combinations are candidates.
        expected_runs M: The number of runs to be expected; else four for each candidate, up to 30.
        shape LAW: Of their number: geometric, logarithmic, poisson.
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
    from hullabaloo.model_selection import PrivateSearchCV

    made = PrivateSearchCV(
        build.estimator(model, declared),
        candidates(grid, declared),
        expected_candidates="auto" if expected_runs is None else expected_runs,
        shape=shape,
        metric=None if metric is None else metric.replace("-", "_"),
        holdout=holdout,
        state=state,
        key_file=key_file,
        **terms,
    )
    output = Output("search", json_)
    if price:
        found = made.price(declared.records if records is None else records)
        output.result({"price": found.to_dict()}, str(found), NOTHING)
        return
    path = str(build.existing(source, "table"))
    with output.working(charge.ORDER):
        made.fit(path, build.target(declared, target))
    charge.save(out, made.save, "The search was made", "searching")
    remaining, sentence = charge.left(terms)
    best = made.best_estimator_
    score = {"metric": made.metric_, "value": made.best_score_, "privacy_error": made.best_score_error_}
    output.result(
        {
            "chosen": made.best_params_,
            "score": score,
            **result(best, confidence),
            "model": str(out),
            "remaining": remaining,
        },
        facts(
            [
                *made.best_params_.items(),
                (made.metric_, f"{made.best_score_:.4g} ± {made.best_score_error_:.2g}, the best of several"),
            ]
        ),
        coefficients(best, confidence),
        charge.guarantee(made.statement_),
        *sentence,
        f"Saved {out}. Next: hullabaloo card {out} --out card.html, or hullabaloo predict {out} TABLE",
    )


def candidates(path: Path, domain: "Domain") -> dict[str, list[Any]]:
    """The lists of a grid file, by the parameter that each option sets."""
    from hullabaloo.data.files import place_in

    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InvalidParameter(f"The grid file {path} cannot be read. Check the path.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidParameter(f"The grid file {path} is not valid TOML{place_in(error)}. Correct it there.") from None
    options = {flag(name)[2:]: name for name in ModelOptions._fields}
    made = {}
    for word, values in found.items():
        if not isinstance(values, list):
            raise InvalidParameter(
                f"The grid file {path} gives {word!r} as {values!r}, which is no list. Write the settings to try in brackets: {word} = […]."
            )
        name = options.get(word, word.replace("-", "_"))
        made[PARAMETERS.get(name, name)] = [build.setting(name, value, domain) for value in values]
    return made
