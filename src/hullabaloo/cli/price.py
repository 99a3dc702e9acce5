"""`hullabaloo price`: what a fit would cost and what it can be expected to gain, before any data is read."""

import math
from pathlib import Path
from typing import Any

from hullabaloo.cli import build
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, ModelOptions, command
from hullabaloo.cli.output import Output, facts, table
from hullabaloo.errors import InvalidParameter

NOTHING = "Nothing was read or spent."


@command
def price(
    *,
    domain: Path,
    records: int | None = None,
    columns: int | None = None,
    budget: BudgetOptions,
    model: ModelOptions,
    ledger: LedgerOptions,
    json_: bool = False,
) -> None:
    """Say what a fit would cost and gain, from public facts: reads no table and spends nothing.

    Args:
        records N: Number of records; else the domain's `records`.
        columns P: Number of columns, where the domain is a row norm only.
    """
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
    terms = build.terms(budget, ledger)
    made = build.estimator(model, declared, **terms)
    found = made.price(n=records, n_features=columns)
    lines = [(name, f"± {error:.3g}") for name, error in zip(found.columns, found.privacy_errors, strict=True)]
    Output("price", json_).result(
        {"price": found.to_dict()},
        facts(
            [
                ("spend", spend(found)),
                ("records", f"{found.records:,}"),
                ("solver", f"{found.solver} ({found.reason})" if found.reason else found.solver),
                ("gain", found.expectation),
            ]
        ),
        *noises("", ["column", "noise"], lines),
        *(f"Note: {note}." for note in found.notes),
        NOTHING,
    )


def spend(found: Any) -> str:
    """What a price costs, in words."""
    private = math.isfinite(found.epsilon)
    return f"epsilon {found.epsilon:.4g} at delta {found.delta:.3g}" if private else "no privacy: epsilon is infinite"


def noises(when: str, head: list[str], lines: list[Any]) -> list[Any]:
    """A table of the noise of coefficients, with what it is; an empty line where it cannot be told."""
    said = (
        f"Expected privacy noise (standard error) of each coefficient{when}, in the units of the table, were {{}}features spread "
        "evenly over their bounds (seldom so, and the noise is then larger):"
    )
    return ["", said.format("" if when else "its "), table(head, lines)] if lines else [""]
