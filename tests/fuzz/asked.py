"""Dear doors where a table is asked something else than a fit, an evaluation, bounds or a search; and those that ask none."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures, StandardScaler

import hullabaloo as hb
from hullabaloo import model_selection, streaming
from hullabaloo.errors import HullabalooError
from tests.fuzz.doors import Door, a_budget, a_domain, a_penalty, a_set, arguments
from tests.fuzz.garbage import SECRET, Garbage
from tests.fuzz.rooms import BUDGET, charged, ledger, matrix, records
from tests.linear_model import examples

METRICS = (
    "r2", "squared_error", "absolute_error", "calibration", "log_loss", "accuracy", "brier_score", "pinball_loss", "poisson_deviance",
    "roc_auc",
)  # fmt: skip
COLUMNS = ("age", "hours", "job", "cost", "ill", "visits", "years")
ENOUGH = 200
"""Questions to an oracle, after which it refuses."""


def _fitted(name: str, **more: Any) -> Any:
    usual = {"budget": BUDGET, "domain": examples.domain_for(name)}
    return getattr(hb, name)(**{**usual, **more}).fit(examples.table(300))


@cache
def models() -> tuple[Any, ...]:
    """Fitted models of several kinds: with moments and without, without privacy, of another relation, of rows, not fitted."""
    moments = {"solver": "moments"}
    counted = {"neighbours": "add-or-remove", "domain": examples.domain_for("Ridge", records=300)}
    rows = hb.LinearRegression(budget=BUDGET, domain=hb.Domain(row_norm=1.0, target=(-1, 1)), solver="moments")
    rows.fit(np.full((20, 2), 0.5), np.linspace(-1.0, 1.0, 20))
    return (
        _fitted("LinearRegression", **moments),
        _fitted("Ridge", **moments, **counted),
        _fitted("LogisticRegression"),
        _fitted("PoissonRegressor"),
        _fitted("QuantileRegressor"),
        _fitted("LinearRegression", solver="gradient"),
        _fitted("LinearRegression", budget=hb.Budget(np.inf, 0.0)),
        rows,
        hb.LinearRegression(budget=BUDGET, domain=examples.domain_for("LinearRegression")),
    )


def a_model(g: Garbage) -> Any:
    """A model, fitted as a rule."""
    return g.one(models())


def _sound(n: int) -> Door:
    return lambda g: examples.table(n) if g.chance(0.6) else records(g)


def _ranges(g: Garbage) -> Any:
    """Outer ranges, sound as often as not."""
    if g.chance(0.3):
        return g.one((examples.domain_for("LinearRegression"), a_domain(g), hb.Domain(row_norm=1.0)))
    found: dict[Any, Any] = {"age": (0, 130), "hours": (0, 200), "cost": (-100, 100)}
    for _ in range(g.random.randrange(3)):
        found[g.one((*COLUMNS, g.text(), 1.5))] = g.mostly(lambda: (g.real(), g.real()))
    return found


def _shares(g: Garbage) -> Any:
    return g.one(((0.1, 0.9), (0.0, 1.0), (g.random.random(), g.random.random()), g.sequence(g.real)))


def mostly_sound(
    g: Garbage, maker: Callable[..., Any], usual: Mapping[str, Door], needed: tuple[str, ...]
) -> dict[str, Any]:
    """Arguments, among them as a rule those that are needed although they have a default; often the usual budget."""
    given = arguments(g, maker, usual)
    for name in needed:
        if g.chance(0.9):
            given.setdefault(name, usual[name](g))
    return {**given, "budget": BUDGET} if g.chance(0.6) else given


def calmer(g: Garbage) -> Garbage:
    """Garbage, of which often less is wild: of many arguments one would be otherwise."""
    return Garbage(g.random, g.one((0.2, 0.03, 0.0)))


QUESTION: dict[str, Door] = {
    "X": _sound(200), "y": lambda g: g.one((None, None, None, *COLUMNS, g.text())), "model": a_model, "budget": a_budget,
    "metrics": lambda g: g.one((None, g.one(METRICS), g.sequence(lambda: g.one(METRICS)))), "sample_weight": lambda g: g.one((None, "years", g.array(200))),
    "records": lambda g: g.one((None, 200)), "confidence": lambda g: g.random.random(), "largest_error": lambda g: g.one((None, g.real(), {"cost": g.real()})),
    "probability_floor": lambda g: g.random.random() / 2, "bins": Garbage.count, "ledger": lambda g: None, "dataset": lambda g: None, "test_key": lambda g: None,
    "neighbours": lambda g: g.one((None, "replace-one", "add-or-remove")), "n": lambda g: g.one((1, 30, 200, 10**5)),
}  # fmt: skip
BOUNDS: dict[str, Door] = {
    **QUESTION, "outer": _ranges, "columns": lambda g: g.one((None, [g.one(COLUMNS)], g.sequence(lambda: g.one(COLUMNS)), "age")),
    "coverage": lambda g: g.random.random(), "quantiles": lambda g: g.one((None, _shares(g))), "grid": lambda g: g.one(("auto", "linear", "log", g.text())),
    "neighbours": lambda g: g.one(("replace-one", "add-or-remove")),
}  # fmt: skip


def paid(ask: Callable[..., Any], given: Mapping[str, Any], g: Garbage) -> Any:
    """Ask with a ledger as a rule, where what it costs is checked, and else with none."""
    if g.chance(0.8):
        return charged(lambda: ask(**{**given, "ledger": ledger(), "dataset": "people"}))
    if g.chance(0.5):
        return ask(**{**given, "ledger": None, "dataset": None})
    return ask(**{**given, "ledger": g.one((None, 1.5, ["a"], SECRET[:3])), "dataset": g.anything()})


def evaluated(g: Garbage) -> None:
    """Evaluate a model."""
    g = calmer(g)
    found = paid(hb.evaluate, mostly_sound(g, hb.evaluate, QUESTION, ()), g)
    again = hb.Evaluation.from_dict(found.to_dict())
    assert str(again) == str(found)
    assert found._repr_html_()
    assert found.card_entry()["lines"]


def evaluation_priced(g: Garbage) -> None:
    """Price an evaluation."""
    g = calmer(g)
    given = arguments(g, model_selection.price_evaluation, QUESTION)
    found = model_selection.price_evaluation(**{**given, "ledger": None, "dataset": None})
    assert all(error.low >= 0.0 for error in found.errors.values())


def bounded(g: Garbage) -> None:
    """Buy bounds."""
    g = calmer(g)
    found = paid(hb.private_bounds, mostly_sound(g, hb.private_bounds, BOUNDS, ("outer", "budget")), g)
    assert all(low < high for low, high in found.bounds.values())
    assert str(hb.PrivateBounds.from_dict(found.to_dict())) == str(found)
    assert found._repr_html_()
    if g.chance(0.3):
        found.domain(**g.one(({}, {"target": (0, 1)}, {"features": {"new": (0, 1)}})))


def _candidates(g: Garbage) -> Any:
    names = ("solver", "fit_intercept", "penalty", "alpha", "constraint", g.text())
    return {
        g.one(names): g.sequence(lambda: g.mostly(lambda: g.one(("moments", "auto", True, False, 0.1))))
        for _ in range(2)
    }


SEARCH: dict[str, Door] = {
    "estimator": lambda g: hb.LinearRegression(domain=examples.domain_for("LinearRegression"), solver="moments"),
    "candidates": lambda g: g.one(({"fit_intercept": [True, False]}, [{"fit_intercept": True}], _candidates(g))), "expected_candidates": lambda g: g.one(("auto", 1.5, 3)),
    "metric": lambda g: g.one((None, *METRICS)), "state": lambda g: None, "key_file": lambda g: None, "test_key": lambda g: None, "budget": a_budget,
}  # fmt: skip


def searched(g: Garbage) -> None:
    """Search among candidates."""
    g = calmer(g)
    given = mostly_sound(g, hb.PrivateSearchCV, SEARCH, ("estimator", "candidates", "budget"))
    search = hb.PrivateSearchCV(**{**given, "state": None, "key_file": None, "ledger": None, "dataset": None})
    str(search.price(g.mostly(lambda: 200)))
    search.set_params(ledger=ledger(), dataset="people")
    charged(lambda: search.fit(g.mostly(lambda: _sound(200)(g))))
    assert np.isfinite(search.best_score_)
    search.predict(examples.table(5))


def a_loss(g: Garbage) -> Any:
    """A loss, as pathological as its constructor lets it be."""
    return g.one((
        hb.Squared, hb.Logistic, hb.Poisson, lambda: hb.Huber(g.positive()), lambda: hb.SmoothedHinge(g.positive()), lambda: hb.Pinball(g.random.random()),
        hb.MultinomialLogistic, hb.SquaredTargets, lambda: None,
    ))()  # fmt: skip


PLAN: dict[str, Door] = {
    "n": lambda g: g.one((1, 2, 100, 10_000, 10**9, g.count())), "p": lambda g: g.one((None, 1, 5, g.count())), "loss": a_loss, "set": a_set, "budget": a_budget,
    "penalty": lambda g: g.one((None, a_penalty(g))), "neighbours": lambda g: g.one(("replace-one", "add-or-remove")), "exposure": lambda g: g.one((None, "age")),
    "horizon": lambda g: g.one((1, 2, 100, 10_000, 10**9, g.count())), "every": lambda g: g.one(("auto", 1, 10, (5, 50), g.count())),
}  # fmt: skip


def planned(maker: Callable[..., Any]) -> Door:
    """Plan a fit or a stream."""

    def plan(g: Garbage) -> None:
        g = calmer(g)
        given = arguments(g, maker, PLAN)
        if g.chance(0.9):  # one of both
            given.pop(g.one(("set", "penalty")), None)
        if "p" not in given and "domain" not in given and g.chance(0.9):
            given["p"] = 5
        found = maker(**given)
        assert str(found)
        assert found._repr_html_()

    return plan


def compared(g: Garbage) -> None:
    """Compare models."""
    some = [g.mostly(lambda: a_model(g)) for _ in range(g.random.randrange(4))]
    given = g.mostly(lambda: g.one((some, tuple(some), {str(g.anything(0)): one for one in some})))
    found = hb.compare(given)
    assert str(found)
    assert found._repr_html_()
    found.to_dataframe()


def audited(g: Garbage) -> None:
    """Audit models of one column, a few runs of each."""
    g = calmer(g)
    domain = hb.Domain(
        features={"a": (0, 1)},
        **g.one(({"target": (0, 1)}, {"classes": ["no", "yes"]}, {"target": (0, 1), "records": 30})),
    )
    kinds = (hb.LinearRegression, hb.Ridge, hb.LogisticRegression, hb.LinearSVC, streaming.IncrementalRegression)
    kind = g.one(kinds)
    more = {"horizon": 20, "every": 10} if kind is streaming.IncrementalRegression else {}
    solver = g.one(("auto", "moments", "gradient"))
    relation = g.one(("replace-one", "add-or-remove"))
    usual: dict[str, Door] = {
        "estimator": lambda g: kind(budget=a_budget(g), domain=domain, neighbours=relation, solver=solver if more == {} else "moments", **more),
        "runs": lambda g: g.random.randrange(2, 21), "confidence": lambda g: g.one((0.9, 0.95, g.random.random())), "canary": lambda g: None,
        "method": lambda g: g.one(("transcript", "released", g.text())), "n": lambda g: g.one((None, 10, 1000)), "n_features": lambda g: g.one((None, 1, 3)),
        "progress": lambda g: None, "test_key": lambda g: g.one((None, bytes(32))),
    }  # fmt: skip
    given = arguments(g, hb.audit, usual)
    runs = given.setdefault("runs", 6)
    if isinstance(runs, int) and runs > 20:
        given["runs"] = 20
    found = hb.audit(**given)
    assert str(found)
    assert found.to_dict()["passed"] is found.passed


def descended(g: Garbage) -> None:
    """Descend by the answers of an oracle that tells garbage, and ends it after a while."""
    g = calmer(g)
    asked = 0

    def oracle(theta: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked > ENOUGH:
            raise HullabalooError("The oracle was asked often enough, and gives no more answers.")
        return g.one((theta, -theta, np.ones_like(theta), g.anything())) if wild else theta - 1.0

    wild = g.chance(0.5)
    usual: dict[str, Door] = {
        "oracle": lambda g: oracle, "constraint": a_set, "steps": lambda g: g.random.randrange(1, 50), "lipschitz": Garbage.positive,
        "noise": lambda g: g.one((0.0, g.positive())), "dimension": lambda g: g.one((3, 3, 1, g.count())),
    }  # fmt: skip
    given = arguments(g, hb.mirror_descent, usual)
    if callable(given["oracle"]):  # what another function of the caller's raises is its own
        given["oracle"] = oracle
    theta = hb.mirror_descent(**given)
    assert np.isfinite(theta).all()


def a_step(g: Garbage) -> Any:
    """A step of a pipeline, or none."""
    return g.one((
        lambda: PolynomialFeatures(g.mostly(lambda: g.random.randrange(3))), lambda: Normalizer(g.one(("l1", "l2", "max", "x"))), StandardScaler, PolynomialFeatures,
        lambda: Binarizer(threshold=g.mostly(g.real)), lambda: FunctionTransformer(g.one((np.log1p, np.sqrt, np.exp, np.sum, None, len))), g.anything,
    ))()  # fmt: skip


def piped(g: Garbage) -> None:
    """Fit a pipeline of steps that may learn, or be none, to a matrix."""
    g = calmer(g)
    domain = hb.Domain(row_norm=1.0, target=(-1, 1))
    last = hb.LinearRegression(budget=BUDGET, domain=domain, ledger=ledger(), dataset="people", solver="moments")
    made = hb.private_pipeline(*[a_step(g) for _ in range(g.random.randrange(3))], g.mostly(lambda: last))
    X = matrix(g)
    count = next(iter(getattr(X, "shape", ())), 3)
    charged(lambda: made.fit(X, g.mostly(lambda: [g.real() for _ in range(count)])))
    assert np.isfinite(made.predict(X)).all()


ASKED: dict[str, Door] = {
    "hb.evaluate": evaluated,
    "model_selection.price_evaluation": evaluation_priced,
    "hb.private_bounds": bounded,
    "search: fit": searched,
    "hb.plan": planned(hb.plan),
    "streaming.plan": planned(streaming.plan),
    "hb.compare": compared,
    "hb.audit": audited,
    "hb.mirror_descent": descended,
    "hb.private_pipeline": piped,
}
