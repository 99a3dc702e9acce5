"""What was drawn: each query's sensitivity and noise, in one row of the card."""

import math
from collections.abc import Mapping
from typing import Any

from hullabaloo.privacy import compose, event_from_dict
from hullabaloo.release import PrivacyStatement
from hullabaloo.report.guarantee import finite

QUERIES = {
    "moments": "all sums of products of two columns (features and target), at once",
    "gradient": "the sum over records of clipped gradients of the loss",
    "second_moments": "the sum of squares of each column",
    "count": "the number of records",
}


def queries(statement: PrivacyStatement) -> list[dict[str, Any]]:
    """One row per query, from the statement's public description of it."""
    return [_row(one, statement.private) for one in statement.query_noise]


def _row(query: Mapping[str, Any], private: bool) -> dict[str, Any]:
    answers = int(query.get("answers", 1))
    event = event_from_dict(query["event"]) if private else None
    mu = None if event is None else compose(event, count=answers).gdp_mu()
    name = str(query["name"])
    return {
        "name": name,
        "asks": QUERIES.get(name, name.replace("_", " ")),
        "answers": answers,
        "coordinates": _number(query.get("coordinates")),
        "sensitivity_l2": _number(query.get("sensitivity_l2_of_sum")),
        "noise_std": _number(query.get("noise_std_of_sum")) if private else 0.0,
        "noise_multiplier": _number(query["event"].get("noise_multiplier")) if private else 0.0,
        "mu_of_all_answers": None if mu is None else finite(mu),
        "details": {k: v for k, v in query.items() if k in {"clip", "target_scale"} and isinstance(v, int | float)},
    }


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float) else None
