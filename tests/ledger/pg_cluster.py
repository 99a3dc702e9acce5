"""A private PostgreSQL server on a free loopback port, started for the tests and the benchmark and stopped after them."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


class NoServer(Exception):
    """There is no PostgreSQL to test with; the message says what to do."""


def find_binaries() -> Path | None:
    found = shutil.which("initdb")
    if found is not None and (Path(found).resolve().parent / "postgres").exists():
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parents[1].name))
    return versions[-1].parent if versions else None


@contextlib.contextmanager
def server(*, durable: bool) -> Iterator[str]:
    """Give the URL of a server: the one in HULLABALOO_TEST_POSTGRES, else a private one. Raises NoServer."""
    given = os.environ.get("HULLABALOO_TEST_POSTGRES")
    if given:
        yield given
        return
    binaries = find_binaries()
    if binaries is None:
        raise NoServer(
            "no PostgreSQL to test with: install it (apt-get install postgresql) or set HULLABALOO_TEST_POSTGRES to the URL "
            "of a database in which schemas may be created"
        )
    folder = Path(tempfile.mkdtemp(prefix="hullabaloo-postgres-"))
    try:
        with _running(binaries, folder, durable=durable) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _running(binaries: Path, folder: Path, *, durable: bool) -> Iterator[str]:
    identity = _unprivileged(folder)
    password = secrets.token_hex(8)
    (folder / "password").write_text(password)
    (folder / "password").chmod(0o644 if identity else 0o600)
    data = folder / "data"
    made = subprocess.run(  # md5: the 4 096 rounds of SCRAM are most of what a connection costs, and there are thousands
        [
            binaries / "initdb", "-D", data, "-U", "curator", "-A", "md5", "--no-sync", "--no-locale",
            "-E", "UTF8", f"--pwfile={folder / 'password'}",
        ],
        capture_output=True, text=True, check=False, cwd="/", **identity,
    )  # fmt: skip
    if made.returncode != 0:
        raise NoServer(f"initdb failed: {made.stderr.strip()}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                binaries / "postgres", "-D", data, "-p", str(port), "-k", "", "-c", "listen_addresses=127.0.0.1",
                "-c", f"fsync={'on' if durable else 'off'}", "-c", "max_connections=60",
            ],
            stdout=log, stderr=log, cwd="/", **identity,
        )  # fmt: skip
    try:
        url = f"postgresql://curator:{password}@127.0.0.1:{port}/postgres"
        _wait(url, process, folder / "log")
        yield url
    finally:
        process.send_signal(signal.SIGQUIT)  # at once: nothing here is kept
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _unprivileged(folder: Path) -> dict[str, object]:
    """PostgreSQL refuses to run as root: hand the folder to another user and run as that."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            os.chown(folder, user.pw_uid, user.pw_gid)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise NoServer("the tests run as root and there is no user postgres or nobody to run a PostgreSQL server as")


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise NoServer(f"the PostgreSQL server did not start: {log.read_text()[-2000:]}") from None
            time.sleep(0.05)
        else:
            return


@contextlib.contextmanager
def fresh_schema(url: str) -> Iterator[str]:
    """Make an empty schema (much cheaper than a database), give a URL that lands in it, and drop it at the end."""
    import psycopg

    name = f"hullabaloo_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    try:
        yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {name} CASCADE")
