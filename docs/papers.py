"""The index of the papers: what each states, which code has it, which test checks it, where it is shown.

    python docs/papers.py                              writes docs/papers/index.md and fills the tables of docs/papers/000.md … 004.md
    python docs/papers.py record 004 [--data DIR]      runs `hullabaloo reproduce` at full size and keeps the claims in the package

`docs/papers/items.toml` lists every definition, theorem, algorithm, remark with an algorithmic consequence and experiment. Code names what it
is in a line of its docstring, `Source: 002, Theorem 3.2; 000, Theorem 2.5.`, and a test in a line `Tests: 002, Theorem 3.2.`; both are read
from syntax trees.
"""

import argparse
import ast
import importlib
import json
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "papers"
SOURCE, TESTS = ROOT / "src" / "hullabaloo", ROOT / "tests"
RECORDED = SOURCE / "reproduce" / "recorded"
PART = re.compile(r"(<!-- (items|claims) -->\n).*?(<!-- end -->)", re.S)
Key = tuple[str, str]


@cache
def items() -> list[dict[str, str]]:
    """The list, in the papers' order."""
    return list(tomllib.loads((FOLDER / "items.toml").read_text(encoding="utf-8"))["item"])


@cache
def tags(folder: Path, word: str) -> dict[Key, list[str]]:
    """Which objects below a folder are tagged with which item, as "path::name"."""
    found: dict[Key, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if f"{word}: 0" in text:
            for name, docstring in _docstrings(ast.parse(text), ""):
                for key in tagged(docstring, word):
                    found.setdefault(key, []).append(f"{path.relative_to(ROOT).as_posix()}::{name}")
    return found


def tagged(docstring: str, word: str) -> list[Key]:
    """The items that a docstring names.

    >>> tagged("A rate.\\n\\n    Source: 002, Theorem 3.2; 000, Section 1, privacy for free.", "Source")
    [('002', 'Theorem 3.2'), ('000', 'Section 1, privacy for free')]
    """
    lines = re.findall(rf"^\s*{word}: (\d{{3}}, .+)\.\s*$", docstring, re.M)
    parts = [part.split(", ", 1) for line in lines for part in re.split(r"; (?=\d{3}, )", line)]
    return [(paper, label) for paper, label in parts]


def _docstrings(node: Any, above: str) -> Iterator[tuple[str, str]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield above + child.name, ast.get_docstring(child, clean=False) or ""
            if isinstance(child, ast.ClassDef):
                yield from _docstrings(child, f"{above}{child.name}.")


def index() -> str:
    """docs/papers/index.md."""
    listed, code, tests = items(), tags(SOURCE, "Source"), tags(TESTS, "Tests")
    lines = [
        "# The papers: what is where",
        "",
        "Every definition, theorem, algorithm, remark with an algorithmic consequence and experiment of the five papers, with the code that has it, the "
        "test that checks it, and the page or figure that shows it. Statements, errata and measurements are on a page for each paper.",
        "",
        "| paper | items | implemented | tested | shown | not implemented, and why |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for paper in [*dict.fromkeys(one["paper"] for one in listed), "all"]:
        some = [one for one in listed if paper in (one["paper"], "all")]
        keys = [(one["paper"], one["label"]) for one in some]
        counts = (
            len(some),
            sum(key in code for key in keys),
            sum(key in tests for key in keys),
            sum("shown" in one for one in some),
        )
        why = "; ".join(f"{one['label']}: {one['not_implemented']}" for one in some if "not_implemented" in one)
        name = paper if paper == "all" else f"[{paper}]({paper}.md)"
        lines.append(f"| {name} | {' | '.join(map(str, counts))} | {why if paper != 'all' else ''} |")
    for paper in dict.fromkeys(one["paper"] for one in listed):
        lines += ["", f"## {paper}", "", "| item | kind | code | tests | shown |", "|---|---|---|---|---|"]
        for one in listed:
            key = (one["paper"], one["label"])
            if key[0] == paper:
                where = [_links(found.get(key, [])) for found in (code, tests)]
                lines.append(f"| {one['label']} | {one['kind']} | {' | '.join(where)} | {_shown(one)} |")
    return "\n".join([*lines, "", "Written by `python docs/papers.py`.", ""])


def filled(paper: str) -> str:
    """A paper's page with its generated tables."""
    page = (FOLDER / f"{paper}.md").read_text(encoding="utf-8")
    tables = {"items": _items(paper), "claims": _claims(paper)}
    return PART.sub(lambda found: found[1] + tables[found[2]] + found[3], page)


def _items(paper: str) -> str:
    code, tests = tags(SOURCE, "Source"), tags(TESTS, "Tests")
    lines = ["", "| item | in our notation | code | tests | shown |", "|---|---|---|---|---|"]
    errata = []
    for one in items():
        key = (one["paper"], one["label"])
        if key[0] != paper:
            continue
        says = _cell(one["says"]) + (
            f" *Not implemented: {_cell(one['not_implemented'])}.*" if "not_implemented" in one else ""
        )
        mark = f" ({len(errata) + 1})" if "erratum" in one else ""
        errata += [f"{len(errata) + 1}. *{one['label']}*: {one['erratum']}."] if "erratum" in one else []
        lines.append(
            f"| {one['label']}{mark} | {says} | {_links(code.get(key, []))} | {_links(tests.get(key, []))} | {_shown(one)} |"
        )
    return "\n".join(
        [*lines, "", *(["Errata and remarks, by the numbers in brackets:", "", *errata, ""] if errata else [])]
    )


def _claims(paper: str) -> str:
    path = RECORDED / f"{paper}.json"
    if not path.exists():
        return f"\nNot recorded yet: `python docs/papers.py record {paper}`.\n\n"
    record = json.loads(path.read_text(encoding="utf-8"))
    lines = ["", "| item | claim | measured | expected | verdict |", "|---|---|---:|---:|---|"]
    lines += [
        f"| {one['item']} | {_cell(one['says'])} | {one['found']} | {one['expected']} | {one['verdict']} |"
        for one in record["claims"]
    ]
    return "\n".join(
        [*lines, "", f"Recorded {record['date']} at commit `{record['commit'][:12]}` in {record['seconds']:.0f} s.", ""]
    )


def _links(places: list[str]) -> str:
    return "<br>".join(
        f"[`{Path(place.split('::')[0]).name}::{place.split('::')[1]}`](../../{place.split('::')[0]})"
        for place in places
    )


def _shown(one: dict[str, str]) -> str:
    if "shown" not in one:
        return "–"
    page = one["shown"]
    target = page.removeprefix("papers/") if page.startswith("papers/") else f"../{page}"
    return f"[{page.split('#')[0].removeprefix('papers/')}]({target})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def record(paper: str, data: str | None) -> None:
    """Keep what a run at full size finds; with data, beside what it finds without."""
    reproduce = importlib.import_module("hullabaloo.reproduce").reproduce
    start = time.perf_counter()
    claims = {
        (one.item, one.says): one.to_dict()
        for folder in dict.fromkeys((None, data))
        for one in reproduce(paper, data=folder).claims
    }
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    seconds = round(time.perf_counter() - start, 1)
    kept = {
        "paper": paper,
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": seconds,
        "claims": list(claims.values()),
        **({"curves": curves()} if paper == "004" else {}),
    }
    (RECORDED / f"{paper}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def curves() -> list[dict[str, Any]]:
    """The poster's curves as benchmarks measured them: problem, method, passes and mean relative error."""
    path = ROOT / "benchmarks" / "results" / "coordinate_descent_paper.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["results"]["curves"]
    return [{key: row[key] for key in ("problem", "method", "passes", "mean")} for row in rows]


def main(words: list[str] | None = None) -> int:
    """Write the index and fill the pages, after a record where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", nargs="*", help="record PAPER")
    parser.add_argument("--data", help="the folder of the tables of 004")
    asked = parser.parse_args(words)
    for paper in asked.record[1:]:
        record(paper, asked.data)
    (FOLDER / "index.md").write_text(index(), encoding="utf-8")
    for paper in dict.fromkeys(one["paper"] for one in items()):
        (FOLDER / f"{paper}.md").write_text(filled(paper), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
