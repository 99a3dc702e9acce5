"""`hullabaloo stream --price`: what a stream would cost and gain, before any record is read."""

import math
from typing import TYPE_CHECKING, Any

from hullabaloo.cli.output import Output, facts
from hullabaloo.cli.price import NOTHING, noises, spend
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.privacy.schedule import Schedule

FAR = 1_000_000  # records at which a stream without a horizon is priced last


def say(output: Output, stream: Any, columns: int | None) -> None:
    """Print the plan of a stream that was not begun: its cost, its releases and, where it can be told, noise and gain at some of them."""
    if columns is None and not stream.domain.feature_names:
        raise InvalidParameter(
            "The domain declares a row norm and no features, so it fits tables of any width. Pass --columns P."
        )
    if not hasattr(stream, "price"):
        _plan_only(output, stream, columns)
        return
    schedule = stream._schedule
    prices = {position: stream.price(position, n_features=columns) for position in _looked_at(schedule)}
    last = list(prices.values())[-1]
    head = ["", *(f"after {position:,}" for position in prices)]
    each = zip(*(price.privacy_errors for price in prices.values()), strict=True)
    lines = [[name, *(f"± {error:.3g}" for error in errors)] for name, errors in zip(last.columns, each, strict=True)]
    output.result(
        {"releases": _count(schedule), "prices": [one.to_dict() for one in prices.values()]},
        facts([("spend", f"{spend(last)}, once, for all releases together"), ("releases", _releases(schedule))]),
        *noises(" after so many records", head, lines),
        *(f"After {position:,} records: {price.expectation}" for position, price in prices.items()),
        *(f"Note: {note}." for note in last.notes[1:]),  # the first says of which release this is
        NOTHING,
    )


def _plan_only(output: Output, stream: Any, columns: int | None) -> None:
    planned = stream.set_params(state=None, key_file=None)
    _unrecorded(planned)
    planned.begin(n_features=columns)
    schedule = planned._schedule
    output.result(
        {"releases": _count(schedule), "budget": stream.budget.to_dict()},
        facts(
            [
                ("spend", f"{stream.budget.describe()}, once, for all releases together"),
                ("releases", _releases(schedule)),
            ]
        ),
        NOTHING,
    )


def _unrecorded(stream: Any) -> None:
    """Take the ledger away, so that beginning charges nothing."""
    names = stream.get_params()
    stream.set_params(**{name: None for name in names if name.rpartition("__")[2] in ("ledger", "dataset")})


def _count(schedule: "Schedule") -> int | None:
    return None if schedule.horizon is None else schedule.steps


def _releases(schedule: "Schedule") -> str:
    first = f"the first after record {schedule.position(1):,}"
    if schedule.horizon is None:
        return f"one after every {schedule.every:,} records without an end"
    return f"{schedule.steps:,} up to record {schedule.horizon:,}, {first}"


def _looked_at(schedule: "Schedule") -> list[int]:
    """The first release, the last, and one between them."""
    last = schedule.steps if schedule.horizon is not None else max(1, FAR // schedule.position(1))
    return [schedule.position(step) for step in dict.fromkeys((1, max(1, round(math.sqrt(last))), last))]
