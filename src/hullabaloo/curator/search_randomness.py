"""What decides a search: how many runs, which candidates, which part a record is in, and the key of every noise."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.data.source import Rows
from hullabaloo.noise import Key, ReleaseKey
from hullabaloo.noise.stopping import draw_below, draw_repeats, draw_secret
from hullabaloo.privacy import Repeats


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SearchRandomness:
    """The draws of one search; PRIVATE as long as its release says so, as the law of the best run rests on them.

    **Guarantee.** Precondition: a `ReleaseKey`, and `about` was called with everything that the search reads. Claims. (1) A search draws as if
    each of its draws were fresh. (2) Carried out again on the same records and with the same arithmetic it draws, and gives, the same. (3) On
    other records, in any bit, all of its draws are independent of those before: the number of runs, candidates, parts and every noise. Proof. A
    draw is a function of the key of its name, derived by (records, what and which run, query, width and number of the answer, the
    exact number that is hidden and its scale). Within a search no two names are equal whatever the numbers are (`Curator`), so their
    keys are independent (`ReleaseKey`): (1). The same words give the same key: (2). Records are the first word of all: (3). Where the records are
    the same and the arithmetic is not (another machine's BLAS), the last word differs as soon as an exact number does (of coordinate
    updates that are asked for together, as soon as what they begin with does): from there on the noise is independent, and never is one
    noise added to two numbers.

    So whoever sees what several searches from one secret release sees, of equal tables, one release, and of tables that differ, as many
    independent ones; and whether two tables were equal. With a ledger one alone is released (`Kept`).

    Under a test key the draws are the key's, whatever the records are.

    Attributes:
        key: of all draws.
    """

    key: Key

    def about(self, tables: Iterable[Rows], *more: npt.NDArray[Any]) -> "SearchRandomness":
        """The lottery of these records: their digest, keyed by the secret, goes into the key and nowhere else."""
        if not isinstance(self.key, ReleaseKey):
            return self
        return SearchRandomness(
            self.key.derive("records", *(part for table in tables for part in _content(table)), *more)
        )

    def runs(self, repeats: Repeats) -> int:
        """The number of runs."""
        return draw_repeats(repeats, self.key.derive("runs"))

    def candidate(self, count: int, run: int) -> int:
        """The number of the candidate of a run, in [0, count)."""
        return draw_below(count, self.key.derive(f"candidate/{run}"))

    def secret(self) -> bytes:
        """32 bytes that decide who is held out."""
        return draw_secret(self.key.derive("parts"))

    def noise(self, what: str, run: int) -> Key:
        """The key of a run's fit or score."""
        return self.key.derive(f"{what}/{run}")


def _content(rows: Rows) -> Iterable[npt.NDArray[Any] | str | None]:
    """Everything that answers follow from."""
    X = rows.X
    if isinstance(X, np.ndarray):
        yield X
    else:
        yield from (str(X.shape), X.data, X.indices, X.indptr)
    yield from (rows.Y, rows.weight, rows.offset, rows.unit)
