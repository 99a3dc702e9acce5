"""Sets, penalties, set functions and solvers of a program's own in saved models: their names and numbers.

A file holds no code, and none is looked for by a name that a file gives: classes are those that the program passes when it loads the model. Without them
what was released is all there; only what needs the class, another fit, says so.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, NoReturn

from hullabaloo import geometry
from hullabaloo.errors import InvalidParameter
from hullabaloo.foreign import is_foreign
from hullabaloo.solvers import Solver
from hullabaloo.structure.structure import NotInFile

KIND = "own"
"""The word of what is a program's own."""
OPEN = (geometry.ConvexSet, geometry.Penalty, geometry.SetFunction, Solver)
"""What a program may write a class of."""


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """What stands for something whose class was not passed: its own name and numbers, as JSON."""

    name: str
    written: str

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Say what is missing."""
        raise InvalidParameter(
            f"This model was saved with {self.name}, a class of a program, and a file holds no code. What was released is all there; but to fit again, "
            f"or to refit, the class is needed: hb.load(path, known=[{self.name}]), or model.set_params(...) with another. Nothing was read or charged."
        )

    def to_dict(self) -> dict[str, Any]:
        """As it was written."""
        return json.loads(self.written)  # type: ignore[no-any-return]


def refuse_missing(*things: object) -> None:
    """Refuse to fit with what was saved and whose class was not passed, or with what is made of a function that a file could not hold."""
    for part in (part for thing in things for part in (thing, getattr(thing, "function", None))):
        if isinstance(part, NotLoaded | NotInFile):
            part.refuse()


@dataclass(frozen=True, slots=True)
class SetNotLoaded(NotLoaded, geometry.ConvexSet):
    """In place of a set."""

    dimension = None
    support = vertex = contains = max_norm = gaussian_width = start = NotLoaded.refuse


@dataclass(frozen=True, slots=True)
class PenaltyNotLoaded(NotLoaded, geometry.Penalty):
    """In place of a penalty."""

    value = prox = NotLoaded.refuse


@dataclass(frozen=True, slots=True)
class SolverNotLoaded(NotLoaded, Solver):
    """In place of a solver."""

    plan = run = predicted_risk = NotLoaded.refuse


def own_to_dict(thing: Any, otherwise: Callable[[], Any]) -> Any:
    """A shape or solver as JSON-ready values: what `otherwise` gives for the library's own and for shapes of its own functions."""
    if isinstance(thing, NotLoaded):
        return thing.to_dict()
    shaped = isinstance(thing, geometry.SubmodularBall | geometry.SubmodularPenalty)
    if shaped and is_foreign(thing.function):
        return {"kind": KIND, **_written(thing.function), "otherwise": otherwise()}
    return {"kind": KIND, **_written(thing)} if isinstance(thing, OPEN) and is_foreign(thing) else otherwise()


def _written(thing: Any) -> dict[str, Any]:
    """Name and numbers; None where it tells none that a file can hold."""
    try:
        told = asdict(thing) if isinstance(thing, Solver) and is_dataclass(thing) else thing.to_dict()
        data = json.loads(json.dumps(told, allow_nan=False))
    except Exception:  # reason: a class of the user's own may raise anything, and the release was paid for
        data = None
    return {"name": type(thing).__name__, "data": data}


def own_from_dict(
    data: Any, known: Mapping[str, type], missing: type[NotLoaded], otherwise: Callable[[Any], Any]
) -> Any:
    """What `own_to_dict` was given: made by the class that the program passed, else what stands for it.

    Raises:
        InvalidParameter: the class does not take what it once told of itself.
    """
    if not (isinstance(data, Mapping) and data.get("kind") == KIND):
        return otherwise(data)
    kind, numbers = known.get(str(data["name"])), data["data"]
    if kind is None or numbers is None:
        if "otherwise" in data:
            return otherwise(data["otherwise"])
        return missing(str(data["name"]), json.dumps(dict(data)))
    try:
        make = getattr(kind, "from_dict", None)
        made = make(numbers) if make else kind(**{name: one for name, one in numbers.items() if name != "kind"})
    except Exception as error:  # reason: a class of the user's own may raise anything
        raise InvalidParameter(
            f"The class {kind.__name__} was passed to make what the file describes as {numbers!r}, and raised {type(error).__name__} ({error}). Give it a classmethod from_dict(data) that reads what its to_dict() wrote, or arguments of these names."
        ) from error
    if "otherwise" in data:
        told, a_set = data["otherwise"], missing is SetNotLoaded
        size = told["size"] if "size" in told else told["radius" if a_set else "strength"]
        return (geometry.SubmodularBall if a_set else geometry.SubmodularPenalty)(made, size)
    return made


def by_name(known: Iterable[type]) -> dict[str, type]:
    """The classes by their names.

    Raises:
        InvalidParameter: something else than classes of sets, penalties, set functions and solvers, or two of one name.
    """
    found: dict[str, type] = {}
    for kind in known:
        if not (isinstance(kind, type) and issubclass(kind, OPEN)) or kind.__name__ in found:
            raise InvalidParameter(
                f"known has {kind!r}, but it lists classes of sets, penalties, set functions and solvers of the program's own, each name once: hb.load(path, known=[MySet])."
            )
        found[kind.__name__] = kind
    return found
