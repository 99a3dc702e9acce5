"""The page: well-formed, self-contained, escaped, with the numbers of the document and no others."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.report import drawing, page
from hullabaloo.report.words import percent
from tests.report.conftest import DATASET, HOSTILE, rendered
from tests.report.reading import Page, leaves

FORBIDDEN = re.compile(r"anonym|compliant|compliance|gdpr", re.IGNORECASE)
# Digits in the fixed text of the template and in the names that it writes out.
FIXED = {"95", "800", "226", "2", "1"}


def test_every_page_is_well_formed_and_self_contained(model: Any) -> None:
    _, text = rendered(model)
    read = Page(text)
    tags = [tag for tag, _ in read.tags]
    assert tags[:2] == ["html", "head"]
    assert not {"script", "link", "iframe", "object", "embed", "img", "base", "form"} & set(tags)
    for tag, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "xlink:href", "action", "data"):
            value = attributes.get(name)
            assert value is None or value.startswith("#"), f"<{tag} {name}={value}>"
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= {f"#{name}" for name in _ids(read)}
    assert "\n//" not in text


def test_ids_are_unique_and_references_are_kept(recorded: Any) -> None:
    read = Page(rendered(recorded)[1])
    ids = _ids(read)
    assert len(ids) == len(set(ids))
    for _, attributes in read.tags:
        reference = attributes.get("href")
        assert reference is None or reference[1:] in ids


def _ids(read: Page) -> list[str]:
    return [str(attributes["id"]) for _, attributes in read.tags if "id" in attributes]


def test_no_forbidden_words(model: Any) -> None:
    card, text = rendered(model)
    assert not FORBIDDEN.search(text)
    assert not FORBIDDEN.search(card.to_json())


def test_every_number_on_the_page_is_in_the_document(model: Any) -> None:
    card, text = rendered(model)
    read, everything = Page(text), list(leaves(card.to_dict()))
    numbers = {one for one in everything if isinstance(one, int | float) and not isinstance(one, bool)}
    assert read.numbers or not card.document["private"]
    for exact, written in read.numbers:
        value = float(exact)
        assert value in numbers, f"{exact}, shown as {written}, is not in the document"
        _same(value, written)
    allowed = set(FIXED)
    for one in everything:
        if isinstance(one, str):
            allowed |= set(re.findall(r"\d+", one.replace("%", " ")))
    for one in read.loose:
        assert set(re.findall(r"\d+", one)) <= allowed, one


def _same(value: float, written: str) -> None:
    """A number as it is written is within its last digit of the exact one."""
    text = written.replace("−", "-").replace("\N{NO-BREAK SPACE}", " ").replace(",", "")
    if text.startswith("1 in "):
        assert float(text[5:]) == pytest.approx(1.0 / value, rel=1e-2)
    elif text.startswith("<"):
        assert 0.0 <= value < float(text[1:])
    elif text.endswith(" %"):
        assert 100.0 * value - 1e-6 <= float(text[:-2]) <= 100.0 * value + 0.1 + 1e-6
    else:
        assert float(text) == pytest.approx(value, rel=1.1e-3)


REFERRED = {
    "under the assumptions": ("<h3>Assumptions", "above"),
    "in the table of queries": ('aria-label="Queries, sensitivity', ""),
    "than the odds": ('aria-label="Belief before', ""),
    "in the table below": ('aria-label="Guarantee for a person', "below"),
    "The guarantee": ("Guarantee of this release", ""),
    "the one named": ("Fitted with hullabaloo", ""),
    "The noise is": ("What was asked of the records, and the noise", "below"),
    "a mathematical guarantee": ("<h3>Assumptions", "above"),
}
"""What sentences of a page refer to, and where it stands, if they do not say so themselves."""


def test_what_a_sentence_refers_to_is_on_the_page_where_it_says(model: Any) -> None:
    """Also on pages that have fewer parts, of fits that are not private."""
    text = re.sub(r"<style>.*?</style>", "", rendered(model)[1], flags=re.DOTALL)
    for words, (target, side) in REFERRED.items():
        for found in re.finditer(re.escape(words) + (r"()" if side else r"[a-z ]* (above|below)\b"), text):
            where = text[: found.start()] if "above" in (side, found[1]) else text[found.end() :]
            assert target in where, found[0]
    said = [found.group() for found in re.finditer(r"[^.<>]*\b(above|below)\b(?! 0)[^.<>]*", text)]
    assert all(any(words in one for words in REFERRED) or "is not below" in one for one in said), said


def test_the_banner_comes_first(bare: Any, keyed: Any, hidden: Any) -> None:
    for model in (bare, keyed):
        text = Page(rendered(model)[1]).text
        assert "NOT PRIVATE" in text[: text.index("Privacy card", 30)]
    words = Page(rendered(hidden)[1]).text
    assert words.index("nothing counts them") < words.index("For every person")


def test_hostile_names_are_escaped(recorded: Any) -> None:
    _, text = rendered(recorded)
    assert "<script" not in text.lower()
    read = Page(text)
    assert HOSTILE in read.text
    assert DATASET in read.text
    assert not [tag for tag, _ in read.tags if tag == "b"]


def test_names_are_not_read_as_formulas() -> None:
    from hullabaloo.report.plots import draw_coefficients

    row = {"name": "$x^{$ & $_", "coefficient": 1.0, "privacy_std": 0.1, "low": 0.5, "high": 1.5, "span": 1.0}
    picture = drawing.inline_svg(draw_coefficients([row], "$\\frac{", 0.95), "p", '<&">')
    assert "$x^{$ &amp; $_" in picture


def test_pages_are_deterministic_written_as_returned_and_leave_no_state(recorded: Any, tmp_path: Path) -> None:
    import matplotlib as mpl

    card, text = rendered(recorded)
    before = dict(mpl.rcParams)
    assert card.to_html(tmp_path / "card.html") == text
    assert (tmp_path / "card.html").read_text(encoding="utf-8") == text
    assert dict(mpl.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert sys.modules["matplotlib.pyplot"].get_fignums() == []


def test_the_intuitive_reading_is_that_of_the_profile(hidden: Any) -> None:
    guess = (1.0 + hidden.statement_.event.profile(0.0)) / 2.0
    assert f"at most {percent(guess)} of the time" in Page(rendered(hidden)[1]).text


@pytest.mark.parametrize(("module", "what"), [("jinja2", "page"), ("matplotlib", "picture")])
def test_a_missing_library_is_a_sentence_with_the_command(
    plain: Any, monkeypatch: pytest.MonkeyPatch, module: str, what: str
) -> None:
    import sys

    page.environment.cache_clear()
    for name in [name for name in sys.modules if name == module or name.startswith(module + ".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    card = hb.report.card(plain)
    assert card.to_json()
    with pytest.raises(ModuleNotFoundError, match=r'pip install "hullabaloo\[report\]"') as caught:
        card.to_html()
    assert caught.value.name == module
    assert what in str(caught.value).lower()


def test_pictures_have_plain_colours_which_a_dark_screen_changes() -> None:
    """Programs that print know no variables: with them alone lines and words were black."""
    from hullabaloo.report.plots import draw_coefficients

    row = {"name": "a", "coefficient": 1.0, "privacy_std": 0.1, "low": 0.5, "high": 1.5, "span": 1.0}
    picture = drawing.inline_svg(draw_coefficients([row], "y", 0.95), "p", "effects")
    rules = re.findall(r"<style>(.*?)</style>", picture)
    dark = [one for one in rules if "prefers-color-scheme: dark" in one]
    assert len(dark) == 1
    assert "var(" not in picture.replace(dark[0], "")
    for colour, name in drawing.VARIABLES.items():
        for part in ("fill", "stroke"):
            assert f'[style*="{part}: {colour}"]{{{part}:var(--{name})!important}}' in dark[0]
    assert f"stroke: {drawing.INK}" in picture


def test_words_of_pictures_are_in_the_reader_s_own_typeface() -> None:
    """However matplotlib writes styles: from 3.11 on size and family stand apart, and the drawing machine's typefaces stayed in each word."""
    from hullabaloo.report.plots import draw_coefficients

    row = {"name": "a", "coefficient": 1.0, "privacy_std": 0.1, "low": 0.5, "high": 1.5, "span": 1.0}
    picture = drawing.inline_svg(draw_coefficients([row], "y", 0.95), "p", "effects")
    styles = re.findall(r'<text[^>]* style="([^"]*)"', picture)
    assert styles
    assert all("system-ui, sans-serif" in style and "'" not in style for style in styles)
