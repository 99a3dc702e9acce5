"""Features that are the pixels of a grid: supports in one piece."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hullabaloo.errors import InvalidParameter


@final
@dataclass(frozen=True, slots=True)
class FeatureGrid:
    """The declared features are pixels of `rows` × `columns`, row by row: `FeatureGrid(8, 8)`.

    Without a window, supports are rectangles: groups are the half-planes from the four sides, as intervals are made from
    two. `window=k`: groups are all k × k windows, cut off at the border, and where a window is zero, all of it is;
    in a grid of one row they are stretches of k neighbours.

    Raises:
        InvalidParameter: no whole numbers above 0, or a window larger than the grid.
    """

    rows: int
    columns: int
    window: int | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "columns", *(["window"] if self.window is not None else [])):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InvalidParameter(
                    f"A grid is given by whole numbers above 0, such as hb.FeatureGrid(8, 8), but its {name} are {value!r}."
                    if name != "window"
                    else f"The window of a grid is a whole number above 0, such as hb.FeatureGrid(8, 8, window=3), but it is {value!r}."
                )
            object.__setattr__(self, name, int(value))
        if self.window is not None and self.window > max(self.rows, self.columns):
            raise InvalidParameter(
                f"A window of {self.window} × {self.window} pixels does not fit into a grid of {self.rows} × {self.columns}. Give a "
                "smaller one."
            )

    def in_words(self) -> str:
        """The grid in a few words."""
        left = "rectangles" if self.window is None else f"what windows of {self.window} × {self.window} leave"
        return f"pixels of a grid of {self.rows} × {self.columns}: {left}"

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "feature-grid", "rows": rows, "columns": columns, "window": window}."""
        return {"kind": "feature-grid", "rows": self.rows, "columns": self.columns, "window": self.window}
