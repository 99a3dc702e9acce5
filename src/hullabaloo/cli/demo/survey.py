"""The survey of the demo: readers of the magazine Redbook, 1974, one record each, what its questionnaire allowed, and accuracy against ε on it.

Source: Fair, Ray C. 1978. "A Theory of Extramarital Affairs", Journal of Political Economy 86, 45–61; the copy that
ships with statsmodels (`statsmodels.datasets.fair`, public, included there with the author's permission).
"""

import math
import statistics
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import hullabaloo as hb
from hullabaloo.errors import library

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel

DATASET = "redbook-1974"
EPSILON, DELTA = 1.0, 1e-6
TARGET = "affair"
WARNING = "public demonstration data: never do this with real records"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DRAWS = 20
# How each feature is called on the page.
LABELS = {
    "rate_marriage": "her rating of the marriage (1 very poor … 5 very good)",
    "age": "age (under 20 … 40 or over)",
    "yrs_married": "years married (under 1 … the longest)",
    "children": "children (0 … 5 or more)",
    "religious": "religiousness (1 not … 4 strongly)",
    "educ": "education (grade school … advanced degree)",
    "occupation": "occupation (1 student … 6 professional)",
    "occupation_husb": "husband's occupation (1 … 6)",
}


def domain() -> str:
    """What the questionnaire let people answer, as a domain in TOML; nothing of it was read from the answers."""
    return files("hullabaloo.cli.demo").joinpath("domain.toml").read_text(encoding="utf-8")


def load() -> Any:
    """The survey as a pandas dataframe: the eight features, and whether there was an affair."""
    raw = library("statsmodels.datasets.fair", "hullabaloo[demo]", "The demo").load_pandas().data
    survey = raw[list(LABELS)].copy()
    survey[TARGET] = (raw["affairs"] > 0).astype(int)
    return survey


class Curve(NamedTuple):
    """R² on the table: without privacy, of the demo's release, and mean and standard deviation of `DRAWS` private fits at each ε."""

    without_privacy: float
    release: float
    draws: Mapping[float, tuple[float, float]]


def measure(model: "PrivateLinearModel", domain: "hb.Domain", survey: Any, advance: Callable[[], None]) -> Curve:
    """Fit again and again, without a ledger, because the table is public; `advance` is called after each ε. *Not private*: it measures on the table itself."""

    def fitted(budget: hb.Budget) -> float:
        return score(hb.LinearRegression(domain=domain, budget=budget).fit(survey), survey)

    draws: dict[float, tuple[float, float]] = {}
    for epsilon in EPSILONS:
        found = [fitted(hb.Budget(epsilon, DELTA)) for _ in range(DRAWS)]
        draws[epsilon] = statistics.fmean(found), statistics.pstdev(found)
        advance()
    return Curve(fitted(hb.Budget(math.inf)), score(model, survey), draws)


def score(model: "PrivateLinearModel", survey: Any) -> float:
    """R² on the table; computed from records, hence *not private*."""
    from sklearn.metrics import r2_score

    return float(r2_score(survey[TARGET], model.predict(survey)))
