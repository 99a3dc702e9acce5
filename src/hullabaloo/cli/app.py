"""The tree of commands; each command imports what it needs when it runs, so that `--help` is quick."""

from typing import Annotated

import typer

from hullabaloo._version import __version__
from hullabaloo.cli import domain, fit, ledger, models, plan, stream
from hullabaloo.cli.boundary import Boundary
from hullabaloo.cli.demo.command import demo
from hullabaloo.cli.reproduce import reproduce

HELP = """Linear models learned from sensitive records, under differential privacy.

Begin with [bold]hullabaloo demo[/bold]: the whole job on a real survey, in a minute. Then, for a table of your own:
[bold]domain template[/bold], [bold]ledger create[/bold], [bold]price[/bold], [bold]fit[/bold], [bold]card[/bold]."""

EPILOG = (
    "Exit codes: 0 done; 1 refused, nothing was spent; 2 command line not understood; 3 refused by the ledger, nothing "
    "was read; 4 the machine or this program failed; 5 the ledger has faults, or an audit did not pass; 130 interrupted. Every command takes --json: one "
    "JSON object on standard output (stream: one for each release as well, each on its line)."
)

# Solvers as Python and plans spell them are taken, too.
SETTINGS = {"help_option_names": ["-h", "--help"], "token_normalize_func": lambda word: word.replace("_", "-")}

app = typer.Typer(
    cls=Boundary,
    name="hullabaloo",
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


def _version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def hullabaloo(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Nothing of its own: options that hold for every command."""


app.add_typer(domain.app, name="domain")
app.add_typer(ledger.app, name="ledger")
COMMANDS = (
    demo, plan.price, plan.plan, fit.fit, fit.search, stream.stream, models.summary, models.predict, models.evaluate, models.card,
    plan.audit, reproduce,
)  # fmt: skip
for run in COMMANDS:
    app.command(run.__name__)(run)
