"""`hullabaloo domain`: write, explain and check what is declared about a table, and buy bounds of its columns privately."""

from pathlib import Path

import typer

import hullabaloo as hb
from hullabaloo.cli import build
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, PartsOptions, Relation, command
from hullabaloo.cli.output import ORDER, Output, Verbatim, guarantee, save, table
from hullabaloo.errors import InvalidParameter

app = typer.Typer(help="Declare what is known about a table without looking at it.", no_args_is_help=True)
PAID = ("The bounds were bought", "buying bounds")


@app.command("template")
@command
def template(source: Path, *, out: Path | None = None, overwrite: bool = False, json_: bool = False) -> None:
    """Write a domain to fill in, from column names and declared types only: no value is read, not even counted.

    Args:
        out FILE: Write it there instead of printing it.
    """
    from hullabaloo.data.files import domain_template
    from hullabaloo.data.saving import write_whole

    build.output(out, overwrite)
    text = domain_template(build.existing(source, "table"))
    output = Output("domain template", json_)
    if out is None:
        output.result({"template": text}, Verbatim(text.rstrip()))
        return
    write_whole(out, text)
    filled = 'Fill in every "FILL IN" from what is known without looking at the records'
    output.result({"template": text, "out": out}, f"Wrote {out}. {filled}, then: hullabaloo domain describe {out}")


@app.command("describe")
@command
def describe(domain: Path, *, intercept: bool = True, json_: bool = False) -> None:
    """Explain every scale factor of a domain and what each choice costs in noise; reads no table.

    Args:
        domain DOMAIN: A domain in TOML or JSON.
    """
    declared = build.read_domain(domain)
    text = declared.describe(fit_intercept=intercept)
    Output("domain describe", json_).result({"domain": declared.to_dict(), "description": text}, text.rstrip())


@app.command("check")
@command
def check(domain: Path, source: Path, *, target: str | None = None, json_: bool = False) -> None:
    """Check a table's column names and declared types against a domain; reads no value and spends nothing.

    Args:
        domain DOMAIN: A domain in TOML or JSON.
    """
    declared = build.read_domain(domain)
    path = build.existing(source, "table")
    declared.check_schema(path, target)
    schema = declared.open(path).schema
    found = [(name, use) for name, use in build.uses(declared, target) if schema.named(name)]
    rest = len(schema.types) - len(found)  # which names these have is not said: a line of names may be a record
    use = "not used" if declared.feature_names else "features, by position"
    columns = [{"name": name, "use": use} for name, use in found]
    Output("domain check", json_).result(
        {"table": path, "columns": columns, "others": {"number": rest, "use": use}},
        table(["column", "use"], [*found, *([(f"({rest} not declared)", use)] if rest else [])], left=2),
        f"{source} fits the domain {domain}. Values were not looked at: the domain's rules apply to every one of them.",
    )


@app.command("estimate")
@command
def estimate(
    source: str,
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
    parts: PartsOptions,
    cache: Path | None = None,
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
    build.suffix(out, "A domain is", ".toml")
    declared, ends = build.read_domain(outer), _ends(quantiles)
    terms = build.terms(budget, ledger) | {"neighbours": neighbours, "coverage": coverage, "grid": grid}
    rows = build.table(source, declared, parts, cache=cache)
    output = Output("domain estimate", json_)
    from hullabaloo.data.saving import write_whole

    with output.working(ORDER):
        y = build.target(declared, target)
        found = hb.private_bounds(rows, y, outer=declared, columns=column, quantiles=ends, **terms)
    text = found.to_toml()
    save(entry, found.save, *PAID)
    save(out, lambda place: write_whole(place, text), *PAID)
    head, body = found.card_entry()["table"].values()
    wrote = [str(place) for place in (out, entry) if place is not None]
    told = {"domain": found.domain().to_dict(), "toml": text, "guarantee": found.statement.lines(), "out": wrote}
    output.result(
        found.to_dict() | told,
        table(head, body),
        *(f"{line}." for line in found.lines()),
        guarantee(found.statement, "these bounds guarantee"),
        f"Wrote {' and '.join(wrote)}." if wrote else None,
        text.rstrip()
        if out is None
        else f"Next, with what is left of the budget: hullabaloo fit {source}{' --in-parts' * any(parts)} --domain {out} --epsilon E --delta D --out model.json",
    )


def _ends(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameter(f"--quantiles {text!r} is no pair of numbers. Write --quantiles 0.005,0.995.") from None
    return low, high
