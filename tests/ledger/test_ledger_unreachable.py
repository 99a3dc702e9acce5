"""A ledger that cannot be reached refuses in a sentence, before anything is read."""

import multiprocessing
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hullabaloo.errors import LedgerError, LedgerUnreachable
from hullabaloo.ledger import Ledger, backend
from hullabaloo.privacy import Budget, GaussianEvent

FULL = Budget(1.0, 1e-6)


def charge(ledger: Ledger) -> None:
    ledger.charge("clinic", GaussianEvent(100.0), budget=FULL, neighbours="replace-one", what="test")


def create(ledger: Ledger) -> None:
    ledger.create("clinic", FULL, neighbours="replace-one")


@pytest.mark.parametrize("act", [create, charge])
def test_a_folder_that_is_not_there(tmp_path: Path, act: Callable[[Ledger], None]) -> None:
    with pytest.raises(LedgerUnreachable, match=r"nowhere/privacy\.db.*othing was read"):
        act(Ledger(f"sqlite:///{tmp_path}/nowhere/privacy.db"))


@pytest.mark.parametrize("act", [create, charge])
@pytest.mark.parametrize("content", [b"\x89PNG\r\n" * 999, b"name,age\nada,36\n" * 99])
def test_a_file_that_is_no_database(tmp_path: Path, act: Callable[[Ledger], None], content: bytes) -> None:
    path = tmp_path / "privacy.db"
    path.write_bytes(content)
    with pytest.raises(LedgerUnreachable, match=r"not a database.*Check that"):
        act(Ledger(f"sqlite:///{path}"))
    assert path.read_bytes() == content


def test_a_database_without_a_ledger(ledger: Ledger, raw: Callable[[str], None]) -> None:
    raw("CREATE TABLE other (x INTEGER)")
    with pytest.raises(LedgerUnreachable, match="holds no ledger"):
        charge(ledger)
    for look in (ledger.upgrade, ledger.datasets, ledger.verify):
        with pytest.raises(LedgerUnreachable, match="holds no ledger"):
            look()
    create(ledger)
    charge(ledger)


def test_a_file_cut_in_half(sqlite_ledger: Ledger) -> None:
    create(sqlite_ledger)
    path = Path(sqlite_ledger.url.removeprefix("sqlite:///"))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 - 100])
    with pytest.raises(LedgerUnreachable, match=r"malformed|not a database|disk image"):
        charge(sqlite_ledger)


@pytest.mark.parametrize("act", [create, charge, lambda ledger: ledger.remaining("clinic")])
def test_a_dead_port(act: Callable[[Ledger], None]) -> None:
    ledger = Ledger("postgresql://user:s3cret@127.0.0.1:1/db")
    with pytest.raises(LedgerUnreachable, match=r"\*\*\*@127.0.0.1:1/db.*Check that the server runs") as caught:
        act(ledger)
    assert "s3cret" not in str(caught.value)


@pytest.mark.postgres
def test_a_wrong_password(postgres_server: str) -> None:
    head, _, tail = postgres_server.partition("://")
    ledger = Ledger(f"{head}://{tail.split(':')[0]}:wr0ng@{tail.partition('@')[2]}")
    with pytest.raises(LedgerUnreachable, match="password authentication failed") as caught:
        charge(ledger)
    assert "wr0ng" not in str(caught.value)


def _as_nobody(folder: str, answers: "multiprocessing.SimpleQueue[str]") -> None:
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    for name, act in (("new", create), ("old", charge)):
        try:
            act(Ledger(f"sqlite:///{folder}/{name}.db"))
            answers.put("accepted")
        except LedgerError as error:
            answers.put(f"{type(error).__name__}: {error}")


def test_a_folder_that_may_not_be_written() -> None:
    with tempfile.TemporaryDirectory() as folder:
        create(Ledger(f"sqlite:///{folder}/old.db"))
        Path(folder, "old.db").chmod(0o666)  # the file may be written, its journal not
        Path(folder).chmod(0o555)
        try:
            fork = multiprocessing.get_context("fork")
            answers = fork.SimpleQueue()
            child = fork.Process(target=_as_nobody, args=(folder, answers))
            child.start()
            child.join(30)
            assert child.exitcode == 0
            for _ in range(2):
                assert answers.get().startswith("LedgerUnreachable: The ledger sqlite:////")
        finally:
            Path(folder).chmod(0o755)


def test_a_ledger_that_another_process_holds_is_given_up_after_a_while(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy import create_engine

    create(ledger)
    monkeypatch.setattr(backend, "PATIENCE_S", 0.3)
    with create_engine(ledger.url).connect() as holder:
        holder.exec_driver_sql("UPDATE hullabaloo_dataset SET charges = charges")
        started = time.monotonic()
        with pytest.raises(LedgerUnreachable, match=r"locked|lock timeout"):
            charge(ledger)
        assert time.monotonic() - started < 10
        holder.rollback()
    holder.engine.dispose()
    charge(ledger)
    assert ledger.dataset("clinic").charges == 1


def test_a_connection_that_breaks_in_the_commit_says_that_the_charge_may_stand(
    sqlite_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy import Connection
    from sqlalchemy.exc import OperationalError

    def lost(self: Connection) -> None:
        raise OperationalError("COMMIT", {}, sqlite3.OperationalError("server closed the connection"))

    create(sqlite_ledger)
    with monkeypatch.context() as broken:
        broken.setattr(Connection, "commit", lost)
        with pytest.raises(LedgerUnreachable, match="look at the log before trying again"):
            charge(sqlite_ledger)
    assert sqlite_ledger.charges("clinic") == ()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("server_says", "ledger_uses"), [("off", "on"), ("on", "on"), ("remote_write", "remote_write")]
)
def test_commits_are_durable_where_the_server_is_set_to_forget(
    postgres_server: str, server_says: str, ledger_uses: str
) -> None:
    from sqlalchemy import create_engine

    from hullabaloo.ledger.postgres import Postgres

    engine = create_engine(Ledger(postgres_server).url)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SET synchronous_commit = '{server_says}'")
        connection.commit()
        Postgres().start(connection, write=True)
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == ledger_uses
        connection.rollback()
    engine.dispose()
