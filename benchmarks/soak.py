"""The long tests (`make soak`): run, and recorded with the code that they passed on."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

SOURCES = [
    "src/hullabaloo",
    "tests/audit",
    "tests/cli",
    "tests/curator",
    "tests/data",
    "tests/fuzz",
    "tests/geometry",
    "tests/ledger",
    "tests/linear_model",
    "tests/model_selection",
    "tests/noise",
    "tests/planted",
    "tests/quadratic",
    "tests/replay",
    "tests/solvers",
    "tests/streaming",
]


def run() -> dict[str, Any]:
    """Every test marked slow, with its outcome and seconds; a failure is raised and nothing is recorded."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "soak.xml"
        words = ["-n", "2", "--dist", "worksteal", "-m", "slow", "-q", f"--junitxml={report}"]
        done = subprocess.run([sys.executable, "-m", "pytest", *words], check=False)
        if done.returncode != 0:
            raise RuntimeError(f"The long tests failed (pytest ended with {done.returncode}); nothing is recorded.")
        cases = ElementTree.parse(report).getroot().iter("testcase")
        found = {
            f"{case.get('classname')}::{case.get('name')}": {
                "outcome": "skipped" if case.find("skipped") is not None else "passed",
                "seconds": float(case.get("time", "0")),
            }
            for case in cases
        }
    return {"passed": sum(one["outcome"] == "passed" for one in found.values()), "tests": found}
