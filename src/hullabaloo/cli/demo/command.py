"""The demo's one command, and what it says."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.panel import Panel
from rich.text import Text

from hullabaloo.cli import build
from hullabaloo.cli.options import command
from hullabaloo.cli.output import Output, Verbatim, facts, guarantee

if TYPE_CHECKING:
    from hullabaloo.cli.demo.job import Outcome


@command
def demo(*, out: Path = Path("demo-output"), fresh: bool = False, json_: bool = False) -> None:
    """Do the whole job on a real survey: domain, ledger, private regression, a page to look at. Offline, a minute.

    The survey is public: 6366 readers of a magazine on marriage and affairs, 1974. A second run shows the ledger refusing.

    Args:
        out DIR: The folder for everything that is made.
        fresh: Begin again with a new ledger. Excusable only because the survey is public.
    """
    build.places(out)
    output = Output("demo", json_)
    from hullabaloo.cli.demo.job import KEPT, prepare, run
    from hullabaloo.cli.fit import result

    prepare(out, fresh)
    outcome = run(out, output)
    curve = outcome.curve
    told = {
        "reused": outcome.reused,
        "second_fit": outcome.refusal,
        "remaining": outcome.remaining.to_dict(),
        "r2_on_public_table": curve and {"release": curve.release, "without_privacy": curve.without_privacy},
        "files": {name: out / name for name in KEPT},
    }
    output.result({**result(outcome.model, 0.95), **told}, *_shown(out, outcome))


def _shown(folder: Path, outcome: "Outcome") -> list[Any]:
    from hullabaloo.cli.demo import job, survey
    from hullabaloo.cli.demo.page import effects_of, strongest
    from hullabaloo.cli.fit import coefficients
    from hullabaloo.privacy import Budget

    curve, asked = outcome.curve, Budget(survey.EPSILON, survey.DELTA).describe()
    again = (
        "This folder already holds a release of the survey, and its budget is spent. The saved release is shown again: looking "
        "at it as often as you like costs nothing. (--fresh begins again; with real records that would be cheating.)"
    )
    did = {
        "survey": "1974 Redbook survey, 6366 respondents, one record each: was there an affair? (affairs.csv)",
        "domain": "bounds and levels from the questionnaire, never from the answers (domain.toml)",
        "budget": f"{asked}, relation replace-one, kept in privacy.db",
        "order": "validate, plan, charge the ledger, read the table, draw noise, release",
        "price": outcome.price,
    }
    cost = "It was measured once, in the first run: see the page."
    if curve is not None:
        mean = f"{curve.draws[survey.EPSILON][0]:.3f} in the mean of {survey.DRAWS} draws at epsilon 1"
        told = f"R² = {curve.release:.3f} with privacy ({mean}), {curve.without_privacy:.3f} without."
        cost = f"{told} Measured on the table itself: {survey.WARNING}."
    us = _program("hullabaloo")
    names = ("privacy.db", "domain.toml", "model.json", "affairs.csv", "card.html")
    ledger, domain, model, table, card = (shlex.quote(str(folder / name)) for name in names)
    then = [
        f"{us} card {model} --out {card} --overwrite",
        f"{us} ledger log sqlite:///{ledger} {survey.DATASET}",
        f"{us} domain describe {domain}",
        f"{us} predict {model} {table} | head",
        f"{us} summary {model}",
    ]
    return [
        Panel(again, border_style="yellow") if outcome.reused else None,
        _title("What was done"),
        facts(did),
        _title("What came out (change of the probability of an affair, per unit of each answer)"),
        coefficients(outcome.model.summary()),
        strongest(effects_of(outcome.model)),
        guarantee(outcome.model.statement_),
        _title("What is left"),
        outcome.remaining.describe(),
        f"A second fit was tried, and refused before the table was read: {outcome.refusal}",
        _title("What privacy cost"),
        cost,
        _title("Where it is"),
        facts({str(folder / name): what for name, what in job.KEPT.items()}),
        _title("What to try next (all of it free: no new charge)"),
        Verbatim("\n".join(then)),
    ]


def _program(name: str) -> str:
    """How the user can call a program of this environment: by its name where that finds it, else by its place."""
    beside, found = Path(sys.executable).with_name(name), shutil.which(name)
    if not beside.exists() or (found is not None and Path(found).parent.resolve() == beside.parent.resolve()):
        return name
    return shlex.quote(min(str(beside), os.path.relpath(beside), key=len))


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold cyan")
