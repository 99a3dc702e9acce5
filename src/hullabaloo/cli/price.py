"""`hullabaloo price`: what a fit would cost and what it can be expected to gain, before any data is read."""

import math
from typing import Annotated

import typer

from hullabaloo.cli import build, options
from hullabaloo.cli.voice import Voice, facts, table
from hullabaloo.errors import InvalidParameter


@options.grouped
def price(
    *,
    domain: options.DomainFile,
    records: Annotated[
        int | None, typer.Option("--records", metavar="N", help="Number of records; else the domain's `records`.")
    ] = None,
    columns: Annotated[
        int | None,
        typer.Option("--columns", metavar="P", help="Number of columns, where the domain is a row norm only."),
    ] = None,
    spend: options.Spend,
    model: options.Fit,
    book: options.Book,
    as_json: options.Json = False,
) -> None:
    """Say what a fit would cost and gain, from public facts: reads no table and spends nothing."""
    declared = build.read_domain(domain)
    if records is None and declared.records is None:
        raise InvalidParameter(
            "A price depends on the number of records, and none was given. Pass --records N (a rough number will do), or "
            "declare `records` in the domain."
        )
    if columns is None and not declared.feature_names:
        raise InvalidParameter(
            f"The domain {domain} declares a row norm and no features, so it fits tables of any width. Pass --columns P."
        )
    made = build.described(model, declared, build.budget(*spend), build.ledger(*book), book.dataset)
    found = made.price(n=records, n_features=columns)
    lines = [(name, f"± {error:.3g}") for name, error in zip(found.columns, found.privacy_errors, strict=True)]
    private = math.isfinite(found.epsilon)
    cost = f"epsilon {found.epsilon:.4g} at delta {found.delta:.3g}" if private else "no privacy: epsilon is infinite"
    Voice("price", as_json).result(
        {"price": found.to_dict()},
        facts(
            [
                ("spend", cost),
                ("records", f"{found.records:,}"),
                ("solver", f"{found.solver} ({found.reason})" if found.reason else found.solver),
                ("gain", found.expectation),
            ]
        ),
        "",
        *(
            [
                "Expected privacy noise (standard error) of each coefficient, in the units of the table, were its features "
                "spread evenly over their bounds (seldom so, and the noise is then larger):"
            ]
            if lines
            else []
        ),
        *([table(["column", "noise"], lines)] if lines else []),
        *(f"Note: {note}." for note in found.notes),
        "Nothing was read or spent.",
    )
