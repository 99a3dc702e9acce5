"""Work on things in their turn, by a thread for each core."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from hullabaloo.data.threads import cores, share_cores

S = TypeVar("S")
T = TypeVar("T")


def in_turn(work: Callable[[T], S], things: Iterable[T]) -> Iterator[S]:
    """`map(work, things)` by a thread for each core; the next thing is taken while those before it are worked on, and no more are held."""
    workers, under_way = cores(), deque[Future[S]]()
    if workers == 1:
        yield from map(work, things)
        return
    pool = ThreadPoolExecutor(workers, initializer=share_cores)
    try:
        for thing in things:
            under_way.append(pool.submit(work, thing))
            del thing
            if len(under_way) >= workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
