"""The index of the papers is complete: each item has its code, its test and where it is shown, or a reason why not."""

import importlib.util
import json
import math
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import hullabaloo as hb
from hullabaloo.reproduce.papers import _curves

ROOT = Path(__file__).resolve().parents[1]


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_papers", ROOT / "docs" / "papers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


papers = _load()
ITEMS = papers.items()
KEYS = [(one["paper"], one["label"]) for one in ITEMS]
CODE, CHECKS = papers.tags(papers.SOURCE, "Source"), papers.tags(papers.TESTS, "Tests")


def test_the_list_is_a_list() -> None:
    assert len(set(KEYS)) == len(KEYS)
    known = {
        "definition",
        "theorem",
        "lemma",
        "corollary",
        "proposition",
        "fact",
        "remark",
        "algorithm",
        "formula",
        "experiment",
    }
    assert {one["kind"] for one in ITEMS} == known
    assert all(set(one) <= {"paper", "label", "kind", "says", "shown", "erratum", "not_implemented"} for one in ITEMS)


def test_every_item_is_implemented_tested_and_shown_or_says_why_not() -> None:
    for one, key in zip(ITEMS, KEYS, strict=True):
        left_out = "not_implemented" in one
        for found, what in ((key in CODE, "code"), (key in CHECKS, "test"), ("shown" in one, "page")):
            assert found != left_out, f"{key}: {what} {'although it is not implemented' if left_out else 'is missing'}"


def test_every_tag_names_an_item_of_the_list() -> None:
    for tags in (CODE, CHECKS):
        unknown = {key: places for key, places in tags.items() if key not in set(KEYS)}
        assert not unknown, f"docs/papers/items.toml lacks {unknown}"


def test_tags_are_read_as_they_are_written() -> None:
    """Several on a line, labels with commas, and nothing of a line that only begins alike."""
    text = "A rate.\n\n    Source: 002, Theorem 3.2; 000, Section 1, privacy for free.\n    Source: Dwork and Roth (2014).\n"
    assert papers.tagged(text, "Source") == [("002", "Theorem 3.2"), ("000", "Section 1, privacy for free")]
    assert papers.tagged(text, "Tests") == []


def test_what_is_shown_is_there() -> None:
    for one in ITEMS:
        page, _, anchor = one.get("shown", "").partition("#")
        if page:
            assert anchor in papers.slugs(ROOT / "docs" / page), f"{one['label']}: {page} has no heading {anchor!r}"


def test_the_index_and_the_pages_are_current() -> None:
    remedy = "run python docs/papers.py"
    assert (papers.FOLDER / "index.md").read_text(encoding="utf-8") == papers.index(), remedy
    for paper in dict.fromkeys(one["paper"] for one in ITEMS):
        assert (papers.FOLDER / f"{paper}.md").read_text(encoding="utf-8") == papers.filled(paper), remedy


def test_the_posters_recorded_curves_are_those_of_the_benchmark() -> None:
    """`hullabaloo reproduce 004` draws them, one picture a problem."""
    kept = json.loads((papers.RECORDED / "004.json").read_text(encoding="utf-8"))
    assert kept["curves"] == papers.curves(), "run python docs/papers.py record 004"
    pictures = _curves(kept)
    assert len(pictures) == 6
    assert sum(len(x) for one in pictures.values() for x, _ in one.lines.values()) == len(kept["curves"])


def test_every_name_of_theory_is_run_on_a_page() -> None:
    """Where its theorem stands; a name is on a page where a block that is run has it."""
    pages = [*(ROOT / "docs").rglob("*.md")]
    code = "".join(
        part
        for page in pages
        for part in re.findall(r"```python run\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    )
    used = set(re.findall(r"hb\.theory\.(\w+)", code))
    assert used == set(hb.theory.__all__)


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in papers.FOLDER.glob("*.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("p", [3, 50])
def test_the_bound_of_mirror_descent_is_proportional_to_the_size_of_the_set(p: int) -> None:
    """Scaling Q changes nothing: R·√(w(Q)² + ‖Q‖₂²) of c·C is c times that of C, for every set with a potential.

    Tests: 002, Remark 1.
    """
    corners = [[1.0] + [0.0] * (p - 1), [0.0] * (p - 1) + [-0.5], [0.2] * p]
    groups = [range(2), range(2, p)]
    sets = [
        hb.L1Ball,
        hb.L2Ball,
        lambda c: hb.LpBall(1.5, c),
        hb.Simplex,
        lambda c: hb.GroupBall(groups, c),
        lambda c: hb.Polytope([[c * x for x in one] for one in corners]),
    ]
    for made in sets:
        sizes = []
        for scale in (1.0, 7.0):
            mirror = made(scale).mirror_map(p)
            noise = math.hypot(mirror.unit_width.value, mirror.unit_radius)
            sizes.append(math.sqrt(mirror.range) * noise / scale)
        assert sizes[1] == pytest.approx(sizes[0], rel=1e-9), made(1.0)
