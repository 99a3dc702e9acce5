"""Every public write and read of a ledger, and what may be found after one that ended anyhow."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hullabaloo.ledger import Ledger
from hullabaloo.privacy import Budget, SelectionEvent

PART = Budget(1e-6, 0.0)
SENTENCE_OF_THE_COMMIT = "may have been recorded all the same"


@dataclass(frozen=True, slots=True)
class Operation:
    """A write, and how often its effect is found.

    Attributes:
        act: does it, for the n-th time; a read ignores n.
        found: how many times the effect of the n-th is there: 0 or 1, and never 2.
    """

    act: Callable[[Ledger, int], Any]
    found: Callable[[Ledger, int], int]


def prepare(ledger: Ledger) -> Ledger:
    """A dataset and a stream, in both of which there is room, and every import done."""
    ledger.create("clinic", Budget(1.0, 1e-6))
    begin(ledger, "s")
    for one in OPERATIONS.values():
        one.act(ledger, 0)
        assert one.found(ledger, 0) == 1
    return ledger


def charge(ledger: Ledger, n: int = 0) -> int:
    return ledger.charge(
        "clinic", SelectionEvent(1e-6), budget=PART, neighbours="replace-one", what=f"charge {n}", who="a test"
    ).number


def begin(ledger: Ledger, stream: str) -> int:
    return ledger.open_stream(
        "clinic", stream, SelectionEvent(1e-6), budget=PART, neighbours="replace-one", what=stream, who="a test"
    ).number


def _step(ledger: Ledger, n: int) -> int:
    now = ledger.stream("clinic", "s")
    return ledger.advance("clinic", "s", position=n, token=f"save {n}", previous=now.token).position


def _charged(ledger: Ledger, what: str) -> int:
    return sum(row.what == what for row in ledger.charges("clinic"))


def _streamed(ledger: Ledger, n: int) -> int:
    rows, streams = _charged(ledger, f"stream {n}"), [one.stream for one in ledger.streams("clinic")]
    assert rows == streams.count(f"stream {n}"), "a stream without its charge, or a charge without its stream"
    return rows


OPERATIONS: dict[str, Operation] = {
    "create": Operation(
        lambda ledger, n: ledger.create(f"table {n}", PART, who="a test").name,
        lambda ledger, n: sum(one.name == f"table {n}" for one in ledger.datasets()),
    ),
    "charge": Operation(charge, lambda ledger, n: _charged(ledger, f"charge {n}")),
    "open_stream": Operation(lambda ledger, n: begin(ledger, f"stream {n}"), _streamed),
    "advance": Operation(_step, lambda ledger, n: int(ledger.stream("clinic", "s").token == f"save {n}")),
}
READS: dict[str, Callable[[Ledger], Any]] = {
    "remaining": lambda ledger: ledger.remaining("clinic").charges,
    "check": lambda ledger: ledger.check("clinic", SelectionEvent(1e-6), budget=PART, neighbours="replace-one").cost,
    "charges": lambda ledger: len(ledger.charges("clinic")),
    "dataset": lambda ledger: ledger.dataset("clinic").charges,
    "datasets": lambda ledger: len(ledger.datasets()),
    "stream": lambda ledger: ledger.stream("clinic", "s").token,
    "streams": lambda ledger: len(ledger.streams("clinic")),
    "verify": lambda ledger: json.dumps(ledger.verify().status),
}


def numbered(ledger: Ledger) -> int:
    """The numbers of all charges follow each other, and the ledger is sound; how many there are."""
    numbers = [row.number for row in ledger.charges("clinic")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert ledger.dataset("clinic").charges == len(numbers)
    return len(numbers)
