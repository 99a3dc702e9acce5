"""Whatever becomes of standard output and standard error: no traceback, an exit code that is true, and the work is done as before.

A traceback shows what an error came from, whose words may be a record's or a ledger's.
"""

import errno
import io
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from hullabaloo.cli.app import app
from tests.laws.text_doors import LINES

MACHINE = 4


class Lost(io.StringIO):
    """A stream that fails when it is written to, or when what was written is to be handed on."""

    def __init__(self, number: int, *, late: bool) -> None:
        super().__init__()
        self._number, self._late = number, late

    def write(self, text: str) -> int:
        return len(text) if self._late else self._fail()

    def flush(self) -> None:
        self._fail()

    def _fail(self) -> int:
        raise OSError(self._number, os.strerror(self._number))


WAYS = list(product((errno.ENOSPC, errno.EPIPE, errno.EBADF), (False, True), ("stdout", "stderr", "both")))
WORDS = {name: line.replace("TABLE", "sound.csv").split() for name, line in LINES.items()}
WORDS |= {"nothing": ["nowhere"], "no option": ["price", "--nowhere"], "no model": ["card", "nowhere.json"]}


def ended(words: list[str]) -> int:
    """The exit code; every other way to end fails the test."""
    Path("c.db").unlink(missing_ok=True)
    with pytest.raises(SystemExit) as caught:
        app([*words], prog_name="hullabaloo")
    assert isinstance(caught.value.code, int)
    return int(caught.value.code)


def disturbed(words: list[str], way: tuple[int, bool, str], patch: pytest.MonkeyPatch) -> int:
    number, late, which = way
    with patch.context() as streams:
        for name in ("stdout", "stderr"):
            streams.setattr(sys, name, Lost(number, late=late) if which in (name, "both") else io.StringIO())
        return ended(words)


QUICK = ("price", "evaluate", "nothing", "no option", "no model")
"""With all ways among them: each takes every fifth."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in WORDS]
)
def test_nobody_hears_a_traceback(name: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --json, and standard output on a full disk, the error that could not be told was shown as a traceback; a pipe without a reader ended a fit as if nothing was spent."""
    ways = {"demo": WAYS[:1]}.get(name, WAYS[QUICK.index(name) :: 5] if name in QUICK else WAYS[::4])
    for more in ([], ["--json"]):
        words = [*WORDS[name], *more]
        with monkeypatch.context() as streams:
            out = io.StringIO()
            streams.setattr(sys, "stdout", out)
            streams.setattr(sys, "stderr", io.StringIO())
            undisturbed = ended(words)
        for way in ways:
            wanted = {undisturbed, MACHINE} if out.getvalue() and way[2] != "stderr" else {undisturbed}
            assert disturbed(words, way, monkeypatch) in wanted, (words, way)


def test_an_error_with_a_record_in_it_is_not_shown_where_nobody_can_be_told(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("Berg, 47")

    monkeypatch.setattr("hullabaloo.evaluate", fails)
    for more, way in product([[], ["--json"]], WAYS[::5]):
        assert disturbed([*WORDS["evaluate"], *more], way, monkeypatch) == MACHINE


@pytest.mark.few(1)
@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["stream", "periodic", "--help"]])
def test_help_of_which_the_first_lines_are_read_is_no_failure(words: list[str]) -> None:
    """`hullabaloo fit --help | head` ended with "Broken pipe. A charge that was made stays"."""
    command = [sys.executable, "-m", "hullabaloo", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 0


@pytest.mark.parametrize(
    "closed", ["both", *(pytest.param(one, marks=pytest.mark.slow) for one in ("stdout", "stderr"))]
)
def test_no_file_takes_the_place_of_a_stream_that_is_closed(closed: str, desk: Path) -> None:
    """Without standard output a command ended as by a fault of its own, its work done; the state file of a stream could have had its number."""
    spent = ["--epsilon", "50", "--delta", "1e-3", "--horizon", "40", "--every", "20"]
    words = ["stream", "sound.csv", "--domain", "d.toml", *spent, "--out", "o.json", "--state", "s.state"]
    held: dict[str, list[int]] = {"stdout": [1], "stderr": [2], "both": [1, 2]}
    done = subprocess.run([sys.executable, "-c", _CLOSED.format(held[closed], words)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads((desk / "o.json").read_text())
    assert not (desk / "s.state").read_bytes().endswith(b"\n")


_CLOSED = """
import os, sys
for number in {}:
    os.close(number)
os.execv(sys.executable, [sys.executable, "-m", "hullabaloo", *{}])
"""
