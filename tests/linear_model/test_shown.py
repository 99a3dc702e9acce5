"""An estimator is shown without the passwords of the addresses that it was given, on pages too."""

import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import hullabaloo as hb

URL = "postgresql://ann:hush@host/db?sslpassword=hush"
BUDGET = hb.Budget(1.0, 1e-6)
MADE = [
    hb.LinearRegression(budget=BUDGET, ledger=URL, dataset="d"),
    hb.streaming.IncrementalRegression(budget=BUDGET, ledger=URL, dataset="d", horizon=10),
    hb.PrivateSearchCV(hb.Ridge(), [{}], budget=BUDGET, ledger=URL, dataset="d"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("made", MADE, ids=lambda made: type(made).__name__)
def test_no_password_is_shown(made: object) -> None:
    ledger = clone(made).set_params(ledger=hb.Ledger(URL))
    for one in (made, ledger, Pipeline([("model", ledger)])):  # scikit-learn's own walk through parameters
        bundle = one._repr_mimebundle_()
        for shown in (repr(one), str(one), one._repr_html_(), *bundle.values()):
            assert "ann" in shown
            assert "hush" not in shown
    assert made.get_params()["ledger"] == URL  # type: ignore[attr-defined]
