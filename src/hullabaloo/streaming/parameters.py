"""The types of a stream's parameters, checked before anything else: `__init__` only stores."""

from pathlib import Path
from typing import Any

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.release.parameters import found, positive, shown


def check_stream(model: Any) -> None:
    """Refuse a parameter of the wrong type, or two that do not go together, with a sentence that says how to write it.

    Raises:
        InvalidParameter: a parameter has a type or value that it cannot have.
    """
    for name in ("state", "key_file"):
        if not isinstance(getattr(model, name), str | Path | None):
            raise InvalidParameter(f"The {name} must be a path or None, but {found(getattr(model, name))} was given.")
    if model.key_file is not None and model.state is None:
        raise InvalidParameter(
            "A key_file was given without a state file that it could encrypt. Pass state='stream.state' too, or leave it out."
        )
    if (model.ledger is None) != (model.dataset is None):
        raise InvalidParameter(
            "A ledger and a dataset name go together: the ledger says where charges are kept, the name whose budget "
            "they use up. Pass both, or neither (and the statement will say that nothing counts repeated streams)."
        )
    if not isinstance(model.mechanism, str):
        raise InvalidParameter(
            f"The mechanism must be the name of one, such as 'auto', but {found(model.mechanism)} was given."
        )
    if model.half_life is not None:
        positive("half_life", model.half_life, "a number of records")
    _whole("window", model.window)
    _whole("horizon", model.horizon)
    if model.horizon is None and isinstance(model.every, str) and model.every == "auto":
        raise InvalidParameter(
            f"{type(model).__name__} needs a horizon: without one it is not known when to release models. Pass horizon=100_000, for example, the "
            "largest number of records that the stream may take (noise is then least). Running sums can go on without an end: pass "
            "every=… alone, the records between two releases."
        )
    if model.window is not None and model.half_life is not None:
        raise InvalidParameter(
            "A window and a half_life were both given: one forgets all records but the latest, the other forgets gradually. Pass one."
        )


def _whole(name: str, value: object) -> None:
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value < 2**63
    ):
        raise InvalidParameter(
            f"The parameter {name} (a number of records) must be a positive whole number below 2^63 or None, but {shown(value)} was given."
        )
