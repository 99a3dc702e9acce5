"""`hullabaloo domain estimate`: buy bounds of columns privately, and write the domain that they make."""

from pathlib import Path

from hullabaloo.cli import build, charge
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, Relation, command
from hullabaloo.cli.output import Output, table
from hullabaloo.errors import InvalidParameter

PAID = ("The bounds were bought", "buying bounds")


@command
def estimate(
    source: Path,
    *,
    outer: Path,
    target: str | None = None,
    budget: BudgetOptions,
    neighbours: Relation = "replace-one",
    column: list[str] | None = None,
    coverage: float = 0.99,
    quantiles: str | None = None,
    grid: str = "auto",
    ledger: LedgerOptions,
    out: Path | None = None,
    entry: Path | None = None,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Learn bounds of columns privately, from wide ranges that nobody has to look for; writes a domain ready to use.

    The order is fixed: check, plan, charge the ledger, read the table, draw noise, release.

    A refusal comes before the charge and spends nothing; what was charged stays charged.

    Args:
        outer FILE: A domain, TOML or JSON, whose bounds are ranges so wide that every possible value is inside.
        column NAME: Buy bounds of this column alone; may be repeated. All numeric ones by default.
        coverage SHARE: The share of a column's values to keep.
        quantiles LOW,HIGH: Aim at these exactly, such as 0.005,0.995; 0 or 1 keeps that end.
        grid KIND: Where candidates lie: auto, linear or log.
        out FILE: Write the domain there, as TOML.
        entry FILE: Write what was bought there, as JSON for `hullabaloo card --entry`.
    """
    for place in (out, entry):
        build.output(place, overwrite, lost="bounds that were paid for")
    if out is not None and out.suffix.lower() != ".toml":
        raise InvalidParameter(f"A domain is written as .toml, and {out.name!r} is not. Rename it.")
    declared, ends = build.read_domain(outer), _ends(quantiles)
    terms = build.terms(budget, ledger)
    path = str(build.existing(source, "table"))
    output = Output("domain estimate", json_)
    from hullabaloo.bounds import private_bounds
    from hullabaloo.data.saving import write_whole

    with output.working(charge.ORDER):
        found = private_bounds(
            path,
            build.target(declared, target),
            outer=declared,
            columns=column,
            coverage=coverage,
            quantiles=ends,
            neighbours=neighbours,
            grid=grid,
            **terms,
        )
    text = found.to_toml()
    if entry is not None:
        charge.save(entry, found.save, *PAID)
    if out is not None:
        charge.save(out, lambda place: write_whole(place, text), *PAID)
    head, body = found.card_entry()["table"].values()
    wrote = [str(place) for place in (out, entry) if place is not None]
    output.result(
        {
            **found.to_dict(),
            "domain": found.domain().to_dict(),
            "toml": text,
            "guarantee": found.statement.lines(),
            "out": wrote,
        },
        table(head, body),
        *(f"{line}." for line in found.lines()),
        charge.guarantee(found.statement, "these bounds guarantee"),
        *([f"Wrote {' and '.join(wrote)}."] if wrote else []),
        *([f"Next: hullabaloo fit {source} --domain {out}"] if out is not None else [text.rstrip()]),
    )


def _ends(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameter(f"--quantiles {text!r} is no pair of numbers. Write --quantiles 0.005,0.995.") from None
    return low, high
