"""`hullabaloo domain`: write, explain and check what is declared about a table."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hullabaloo.cli import build, estimate
from hullabaloo.cli.options import command
from hullabaloo.cli.output import Output, table

if TYPE_CHECKING:
    from hullabaloo.data import Domain

app = typer.Typer(help="Declare what is known about a table without looking at it.", no_args_is_help=True)


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
    text = domain_template(str(build.existing(source, "table")))
    output = Output("domain template", json_)
    if out is None:
        output.result({"template": text}, text.rstrip())
        return
    write_whole(out, text)
    output.result(
        {"template": text, "out": str(out)},
        f'Wrote {out}. Fill in every "FILL IN" from what is known without looking at the records, then: '
        f"hullabaloo domain describe {out}",
    )


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
    path = str(build.existing(source, "table"))
    declared.check_schema(path, target)
    schema = declared.open(path).schema
    found = [(name, use) for name, use in _uses(declared, target) if schema.named(name)]
    rest = len(schema.types) - len(found)  # which names these have is not said: a line of names may be a record
    use = "not used" if declared.feature_names else "features, by position"
    output = Output("domain check", json_)
    output.result(
        {
            "table": path,
            "columns": [{"name": name, "use": use} for name, use in found],
            "others": {"number": rest, "use": use},
        },
        table(["column", "use"], [*found, *([(f"({rest} not declared)", use)] if rest else [])], left=2),
        f"{source} fits the domain {domain}. Values were not looked at: the domain's rules apply to every one of them.",
    )


app.command("estimate")(estimate.estimate)


def _uses(domain: "Domain", target: str | None) -> list[tuple[str, str]]:
    """The columns that a domain or the caller names, and what each is for."""
    found = [(name, "feature") for name in domain.feature_names]
    targets = [target] if target is not None else [one.column for one in domain.targets if one.column is not None]
    found += [(name, "target") for name in targets]
    found += [] if domain.weight is None else [(domain.weight[0], "weight")]
    return found + ([] if domain.unit is None else [(domain.unit, "unit")])
