"""Declaring a domain: what is accepted, what is refused and in which words, and the round trips."""

import copy
import json
import pickle
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pytest

from hullabaloo.data import Categorical, Domain, Numeric
from hullabaloo.errors import DomainError

FULL = Domain(
    features={
        "age": (17, 90),
        "income": Numeric(0, 1e6, fill=2e4, transform="log1p"),
        "job": Categorical(["clerk", "nurse", "none"], baseline="none"),
        "smoker": [False, True],
        "grade": Categorical([1, 2]),
    },
    target={"los": (0, 30), "cost": (0, 1e5)},
    target_fill={"los": 3},
    transforms={"age": "sqrt"},
    interactions=[("age", "job"), ("age", "age")],
    unit="patient",
    records_per_unit=5,
    weight=("w", 10),
    records=20_000,
    row_norm=("l1", 3),
)
TOML = """
target = { los = [0, 30], cost = [0, 1e5] }
target_fill = { los = 3 }
interactions = [["age", "job"], ["age", "age"]]
unit = "patient"
records_per_unit = 5
weight = ["w", 10]
records = 20000
row_norm = ["l1", 3]
[transforms]
age = "sqrt"
[features]
age = [17, 90]
income = { lo = 0, hi = 1e6, fill = 2e4, transform = "log1p" }
job = { levels = ["clerk", "nurse", "none"], baseline = "none" }
smoker = [false, true]
grade = { levels = [1, 2] }
"""
DOMAINS = [
    FULL,
    Domain(row_norm=1.0, target=(-1, 1)),
    Domain(row_norm=("linf", 2), classes=["no", "yes"], target_fill="yes"),
    Domain(features={"a": (0, 1)}, classes={"outcome": ["x", "y", "z"]}, indicators=False),
    Domain(features={"a": ["u"]}, target=(0, 1), target_fill=0.25),
    Domain(features={"a": ["u"]}, target=(0, 1), missing_target="drop"),
]


@pytest.mark.parametrize("domain", DOMAINS)
def test_round_trips(domain: Domain) -> None:
    assert Domain.from_dict(domain.to_dict()) == domain
    assert Domain.from_json(json.dumps(domain.to_dict())) == domain
    for copied in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain))):
        assert copied == domain
        assert hash(copied) == hash(domain)
    assert "Domain(" in repr(domain)


def test_toml_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "domain.toml"
    path.write_text(TOML)
    assert Domain.from_toml(TOML) == Domain.from_toml(path) == Domain.from_toml(str(path)) == FULL


def test_a_domain_is_frozen() -> None:
    with pytest.raises(AttributeError):
        FULL.records = 3  # type: ignore[misc]


def test_order_of_features_is_kept() -> None:
    assert FULL.feature_names == ("age", "income", "job", "smoker", "grade")


REFUSED = [
    ({"features": {"a": ("2019-01-01", "2020-01-01")}, "target": (0, 1)}, "a date has no bounds"),
    ({"features": {"a": (date(2019, 1, 1), datetime(2020, 1, 1))}, "target": (0, 1)}, "a date has no bounds"),
    ({"features": {"a": ["2019-01-01", "2020-01-01 12:00"]}, "target": (0, 1)}, "days since a given one"),
    ({"features": {"a": ("x", 1)}, "target": (0, 1)}, "neither two numbers, as bounds are, nor a list of levels"),
    ({"features": {"a": [2.5]}, "target": (0, 1)}, "Write both bounds"),
    ({"features": {"a": (2.5,)}, "target": (0, 1)}, "Write both bounds"),
    ({}, "needs `features`"),
    ({"features": {"a": (1, 0)}}, "lower bound below"),
    ({"features": {"a": (0, 0)}}, "lower bound below"),
    ({"features": {"a": (0, np.inf)}}, "finite numbers"),
    ({"features": {"a": (np.nan, 1)}}, "finite numbers"),
    ({"features": {"a": (-1e200, 1)}}, "finite numbers"),
    ({"features": {"a": Numeric}}, "Write bounds"),
    ({"features": ["a"]}, "mapping from column name"),
    ({"features": {"a": ["x", "x"]}}, "declared twice"),
    ({"features": {"a": []}}, "at least one level"),
    ({"features": {"a": [None, "x"]}}, "a level is a text"),
    ({"features": {"a": {"levels": ["x"], "baseline": "y"}}}, "baseline 'y' is not one"),
    ({"features": {"a": {"levels": ["x"], "base": "x"}}}, "key 'base' is not known"),
    ({"features": {"a": {"lo": 0}}}, "needs bounds"),
    ({"features": {"a": {"lo": 0, "hi": 1, "fill": 2}}}, "outside its bounds"),
    ({"features": {"a": {"lo": 0, "hi": 1, "indicator": "no"}}}, "yes or no"),
    ({"features": {"a": {"lo": 0, "hi": 1, "transform": "log"}}}, "leave its domain"),
    ({"features": {"a": {"lo": 0, "hi": 1, "transform": "tan"}}}, "is unknown"),
    ({"features": {"a": (0, 1)}, "transforms": {"b": "sqrt"}}, "no declared numeric"),
    ({"features": {"a": (0, 1)}, "interactions": [("a", "b")]}, "which is not declared"),
    ({"features": {"a": (0, 1), "b": (0, 1)}, "interactions": [("a", "b"), ("b", "a")]}, "declared twice"),
    ({"features": {"a": ["x"]}, "interactions": [("a", "a")]}, "with itself"),
    ({"features": {"a": (0, 1)}, "interactions": np.array("a")}, "a list of pairs of features"),
    ({"features": {"a": (0, 1)}, "interactions": ["ab"]}, "pair of features"),
    ({"row_norm": 0}, "must be positive"),
    ({"row_norm": ("l3", 1)}, "not known"),
    ({"row_norm": 1, "target": (0, 1), "classes": [0, 1]}, "Declare one of them"),
    ({"row_norm": 1, "classes": ["only"]}, "at least two classes"),
    ({"row_norm": 1, "classes": ["a", "b"], "target_fill": "c"}, "not one of the declared classes"),
    ({"row_norm": 1, "target": (0, 1), "target_fill": 3}, "outside its bounds"),
    ({"row_norm": 1, "target": {"y": (0, 1)}, "target_fill": {"z": 0}}, "not one of the declared targets"),
    ({"row_norm": 1, "target": 3}, "two bounds"),
    ({"row_norm": 1, "target_fill": 3}, "without a `target`"),
    ({"row_norm": 1, "target": (0, 1), "missing_target": "zero"}, "is 'fill'"),
    ({"row_norm": 1, "target": (0, 1), "target_fill": 0.5, "missing_target": "drop"}, "left out, not filled"),
    ({"row_norm": 1, "missing_target": "drop"}, "needs a `target`"),
    ({"features": {"y": (0, 1)}, "target": {"y": (0, 1)}}, "two roles"),
    ({"features": {"u": (0, 1)}, "unit": "u", "records_per_unit": 2}, "two roles"),  # which no number of records mends
    ({"row_norm": 1, "records_per_unit": 2}, "without the `unit`"),
    ({"row_norm": 1, "unit": "u", "records_per_unit": 2}, "`records`"),
    ({"row_norm": 1, "records": 0}, "at least 1"),
    ({"row_norm": 1, "records": 2.5}, "at least 1"),
    ({"row_norm": 1, "records": np.inf}, "at least 1"),
    ({"row_norm": 1, "weight": "w"}, "largest value"),
    ({"row_norm": 1, "weight": ("w", 0)}, "must be positive"),
]


@pytest.mark.parametrize(("keywords", "words"), REFUSED)
def test_refusals_are_sentences(keywords: dict[str, object], words: str) -> None:
    with pytest.raises(DomainError, match=words) as raised:
        Domain(**keywords)  # type: ignore[arg-type]
    assert str(raised.value).endswith((".", "!"))


def test_unknown_keys_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="'rows' is not known"):
        Domain.from_dict({"row_norm": 1, "rows": 3})
    with pytest.raises(DomainError, match="not valid TOML"):
        Domain.from_toml("a = ")
    with pytest.raises(DomainError, match="not valid JSON"):
        Domain.from_json("{")
    with pytest.raises(DomainError, match="cannot be read"):
        Domain.from_toml(tmp_path / "absent.toml")


def test_a_key_below_the_features_is_told_its_place() -> None:
    with pytest.raises(DomainError, match=r"write it above the line \[features\]"):
        Domain.from_toml('target = [0, 1]\n[features]\nage = [0, 9]\nunit = "patient"\n')
    with pytest.raises(DomainError) as caught:
        Domain.from_toml('target = [0, 1]\n[features]\nage = "x"\n')
    assert "[features]" not in str(caught.value)


def test_labels_for_bounds_are_told_apart() -> None:
    for target in (["no", "yes"], {"ill": ("no", "yes")}):
        with pytest.raises(DomainError, match=r"\['no', 'yes'\], which are no bounds. Labels of a class .* `classes`"):
            Domain({"x": (-1, 1)}, target=target)  # type: ignore[arg-type]
