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
    told = hasattr(stream, "price")
    if not told:  # planned without a ledger and a state, so that nothing is charged or kept
        kept = ("ledger", "dataset", "state", "key_file")
        names = [name for name in stream.get_params() if name.rpartition("__")[2] in kept]
        stream.set_params(**dict.fromkeys(names)).begin(n_features=columns)
    schedule = stream._schedule
    places = _looked_at(schedule) if told else []
    prices = [stream.price(position, n_features=columns) for position in places]
    cost, said = stream.budget.describe(), []
    data = {"prices": [one.to_dict() for one in prices]} if told else {"budget": stream.budget.to_dict()}
    if told:
        names = prices[-1].columns
        lines = [
            [name, *(f"± {error:.3g}" for error in errors)]
            for name, *errors in zip(names, *(one.privacy_errors for one in prices), strict=True)
        ]
        cost = spend(prices[-1])
        said = noises(" after so many records", ["", *(f"after {position:,}" for position in places)], lines)
        said += [f"After {at:,} records: {one.expectation}" for at, one in zip(places, prices, strict=True)]
        said += [f"Note: {note}." for note in prices[-1].notes[1:]]  # the first says of which release this is
    output.result(
        {"releases": None if schedule.horizon is None else schedule.steps, **data},
        facts([("spend", f"{cost}, once, for all releases together"), ("releases", _releases(schedule))]),
        *said,
        NOTHING,
    )


def _releases(schedule: "Schedule") -> str:
    first = f"the first after record {schedule.position(1):,}"
    if schedule.horizon is None:
        return f"one after every {schedule.every:,} records without an end"
    return f"{schedule.steps:,} up to record {schedule.horizon:,}, {first}"


def _looked_at(schedule: "Schedule") -> list[int]:
    """The first release, the last, and one between them."""
    last = schedule.steps if schedule.horizon is not None else max(1, FAR // schedule.position(1))
    return [schedule.position(step) for step in dict.fromkeys((1, max(1, round(math.sqrt(last))), last))]
