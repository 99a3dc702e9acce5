"""All that anybody could hear of a call or of a command: messages, warnings, logs, tracebacks, answers and files."""

import io
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from hullabaloo.cli.app import app
from tests.commands import CliRunner
from tests.laws.text_doors import FITTED, LINES, commands, sound


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(1)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.getMessage()} {record.exc_text}")


def heard(call: Callable[[], Any]) -> tuple[str, str]:
    """What a refusal says, "" where there is none; and all that anybody could have heard."""
    log, out, refused = _Log(), io.StringIO(), ""
    root = logging.getLogger()
    every = [root, *(one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger))]
    levels = [(one, one.level) for one in every]
    for one in every:  # also those with a level of their own, as SQLAlchemy's; psycopg's says which host was not found
        one.setLevel(logging.WARNING if one.name.split(".")[0] in ("numba", "matplotlib", "psycopg") else 1)
    root.addHandler(log)
    try:
        with warnings.catch_warnings(record=True) as warned, redirect_stdout(out), redirect_stderr(out):
            warnings.simplefilter("always")
            try:
                out.write(repr(call()))
            except Exception as error:  # reason: whatever is raised is looked at
                refused = f"{type(error).__name__}: {error}"
                out.write("".join(traceback.format_exception(error)))
                for one in _chain(error):
                    out.write(
                        f"{one} {one!r} {one.args!r} {vars(one)} {getattr(one, 'doc', '')} {getattr(one, 'object', '')}"
                    )
    finally:
        root.removeHandler(log)
        for one, level in levels:
            one.setLevel(level)
    return refused, "\n".join([out.getvalue(), *log.said, *(str(one.message) for one in warned)])


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and all that it came from, whether a traceback would show it or not: who reports errors may send it away."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def furnish(folder: Path) -> None:
    """Put sound files into a folder: models, domains, a grid, a table."""
    FITTED.linear.save(folder / "m.json")
    FITTED.prepared.save(folder / "n.json")
    (folder / "d.toml").write_text(
        "target = { stay = [0, 30] }\nindicators = false\n[features]\nage = [0, 95]\nward = ['surgery', 'medicine']\n"
    )
    (folder / "n.toml").write_text("row_norm = 2.0\ntarget = [0, 30]\n")
    (folder / "g.toml").write_text("intercept = [true, false]\n")
    sound().to_csv(folder / "sound.csv", index=False)


def run(words: list[str]) -> tuple[int, str, str]:
    """The exit code, what is said on standard error, and all that is heard or left in files."""
    before = {path: path.stat().st_mtime_ns for path in Path().iterdir() if path.is_file()}
    ran: list[Any] = []
    _, everything = heard(lambda: ran.append(CliRunner().invoke(app, words, prog_name="hullabaloo", input="")))
    done = ran[0]
    assert done.exception is None or isinstance(done.exception, SystemExit), words
    left = [path for path in Path().iterdir() if path.is_file() and before.get(path) != path.stat().st_mtime_ns]
    written = [path.read_text(encoding="utf-8", errors="replace") for path in left]
    for path in set(left) - set(before):
        path.unlink()
    said = done.stderr or (done.stdout if '"ok": false' in done.stdout else "")
    return done.exit_code, said, "\n".join([everything, done.stdout, done.stderr, *written])


def positions(command: str, inner: Any) -> Iterator[list[str]]:
    """The command's line with WORD in the place of each argument and each option's value."""
    words = LINES[command].split()
    options = [one for one in inner.params if one.param_type_name == "option" and not one.is_flag]
    for place in range(len(command.split()), len(words)):
        if not words[place].startswith("--"):
            yield [*words[:place], "WORD", *words[place + 1 :]]
    for option in options:
        if option.opts[0] not in words:
            yield [*words, option.opts[0], "WORD"]
            yield [*words, f"{option.opts[0]}=WORD"]


def everywhere() -> list[list[str]]:
    """Such lines of all commands."""
    return [line for command, inner in commands() for line in positions(command, inner)]
