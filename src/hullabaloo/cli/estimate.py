"""`hullabaloo domain estimate`: buy bounds of columns privately, and write the domain that they make."""

from pathlib import Path
from typing import Annotated

import typer

from hullabaloo.cli import build, options, paid
from hullabaloo.cli.voice import Voice, table
from hullabaloo.errors import InvalidParameter

PAID = ("The bounds were bought", "buying bounds")


@options.grouped
def estimate(
    *,
    source: options.Table,
    outer: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A domain, TOML or JSON, whose bounds are ranges so wide that every possible value is inside.",
        ),
    ],
    target: options.Target = None,
    spend: options.Spend,
    neighbours: options.Neighbours = options.Relation.REPLACE_ONE,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Buy bounds of this column alone; may be repeated. All numeric ones by default."
        ),
    ] = None,
    coverage: Annotated[float, typer.Option(metavar="SHARE", help="The share of a column's values to keep.")] = 0.99,
    quantiles: Annotated[
        str | None,
        typer.Option(metavar="LOW,HIGH", help="Aim at these exactly, such as 0.005,0.995; 0 or 1 keeps that end."),
    ] = None,
    grid: Annotated[str, typer.Option(metavar="KIND", help="Where candidates lie: auto, linear or log.")] = "auto",
    book: options.Book,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the domain there, as TOML.")] = None,
    entry: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what was bought there, as JSON for `hullabaloo card --entry`."),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Learn bounds of columns privately, from wide ranges that nobody has to look for; writes a domain ready to use.

    The order is fixed: check, plan, charge the ledger, read the table, draw noise, release.

    A refusal comes before the charge and spends nothing; what was charged stays charged.
    """
    for place in (out, entry):
        build.output(place, overwrite, lost="bounds that were paid for")
    if out is not None and out.suffix.lower() != ".toml":
        raise InvalidParameter(f"A domain is written as .toml, and {out.name!r} is not. Rename it.")
    declared, ends = build.read_domain(outer), _ends(quantiles)
    spent = build.budget(*spend)
    path = str(build.existing(source, "table"))
    voice = Voice("domain estimate", as_json)
    from hullabaloo.bounds import private_bounds
    from hullabaloo.data.saving import write_whole

    with voice.working("Charging, reading, drawing noise"):
        found = private_bounds(
            path,
            build.target(declared, target),
            outer=declared,
            budget=spent,
            columns=column,
            coverage=coverage,
            quantiles=ends,
            neighbours=neighbours.value,
            grid=grid,
            ledger=build.ledger(*book),
            dataset=book.dataset,
        )
    text = found.to_toml()
    if entry is not None:
        paid.save(entry, found.save, *PAID)
    if out is not None:
        paid.save(out, lambda place: write_whole(place, text), *PAID)
    head, body = found.card_entry()["table"].values()
    wrote = [str(place) for place in (out, entry) if place is not None]
    voice.result(
        {
            **found.to_dict(),
            "domain": found.domain().to_dict(),
            "toml": text,
            "guarantee": found.statement.lines(),
            "out": wrote,
        },
        table(head, body),
        *(f"{line}." for line in found.lines()),
        paid.guarantee(found.statement, "these bounds guarantee"),
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
