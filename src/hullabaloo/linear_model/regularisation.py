"""Exactly one of constraint and penalty, or the estimator's public default."""

from typing import Protocol

from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.release.parameters import found


class Regularised(Protocol):
    """What holds or pulls a model's coefficients, and what does where nothing was given."""

    @property
    def constraint(self) -> ConvexSet | None: ...  # noqa: D102
    @property
    def penalty(self) -> Penalty | None: ...  # noqa: D102
    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]: ...


def chosen(model: Regularised, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
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
    if constraint is not None and not isinstance(constraint, ConvexSet):
        hint = " A penalty is passed as penalty=...." if isinstance(constraint, Penalty) else ""
        raise InvalidParameter(
            "The constraint must be a convex set, such as hb.L1Ball(1.0), hb.L2Ball(1.0), hb.Box(-1.0, 1.0) or "
            f"hb.Simplex(), but {found(constraint)} was given.{hint}"
        )
    if penalty is not None and not isinstance(penalty, Penalty):
        hint = " A set is passed as constraint=...." if isinstance(penalty, ConvexSet) else ""
        raise InvalidParameter(
            "The penalty must be an object such as hb.L1Penalty(0.01), hb.SquaredL2Penalty(0.01) or "
            f"hb.ElasticNetPenalty(0.01, 0.5), but {found(penalty)} was given.{hint}"
        )
    if constraint is None and penalty is None:
        return model._default(encoding)
    return constraint, penalty if penalty is not None else NoPenalty()
