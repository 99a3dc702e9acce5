"""A case: a name, and what of its outcome is compared, as numbers and words that no renaming of code changes.

This is the one place that knows where a release keeps its numbers.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Parts = dict[str, Any]
Case = Callable[[], Parts]

SKIPPED = frozenset({"kind", "name", "neighbours", "event"})


def numbers(value: Any) -> list[float]:
    """Every number in a value, in its order; texts, yes and no, and nothing are left out."""
    if isinstance(value, Mapping):
        return [number for one in value.values() for number in numbers(one)]
    if isinstance(value, list | tuple):
        return [number for one in value for number in numbers(one)]
    if isinstance(value, np.ndarray):
        return [float(number) for number in value.ravel()]
    if isinstance(value, bool | np.bool_ | str) or value is None:
        return []
    return [float(value)]


def noise(query: Mapping[str, Any]) -> list[float]:
    """Of a query: how many answers, its sensitivities and its noise, whatever their names; sorted, as names order them."""
    told = {name: value for name, value in query.items() if name not in SKIPPED}
    chosen = [value for name, value in told.items() if name == "answers" or "sensitivity" in name or "noise" in name]
    return sorted(numbers(chosen))


def of_statement(statement: Any) -> Parts:
    """Of a privacy statement: the event, and the noise of every query."""
    return {"event": statement.event.to_dict(), "sigma": [noise(one) for one in statement.query_noise]}


def of_release(release: Any) -> Parts:
    """Of a release: θ, the chosen solver, the event, the noise, and the moments where they are released."""
    moments = release.moments
    return {
        "theta": numbers(release.theta),
        "solver": str(release.plan["solver"]),
        **of_statement(release.statement),
        "moments": [] if moments is None else numbers([moments.gram, moments.cross, moments.square, moments.sigma]),
    }


def of_model(model: Any) -> Parts:
    """Of a fitted model: its release, and the coefficients in the user's units."""
    return {**of_release(model.release_), "coef": numbers([model.coef_, model.intercept_])}


def of_price(price: Any) -> Parts:
    """Of a price: the solver and the numbers."""
    told = [price.epsilon, price.delta, math.nan if price.mu is None else price.mu, price.records]
    return {"solver": price.solver, "price": numbers(told)}
