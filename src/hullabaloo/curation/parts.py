"""Which records a search trains on and which it holds out, so that every record is in one part only."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.data import Rows
from hullabaloo.data.labels import memo, unit_of
from hullabaloo.data.schema import open_role
from hullabaloo.release.request import ReleaseRequest

Mask = npt.NDArray[np.bool_]


def sizes(records: int, holdout: float) -> tuple[int, int]:
    """The public numbers of records to train on and to hold out."""
    held = round(records * holdout)
    return records - held, held


def held_out(terms: ReleaseRequest, table: Any, holdout: float, secret: bytes) -> Mask:
    """(n,) whether each record is held out; PRIVATE, as `secret` is.

    **Guarantee** (parallel composition). Precondition: `secret` is 32 fresh random bytes that are never released. Claim: a fit on the
    one part that is μ-GDP, followed by a score of it on the other part that is μ-GDP, is μ-GDP in total, and so are searches of
    them as far as their price rests on the runs being μ-GDP. Proof. For two neighbouring tables the parts can be drawn together in such a way that one
    part is the same in both and the other differs as neighbours do; whichever it is, either the fit is μ-GDP and what follows is computed
    from the fit and the same records, or the fit is the same and the score that follows is μ-GDP (Dong, Roth & Su 2022, Thm 3.2, one
    of the two mechanisms being 0-GDP). What holds for every draw of the parts holds for the mixture over them, with all runs' answers
    (joint convexity of each trade-off bound). The draw:

    *Replace-one, a record the unit.* The held-out positions are a set drawn by the secret, of a public size, every one as likely as any other,
    whatever the records are. The replaced record keeps its position, or, in a table whose order depends on its records (a sorted one), moves
    past others: let every other record be held out in both tables or in neither, and the two records alike. Sets of that size correspond one to
    one in this way. With a public set of positions a sorted table would break this: all that the record passes could change parts.

    *Add-or-remove, a record the unit.* Positions move, so parts are independent coins of the secret, one a position. Given the other
    records the coins are independent whether the record is there or not: let every other record have the same coin in both tables.

    *Units.* All records of a unit have the part of its label: a coin of the secret and the label. Coins of different labels are
    independent, so a unit that is replaced by another (which the table does not have yet) can be given the same coin, and all other
    units theirs. With a public function of the label this would be false: a unit could move from one part to the other. A record without
    a label counts for nobody and has weight 0 in either part.

    Coins come from BLAKE2b under the secret, orders from SHAKE-256: the guarantee is computational, as that of the noise is.
    """
    count = table.n_rows
    if terms.count_is_public:
        held = np.zeros(count, dtype=bool)
        held[_order(count, secret)[: sizes(count, holdout)[1]]] = True
        return held
    limit = int(holdout * 2.0**64)

    def coin(text: str) -> bool:
        drawn = hashlib.blake2b(text.encode(errors="surrogatepass"), key=secret, digest_size=8).digest()
        return int.from_bytes(drawn, "big") < limit

    if terms.domain.unit is None:
        return np.array([coin(f"position {place}") for place in range(count)], dtype=bool)
    holder, column = open_role(terms.domain, table, None, terms.domain.unit, "unit")
    labels = memo(holder.cells(column), unit_of)
    coins = {label: coin(f"unit {label}") for label in set(labels) if label is not None}
    return np.array([label is not None and coins[label] for label in labels], dtype=bool)


def held(rows: Rows) -> tuple[Any, ...]:
    """What rows are made of, as `Rows` takes it."""
    return rows.X, rows.Y, rows.weight, rows.offset, rows.unit


def part(rows: Rows, chosen: npt.NDArray[Any]) -> Rows:
    """Some records, by a mask or their places, in memory of their own."""
    own: Any = (None if one is None else one[chosen] for one in held(rows))
    return Rows(*own)


def _order(count: int, secret: bytes) -> npt.NDArray[np.intp]:
    """The positions in a random order: sorted by 128 bits of the secret each."""
    words = np.frombuffer(hashlib.shake_256(b"positions" + secret).digest(16 * count), dtype="<u8").reshape(count, 2)
    return np.lexsort((words[:, 0], words[:, 1]))
