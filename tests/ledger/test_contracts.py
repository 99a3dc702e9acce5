"""What a connection of a ledger really has, seen from inside its transactions and from outside of the process."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from operations import OPERATIONS, READS, charge, numbered, prepare
from sqlalchemy import Connection, Engine, NullPool, event
from tests import kill_points

from hullabaloo.ledger import Ledger, backend
from hullabaloo.privacy import Budget


@contextmanager
def asked_before(when: str, *questions: str) -> Iterator[list[tuple[Any, ...]]]:
    """What the connection answers at every commit (or rollback), inside the transaction."""
    answers: list[tuple[Any, ...]] = []

    def ask(connection: Connection) -> None:
        raw = connection.connection.dbapi_connection.cursor()  # type: ignore[union-attr]
        answers.append(tuple(str(raw.execute(question).fetchone()[0]) for question in questions))

    event.listen(Engine, when, ask)
    try:
        yield answers
    finally:
        event.remove(Engine, when, ask)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_write_to_a_file_flushes_everything_and_holds_the_lock_from_the_start(
    sqlite_ledger: Ledger, name: str
) -> None:
    prepare(sqlite_ledger)
    path = sqlite_ledger.url.removeprefix("sqlite:///")
    with asked_before("commit", "PRAGMA synchronous", "PRAGMA journal_mode", "PRAGMA locking_mode") as answers:
        OPERATIONS[name].act(sqlite_ledger, 1)
    assert answers[-1] == ("3", "delete", "normal")  # EXTRA
    assert sorted(one.name for one in Path(path).parent.iterdir()) == ["privacy.db"]


def statements_of(act: Callable[[], Any]) -> list[str]:
    met: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        met.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        act()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return met


def test_writers_take_the_lock_before_they_look_and_readers_take_none(sqlite_ledger: Ledger) -> None:
    """Whoever decides on what was read before the lock was held overspends."""
    import sqlite3

    prepare(sqlite_ledger)
    path = sqlite_ledger.url.removeprefix("sqlite:///")

    def may_write() -> str:
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            return str(error)
        return "free"

    seen: list[str] = []

    def look(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("SELECT"):
            seen.append(may_write())

    event.listen(Engine, "after_cursor_execute", look)
    try:
        for read in READS.values():
            read(sqlite_ledger)
        assert len(seen) > len(READS)
        assert set(seen) == {"free"}
        seen.clear()
        charge(sqlite_ledger)
        assert seen
        assert set(seen) == {"database is locked"}
    finally:
        event.remove(Engine, "after_cursor_execute", look)


@pytest.mark.postgres
def test_writes_on_a_server_are_durable_bounded_and_read_what_others_committed(postgres_ledger: Ledger) -> None:
    prepare(postgres_ledger)
    settings = ("transaction_isolation", "transaction_read_only", "synchronous_commit", "lock_timeout")
    for name, operation in OPERATIONS.items():
        with asked_before("commit", *(f"SHOW {setting}" for setting in settings)) as answers:
            operation.act(postgres_ledger, 7)
        isolation, read_only, durable, patience = answers[-1]
        assert (isolation, read_only, durable) == ("read committed", "off", "on"), name
        number, unit = re.fullmatch(r"(\d+)(ms|s|min)", patience).groups()  # type: ignore[union-attr]
        assert 50_000 <= int(number) * {"ms": 1, "s": 1_000, "min": 60_000}[unit] <= 60_000, name


@pytest.mark.postgres
def test_reads_on_a_server_see_one_instant_and_can_write_nothing(postgres_ledger: Ledger) -> None:
    """Verification at READ COMMITTED would compare sums of one instant with rows of another."""
    prepare(postgres_ledger)
    for name, read in READS.items():
        with asked_before("commit", "SHOW transaction_isolation", "SHOW transaction_read_only") as answers:
            read(postgres_ledger)
        assert answers, name
        assert set(answers) == {("repeatable read", "on")}, name


def test_no_connection_is_open_between_transactions(ledger: Ledger) -> None:
    """One that is kept is shared by a fork, or holds a lock of a file that another one replaced."""
    from hullabaloo.ledger import transact

    prepare(ledger)

    def held() -> list[str]:
        found = []
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # of the listing itself
                found.append(os.readlink(f"/proc/self/fd/{number}"))
        return sorted(one for one in found if "socket:" in one or ".db" in one)

    before, threads = held(), threading.active_count()
    for _ in range(3):
        charge(ledger)
        ledger.verify()
        with pytest.raises(Exception, match="no dataset"):
            ledger.dataset("nobody")
        assert held() == before
        assert threading.active_count() == threads
    engine = transact._engine(ledger._address, False, os.getpid())
    assert isinstance(engine.pool, NullPool)
    if not ledger.url.startswith("sqlite"):
        with engine.connect() as other:
            time.sleep(0.2)
            sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            assert other.exec_driver_sql(sessions).scalar() == 0


TRACED = "openat,unlink,unlinkat,fsync,fdatasync,pwrite64,write"


def test_a_charge_flushes_journal_then_file_then_unlinks_and_flushes_the_folder(sqlite_ledger: Ledger) -> None:
    """The order in which a charge survives a power failure, as the system sees it."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed, so the order of flushes is not observed from outside")
    prepare(sqlite_ledger)
    words = (
        "import sys; from hullabaloo.ledger import Ledger; from hullabaloo.privacy import Budget, SelectionEvent\n"
        "l = Ledger(sys.argv[1]); l.remaining('clinic')\n"
        "print(l.charge('clinic', SelectionEvent(1e-6), budget=Budget(1e-6, 0.0), neighbours='replace-one', what='x').number)"
    )
    log = Path(sqlite_ledger.url.removeprefix("sqlite:///")).parent.parent / "strace.log"
    command = ["strace", "-f", "-y", "-o", str(log), "-e", f"trace={TRACED}", sys.executable, "-c", words]
    done = subprocess.run([*command, sqlite_ledger.url], capture_output=True, text=True, timeout=100, check=False)
    if "ptrace" in done.stderr.lower():
        pytest.skip("this system does not let a process trace another one, so the order of flushes is not observed")
    assert done.returncode == 0, done.stderr
    steps: list[str] = []
    folder = re.escape(str(Path(sqlite_ledger.url.removeprefix("sqlite:///")).parent))
    what = {rf"{folder}/privacy\.db-journal": "journal", rf"{folder}/privacy\.db": "file", rf"{folder}": "folder"}
    for line in log.read_text().splitlines():
        for pattern, name in what.items():
            if re.search(rf"(fsync|fdatasync)\(\d+<{pattern}>\)", line):
                steps.append(f"flush {name}")
            elif re.search(rf"pwrite64\(\d+<{pattern}>", line):
                steps.append(f"write {name}")
            elif re.search(rf'unlink(at)?\(.*"{pattern}"', line):
                steps.append(f"unlink {name}")
    once = [step for place, step in enumerate(steps) if steps[place - 1 : place] != [step]]
    after = once[once.index("write file") :]
    assert after == ["write file", "flush file", "unlink journal", "flush folder"]
    before = once[: once.index("write file")]
    assert before[0] == "write journal"
    assert before[-1] == "flush journal" or before[-2:] == ["flush journal", "flush folder"]
    assert "flush folder" in before


@pytest.mark.timeout(20)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_another_threads_transaction_waits(sqlite_ledger: Ledger) -> None:
    """Without the guard the child is born while a lock is held that nobody in it will ever release, and hangs."""
    prepare(sqlite_ledger)
    inside, go_on = threading.Event(), threading.Event()

    def linger(_: object) -> None:
        if threading.current_thread() is thread:
            inside.set()
            go_on.wait(1.0)

    thread = threading.Thread(target=lambda: charge(sqlite_ledger, 1))
    event.listen(Engine, "commit", linger)
    try:
        thread.start()
        assert inside.wait(5)
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(10)
            os._exit(0 if charge(sqlite_ledger, 2) else 1)
        waited = time.monotonic() - started
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        thread.join(5)
    finally:
        event.remove(Engine, "commit", linger)
    assert status == 0
    assert waited > 0.5
    assert numbered(sqlite_ledger) == 5  # a stream, twice before, and these two


@pytest.mark.timeout(20)
def test_a_lock_that_somebody_holds_is_given_up_in_seconds(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the database itself, which says so, before this side cuts the connection off."""
    from sqlalchemy import create_engine, text

    prepare(ledger)
    monkeypatch.setattr(
        backend, "PATIENCE_S", 2.0
    )  # a server counts whole seconds, and connecting takes some of the first
    engine = create_engine(ledger.url, poolclass=NullPool)
    with engine.connect() as holder:
        holder.execute(text("UPDATE hullabaloo_dataset SET charges = charges"))
        monkeypatch.setattr(kill_points, "SECONDS", 8)  # who waits in C for longer is ended
        ended = kill_points.killed_at(0, lambda: charge(ledger))
        assert re.match(r"LedgerUnreachable: .*(locked|lock timeout)", ended.raised)
        assert "may have been recorded" not in ended.raised
        holder.rollback()
    engine.dispose()


def test_a_commit_that_fails_is_never_success(sqlite_ledger: Ledger) -> None:
    """Someone who reads keeps the file from being written: the commit is refused, and so is the charge."""
    import sqlite3

    sqlite_ledger.create("clinic", Budget(1.0, 1e-6))
    path = sqlite_ledger.url.removeprefix("sqlite:///")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "PATIENCE_S", 0.3)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM hullabaloo_dataset").fetchone()
        patch.setattr(kill_points, "SECONDS", 8)
        assert "locked" in kill_points.killed_at(0, lambda: charge(sqlite_ledger)).raised
        reader.execute("ROLLBACK")
        reader.close()
    assert charge(sqlite_ledger) == 1


@pytest.mark.few(1)
def test_a_charge_is_there_for_another_process_at_once(ledger: Ledger) -> None:
    prepare(ledger)
    number = charge(ledger, 3)
    seen = kill_points.killed_at(0, lambda: [row.number for row in ledger.charges("clinic")])
    assert seen.value[-1] == number
