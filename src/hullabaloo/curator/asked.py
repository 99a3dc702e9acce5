"""A question as it is sent to where the parts of a table are read, and the sums that come back. Public, but for the sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from hullabaloo.curator.columns import moments_of_columns
from hullabaloo.curator.exact import ExactSum, cells_exponent

if TYPE_CHECKING:
    from hullabaloo.curator.query import State
    from hullabaloo.data.source import Rows


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A query and what is asked; no key, no budget, no noise.

    Attributes:
        query: a `Sum`, or a choice by counts; a record of its own, of its fields alone; its price is 1, or ∞ where no noise is drawn.
        question: plain numbers, as `Query.question` gives them.
    """

    query: Any
    question: tuple[Any, ...]

    @classmethod
    def of(cls, query: Any, question: tuple[Any, ...]) -> "Asked":
        """What is sent of a query: all that exact sums depend on."""
        sent = query.afresh()
        if query.is_private:
            vars(sent)[query.price] = 1.0
        return cls(sent, question)

    @property
    def by_columns(self) -> bool:
        """Whether rows may lie in memory column by column."""
        return bool(self.query.name == "moments" and self.query.is_private)

    def state(self, rows: "Rows") -> "State":
        """What the rows of a part add up to, exactly. PRIVATE."""
        if self.by_columns and isinstance(rows.X, np.ndarray) and not rows.X.flags.c_contiguous:
            return moments_of_columns(rows, rows.width + rows.Y.shape[1], cells_exponent(self.query.facts))
        return self.query.partial(rows, *self.question)  # type: ignore[no-any-return]

    def merge(self, states: "Sequence[State]") -> "State":
        """What all of them add up to. PRIVATE."""
        return self.query.merge(states)  # type: ignore[no-any-return]

    def dump(self, state: "State") -> bytes:
        """The sum as bytes. PRIVATE."""
        held = BytesIO()
        if isinstance(state, ExactSum):
            np.savez(held, high=state.high, low=state.low, exponent=state.exponent)
        else:
            np.savez(held, plain=state)
        return held.getvalue()

    def load(self, state: bytes) -> "State":
        """The sum that these bytes are of; they are read as numbers, and nothing in them is run. PRIVATE."""
        held = np.load(BytesIO(state), allow_pickle=False)
        if "plain" in held:
            return np.asarray(np.positive(held["plain"]))  # a text is none
        total = ExactSum(held["high"].shape, int(held["exponent"]))
        total.high += held["high"]  # whole numbers
        total.low += held["low"]
        return total
