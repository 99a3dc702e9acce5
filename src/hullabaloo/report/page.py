"""The card's document as one self-contained page: no scripts, nothing fetched, the same bytes every time."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from hullabaloo.errors import library
from hullabaloo.privacy import event_from_dict
from hullabaloo.report.drawing import inline_svg
from hullabaloo.report.words import down, one_in, percent, shown, up

MOST_TARGETS = 4
MOST_ROWS = 100
MOST_CHARGES = 25


def page(card: Mapping[str, Any]) -> str:
    """Render a card's document as HTML."""
    template = environment().get_template("card.html.j2")
    limits = {"rows": MOST_ROWS, "charges": MOST_CHARGES}
    return str(template.render(card=card, pictures=pictures(card), style=_text("card.css"), limits=limits))


def pictures(card: Mapping[str, Any]) -> dict[str, Any]:
    """The card's pictures as inline SVG, safe to put into a page as they are."""
    from markupsafe import Markup

    from hullabaloo.report import plots

    def put(figure: Any, name: str, label: str) -> Any:
        return Markup(inline_svg(figure, name, label))

    stated, shares, numbers = card["guarantee"], card["ledger"]["shares"], card["coefficients"]
    found: dict[str, Any] = {"coefficients": []}
    if card["private"]:
        event, epsilon, delta = event_from_dict(stated["event"]), stated["epsilon"], stated["delta"]
        if epsilon is not None:
            said = f"δ against ε of the release, with the quoted point ε = {up(epsilon)}, δ = {up(delta)}"
            found["profile"] = put(plots.draw_profile(event, epsilon, delta), "profile", said)
        said = "Hits against false alarms of the best attack on one person; the closer to the diagonal, the closer to a guess"
        found["trade_off"] = put(plots.draw_trade_off(event), "trade-off", said)
    if shares is not None:
        found["budget"] = put(plots.draw_budget(shares), "budget", "Parts of the budget spent and left")
    for place, target in enumerate(card["model"]["targets"][:MOST_TARGETS] if numbers else ()):
        rows = [row for row in numbers["rows"] if row["target"] == target]
        if any(row["span"] is not None for row in rows):
            figure = plots.draw_coefficients(rows, target, numbers["confidence"])
            said = f"Released effects on {target} with their noise"
            found["coefficients"].append(put(figure, f"coefficients-{place}", said))
    return found


@lru_cache(maxsize=1)
def environment() -> Any:
    """Templates with filters that write numbers as a card does."""
    jinja = library("jinja2", "hullabaloo[report]", "A privacy card as a page (its JSON is written without)")
    about = {"loader": jinja.FunctionLoader(_text), "undefined": jinja.StrictUndefined}
    environment = jinja.Environment(**about, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "num": _data(shown), "up": _data(up), "down": _data(down), "percent": _data(percent), "one_in": _data(one_in),
        "probability": _data(lambda p: "<0.001" if p < 0.001 else shown(p)), "event_json": _event, "prose": _prose, "when": _when,
    }  # fmt: skip
    return environment


def _data(write: Any) -> Any:
    """A filter that writes a number for people, its sign and unit on one line, and keeps the exact one in the page."""

    def filtered(value: Any) -> Any:
        from markupsafe import Markup

        text = str(write(value))
        if value is None:
            return text
        whole = ("−" + text[1:] if text.startswith("-") else text).replace(" ", "\N{NO-BREAK SPACE}")
        return Markup('<data value="{}">{}</data>').format(repr(value), whole)

    return filtered


def _prose(text: str) -> str:
    """Keep numbers with their per cent signs and names: no line breaks inside "ε = 1" or "54.8 %"."""
    kept = re.sub(r"([εδμρ]) = (?=\S)", "\\1\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", text)
    return kept.replace(" %", "\N{NO-BREAK SPACE}%")


def _event(event: Mapping[str, Any]) -> str:
    """JSON, with a line for each part."""
    return json.dumps(event).replace(', {"event":', ',\n {"event":')


def _when(text: str) -> str:
    """An ISO time for people: to the second, in UTC."""
    return text[:19].replace("T", " ") + (" UTC" if text.endswith("+00:00") else text[19:])


def _text(name: str) -> str:
    return (files("hullabaloo.report") / "templates" / name).read_text(encoding="utf-8")
