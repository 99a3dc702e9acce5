"""Accuracy against ε on the demo's public table. *Not private*: it measures on the table itself, many times over."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hullabaloo.data import Domain
    from hullabaloo.linear_model.base import PrivateLinearModel

WARNING = "public demonstration data: never do this with real records"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DRAWS = 20


@dataclass(frozen=True, slots=True)
class Point:
    """R² of `DRAWS` independent private fits at one ε."""

    epsilon: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """R² on the table: without privacy, of the demo's release, and against ε (mean, and the middle 80 % of draws)."""

    without_privacy: float
    release: float
    points: tuple[Point, ...]
    draws: int

    def at(self, epsilon: float) -> Point:
        """The point at one of `EPSILONS`."""
        return next(point for point in self.points if point.epsilon == epsilon)

    def save(self, path: Path) -> None:
        """Write the curve as JSON, with its warning."""
        path.write_text(json.dumps({"warning": WARNING, **asdict(self)}, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Curve":
        """Read what `save` wrote."""
        data = json.loads(path.read_text(encoding="utf-8"))
        data.pop("warning")
        return cls(**{**data, "points": tuple(Point(**one) for one in data["points"])})


def measure(
    model: "PrivateLinearModel", domain: "Domain", survey: Any, delta: float, advance: Callable[[], None]
) -> Curve:
    """Fit again and again, without a ledger, because the table is public; `advance` is called after each ε."""
    from hullabaloo.linear_model import LinearRegression
    from hullabaloo.privacy import Budget

    def fitted(budget: Budget) -> float:
        return score(LinearRegression(domain=domain, budget=budget).fit(survey), survey)

    points = []
    for epsilon in EPSILONS:
        values = [fitted(Budget(epsilon, delta)) for _ in range(DRAWS)]
        low, high = np.quantile(values, (0.1, 0.9))
        points.append(Point(epsilon, float(np.mean(values)), float(low), float(high)))
        advance()
    return Curve(fitted(Budget(math.inf)), score(model, survey), tuple(points), DRAWS)


def score(model: "PrivateLinearModel", survey: Any) -> float:
    """R² on the table; computed from records, hence *not private*."""
    from hullabaloo.cli.demo.survey import TARGET

    truth = survey[TARGET].to_numpy(dtype=float)
    return float(1.0 - np.mean((truth - model.predict(survey)) ** 2) / np.var(truth))
