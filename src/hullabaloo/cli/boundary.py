"""The outer wall of the command line: every failure leaves as a sentence and an exit code, never as a traceback.

What the library raises on purpose is a sentence that holds nothing computed from records (see `hullabaloo.errors`); it
is shown as it is. Anything else may have been provoked by a record and its text may quote one, so it is *not* shown:
the user learns that the program failed, and how to see more on a machine where seeing records is allowed.
"""

import errno
import json
import os
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from enum import IntEnum
from typing import Any
from urllib.parse import unquote

from typer.core import TyperGroup

from hullabaloo.errors import HullabalooError, LedgerError, MissingLibrary, passwords_in, without_passwords


class ExitCode(IntEnum):
    """What a script can tell from the exit status."""

    OK = 0
    REFUSED = 1  # an argument, a domain, a budget or a table's declared schema is not acceptable; nothing was spent
    USAGE = 2  # the command line itself cannot be read
    LEDGER = 3  # the ledger refused, or cannot be reached; nothing was read
    MACHINE = 4  # a missing library, a full disk, a fault of this program
    FAULTS = 5  # `ledger verify` found rows that are not as they should be, or an audit did not pass
    INTERRUPTED = 130


STAYS = "A charge that was made stays."
STOPPED = f"Interrupted. {STAYS}"
DEBUG = "HULLABALOO_DEBUG"
OFF = {"", "0", "false", "no", "off"}
INTERNAL = (
    "Hullabaloo failed by its own fault or the machine's; why may depend on records, so it is not printed. A charge that was made stays "
    f"(`hullabaloo ledger log`). To see the traceback, which may quote records, run it again with {DEBUG}=1 where that is allowed."
)
MISPLACED = (
    "The command line holds an address with a password where none belongs, and what is wrong with it cannot be said without "
    "repeating a part of the password. Pass a ledger's address with --ledger or in HULLABALOO_LEDGER, its password in ~/.pgpass or PGPASSWORD."
)
SPELT = " (Written as in Python: errors='unit' is --errors unit here, inference=False --inference no, penalty=hb.L1Penalty(0.01) --penalty l1:0.01; see --help.)"


class Stopped(HullabalooError):
    """Work was stopped on request, and the sentence says what was saved."""


class Boundary(TyperGroup):
    """A command group whose `main` turns every exception into a message and an exit code."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run the command line `args` (default: the process's) and exit."""
        words = list(sys.argv[1:] if args is None else args)
        debug = os.environ.get(DEBUG, "").strip().lower() not in OFF
        with warnings.catch_warnings():
            if not debug:
                warnings.simplefilter("ignore")  # a library's warning can depend on values
            sys.exit(self._run(words, debug, extra))

    def _run(self, words: list[str], debug: bool, extra: dict[str, Any]) -> int:
        try:
            code = super().main(words, **extra | {"standalone_mode": False})
            sys.stdout.flush()  # what nobody was told is known here, not when the interpreter ends
        except KeyboardInterrupt:
            code = ExitCode.INTERRUPTED
        except SystemExit:  # Typer's word for a pipe whose reader is gone, which does not mean that nothing was spent
            gone = f"The machine refused: {os.strerror(errno.EPIPE)}. {STAYS}"
            return ExitCode.OK if "--help" in words else _say(ExitCode.MACHINE, "Machine", gone, words)
        except Exception as error:  # reason: no traceback may reach a user
            kind, status, sentence = described(error, words)
            if status is ExitCode.USAGE and not str(error.format_message()):  # type: ignore[attr-defined]
                return status  # a group of commands was named alone, and its help is shown
            if debug and status is ExitCode.MACHINE:
                raise
            return _say(status, kind, sentence, words)
        if code == ExitCode.INTERRUPTED:  # Typer turns an interrupt into this status without a word
            return _say(ExitCode.INTERRUPTED, "Interrupted", STOPPED, words)
        return code if isinstance(code, int) else ExitCode.OK


def described(error: Exception, words: Sequence[str] = ()) -> tuple[str, ExitCode, str]:
    """The kind of an error, its exit code, and the sentence for it; `words` are those of the command line."""
    if isinstance(error, HullabalooError):
        machine = (OSError, MissingLibrary)
        kinds = ((machine, ExitCode.MACHINE), (LedgerError, ExitCode.LEDGER), (Stopped, ExitCode.INTERRUPTED))
        code = next((code for kind, code in kinds if isinstance(error, kind)), ExitCode.REFUSED)
        spelt = SPELT * bool(re.search(r"\b\w+=(?:hb\.|'|True|False|None)", str(error)))
        return type(error).__name__, code, str(error) + spelt
    if hasattr(error, "format_message"):  # Typer's usage errors, whichever library it takes them from
        return "Usage", ExitCode.USAGE, _usage(error)
    if type(error).__name__ == "Abort":
        return "Interrupted", ExitCode.INTERRUPTED, STOPPED
    return _machine(error, words)


def _machine(error: Exception, words: Sequence[str]) -> tuple[str, ExitCode, str]:
    if isinstance(error, OSError) and error.errno:
        place = _place(str(error.filename or ""), words)
        return "Machine", ExitCode.MACHINE, f"The machine refused: {os.strerror(error.errno)}{place}. {STAYS}"
    if isinstance(error, MemoryError):
        return "Machine", ExitCode.MACHINE, f"The machine has not enough memory for this. {STAYS}"
    return "Internal", ExitCode.MACHINE, INTERNAL


def _place(file: str, words: Sequence[str]) -> str:
    """The word of the command line that a file is or lies in. Other names, of files found in a folder, are not the caller's."""
    given = {part for word in words for part in (word, word.partition("=")[2]) if part}
    named = [word for word in given if file == word or file.startswith((f"{word}.", f"{word.rstrip('/')}/"))]
    return f" ({max(named, key=len)})" if named else ""


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    command = f" See `{context.command_path} --help`." if context is not None else ""
    sentence = str(error.format_message()).replace("Value error, ", "")  # a word of a library that Typer asks
    sentence += "" if sentence.endswith((".", "?")) else "."
    if choice := re.search(r"'([^']*)' is not one of (.*)", sentence):
        near = get_close_matches(choice[1], re.findall(r"'([^']*)'", choice[2]), n=1)
        sentence += f" Did you mean {near[0]!r}?" if near else ""
    return sentence + command


def repeatable(sentence: str, words: Sequence[str]) -> str:
    """The sentence without passwords; another one where it still holds a part of one that stood on the command line."""
    shown = without_passwords(sentence)
    belongs = {i + 1 for i, word in enumerate(words) if word == "--ledger"}
    misplaced = [word for i, word in enumerate(words) if i not in belongs and not word.startswith("--ledger=")]
    secrets = {secret for word in misplaced for secret in passwords_in(word)}
    parts = {part for one in secrets for text in (one, unquote(one)) for part in re.findall(r"[^\W_]{3,}", text)}
    return MISPLACED if any(part.lower() in shown.lower() for part in parts) else shown


def _say(code: ExitCode, kind: str, sentence: str, words: list[str]) -> int:
    sentence = repeatable(sentence, words)
    with suppress(OSError, ValueError):  # where nobody can be told either, the exit code says it
        if "--json" in words:
            told = {"ok": False, "error": {"kind": kind, "message": sentence}, "exit_code": int(code)}
            print(json.dumps(told), flush=True)
            return int(code)
        from rich.text import Text

        from hullabaloo.cli.output import PlainConsole

        console = PlainConsole(stderr=True)
        headings = {ExitCode.USAGE: "Not understood: ", ExitCode.MACHINE: "Failed: ", ExitCode.INTERRUPTED: ""}
        message = Text.assemble((headings.get(code, "Refused: "), "bold red"), sentence)
        console.print(message, soft_wrap=not console.is_terminal)
    return int(code)
