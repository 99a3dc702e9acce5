"""The pictures of the documentation are those of the recorded results."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("docs_pictures", ROOT / "docs" / "pictures.py")
assert SPEC is not None
assert SPEC.loader is not None
pictures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pictures)

DRAWN = {
    "theory": ["theory-records", "theory-columns", "theory-width"],
    "theorems": ["theory-bounds"],
    "coordinate_descent_paper": ["coordinate-descent"],
    "structured_sparsity": ["structured-patterns", "structured-weeks", "structured-risk"],
    "stream_risk": ["streams-risk"],
    "stream_bounds": ["streams-bounds"],
    "sketch": ["streams-sketch"],
}
PAIRS = [(benchmark, name) for benchmark, names in DRAWN.items() for name in names]


def recorded(benchmark: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{benchmark}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("benchmark", "name"), PAIRS)
def test_a_picture_shows_todays_results(benchmark: str, name: str) -> None:
    text = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    assert pictures.digest(recorded(benchmark)["results"]) in text, "draw it again: python docs/pictures.py"


@pytest.mark.few(1)
@pytest.mark.parametrize("benchmark", pictures.PICTURES)
def test_every_picture_is_drawn_from_the_results_alone(benchmark: str) -> None:
    drawn = pictures.PICTURES[benchmark](recorded(benchmark)["results"])
    assert list(drawn) == DRAWN[benchmark]
    assert all(figure.axes for figure in drawn.values())
