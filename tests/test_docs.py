"""The documentation runs: what it shows was run against today's public surface, and the README's example runs here."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

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
PAGES = {page.relative_to(ROOT).as_posix(): page for page in execute.pages()}
AGAIN = "run it again: make docs"


def recorded() -> dict[str, object]:
    assert execute.RECORD.exists(), f"docs/executed.json is not there; {AGAIN}"
    return json.loads(execute.RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_the_blocks_of_a_page_are_the_ones_that_were_run(name: str) -> None:
    page = recorded()["pages"].get(name, {})
    assert page.get("hash") == execute.page_hash(PAGES[name]), f"the code on {name} changed since it was run; {AGAIN}"


def test_the_pages_were_run_against_todays_public_surface() -> None:
    then, now = recorded()["surface"], execute.surface()
    changed = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    assert not changed, f"{', '.join(changed[:8])} changed since the documentation was run; {AGAIN}"


def test_the_readme_example_runs_here_and_now() -> None:
    page = ROOT / "README.md"
    assert any(block.language == "python" for block in execute.blocks(page))
    for outcome in execute.execute(page):
        assert "Traceback" not in outcome["output"]


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


def test_a_table_is_made_of_any_results() -> None:
    text = tables._tables(
        {"speed_ms": 1.23456, "sets": [{"name": "a", "ahead": True}], "by": {"one": {"x": 1}, "two": {"x": 2}}}
    )
    assert "| speed ms | 1.23 |" in text
    assert "| a | yes |" in text
    assert "| x | 1 | 2 |" in text


def test_what_only_pictures_show_is_in_no_table() -> None:
    assert tables._tables({"patterns": [{"truth": [0.0, 1.0]}], "n": 3}) == tables._tables({"n": 3})
