"""The survey of the demo: readers of the magazine Redbook, 1974, one record each, and what its questionnaire allowed.

Source: Fair, Ray C. 1978. "A Theory of Extramarital Affairs", Journal of Political Economy 86, 45–61; the copy that
ships with statsmodels (`statsmodels.datasets.fair`, public, included there with the author's permission).
"""

from importlib.resources import files
from typing import Any

DATASET = "redbook-1974"
EPSILON, DELTA = 1.0, 1e-6
TARGET = "affair"
# How each feature is called in the report.
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
    from statsmodels.datasets import fair

    raw = fair.load_pandas().data
    survey = raw[list(LABELS)].copy()
    survey[TARGET] = (raw["affairs"] > 0).astype(int)
    return survey
