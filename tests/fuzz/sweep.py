"""Very many inputs from a public seed, by weight: most of them to the cheap doors."""

from random import Random

from tests.fuzz.doors import CHEAP
from tests.fuzz.garbage import Garbage
from tests.fuzz.verdict import Tally


def sweep(seed: int, each: int, doors=CHEAP) -> Tally:
    """So many inputs to each door."""
    tally = Tally()
    for name, door in doors.items():
        g = Garbage(Random(f"{seed} {name}"))
        for _ in range(each):
            tally.take(name, lambda: door(g))  # noqa: B023 - used at once
    return tally
