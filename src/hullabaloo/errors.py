"""Everything that Hullabaloo raises on purpose: one small tree, every message a full sentence.

An error says what was asked, what was found, why it matters and what to do. No message ever holds a value of a
record or anything computed from records: what is raised after the data has been read must not depend on it. A message
may quote what the caller passed; a password in an address among that is not repeated, wherever the address was put.
"""

import math
import re
from collections.abc import Iterator
from importlib import import_module
from numbers import Integral
from typing import Any, NoReturn, TypeGuard

_PORT = r"(?!\d+(?:[/?#\s'\",.;)]|$))"
_SCHEME = r"(?<![\w+.\-])[\w+.\-]+:/+[^\s:@/]*:"
_PASSWORDS = (
    re.compile(rf"{_SCHEME}{_PORT}(?P<secret>(?:(?!://)[^\n@]){{1,200}}(?:@\S*)?)@"),  # a password may hold blanks
    re.compile(rf"{_SCHEME}{_PORT}(?P<secret>[^\s@]++)(?!\S*@)"),  # an address that was cut off
    re.compile(r"(?i)passw(?:or)?d\w*\s*=\s*(?P<quote>['\"])(?P<secret>(?:\\.|(?!(?P=quote)).)+)"),  # may hold blanks
    re.compile(r"(?i)passw(?:or)?d\w*\s*=\s*['\"]?(?P<secret>[^&\s'\"]+)"),
)
_BEFORE_HOST = re.compile(r"(?<!\S)(?P<user>\S+)@")


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the passwords of addresses are."""
    for pattern in _PASSWORDS:
        for found in pattern.finditer(text):
            yield found.span("secret")
    for found in _BEFORE_HOST.finditer(text):
        user = found["user"]
        scheme = re.match(r"[^:@]*://+", user)
        colon = user.find(":", scheme.end() if scheme else 0)
        if colon >= 0:
            yield found.start() + colon + 1, found.end() - 1


def passwords_in(text: str) -> set[str]:
    """The passwords of the addresses in a text: `scheme://user:password@host`, with or without its scheme, and `password=…`."""
    return {text[start:stop] for start, stop in _spans(text) if stop > start}


def without_passwords(text: str) -> str:
    """The text with three stars for each password of `passwords_in`.

    >>> without_passwords("postgresql://ann:hush@host/db, postgresql://ann@host/db and redis://host:6379/0?password=hush")
    'postgresql://ann:***@host/db, postgresql://ann@host/db and redis://host:6379/0?password=***'
    """
    done, shown = 0, []
    for start, stop in sorted(_spans(text)):
        if stop > max(start, done):
            shown += [text[done:start], "***"] if start >= done else []
            done = stop
    return "".join([*shown, text[done:]])


class HullabalooError(Exception):
    """Base of every error raised on purpose by this library; its message repeats no password."""

    def __init__(self, *said: object) -> None:
        super().__init__(*(without_passwords(one) if isinstance(one, str) else one for one in said))


def bare(error: BaseException) -> NoReturn:
    """Raise an error without what it came from, which may hold a record: `from None` hides that from tracebacks, and keeps it."""
    try:
        raise error
    finally:
        error.__context__ = None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, for `object_pairs_hook`; one that has a key twice would be read one way here and another way elsewhere.

    Raises:
        ValueError: a key is there twice, which is not quoted.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object of JSON (at a key that is there twice)")
    return found


class InvalidParameter(HullabalooError, ValueError):
    """A public argument is outside its domain."""


class UnknownParameter(HullabalooError, TypeError):
    """A keyword was given that an estimator or a function does not have, or one that it needs was not."""


class DomainError(InvalidParameter):
    """A declared domain is incomplete or contradicts itself."""


class SchemaError(InvalidParameter):
    """A table's declared schema (column names, declared types, shape) does not match the domain."""


class MissingLibrary(SchemaError, ModuleNotFoundError):
    """A library that something asked for needs is not installed."""


def library(module: str, brought_by: str, what: str) -> Any:
    """A module of a library that the plain installation lacks, which `what` needs.

    Raises:
        MissingLibrary: it is not installed; names the package that brings it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:  # of the library, or of what it needs itself
        name = (error.name or module).partition(".")[0]
        missing = MissingLibrary(
            f'{what} needs the library {name}, which is not installed. Install it with: pip install "{brought_by}"'
        )
    missing.name = name
    raise missing


def is_whole(value: object, least: float = 1, most: float = math.inf) -> TypeGuard[int]:
    """Whether an argument is a whole number from `least` to `most`: Python's or NumPy's, and neither a truth value nor 2.0."""
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most


def as_whole(value: object, otherwise: str, least: float = 1, most: float = math.inf) -> int:
    """Give a whole number from `least` to `most` as Python's own, or refuse what is none with this sentence, in which it is `{!r}`."""
    if not is_whole(value, least, most):
        raise InvalidParameter(otherwise.format(value))
    return int(value)


class BudgetError(InvalidParameter):
    """A privacy budget is malformed, or cannot pay for what is asked."""


class CalibrationError(InvalidParameter):
    """No noise level can be certified for what is asked."""


class CapabilityError(HullabalooError, TypeError):
    """A solver was asked to work with a set, penalty or loss that lacks what it needs."""


class NotPaidFor(HullabalooError, RuntimeError):
    """The curator was asked for an answer that the plan did not pay for."""


class NotReleased(HullabalooError, RuntimeError):
    """Something was asked of a release that this release does not contain."""


class LedgerError(HullabalooError, RuntimeError):
    """Base of what a ledger refuses; nothing was read when it is raised."""


class LedgerUnreachable(LedgerError):
    """The ledger's database cannot be opened, read or written."""


class UnknownDataset(LedgerError):
    """The ledger holds no dataset of that name."""


class RelationRefused(LedgerError):
    """A charge was made under another neighbouring relation or unit than the dataset's."""


class EventRefused(LedgerError):
    """The dataset's filter cannot price this event."""


class BudgetExhausted(LedgerError):
    """The charge does not fit into what remains of the dataset's budget."""


class UnknownStream(LedgerError):
    """The ledger's dataset holds no stream of that name."""


class StreamMoved(LedgerError):
    """The stream went on from another save than the one at hand: an outdated copy, or a second process."""


class TestKeyRefused(LedgerError):
    """A release under a test key is not private and cannot be recorded as if it were."""

    __test__ = False


class StateError(HullabalooError, RuntimeError):
    """A stream's state file cannot be used: in use, damaged, foreign, outdated, readable by others, or not written."""


class NotPrivateWarning(UserWarning):
    """A number was computed from records without noise: it is the caller's to look at, and not to be released."""
