"""Every planted bug is caught, by a test that passes without it; and planting neither breaks the library nor leaves a trace."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.planted.bug import ROOT, SOURCE, Bug
from tests.planted.bugs import BUGS, named
from tests.planted.bugs.durability import DURABILITY
from tests.planted.bugs.keeping import KEEPING
from tests.planted.bugs.rims import RIMS
from tests.planted.nursery import Nursery
from tests.sampling import chosen

USUAL = "tests/planted/test_usual.py"


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


LATE = {bug.name for bug in (*DURABILITY, *KEEPING, *(bug for place, bug in enumerate(RIMS) if place % 4))}
"""For the long tests: those that start servers or wait, and most of those of which many are caught by one law."""
EARLY = [bug for bug in BUGS if bug.name not in LATE]
OF_EACH_ROOM = {EARLY[place].name for place in chosen(EARLY, lambda bug: bug.module.partition(".")[0], "planted")}
"""Fast: that bugs are planted and caught is seen on one of each room."""
TIERED = [pytest.param(bug, id=bug.name, marks=[pytest.mark.slow] * (bug.name not in OF_EACH_ROOM)) for bug in BUGS]


@pytest.mark.few(2)
@pytest.mark.parametrize("bug", TIERED)
def test_a_bug_is_caught(bug: Bug, nursery: Nursery) -> None:
    """By the first of its tests, which is the quickest."""
    found = nursery.run(bug, bug.caught_by[:1])
    assert found.caught, f"{bug.wrong} Nobody noticed. {found.fault}\n{found.output}"


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_each_of_its_tests_catches_a_bug_and_passes_without_it(bug: Bug, nursery: Nursery) -> None:
    """In full: the quick suite runs the first of them, and with the bug alone."""
    for test in bug.caught_by:
        found = nursery.run(bug, (test,))
        assert found.caught, f"{bug.wrong} {test} did not notice. {found.fault}\n{found.output}"
        without = nursery.run(replace(bug, new=bug.old), (test,))
        assert without.clean, f"{test} fails without the bug. {without.fault}\n{without.output}"


def test_there_are_many_bugs_and_each_is_written_in_full() -> None:
    assert len(BUGS) >= 30
    assert not [name for name, times in Counter(bug.name for bug in BUGS).items() if times > 1]
    for bug in BUGS:
        assert bug.wrong.endswith(".")
        assert bug.caught_by
        assert all((ROOT / test.partition("::")[0]).exists() for test in bug.caught_by)


def test_every_bug_is_caught_by_a_fast_test() -> None:
    """One of its tests at least is not marked slow as a whole; of cases `sampling.few` keeps those that bugs name first."""
    slow: dict[str, set[str]] = {}
    for file in {test.partition("::")[0] for bug in BUGS for test in bug.caught_by}:
        text = (ROOT / file).read_text(encoding="utf-8")
        tree, whole = ast.parse(text), "pytestmark = pytest.mark.slow" in text.splitlines()
        tests = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        slow[file] = {
            test.name for test in tests if whole or "pytest.mark.slow" in map(ast.unparse, test.decorator_list)
        }
    late = [
        bug.name
        for bug in BUGS
        if all(test.partition("[")[0].partition("::")[2] in slow[test.partition("::")[0]] for test in bug.caught_by)
    ]
    assert not late


def test_a_refactoring_does_not_disarm_a_bug() -> None:
    """The right text is found once, and what stands in its place is another program."""
    lost, disarmed = [], []
    for bug in BUGS:
        try:
            planted = bug.source()
        except (LookupError, OSError) as error:
            lost.append(str(error))
        else:
            disarmed += [bug.name] if _one_program(bug.path.read_text(encoding="utf-8"), planted) else []
    assert not lost, "\n".join(lost)
    assert not disarmed


@cache
def _statements(text: str) -> list[tuple[int, int]]:
    """The first and the last line of each statement of a module, decorators included, counted from 0."""
    body = ast.parse(text).body
    starts = [min([one.lineno, *(each.lineno for each in getattr(one, "decorator_list", ()))]) for one in body]
    return [(start - 1, one.end_lineno or start) for start, one in zip(starts, body, strict=True)]


def _one_program(text: str, other: str) -> bool:
    """Whatever the comments and spaces of two modules; statements before and after all that differs are not read again, but for the nearest."""
    one, two = text.split("\n"), other.split("\n")
    least = min(len(one), len(two))
    begin = next((place for place in range(least) if one[place] != two[place]), least)
    end = next((place for place in range(least - begin) if one[~place] != two[~place]), least - begin)
    start = max((first for first, _ in _statements(text) if first < begin), default=0)
    left = len(one) - min((last for first, last in _statements(text) if first >= len(one) - end), default=len(one))
    trees = [ast.parse("\n".join(lines[start : len(lines) - left])) for lines in (one, two)]
    return ast.dump(trees[0]) == ast.dump(trees[1])


def test_programs_are_told_apart_by_more_than_their_texts() -> None:
    text = "x = 1\ny = 2  # two\nz = 3\n"
    assert _one_program(text, "x = 1\n\ny = (2)\nz = 3\n")
    for other in ("x = 1\ny = 2\nz = 4\n", "x = 1\ny = 2\n", f"{text}w = 4\n", f"v = 0\n{text}"):
        assert not _one_program(text, other)


def test_a_bug_names_nothing_that_its_module_does_not_know(tmp_path: Path) -> None:
    """A NameError is caught by anything: it would be no bug of the kind that is meant."""
    for number, bug in enumerate(BUGS):
        (tmp_path / f"{number}.py").write_text(bug.source(), encoding="utf-8")
    words = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_text_that_is_not_there_is_an_error_that_says_so() -> None:
    for old in ("no such text", "import"):
        with pytest.raises(LookupError, match="must occur once"):
            replace(BUGS[0], old=old).source()


def test_a_package_can_be_planted_too_and_what_was_not_run_is_no_verdict(nursery: Nursery) -> None:
    package = Bug("x", "x.", "noise", "__all__ = [", 'raise RuntimeError("planted")\n__all__ = [', (USUAL,))
    assert "planted" in nursery.run(package, package.caught_by).output
    missing = nursery.run(None, (f"{USUAL}::test_that_is_not_there",))
    assert missing.fault
    assert not missing.caught
    assert not missing.clean


@pytest.mark.slow
def test_a_failure_counts_though_the_run_dies_after_it_and_a_death_without_one_is_no_verdict(nursery: Nursery) -> None:
    """A bug that has memory corrupted was caught or not, as the heap had it: the verdict was written at the very end."""
    dying = (
        "import os\nimport _pytest.terminal\n_pytest.terminal.TerminalReporter.summary_stats = lambda _: os.abort()\n"
    )
    kept = "__all__ = ["
    dies = Bug("x", "x.", "noise", kept, dying + kept, (USUAL,))
    died = nursery.run(dies, dies.caught_by)
    assert died.fault == "the run ended with -6"
    assert not died.caught
    found = nursery.run(replace(dies, new=f'{dying}raise RuntimeError("planted")\n'), dies.caught_by)
    assert found.caught, found.output


@pytest.mark.slow
def test_kernels_that_others_compile_in_are_planted_and_kept_apart(nursery: Nursery) -> None:
    bug = Bug(
        "kernel without a clip",
        "The derivative that every kernel compiles in is not clipped.",
        "losses.kernels",
        old="    return min(max(d, -clip), clip)",
        new="    return d",
        caught_by=("tests/curator/test_gradient.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity",),
    )
    assert nursery.run(bug, bug.caught_by).caught
    assert nursery.run(None, bug.caught_by, whole=True).clean


@pytest.mark.slow
def test_nothing_is_written_beside_the_sources(nursery: Nursery) -> None:
    kernels = named("features not clipped")
    kept = {path: path.stat().st_mtime_ns for path in SOURCE.rglob("__pycache__/*kernels*scale_numeric*")}
    assert nursery.run(kernels, kernels.caught_by[:1]).caught
    assert {path: path.stat().st_mtime_ns for path in SOURCE.rglob("__pycache__/*kernels*scale_numeric*")} == kept


def test_the_bugs_can_be_listed() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.planted"], cwd=ROOT, check=True, capture_output=True, text=True)
    assert len(done.stdout.splitlines()) == len(BUGS)
