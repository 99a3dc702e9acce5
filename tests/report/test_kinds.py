"""Cards of every kind of model and solver: each query has a row in words, and what a coefficient measures is said."""

from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.queries import QUERIES
from hullabaloo.report.words import book
from tests.linear_model.examples import FEATURES, domain_for, table

jsonschema = pytest.importorskip("jsonschema")
BUDGET = hb.Budget(1.0, 1e-7)
THREE = hb.Domain(features=FEATURES, classes={"ward": ["a", "b", "c"]}, indicators=False)
EXPOSED = hb.Domain(features={**FEATURES, "years": (0.25, 8.0)}, target={"events": (0, 60)}, indicators=False)

FAST = ("choices", "three")
"""Of choices, and of a sum; the price of `objective` takes long, at each of the many δ of a card."""
MODELS = {
    "choices": (hb.Lasso(domain=domain_for("Lasso"), solver="frank_wolfe"), "a linear model of cost", "cost"),
    "output": (
        hb.LogisticRegression(domain=domain_for("LogisticRegression"), solver="output_perturbation"),
        "a logistic regression of ill",
        "the log-odds of ill=yes",
    ),
    "objective": (
        hb.LinearSVC(domain=domain_for("LinearSVC"), solver="objective_perturbation"),
        "a linear support vector classifier of ill",
        "the decision in favour of ill=yes",
    ),
    "three": (
        hb.LogisticRegression(domain=THREE, multi_class="one-vs-rest", solver="gradient"),
        "a logistic regression of ward",
        "the log-odds of ward=a",
    ),
    "counts": (
        hb.PoissonRegressor(domain=EXPOSED, exposure="years", solver="gradient"),
        "a log-linear model of events",
        "the logarithm of events",
    ),
    "quantile": (
        hb.QuantileRegressor(domain=domain_for("QuantileRegressor"), solver="gradient"),
        "a linear quantile regression of cost",
        "cost",
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in MODELS])
def test_every_kind_has_a_card_that_reads_well(name: str) -> None:
    model, form, measures = MODELS[name]
    card = hb.report.card(model.set_params(budget=BUDGET).fit(table(2000)))
    document: dict[str, Any] = card.to_dict()
    jsonschema.validate(document, hb.report.schema())
    assert card.check() == ()
    assert f"We fitted {form} (" in document["methods"]
    assert "unlimited" not in document["methods"]
    assert document["coefficients"]["rows"][0]["measures"] == measures
    for query in document["mechanism"]["queries"]:
        assert query["asks"] == book()["queries"][query["name"]]
        assert query["how"] or query["noise_std"] > 0.0
    queries = document["mechanism"]["queries"]
    assert all(document["methods"].count(one["asks"]) >= 1 for one in queries)
    assert f"{sum(one['answers'] for one in queries):,} noisy answers" in document["methods"]
    html = card.to_html()
    assert all(query["how"] in html for query in document["mechanism"]["queries"])
    assert measures in html


def test_every_query_that_can_be_asked_has_words() -> None:
    assert set(QUERIES) <= set(book()["queries"])


def test_a_card_names_a_column_of_classes_once() -> None:
    card = hb.report.card(MODELS["three"][0].set_params(budget=BUDGET).fit(table(1000))).to_dict()
    assert card["title"] == "LogisticRegression model of ward"
    assert card["model"]["predicts"] == ["ward"]
    assert card["model"]["targets"] == ["ward=a", "ward=b", "ward=c"]
    assert np.isfinite([row["coefficient"] for row in card["coefficients"]["rows"]]).all()
