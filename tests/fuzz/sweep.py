"""Very many inputs from a public seed: most of them to the doors where an input costs microseconds."""

from random import Random

from tests.fuzz.dear import DEAR, DEAREST
from tests.fuzz.doors import CHEAP
from tests.fuzz.garbage import Garbage
from tests.fuzz.verdict import Tally

COSTLY = ("hb.PrivateSearchCV", "hb.Polytope", "gaussian_mu", "accountant", "hb.CustomSetFunction", "from_dict: domain")
"""Cheap doors of which an input costs a good part of a millisecond: a tenth as many for each."""


def share(name: str, total: int) -> int:
    """How many of so many inputs a door gets."""
    if name in DEAR:
        return max(2, total // 60 // len(DEAR) // (10 if name in DEAREST else 1))
    costly = len([one for one in CHEAP if one in COSTLY])
    unit = total / (len(CHEAP) - 0.9 * costly)
    return max(2, round(unit * (0.1 if name in COSTLY else 1.0)) + 1)


def sweep(seed: int, total: int) -> Tally:
    """About so many inputs to all doors together."""
    tally = Tally()
    for name, door in {**CHEAP, **DEAR}.items():
        g = Garbage(Random(f"{seed} {name}"))
        for _ in range(share(name, total)):
            tally.take(name, lambda: door(g))  # noqa: B023 - used at once
    return tally
