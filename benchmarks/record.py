"""Run a benchmark and keep what it found, with the commit, the date and a fingerprint of the accuracy of the code that it measured.

A benchmark is a module of this package with `run()`, which returns JSON-ready results, and one of two names:

- `fingerprint()`, where results hold what the code's numbers decide (risks, shares, coverage, chosen solvers): a JSON-ready value of
  the same functions on tiny synthetic tables under a fixed test key, in about a second. A record is stale when its fingerprint
  is not today's.
- `SPEED = True`, where results are seconds and bytes of one machine: never stale, they carry commit and date.

`COMMAND` is what records it where `python -m benchmarks` alone cannot.
"""

import ast
import importlib
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks"
RESULTS = FOLDER / "results"
NEAR, TINY = 1e-3, 1e-9
"""Numbers of two fingerprints agree within this share of the larger, or this difference: last digits are the machine's."""


def names() -> list[str]:
    """Every benchmark, by name: the modules here that define `run`."""
    return [path.stem for path in sorted(FOLDER.glob("*.py")) if "run" in defined(path.stem)]


def defined(name: str) -> set[str]:
    """The functions and constants of a module, read without importing it."""
    found: set[str] = set()
    for node in ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def kind(name: str) -> str:
    """Whether a benchmark's results hold accuracy, or speed alone."""
    found = defined(name) & {"fingerprint", "SPEED"}
    if len(found) != 1:
        raise ValueError(
            f"benchmarks/{name}.py defines {' and '.join(sorted(found)) or 'neither fingerprint() nor SPEED'}, so nobody could tell whether "
            "its numbers are stale; define fingerprint() where the code's numbers decide any of its results, and SPEED = True elsewhere."
        )
    return "accuracy" if found == {"fingerprint"} else "speed"


def command(name: str) -> str:
    """What records this benchmark again."""
    if "COMMAND" in defined(name):
        return str(importlib.import_module(f"benchmarks.{name}").COMMAND)
    return f"python -m benchmarks {name}"


def result_path(name: str) -> Path:
    """Where a benchmark's results are kept."""
    return RESULTS / f"{name}.json"


def kept(name: str) -> dict[str, Any] | None:
    """The record of a benchmark, or None."""
    path = result_path(name)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def fingerprint(name: str) -> Any:
    """The fingerprint of today's code; None of a benchmark of speed alone."""
    if kind(name) == "speed":
        return None
    return plain(importlib.import_module(f"benchmarks.{name}").fingerprint(), digits=5)


def record(name: str) -> dict[str, Any]:
    """Run a benchmark and write its results."""
    import numpy as np

    commit, print_ = head(), fingerprint(name)
    start = time.perf_counter()
    results = importlib.import_module(f"benchmarks.{name}").run()
    seconds = time.perf_counter() - start
    if head() != commit:
        raise RuntimeError(f"The checkout changed while benchmark {name} ran; its numbers belong to neither version.")
    document = {
        "benchmark": name,
        "command": command(name),
        "date": today(),
        "commit": commit,
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": {"cores": os.cpu_count(), "architecture": platform.machine(), "system": platform.system()},
        "fingerprint": print_,
        "results": plain(results),
    }
    write(document)
    return document


def write(document: dict[str, Any]) -> None:
    """Keep a record."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    result_path(document["benchmark"]).write_text(text, encoding="utf-8")


def stale(name: str, now: Any = None) -> str:
    """Why a benchmark's recorded accuracy is not that of today's code, of which `now` is the fingerprint; empty when it is."""
    now, recorded = fingerprint(name) if now is None else now, kept(name)
    if recorded is None:
        return f"benchmarks/results/{name}.json is not there"
    if now is None:
        return ""
    if recorded.get("fingerprint") is None:
        return "it was recorded before fingerprints were"
    apart = list(differences(recorded["fingerprint"], now))
    return f"{apart[0]}{f', and {len(apart) - 1} more' if len(apart) > 1 else ''}" if apart else ""


def differences(then: Any, now: Any, place: str = "") -> Iterator[str]:
    """Where two fingerprints differ by more than last digits."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in [*then, *(key for key in now if key not in then)]:
            yield from differences(then.get(key), now.get(key), f"{place}.{key}" if place else key)
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, pair in enumerate(zip(then, now, strict=True)):
            yield from differences(*pair, f"{place}[{number}]")
    elif not _same(then, now):
        yield f"{place} was {then!r} and is {now!r}"


def _same(then: Any, now: Any) -> bool:
    if isinstance(then, float) and isinstance(now, float | int) and not isinstance(now, bool):
        return math.isclose(then, now, rel_tol=NEAR, abs_tol=TINY)
    return bool(then == now) and isinstance(then, bool) == isinstance(now, bool)


def today() -> str:
    """The date, in UTC."""
    return datetime.now(UTC).date().isoformat()


def head() -> str | None:
    """The commit that is measured, with a plus where the code of the working tree differs from it; None outside a checkout."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    if found.returncode:
        return None
    words = [*git, "status", "--porcelain", "--", "*.py"]
    changed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return found.stdout.strip() + ("+" if changed else "")


def plain(value: Any, digits: int = 6) -> Any:
    """A JSON-ready value, numbers rounded to significant digits; what is not finite is null."""
    if isinstance(value, dict):
        return {str(key): plain(one, digits) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist(), digits)
    if isinstance(value, list | tuple):
        return [plain(one, digits) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    return value
