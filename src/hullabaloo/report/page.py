"""The card's document as one self-contained page: no scripts, nothing fetched, the same bytes every time."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from hullabaloo.privacy import event_from_dict
from hullabaloo.report.drawing import inline_svg, missing
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

    stated, drawn = card["guarantee"], {}
    if card["private"]:
        event = event_from_dict(stated["event"])
        if stated["epsilon"] is not None:
            text = f"δ against ε of the release, with the quoted point ε = {up(stated['epsilon'])}, δ = {up(stated['delta'])}"
            drawn["profile"] = inline_svg(
                plots.draw_profile(event, stated["epsilon"], stated["delta"]), "profile", text
            )
        text = "Hits against false alarms of the best attack on one person; the closer to the diagonal, the closer to a guess"
        drawn["trade_off"] = inline_svg(plots.draw_trade_off(event), "trade-off", text)
    if card["ledger"]["shares"] is not None:
        drawn["budget"] = inline_svg(
            plots.draw_budget(card["ledger"]["shares"]), "budget", "Parts of the budget spent and left"
        )
    found: dict[str, Any] = {name: Markup(text) for name, text in drawn.items()}
    found["coefficients"] = [Markup(text) for text in _coefficients(card)]
    return found


def _coefficients(card: Mapping[str, Any]) -> list[str]:
    from hullabaloo.report.plots import draw_coefficients

    numbers = card["coefficients"]
    if numbers is None:
        return []
    found = []
    for place, target in enumerate(card["model"]["targets"][:MOST_TARGETS]):
        rows = [row for row in numbers["rows"] if row["target"] == target]
        if any(row["span"] is not None for row in rows):
            figure = draw_coefficients(rows, target, numbers["confidence"])
            found.append(inline_svg(figure, f"coefficients-{place}", f"Released effects on {target} with their noise"))
    return found


@lru_cache(maxsize=1)
def environment() -> Any:
    """Templates with filters that write numbers as a card does."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise missing("jinja2", "A privacy card as a page") from error
    environment = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "num": _data(shown), "up": _data(up), "down": _data(down), "percent": _data(percent), "one_in": _data(one_in),
        "event_json": _event_json, "prose": _prose, "when": _when,
    }  # fmt: skip
    return environment


def _data(write: Any) -> Any:
    """A filter that writes a number for people and keeps the exact one in the page."""

    def filtered(value: Any) -> Any:
        from markupsafe import Markup

        if value is None:
            return write(value)
        return Markup('<data value="{}">{}</data>').format(repr(value), _unbroken(write(value)))

    return filtered


def _unbroken(text: str) -> str:
    """A number with its sign and unit on one line."""
    return ("−" + text[1:] if text.startswith("-") else text).replace(" ", "\N{NO-BREAK SPACE}")


def _prose(text: str) -> str:
    """Keep numbers with their per cent signs and names: no line breaks inside "ε = 1" or "54.8 %"."""
    return re.sub(r"([εδμρ]) = (?=\S)", "\\1\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", text).replace(
        " %", "\N{NO-BREAK SPACE}%"
    )


def _when(text: str) -> str:
    """An ISO time for people: to the second, in UTC."""
    return text[:19].replace("T", " ") + (" UTC" if text.endswith("+00:00") else text[19:])


def _event_json(event: Mapping[str, Any]) -> str:
    import json

    return json.dumps(event, indent=1)


def _text(name: str) -> str:
    return (files("hullabaloo.report") / "templates" / name).read_text(encoding="utf-8")
