"""`hullabaloo search`: the best of many settings of a model, found and fitted for one charge."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hullabaloo.cli import build, options, paid
from hullabaloo.cli.fit import coefficients, result
from hullabaloo.cli.structure import structure_from_text
from hullabaloo.cli.voice import Voice, facts
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.data import Domain

_SEARCH = "Search"


@options.grouped
def search(
    *,
    source: options.Table,
    domain: options.DomainFile,
    grid: Annotated[
        Path,
        typer.Option(
            "--grid",
            metavar="FILE",
            rich_help_panel=_SEARCH,
            help="TOML, a list for each option of `fit` that is to be chosen: penalty = ['l2:0.001', 'l2:0.1']. All combinations are candidates.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the best model is saved (JSON).")],
    target: options.Target = None,
    spend: options.Spend,
    model: options.Fit,
    book: options.Book,
    expected: Annotated[
        float | None,
        typer.Option(
            "--expected-runs",
            metavar="M",
            rich_help_panel=_SEARCH,
            help="The number of runs to be expected; else four for each candidate, up to 30.",
        ),
    ] = None,
    shape: Annotated[
        str,
        typer.Option(metavar="LAW", rich_help_panel=_SEARCH, help="Of their number: geometric, logarithmic, poisson."),
    ] = "geometric",
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel=_SEARCH, help="What candidates are compared by, as in `evaluate`."
        ),
    ] = None,
    holdout: Annotated[
        float, typer.Option(metavar="SHARE", rich_help_panel=_SEARCH, help="The share of records that only compare.")
    ] = 0.25,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_SEARCH,
            help="Where the search is kept: run again after a crash it goes on under the same charge. Private data.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=_SEARCH, help="A key that the state is encrypted with."),
    ] = None,
    price: Annotated[
        bool,
        typer.Option("--price", "--dry-run", help="Say what it would cost and gain; reads and spends nothing."),
    ] = False,
    records: Annotated[
        int | None,
        typer.Option("--records", metavar="N", help="For --price: the number of records; else the domain's `records`."),
    ] = None,
    confidence: Annotated[float, typer.Option(metavar="LEVEL", help="Level of the intervals that are shown.")] = 0.95,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Try settings on one part of the records, compare them on the other, and release the best alone.

    The number of runs is random and stays hidden, so that the cost hardly grows with the candidates. One charge, made before the table is read.

    A refusal comes before the charge and spends nothing; what was charged stays charged.
    """
    if not price:
        build.output(out, overwrite, lost="a release that was paid for")
    build.places(state, key_file)
    build.level(confidence)
    declared = build.read_domain(domain)
    budget, ledger = build.budget(*spend), build.ledger(*book)
    single = build.described(model, declared, None, None, None)
    from hullabaloo.model_selection import PrivateSearchCV

    made = PrivateSearchCV(
        single,
        candidates(grid, declared),
        budget=budget,
        expected_candidates="auto" if expected is None else expected,
        shape=shape,
        metric=None if metric is None else metric.replace("-", "_"),
        holdout=holdout,
        ledger=ledger,
        dataset=book.dataset,
        state=state,
        key_file=key_file,
    )
    voice = Voice("search", as_json)
    if price:
        found = made.price(declared.records if records is None else records)
        voice.result({"price": found.to_dict()}, str(found), "Nothing was read or spent.")
        return
    path = str(build.existing(source, "table"))
    with voice.working("Charging, reading, drawing noise"):
        made.fit(path, build.target(declared, target))
    paid.save(out, made.save, "The search was made", "searching")
    remaining, sentence = paid.left(ledger, book.dataset)
    best = made.best_estimator_
    score = {"metric": made.metric_, "value": made.best_score_, "privacy_error": made.best_score_error_}
    voice.result(
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
        paid.guarantee(made.statement_),
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
    made = {}
    for name, values in found.items():
        if not isinstance(values, list):
            raise InvalidParameter(
                f"The grid file {path} gives {name!r} as {values!r}, which is no list. Write the settings to try in brackets: {name} = […]."
            )
        made[NAMES.get(name, name.replace("-", "_"))] = [_setting(name, value, domain) for value in values]
    return made


NAMES = {"set": "constraint", "intercept": "fit_intercept", "group": "groups"}
"""Options whose parameter has another name."""


def _setting(name: str, value: Any, domain: "Domain") -> Any:
    """One setting, in the words of `fit`'s option of that name."""
    from hullabaloo.geometry import penalty_from_text, set_from_text

    if not isinstance(value, str):
        return value
    if name == "set":
        return set_from_text(value)
    if name == "penalty":
        return penalty_from_text(value)
    if name == "structure":
        return structure_from_text(value, domain)
    return value.replace("-", "_") if name in ("solver", "multi-class") else value
