"""The documentation runs: what it shows was run, what is stale is said, and the README's example runs here."""

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


execute = _load("execute")
tables = _load("tables")
said = _load("said")
PAGES = {page.relative_to(ROOT).as_posix(): page for page in execute.pages()}


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_shows_was_run(name: str, record_property: Callable[[str, object], None]) -> None:
    """Whether it was run as it is now is for the last line of the run to say."""
    page = PAGES[name]
    assert not execute.blocks(page) or name in execute.recorded(), f"run it: {execute.command(page)}"
    if why := execute.stale(page):
        record_property("stale page", f"{name} ({why})")


def test_a_page_is_stale_when_its_code_or_a_name_in_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And by nothing else: neither its prose, nor the rest of the public surface, nor what it printed."""
    page, public = tmp_path / "page.md", {"Budget": "a", "Budget.parse": "b", "hullabaloo fit": "c", "Domain": "d"}
    shown = "prose\n\n```python run\nimport random\n\nBudget = random.random\nprint(Budget())\n```\n"
    page.write_text(shown)
    for name, value in (("ROOT", tmp_path), ("RECORD", tmp_path / "executed.json")):
        monkeypatch.setattr(execute, name, value)
    monkeypatch.setattr(execute, "surface", lambda: public)
    monkeypatch.setattr(execute, "pages", lambda: [page])
    monkeypatch.setattr(execute, "write_tables", lambda: None)
    assert execute.stale(page) == "its code was never run"
    assert execute.main(["--stale"]) == 1
    assert execute.main([]) == 0
    assert execute.main(["--stale"]) == 0
    first = execute.recorded()["page.md"]["blocks"]
    assert execute.main([]) == 0
    assert execute.recorded()["page.md"]["blocks"] == first, "a page that is fresh is not run again"
    assert execute.main(["page.md"]) == 0
    assert execute.recorded()["page.md"]["blocks"] != first
    page.write_text(f"other {shown}")
    public |= {"Domain": "e", "Budget.parse": "e", "hullabaloo fit": "e"}
    assert not execute.stale(page)
    public["Budget"] = "e"
    assert execute.stale(page) == "Budget changed"
    page.write_text(shown.replace("print", "repr"))
    capsys.readouterr()
    assert execute.main(["--stale"]) == 1
    assert capsys.readouterr().out == "page.md: its code changed; run it again: python docs/execute.py page.md\n"
    with pytest.raises(SystemExit):
        execute.main(["no such"])


@pytest.mark.slow
def test_the_readme_example_runs_here_and_now() -> None:
    page = ROOT / "README.md"
    assert any(block.language == "python" for block in execute.blocks(page))
    for outcome in execute.execute(page):
        assert "Traceback" not in outcome["output"]


@pytest.mark.few(12)
@pytest.mark.parametrize("name", PAGES)
def test_links_between_pages_lead_somewhere(name: str) -> None:
    page = PAGES[name]
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{name} links to {target}, which is not there"


def test_the_measured_tables_are_those_of_the_recorded_results() -> None:
    for name, page in PAGES.items():
        for found in execute.MEASURED.finditer(page.read_text(encoding="utf-8")):
            wanted = found[1] + tables.measured(found["name"]) + found[3]
            assert found[0] == wanted, (
                f"a table of {name} is not the recorded one; run: python docs/execute.py --tables"
            )


@pytest.mark.parametrize("one", said.SAID, ids=lambda one: f"{one.page}: {one.sentence[:60]}")
def test_numbers_in_sentences_are_those_of_the_recorded_results(one: Any) -> None:
    """Tables followed a new record, sentences beside them did not: intervals were said to hold in 97 to 99 % where 91 % did, and a loss was told of another table than the recorded one."""
    text = (ROOT / one.page).read_text(encoding="utf-8")
    assert one.filled(text) == text, (
        f"{one.page} has other numbers than the record; run: python docs/execute.py --tables"
    )
    assert one.holds(), f"{one.page} says in words what the record does not: {one.sentence}"


def test_a_sentence_is_found_across_lines_and_filled() -> None:
    one = said.Said("page", "kept {} of {} (a half)", lambda: ["7", 10])
    assert one.filled("so 1 kept 3\n  of 4 (a half), 5") == "so 1 kept 7\n  of 10 (a half), 5"
    with pytest.raises(LookupError, match="does not say"):
        one.filled("kept 3 of 4")
    with pytest.raises(LookupError, match="more than once"):
        one.filled("kept 7 of 10 (a half), kept 3 of 4 (a half)")
    with pytest.raises(ValueError, match="shorter"):  # a number that nothing holds to the record
        said.Said("page", "kept {} of {}", lambda: ["7"]).filled("kept 7 of 4 ")


def test_a_table_is_made_of_any_results() -> None:
    text = tables._tables(
        {"speed_ms": 1.23456, "sets": [{"name": "a", "ahead": True}], "by": {"one": {"x": 1}, "two": {"x": 2}}}, ""
    )
    assert "| speed ms | 1.23 |" in text
    assert "| a | yes |" in text
    assert "| x | 1 | 2 |" in text


def test_what_only_pictures_show_is_in_no_table() -> None:
    assert tables._tables({"patterns": [{"truth": [0.0, 1.0]}], "n": 3}, "") == tables._tables({"n": 3}, "")


def test_records_within_records_are_rows_and_long_lists_a_link() -> None:
    shown = tables._tables([{"name": "a", "errors": [{"metric": "m", "value": 1.5}, {"metric": "k", "value": 2}]}], "")
    assert "| a | m | 1.5 |" in shown
    assert "| a | k | 2 |" in shown
    assert "41 rows, in [`x.json`](../x.json)" in tables._tables({"lines": [{"n": i} for i in range(41)]}, "../x.json")
