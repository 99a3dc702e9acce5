"""Every reader that the law of locality is tried on."""

import contextlib
import warnings
from collections.abc import Iterator

from tests.laws.from_files import FROM_FILES, from_redis
from tests.laws.in_memory import IN_MEMORY
from tests.laws.reader import Reader
from tests.streaming import redis_server

READERS: tuple[Reader, ...] = (*IN_MEMORY, *FROM_FILES)
"""All but those of Redis, which need a server."""


@contextlib.contextmanager
def all_readers() -> Iterator[tuple[Reader, ...]]:
    """Every reader; without those of Redis where there is no server, which is said."""
    with contextlib.ExitStack() as stack:
        try:
            more = from_redis(stack.enter_context(redis_server.server()))
        except redis_server.NoServer as reason:
            warnings.warn(f"Redis is left out: {reason}", stacklevel=2)
            more = ()
        yield *READERS, *more
