"""What a file keeps of a set function that it cannot hold."""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import SetFunction, SubmodularBall, SubmodularPenalty
from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.width import Width


@final
@dataclass(frozen=True, slots=True)
class NotInFile(SetFunction):
    """What a saved model keeps of a function that only its program knows: name, number of columns, and `least`.

    A model that was loaded predicts and is described as before; to fit it again it needs the function.
    """

    KIND: ClassVar[str] = "not-in-file"

    name: str
    columns: int
    least: float

    @property
    def dimension(self) -> int | None:
        """The number of encoded columns."""
        return self.columns

    def value(self, members: NDArray[np.bool_]) -> float:
        """Unknown; raises `InvalidParameter`."""
        self.refuse()

    def gains(self, order: NDArray[np.int64]) -> Vector:
        """Unknown; raises `InvalidParameter`."""
        self.refuse()

    def gaussian_width(self, p: int) -> Width:
        """Unknown; raises `InvalidParameter`."""
        self.refuse()

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "not-in-file", "name": name, "columns": columns, "least": least}."""
        return {"kind": self.KIND, "name": self.name, "columns": self.columns, "least": self.least}

    def refuse(self) -> NoReturn:
        """Say why nothing can be computed of it."""
        raise InvalidParameter(
            f"This model was saved, and its structure was the function {self.name!r} of a program, which a file cannot hold. What was "
            "released is all there, but to fit again the function is needed: model.set_params(structure=...), or constraint=... or "
            "penalty=... where it was given there. Nothing was read or charged."
        )


def refuse_unknown(*shapes: object) -> None:
    """Refuse to fit with a set or penalty of a function that is not known any more.

    Raises:
        InvalidParameter: one is of a function that a file could not hold.
    """
    for shape in shapes:
        if isinstance(shape, SubmodularBall | SubmodularPenalty) and isinstance(shape.function, NotInFile):
            shape.function.refuse()
