"""Parameters are declared for type checkers, too: a misspelled keyword is found before anything runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hullabaloo as hb

pytest.importorskip("mypy")
LINES = """import hullabaloo as hb
hb.Ridge(budget=hb.Budget(1.0, 1e-8), solver="moments")
hb.Ridge(bugdet=hb.Budget(1.0, 1e-8))
hb.streaming.IncrementalRegression(horizonn=3)
hb.PrivateSearchCV(hb.Ridge(), {}, holdouts=0.5)
"""


@pytest.mark.slow
def test_a_type_checker_finds_a_misspelled_keyword(tmp_path: Path) -> None:
    file = tmp_path / "lines.py"
    file.write_text(LINES)
    source = Path(hb.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}", str(file)],
        env={**os.environ, "MYPYPATH": str(source)}, cwd=source, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = {int(line.split(":")[1]) for line in run.stdout.splitlines() if "Unexpected keyword argument" in line}
    assert found == {3, 4, 5}, run.stdout
