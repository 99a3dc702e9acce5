"""`make soak`: run the long tests, and write one line each in `tests/soaked.json` of what passed, when and on which commit.

`python -m tests.soak [NAME…]` runs the named ones. A run that fails writes nothing, and ends with status 1.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks import listing, record

FAULTS = "tests/data/engines/test_faults.py"
FUZZ = "tests/fuzz/test_doors.py::test_many_more_inputs"
RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "long": (
        "every test marked slow but those below",
        ("tests", "--ignore=tests/planted", f"--ignore={FAULTS}", f"--deselect={FUZZ}"),
    ),
    "planted": ("planted bugs by each test that is named for them, and a thousand clean runs", ("tests/planted",)),
    "faults": (
        "200 workers of Dask, 20 executors of Spark and 60 drivers killed at random instants of fits",
        (FAULTS,),
    ),
    "fuzz": ("half a million inputs of garbage from each of two public seeds", (FUZZ,)),
}
"""By name: what is run, and where pytest finds it."""


def soak(name: str) -> bool:
    """Run one of `RUNS`, and write its line if it passed."""
    what, where = RUNS[name]
    commit, start = record.head(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "soak.xml"
        words = ["-n", "2", "--dist", "worksteal", "-m", "slow", "-q", f"--junitxml={report}", *where]
        if subprocess.run([sys.executable, "-m", "pytest", *words], cwd=record.ROOT, check=False).returncode:
            return False
        passed, counts = count(report), counted(report)
    line = {"record": name, "what": what, "date": record.today(), "commit": commit, "passed": passed}
    line["seconds"] = round(time.perf_counter() - start, 1)
    write({**line, "counts": counts} if counts else line)
    return True


def count(report: Path) -> int:
    """How many tests of a JUnit file passed."""
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    return sum(all(case.find(bad) is None for bad in ("skipped", "failure", "error")) for case in cases)


def counted(report: Path) -> dict[str, Any]:
    """What tests of a JUnit file counted, by their names: those that recorded a property "counts"."""
    cases = ElementTree.parse(report).getroot().iter("testcase")
    found = {str(case.get("name")): case.find("properties/property[@name='counts']") for case in cases}
    return {name: json.loads(one.get("value", "")) for name, one in found.items() if one is not None}


def write(line: dict[str, object]) -> None:
    """Put a line in the place of the one of its name."""
    lines = {one["record"]: one for one in listing.soaked()} | {str(line["record"]): line}
    text = ",\n".join(json.dumps(one, ensure_ascii=False) for _, one in sorted(lines.items()))
    listing.SOAKED.write_text(f"[\n{text}\n]\n", encoding="utf-8")


def main(asked: list[str]) -> int:
    """Run what was asked for, or everything."""
    unknown = [name for name in asked if name not in RUNS]
    if unknown:
        print(f"There is no run {unknown[0]!r} of long tests; there are {', '.join(RUNS)}.", file=sys.stderr)
        return 2
    failed = [name for name in asked or RUNS if not soak(name)]
    for name in failed:
        print(f"{name} failed; its line in tests/soaked.json is as it was.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
