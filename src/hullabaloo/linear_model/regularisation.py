"""Exactly one of constraint and penalty, or the estimator's public default."""

from typing import Protocol

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty


class Regularised(Protocol):
    """An estimator as far as its set and penalty go."""

    constraint: ConvexSet | None
    penalty: Penalty | None

    @property
    def default_constraint(self) -> ConvexSet | None: ...  # noqa: D102
    @property
    def default_penalty(self) -> Penalty: ...  # noqa: D102


def chosen(model: Regularised) -> tuple[ConvexSet | None, Penalty]:
    """The set and penalty that a model is fitted with.

    Raises:
        InvalidParameter: both were given, or something that is neither set nor penalty.
    """
    constraint, penalty = model.constraint, model.penalty
    if constraint is not None and penalty is not None:
        raise InvalidParameter(
            f"{type(model).__name__} got both a constraint and a penalty. The two describe the same trade-off, and "
            "their combination has no default meaning; pass exactly one."
        )
    for name, value, kind in (("constraint", constraint, ConvexSet), ("penalty", penalty, Penalty)):
        if value is not None and not isinstance(value, kind):
            raise InvalidParameter(
                f"The {name} must be a set or penalty of hullabaloo, such as hb.L1Ball(1.0) or hb.L1Penalty(0.01), "
                f"but a {type(value).__name__} was given."
            )
    if constraint is None and penalty is None:
        return model.default_constraint, model.default_penalty
    return constraint, penalty if penalty is not None else NoPenalty()
