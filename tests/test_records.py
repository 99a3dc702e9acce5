"""Every benchmark has a result that says of which code it is; `make test` lists the stale ones, and `make release` refuses them."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import record  # noqa: E402
from benchmarks.__main__ import main  # noqa: E402


@pytest.mark.parametrize("name", record.names())
def test_a_benchmark_has_results(name: str) -> None:
    kept = json.loads(record.result_path(name).read_text(encoding="utf-8"))
    assert kept["benchmark"] == name
    assert kept["date"], f"the numbers of {name} do not say when they were recorded: {record.command(name)}"


def test_a_release_is_refused_while_numbers_are_stale(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record.record("tiny")
    assert main(["--stale"]) == 0
    (small / "src" / "a.py").write_text("A = 2\n")
    capsys.readouterr()
    assert main(["--stale"]) == 1
    assert "tiny: src/a.py changed" in capsys.readouterr().out


def test_every_result_has_its_benchmark() -> None:
    left_over = [path.name for path in record.RESULTS.glob("*.json") if path.stem not in record.names()]
    assert not left_over, f"benchmarks/results holds {left_over}, and no benchmark of that name exists; delete them"


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "benchmarks"
    (tmp_path / "src").mkdir()
    folder.mkdir()
    (folder / "tiny.py").write_text("SOURCES = ['src']\n\n\ndef run():\n    return {'x': float('inf'), 'y': 1 / 3}\n")
    (folder / "helper.py").write_text("VALUE = 1\n")
    (tmp_path / "src" / "a.py").write_text("A = 1\n")
    for name, value in (("ROOT", tmp_path), ("FOLDER", folder), ("RESULTS", folder / "results")):
        monkeypatch.setattr(record, name, value)
    monkeypatch.setattr(record.importlib, "import_module", lambda _: _Tiny)
    return tmp_path


class _Tiny:
    @staticmethod
    def run() -> dict[str, float]:
        return {"x": float("inf"), "y": 1 / 3}


def test_a_record_is_fresh_until_a_source_changes(small: Path) -> None:
    assert record.names() == ["tiny"]
    assert "is not there" in record.stale("tiny")
    record.record("tiny")
    assert not record.stale("tiny")
    kept = json.loads(record.result_path("tiny").read_text())
    assert kept["results"] == {"x": None, "y": 0.333333}
    assert kept["command"] == "python -m benchmarks tiny"
    (small / "src" / "a.py").write_bytes(b"A = 1\r\n")
    assert not record.stale("tiny"), "line endings are no change"
    (small / "src" / "b.py").write_text("B = 1\n")
    assert "src/b.py changed" in record.stale("tiny")


def test_a_benchmark_without_sources_is_a_fault(small: Path) -> None:
    (small / "benchmarks" / "bare.py").write_text("def run():\n    return {}\n")
    with pytest.raises(ValueError, match="no literal SOURCES"):
        record.source_hash("bare")
