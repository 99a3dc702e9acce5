"""What is recorded: one line for each benchmark and each run of the long tests."""

import ast
import json
from typing import Any

from benchmarks import record

SOAKED = record.ROOT / "tests" / "soaked.json"


def rows(*, fresh: bool = False) -> list[dict[str, Any]]:
    """The lines; `fresh` computes every fingerprint (some ten seconds) and says which records are of today's numbers."""
    found = []
    for name in record.names():
        kept = record.kept(name) or {}
        line = {
            "record": name,
            "measures": measures(name),
            "kind": record.kind(name),
            "seconds": kept.get("seconds"),
            "date": kept.get("date"),
            "commit": kept.get("commit"),
        }
        if fresh:
            line["state"] = "stale" if record.stale(name) else "fresh" if line["kind"] == "accuracy" else ""
        found.append(line)
    for one in soaked():
        line = {"record": one["record"], "measures": f"{one['what']}: {one['passed']} passed", "kind": "test"}
        line |= {key: one[key] for key in ("seconds", "date", "commit")}
        found.append(line | {"state": ""} if fresh else line)
    return found


def soaked() -> list[dict[str, Any]]:
    """The lines that `make soak` wrote."""
    return list(json.loads(SOAKED.read_text(encoding="utf-8"))) if SOAKED.exists() else []


def measures(name: str) -> str:
    """The first line of a benchmark's docstring."""
    module = ast.parse((record.FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(module) or name).splitlines()[0].rstrip(".")


def text(lines: list[dict[str, Any]]) -> str:
    """Columns side by side."""
    table = [[*lines[0]], *([str("" if cell is None else cell) for cell in line.values()] for line in lines)]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)).rstrip() for row in table)
