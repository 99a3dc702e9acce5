"""However a server freezes, a ledger's call ends within its patience: a deadline on this side, which asks nobody."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from sqlalchemy import Engine, event

from hullabaloo.errors import LedgerUnreachable
from hullabaloo.ledger import Ledger, backend, postgres
from hullabaloo.ledger.backend import Deadline
from hullabaloo.privacy import Budget, SelectionEvent

PATIENCE = 1.0
PART = Budget(0.01, 0.0)


def charge(ledger: Ledger) -> int:
    return ledger.charge("clinic", SelectionEvent(0.01), budget=PART, neighbours="replace-one", what="test").number


def begin(ledger: Ledger) -> int:
    return ledger.open_stream(
        "clinic", "s1", SelectionEvent(0.01), budget=PART, neighbours="replace-one", what="test"
    ).number


def advance(ledger: Ledger) -> int:
    return ledger.advance("clinic", "s0", position=1, token="one", previous="s0").position


CALLS: dict[str, Callable[[Ledger], object]] = {
    "charge": charge,
    "open_stream": begin,
    "advance": advance,
    "create": lambda ledger: ledger.create("other", Budget(1.0, 0.0)),
    "upgrade": Ledger.upgrade,
    "remaining": lambda ledger: ledger.remaining("clinic"),
    "verify": Ledger.verify,
}


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextmanager
def freezing(when: str) -> Iterator[list[int]]:
    """Stop the server's process before the call's second statement, its commit or its rollback."""
    stopped: list[int] = []

    def stop(connection: object, cursor: object = None, *_: object) -> None:
        nonlocal asked
        asked += 1
        if not stopped and asked >= (2 if when == "before_cursor_execute" else 1):
            info = connection.connection.dbapi_connection.info  # type: ignore[attr-defined]
            stopped.append(info.backend_pid)
            os.kill(stopped[0], signal.SIGSTOP)

    asked = 0
    event.listen(Engine, when, stop)
    try:
        yield stopped
    finally:
        event.remove(Engine, when, stop)
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.fixture
def opened(postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    from pg_cluster import fresh_schema

    if "HULLABALOO_TEST_POSTGRES" in os.environ:
        pytest.skip("the server in HULLABALOO_TEST_POSTGRES is not this test's to freeze")
    with fresh_schema(postgres_server) as url:
        ledger = Ledger(url)
        ledger.create("clinic", Budget(1.0, 1e-6))
        ledger.open_stream("clinic", "s0", SelectionEvent(0.01), budget=PART, neighbours="replace-one", what="test")
        monkeypatch.setattr(backend, "PATIENCE_S", PATIENCE)
        yield ledger


def ends_in_time(act: Callable[[], object]) -> str:
    before = threading.active_count()
    started = time.monotonic()
    with pytest.raises(LedgerUnreachable) as caught:
        act()
    assert time.monotonic() - started < PATIENCE + 1.0
    assert threading.active_count() == before
    return str(caught.value)


@pytest.mark.postgres
@pytest.mark.timeout(15)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.few(2)
def test_a_server_that_freezes_at_a_statement_is_given_up(opened: Ledger, name: str) -> None:
    """A frozen backend kept a charge waiting for as long as it was frozen."""
    with freezing("before_cursor_execute") as stopped:
        said = ends_in_time(lambda: CALLS[name](opened))
        assert stopped
    assert "no answer came within 1 s" in said
    assert "may have been recorded" not in said
    assert "Nothing was read from the data" in said
    assert charge(opened) == 2


@pytest.mark.postgres
@pytest.mark.timeout(15)
@pytest.mark.parametrize("name", ["charge", "advance"])
@pytest.mark.few(1)
def test_a_server_that_freezes_at_the_commit_may_have_recorded_it(opened: Ledger, name: str) -> None:
    with freezing("commit") as stopped:
        said = ends_in_time(lambda: CALLS[name](opened))
        assert stopped
    assert "failed at the commit" in said
    assert "may have been recorded all the same: look at the log" in said
    assert charge(opened) in (2, 3)


@pytest.mark.postgres
@pytest.mark.timeout(15)
@pytest.mark.parametrize(
    "act", [lambda one: one.remaining("nobody"), lambda one: one.charge.__self__.dataset("nobody")]
)
@pytest.mark.few(1)
def test_a_server_that_freezes_at_a_rollback_is_given_up(opened: Ledger, act: Callable[[Ledger], object]) -> None:
    with freezing("rollback") as stopped:
        ends_in_time(lambda: act(opened))
        assert stopped


@pytest.mark.postgres
@pytest.mark.timeout(60)
def test_a_server_that_accepts_and_never_answers_is_given_up(opened: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system accepts connections for a process that is stopped; libpq waits at least two seconds."""
    import psycopg

    monkeypatch.setattr(backend, "PATIENCE_S", 2.0)
    with psycopg.connect(opened.url.replace("+psycopg", "")) as connection:
        with open(f"/proc/{connection.info.backend_pid}/stat") as stat:
            postmaster = int(stat.read().rpartition(") ")[2].split()[1])
        with frozen(postmaster):
            started = time.monotonic()
            with pytest.raises(LedgerUnreachable, match="failed at opening it"):
                charge(opened)
            assert time.monotonic() - started < 3.0
    assert charge(opened) == 2


@pytest.mark.postgres
def test_answers_that_are_each_in_time_are_not_waited_for_together(opened: Ledger) -> None:
    """A charge has its patience once, and not for each of its statements."""

    def slow(*_: object) -> None:
        time.sleep(PATIENCE / 2)

    event.listen(Engine, "before_cursor_execute", slow)
    try:
        with pytest.raises(LedgerUnreachable, match="no answer came within"):
            charge(opened)
    finally:
        event.remove(Engine, "before_cursor_execute", slow)
    assert charge(opened) > 1


@pytest.mark.postgres
def test_a_connection_waits_no_longer_than_it_must_and_as_little_as_its_user_says(postgres_server: str) -> None:
    from sqlalchemy import make_url

    assert [postgres.stricter(given, 10) for given in (None, "", "0", "-1", "nan", "3", 3, "60", "inf")] == [
        10, 10, 10, 10, 10, 3, 3, 10, 10,
    ]  # fmt: skip
    url = make_url(Ledger(postgres_server).url).update_query_dict({"tcp_user_timeout": "1500", "keepalives": "0"})
    engine = postgres.Postgres().engine(postgres_address(str(url.render_as_string(False))), may_create=False)
    with Deadline(time.monotonic() + 60), engine.connect() as connection:
        used = connection.connection.dbapi_connection.info.get_parameters()
    assert used["tcp_user_timeout"] == "1500"
    assert {name: used[name] for name in ("keepalives_idle", "keepalives_interval", "connect_timeout")} == {
        "keepalives_idle": "10", "keepalives_interval": "5", "connect_timeout": "10",
    }  # fmt: skip
    assert used.get("keepalives", "1") == "1"


def postgres_address(url: str) -> object:
    from hullabaloo.ledger.address import parse

    return parse(url)


def test_nothing_runs_out_between_statements_of_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` may think for minutes; what is bounded is the wait for an answer."""
    import socket

    monkeypatch.setattr(backend, "PATIENCE_S", 0.05)
    here, there = socket.socketpair()
    with here, there:
        with Deadline(None) as limit:
            limit.watch(here.fileno())
            limit.answered()
            time.sleep(0.2)
            assert not limit.expired
            there.sendall(b"x")
            assert here.recv(1) == b"x"
            limit.waiting()
            assert here.recv(1) == b""
        assert limit.expired
        with Deadline(time.monotonic() + 60) as whole:
            whole.answered()
            assert whole.left() > 50
    assert "hullabaloo ledger deadline" not in {thread.name for thread in threading.enumerate()}


def test_threads_that_wait_for_each_other_do_not_wait_for_ever(
    sqlite_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hullabaloo.ledger import sqlite

    sqlite_ledger.create("clinic", Budget(1.0, 1e-6))
    monkeypatch.setattr(backend, "PATIENCE_S", 0.3)
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(ends_in_time(lambda: charge(sqlite_ledger))))
    with sqlite._turn:
        thread.start()
        thread.join(10)
    assert not thread.is_alive()
    assert "other threads of this process" in said[0]
    assert charge(sqlite_ledger) == 1
