"""A driver that fails when it is told to: at the n-th statement, and at the commit before or after the database acts.

It stands between SQLAlchemy and sqlite3 or psycopg: their connections and cursors, with a fault in `execute` and `commit`.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import psycopg

STATEMENT, BEFORE_COMMIT, AFTER_COMMIT = "statement", "before the commit", "after the commit"


def _dropped(connection: Any, kind: Any) -> Exception:
    connection.close()
    return kind.OperationalError("the connection was lost")  # type: ignore[no-any-return]


FAULTS: dict[str, Callable[[Any, Any], Exception]] = {
    "an operational error": lambda _, kind: kind.OperationalError("disk I/O error"),
    "a database error": lambda _, kind: kind.DatabaseError("the page is damaged"),
    "an interface error": lambda _, kind: kind.InterfaceError("the driver does not know how to go on"),
    "a timeout": lambda *_: TimeoutError("timed out"),
    "a broken pipe": lambda *_: BrokenPipeError(32, "Broken pipe"),
    "a dropped connection": _dropped,
}


@dataclass(slots=True)
class Plan:
    """Where the driver fails, how, and what it met.

    Attributes:
        when: STATEMENT, BEFORE_COMMIT or AFTER_COMMIT.
        number: of the statement, counted from 1 since the plan was made; of a commit likewise.
        fault: a key of FAULTS; "" to count only.
        statements, commits: met so far.
        failed: whether it failed.
    """

    when: str
    number: int = 1
    fault: str = ""
    statements: int = 0
    commits: int = 0
    failed: bool = False

    def strike(self, when: str, number: int, connection: Any) -> None:
        if self.fault and not self.failed and (when, number) == (self.when, self.number):
            self.failed = True
            kind = sqlite3 if isinstance(connection, sqlite3.Connection) else psycopg
            raise FAULTS[self.fault](connection, kind)


def _watched(connection_class: Any, cursor_class: Any, plan: Plan) -> Any:
    class Cursor(cursor_class):  # type: ignore[misc]
        def execute(self, *words: Any, **more: Any) -> Any:
            plan.statements += 1
            plan.strike(STATEMENT, plan.statements, self.connection)
            return super().execute(*words, **more)

    class Connection(connection_class):  # type: ignore[misc]
        def __init__(self, *words: Any, **more: Any) -> None:
            super().__init__(*words, **more)
            self.cursor_factory = Cursor  # of psycopg

        def cursor(self, *words: Any, **more: Any) -> Any:
            return super().cursor(Cursor) if connection_class is sqlite3.Connection else super().cursor(*words, **more)

        def commit(self) -> None:
            plan.commits += 1
            plan.strike(BEFORE_COMMIT, plan.commits, self)
            super().commit()
            plan.strike(AFTER_COMMIT, plan.commits, self)

    return Connection


@contextmanager
def driver(plan: Plan) -> Iterator[Plan]:
    """Every connection that is made inside is watched."""
    on_file, on_server = (
        _watched(sqlite3.Connection, sqlite3.Cursor, plan),
        _watched(psycopg.Connection, psycopg.Cursor, plan),
    )
    connect = sqlite3.connect
    to_file = patch.object(sqlite3, "connect", lambda *words, **more: connect(*words, factory=on_file, **more))
    with patch.object(psycopg, "connect", on_server.connect), to_file:
        yield plan
