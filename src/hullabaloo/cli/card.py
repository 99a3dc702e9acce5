"""`hullabaloo card`: the privacy card of a saved model."""

from pathlib import Path
from typing import Annotated

import typer

from hullabaloo.cli import build, options
from hullabaloo.cli.voice import Voice
from hullabaloo.errors import InvalidParameter


def card(
    *,
    model: options.Model,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", metavar="FILE", help="Write .html (a page to show) or .json; may be repeated."),
    ] = None,
    entry: Annotated[
        list[Path] | None,
        typer.Option(
            "--entry",
            metavar="FILE",
            help="Also show what else was released from these records (bounds or an evaluation, JSON); may be repeated.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Write the privacy card: what the release guarantees, to whom, under which assumptions. Spends nothing."""
    from hullabaloo import report

    places = list(out or [])
    for place in places:
        build.output(place, overwrite)
        if place.suffix.lower() not in {".html", ".json"}:
            raise InvalidParameter(f"A card is written as .html or .json, and {place.name!r} is neither. Rename it.")
    entries = [report.entry_from_json(build.existing(path, "entry")) for path in entry or []]
    made = report.card(build.model(build.existing(model, "saved model")), entries=entries)
    for place in places:
        if place.suffix.lower() == ".html":
            made.to_html(place)
        else:
            made.to_json(place)
    files = ", ".join(map(str, places))
    Voice("card", as_json).result(
        {"card": made.to_dict(), "out": list(map(str, places))},
        *([f"Wrote {files}."] if places else [str(made)]),
    )
