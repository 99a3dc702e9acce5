"""The types of a stream's parameters, checked before anything else: `__init__` only stores."""

from typing import Any

import numpy as np

from hullabaloo.data import Domain
from hullabaloo.data.targets import ClassTarget
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.linear_model.shared import check_state
from hullabaloo.losses import KernelCode, Loss
from hullabaloo.privacy import Budget
from hullabaloo.release.parameters import found, shown


def check_stream(model: Any) -> None:
    """Refuse a parameter of the wrong type, or two that do not go together, with a sentence that says how to write it.

    Raises:
        InvalidParameter: a parameter has a type or value that it cannot have.
    """
    check_state(model)
    if not isinstance(model.mechanism, str):
        raise InvalidParameter(
            f"The mechanism must be the name of one, such as 'auto', but {found(model.mechanism)} was given."
        )
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


def check_plan(*, fit_intercept: object, **given: object) -> None:
    """Refuse a budget, loss, set or penalty that is none, with a sentence that shows one."""
    if not isinstance(fit_intercept, bool | np.bool_):
        raise InvalidParameter(
            f"The fit_intercept of a plan must be True or False, but {found(fit_intercept)} was given."
        )
    kinds = {"budget": (Budget, "Budget(1.0, 1e-8)"), "loss": (Loss, "Logistic()")}
    kinds |= {"domain": (Domain, "Domain(features={'age': (18, 90)}, target=(0, 1))")}
    kinds |= {"set": (ConvexSet, "L1Ball(1.0)"), "penalty": (Penalty, "L1Penalty(0.01)")}
    for name, value in given.items():
        kind, example = kinds[name]
        if not isinstance(value, kind) and (value is not None or name == "budget"):
            raise InvalidParameter(
                f"The {name} of a plan must be an object such as hb.{example}, but {found(value)} was given."
            )


def declared_for(domain: Domain | None, p: int | None, loss: Loss, horizon: int) -> Domain:
    """The domain of a plan, of `p` columns where none was given; refuses what does not go together."""
    classes = loss.kernel_code in (KernelCode.LOGISTIC, KernelCode.SMOOTHED_HINGE)
    if p is not None and (isinstance(p, bool) or not isinstance(p, int) or p < 1):
        raise InvalidParameter(f"A plan needs the number of columns as a whole number, such as p=20, but got {p!r}.")
    if p is not None and domain is not None and domain.features:
        raise InvalidParameter(
            f"A plan got p={p} beside a domain that declares its {len(domain.features)} features, from which the columns follow. Leave p "
            "out; it is for domains of a row norm only."
        )
    if domain is None:
        if p is None:
            raise InvalidParameter(
                "A plan needs to know the columns: pass domain=hb.Domain(...), or p=… for rows of norm at most 1."
            )
        domain = Domain(row_norm=1.0, classes=[0, 1]) if classes else Domain(row_norm=1.0, target=(-1, 1))
    elif domain.targets and isinstance(domain.targets[0], ClassTarget) != classes:
        what, fitting = ("a number", "hb.Squared()") if classes else ("classes", "hb.Logistic()")
        raise InvalidParameter(
            f"A plan got the loss {loss.name!r}, but the domain declares {what}. Pass loss={fitting}, or another domain."
        )
    return Domain.from_dict({**domain.to_dict(), "records": horizon})
