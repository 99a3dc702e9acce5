"""`hullabaloo card`: the privacy card of a saved model."""

from pathlib import Path

from hullabaloo.cli import build
from hullabaloo.cli.options import command
from hullabaloo.cli.output import Output
from hullabaloo.errors import InvalidParameter


@command
def card(
    model: Path,
    *,
    out: list[Path] | None = None,
    entry: list[Path] | None = None,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Write the privacy card: what the release guarantees, to whom, under which assumptions. Spends nothing.

    Args:
        out FILE: Write .html (a page to show) or .json; may be repeated.
        entry FILE: Also show what else was released from these records (bounds or an evaluation, JSON); may be repeated.
    """
    from hullabaloo import report

    places = list(out or [])
    for place in places:
        build.output(place, overwrite)
        if place.suffix.lower() not in {".html", ".json"}:
            raise InvalidParameter(f"A card is written as .html or .json, and {place.name!r} is neither. Rename it.")
    entries = [report.entry_from_json(build.existing(path, "entry")) for path in entry or []]
    made = report.card(build.model(build.existing(model, "saved model")), entries=entries)
    for place in places:
        (made.to_html if place.suffix.lower() == ".html" else made.to_json)(place)
    files = list(map(str, places))
    shown = f"Wrote {', '.join(files)}." if files else str(made)
    Output("card", json_).result({"card": made.to_dict(), "out": files}, shown)
