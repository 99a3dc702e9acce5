"""What the law of locality knows of one way for records to come in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hullabaloo.data import Domain
from tests.laws.encoded import COUNTS, Given

Records = Sequence[Any]
Give = Callable[[Records, Path, np.random.Generator], Iterator[Given]]
"""Give records to the library, as one table or as several that follow each other; files go to the folder."""


@dataclass(frozen=True)
class Reader:
    """One way for records to come in.

    Attributes:
        name: for people.
        pool: hostile records, by their number and a seed; the first is harmless.
        give: hands a batch of them over.
        opens: the class of the table that the library makes of it.
        source: the class of the stream's source, "" for a table.
        suffix: of the file, "" where there is none or it does not matter.
        domain: what is declared of it.
        few: hostile records of the reduced form.
    """

    name: str
    pool: Callable[[int, int], list[Any]]
    give: Give
    opens: str
    source: str = ""
    suffix: str = ""
    domain: Domain = COUNTS
    few: int = 16
