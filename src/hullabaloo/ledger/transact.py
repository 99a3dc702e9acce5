"""Run a piece of work in one transaction: begin, work, commit, or leave no trace."""

import logging
import random
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from hullabaloo.errors import LedgerUnreachable, bare
from hullabaloo.forks import this_process
from hullabaloo.ledger import backend as settings
from hullabaloo.ledger.address import Address
from hullabaloo.ledger.backend import Backend, Deadline
from hullabaloo.ledger.postgres import Postgres
from hullabaloo.ledger.sqlite import SQLite

T = TypeVar("T")
SILENT = logging.Logger("hullabaloo.ledger", logging.CRITICAL + 1)
"""Of no program's loggers: SQLAlchemy's own write down every row that is read, with its salt, and what a driver says of an address, as soon as they are switched on."""


def backend_of(address: Address) -> Backend:
    """The final class for an address."""
    return SQLite() if address.is_sqlite else Postgres()


@lru_cache(maxsize=64)
def _engine(address: Address, may_create: bool, process: tuple[int, int]) -> Engine:
    """One engine per process: an engine must not cross a fork."""
    engine = backend_of(address).engine(address, may_create=may_create)
    engine.logger = engine.pool.logger = SILENT
    return engine


def transact(address: Address, work: Callable[[Connection], T], *, write: bool, may_create: bool = False) -> T:
    """Run `work` in one transaction and return its result after the commit.

    **Guarantee.** When this returns, what `work` wrote is durable; when it raises before the commit, nothing was
    written. A transaction that lost against another process (it was rolled back as a whole) is run again for up to
    `PATIENCE_S` seconds, so `work` must have no effect but through its connection. Nothing is waited for longer than that
    (`backend.py`). What breaks during the commit itself leaves the outcome unknown, and so does a file that another one replaced
    meanwhile: this raises and says so, no release follows, and at worst a charge without a release stands: the safe side.
    """
    backend = backend_of(address)
    give_up_at = time.monotonic() + settings.PATIENCE_S
    while True:
        stage, limit = "opening it", Deadline(give_up_at if write else None)
        try:
            with limit, backend.guard(address):
                before = backend.identity(address)
                with _engine(address, may_create, this_process()).connect() as connection:
                    opened = before or backend.identity(address)
                    backend.start(connection, write=write)
                    stage = "a transaction"
                    try:
                        result = work(connection)
                    finally:
                        limit.waiting()  # a commit or a rollback follows, which may freeze as well
                    stage = "the commit" if write else stage
                    connection.commit()
                    if write and backend.identity(address) != opened:
                        raise LedgerUnreachable(_replaced(address))
                    return result
        except (SQLAlchemyError, OSError) as error:
            if isinstance(error, DBAPIError) and not limit.expired:
                if backend.is_contention(error) and time.monotonic() < give_up_at:
                    time.sleep(random.uniform(0.001, 0.02))  # not privacy noise: it spreads out waiting processes
                    continue
                plain = _no_ledger(address, backend, error, missing_ok=may_create)
                if plain:  # nothing more to learn from the driver
                    bare(LedgerUnreachable(plain))
            failed = _unreachable(address, backend, error, stage, expired=limit.expired)
            if _primary(error):
                bare(failed)  # the rest quotes the row, and with it its salt
            raise failed from error


def _replaced(address: Address) -> str:
    return (
        f"The file of the ledger {address.shown} was replaced, moved or removed while this was written into it: the charge may be lost, for what "
        "stands there now may not hold it. Nothing was read from the data and nothing is released. Find out what replaced the file (a "
        "restored backup, a synchronised folder), look at the log of both, and stop every process that charges before a file is put back."
    )


def _no_ledger(address: Address, backend: Backend, error: DBAPIError, *, missing_ok: bool) -> str:
    """The sentence for an address at which no ledger was made; "" for any other failure."""
    if backend.lacks_tables(error):
        found = f"The database {address.shown} can be opened but holds no ledger"
    elif address.is_sqlite and not missing_ok and not address.path.exists():
        found = f"There is no ledger at {address.shown}: the file does not exist"
    else:
        return ""
    return f"{found}, so nothing can be charged and nothing was read. Check the address, or make a ledger there with Ledger.create or `hullabaloo ledger create`."


def _primary(error: SQLAlchemyError | OSError) -> str:
    """What a server says first; "" where it was not a server that spoke."""
    said = getattr(getattr(error, "orig", None), "diag", None)
    return str(getattr(said, "message_primary", None) or "")


def _unreachable(
    address: Address, backend: Backend, error: SQLAlchemyError | OSError, stage: str, *, expired: bool
) -> LedgerUnreachable:
    found = " ".join((_primary(error) or str(error.orig if isinstance(error, DBAPIError) else error)).split())
    if expired:
        found = f"no answer came within {settings.PATIENCE_S:g} s, and the connection was given up ({found})"
    if stage == "the commit":
        found += " (what was to be written may have been recorded all the same: look at the log before trying again)"
    said = f"The ledger {address.shown} failed at {stage}: {found}."
    return LedgerUnreachable(f"{said} Nothing was read from the data. {backend.remedy}")
