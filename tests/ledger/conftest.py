"""Empty ledgers in both databases, and a skip (or, where PostgreSQL is required, a failure) that says what is missing."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pg_cluster import NoServer, fresh_schema, server

from hullabaloo.ledger import Ledger


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server for this test process (each xdist worker has its own)."""
    try:
        running = server(durable=False)
        url = running.__enter__()
    except NoServer as reason:
        if os.environ.get("HULLABALOO_REQUIRE_POSTGRES") == "1":
            pytest.fail(f"HULLABALOO_REQUIRE_POSTGRES=1, but {reason}")
        pytest.skip(str(reason))
    yield url
    running.__exit__(None, None, None)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a place that holds nothing yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'privacy.db'}"
        return
    with fresh_schema(request.getfixturevalue("postgres_server")) as url:
        yield url


@pytest.fixture
def ledger(ledger_url: str) -> Ledger:
    """A ledger without datasets."""
    return Ledger(ledger_url)


@pytest.fixture
def sqlite_ledger(tmp_path: Path) -> Ledger:
    """A ledger in a file, for tests of what does not depend on the database."""
    return Ledger(f"sqlite:///{tmp_path / 'privacy.db'}")


@pytest.fixture
def postgres_ledger(postgres_server: str) -> Iterator[Ledger]:
    """A ledger on a server, for tests of what a server does."""
    with fresh_schema(postgres_server) as url:
        yield Ledger(url)


@pytest.fixture
def raw(ledger_url: str) -> Callable[[str], None]:
    """Change a ledger behind its back."""

    def execute(statement: str) -> None:
        from sqlalchemy import create_engine

        engine = create_engine(ledger_url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)
        engine.dispose()

    return execute
