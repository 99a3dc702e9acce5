"""The types of a stream's parameters, checked before anything else: `__init__` only stores."""

from typing import Any

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.linear_model.shared import check_state
from hullabaloo.release.parameters import found, shown


def check_stream(model: Any) -> None:
    """Refuse a parameter of the wrong type, or two that do not go together, with a sentence that says how to write it.

    Raises:
        InvalidParameter: a parameter has a type or value that it cannot have.
    """
    check_state(model)
    if not isinstance(model.mechanism, str):
        raise InvalidParameter(f"The mechanism must be the name of one, such as 'auto', not {found(model.mechanism)}.")
    horizon = model.horizon
    number = isinstance(horizon, int | np.integer) and not isinstance(horizon, bool)
    if horizon is not None and not (number and 1 <= horizon < 2**63):
        raise InvalidParameter(
            f"The parameter horizon (a number of records) must be a positive whole number below 2^63 or None, but {shown(horizon)} was given."
        )
    if horizon is None and isinstance(model.every, str) and model.every == "auto":
        raise InvalidParameter(
            f"{type(model).__name__} needs a horizon: without one it is not known when to release models. Pass horizon=100_000, for example, the "
            "largest number of records that the stream may take (noise is then least). Running sums can go on without an end: pass "
            "every=… alone, the records between two releases."
        )
