"""Run a benchmark and keep what it found, with the command and a hash of the code that it measured.

A benchmark is a module of this package with two names: `SOURCES`, a literal list of the files and folders (relative to the
root of the repository) whose change makes the numbers stale, and `run()`, which returns JSON-ready results.
"""

import ast
import hashlib
import importlib
import json
import math
import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks"
RESULTS = FOLDER / "results"
NOT_BENCHMARKS = {"__init__", "__main__", "record"}


def names() -> list[str]:
    """Every benchmark, by name: the modules here that define `run`."""
    found = [path.stem for path in sorted(FOLDER.glob("*.py")) if path.stem not in NOT_BENCHMARKS]
    return [name for name in found if _defines_run(name)]


def sources(name: str) -> list[Path]:
    """The files whose contents the numbers depend on: the benchmark and its `SOURCES`, read without importing them."""
    module = FOLDER / f"{name}.py"
    listed = [module]
    for entry in _declared_sources(module):
        path = ROOT / entry
        if not path.exists():
            raise FileNotFoundError(
                f"benchmarks/{name}.py lists {entry!r} in SOURCES, and there is no such file or folder"
            )
        listed += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return sorted(set(listed))


def hashes(name: str) -> dict[str, str]:
    """A hash of each source, by path; line endings are normalised."""
    return {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()[:16]
        for path in sources(name)
    }


def source_hash(name: str) -> str:
    """One hash over all sources, in the order of their paths."""
    return hashlib.sha256(json.dumps(hashes(name), sort_keys=True).encode()).hexdigest()


def command(name: str) -> str:
    """What records this benchmark again."""
    return f"python -m benchmarks {name}"


def result_path(name: str) -> Path:
    """Where a benchmark's results are kept."""
    return RESULTS / f"{name}.json"


def record(name: str) -> dict[str, Any]:
    """Run a benchmark and write its results."""
    import numpy as np

    module = importlib.import_module(f"benchmarks.{name}")
    before = source_hash(name)
    start = time.perf_counter()
    results = module.run()
    seconds = time.perf_counter() - start
    if source_hash(name) != before:
        raise RuntimeError(
            f"The sources of benchmark {name} changed while it ran; its numbers belong to neither version."
        )
    document = {
        "benchmark": name,
        "command": command(name),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": {"cores": os.cpu_count(), "architecture": platform.machine(), "system": platform.system()},
        "source_hash": before,
        "sources": hashes(name),
        "results": _plain(results),
    }
    RESULTS.mkdir(exist_ok=True)
    result_path(name).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return document


def stale(name: str) -> str:
    """Why a benchmark's recorded numbers are not of today's code; empty when they are."""
    if not result_path(name).exists():
        return f"benchmarks/results/{name}.json is not there"
    recorded = json.loads(result_path(name).read_text(encoding="utf-8"))
    now = hashes(name)
    then = recorded.get("sources", {})
    changed = sorted(path for path in now.keys() | then.keys() if now.get(path) != then.get(path))
    if changed:
        return f"{', '.join(changed[:5])}{' and others' if len(changed) > 5 else ''} changed since it was recorded"
    return "" if recorded.get("source_hash") == source_hash(name) else "its hash is not the one of its sources"


def _commit() -> str | None:
    """The commit that was measured, with a plus where the working tree differs from it; None outside a checkout."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    if found.returncode:
        return None
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False).stdout
    return found.stdout.strip() + ("+" if changed else "")


def _declared_sources(module: Path) -> list[str]:
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if (
            any(isinstance(target, ast.Name) and target.id == "SOURCES" for target in targets)
            and node.value is not None
        ):
            return list(ast.literal_eval(node.value))
    raise ValueError(f"{module.name} has no literal SOURCES, so nobody could tell when its numbers are stale")


def _defines_run(name: str) -> bool:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
