"""The pictures of the documentation are those of the recorded results."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("docs_pictures", ROOT / "docs" / "pictures.py")
assert SPEC is not None
assert SPEC.loader is not None
pictures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pictures)


@pytest.mark.parametrize("name", ["theory-records", "theory-columns", "theory-width"])
def test_a_picture_shows_todays_results(name: str) -> None:
    document = json.loads((ROOT / "benchmarks" / "results" / "theory.json").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    assert document["source_hash"] in text, "draw it again: python docs/pictures.py"


def test_every_picture_is_drawn_from_the_results_alone() -> None:
    document = json.loads((ROOT / "benchmarks" / "results" / "theory.json").read_text(encoding="utf-8"))
    drawn = pictures.theory(document["results"])
    assert set(drawn) == {"theory-records", "theory-columns", "theory-width"}
    assert all(figure.axes for figure in drawn.values())
