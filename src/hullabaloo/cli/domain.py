"""`hullabaloo domain`: write, explain and check what is declared about a table."""

from pathlib import Path
from typing import Annotated

import typer

from hullabaloo.cli import build, estimate
from hullabaloo.cli.options import Intercept, Json, Overwrite, Table, Target
from hullabaloo.cli.voice import Voice, table

app = typer.Typer(help="Declare what is known about a table without looking at it.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(metavar="DOMAIN", help="A domain in TOML or JSON.")]


@app.command("template")
def template(
    *,
    source: Table,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it there instead of printing it.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write a domain to fill in, from column names and declared types only: no value is read, not even counted."""
    from hullabaloo.data.template import domain_template

    build.output(out, overwrite)
    text = domain_template(str(build.existing(source, "table")))
    voice = Voice("domain template", as_json)
    if out is None:
        voice.result({"template": text}, text.rstrip())
        return
    out.write_text(text, encoding="utf-8")
    voice.result(
        {"template": text, "out": str(out)},
        f'Wrote {out}. Fill in every "FILL IN" from what is known without looking at the records, then: '
        f"hullabaloo domain describe {out}",
    )


@app.command("describe")
def describe(*, domain: File, intercept: Intercept = True, as_json: Json = False) -> None:
    """Explain every scale factor of a domain and what each choice costs in noise; reads no table."""
    declared = build.read_domain(domain)
    text = declared.describe(fit_intercept=intercept)
    Voice("domain describe", as_json).result({"domain": declared.to_dict(), "description": text}, text.rstrip())


@app.command("check")
def check(*, domain: File, source: Table, target: Target = None, as_json: Json = False) -> None:
    """Check a table's column names and declared types against a domain; reads no value and spends nothing."""
    declared = build.read_domain(domain)
    path = str(build.existing(source, "table"))
    declared.check_schema(path, target)
    names = list(declared.open(path).schema.names or [])
    roles = [_role(name, declared, target) for name in names]
    voice = Voice("domain check", as_json)
    data = {"table": path, "columns": [{"name": n, "use": r} for n, r in zip(names, roles, strict=True)]}
    voice.result(
        data,
        table(["column", "use"], list(zip(names, roles, strict=True)), left=2),
        f"{source} fits the domain {domain}. Values were not looked at: the domain's rules apply to every one of them.",
    )


app.command("estimate")(estimate.estimate)


def _role(name: str, domain: object, target: str | None) -> str:
    from hullabaloo.data import Domain

    assert isinstance(domain, Domain)
    if name == target or (target is None and name in [one.column for one in domain.targets]):
        return "target"
    if name in domain.feature_names:
        return "feature"
    if domain.weight is not None and name == domain.weight[0]:
        return "weight"
    return "unit" if name == domain.unit else ("not used" if domain.feature_names else "feature")
