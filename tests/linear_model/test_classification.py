"""Classes are declared: labels come back as they were declared, and what the records hold changes no shape and raises nothing."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import Normalizer

import hullabaloo as hb
from hullabaloo.errors import CapabilityError, DomainError, HullabalooError, InvalidParameter, NotReleased
from hullabaloo.linear_model.shared import probabilities_apart
from hullabaloo.noise import TestKey
from tests.linear_model.examples import CLASSIFIERS, FEATURES, domain_for, table

pytestmark = pytest.mark.filterwarnings("ignore:score compares predictions:hullabaloo.errors.NotPrivateWarning")

KEY = TestKey(bytes(range(32)))
BUDGET = hb.Budget(2.0, 1e-7)
THREE = hb.Domain(features=FEATURES, classes={"ward": ["a", "b", "c"]}, indicators=False)


def fitted(name: str, domain: hb.Domain, frame: pd.DataFrame, solver: Any = "gradient", **more: Any) -> Any:
    """With a solver that is named: the planner has tests of its own."""
    return getattr(hb, name)(budget=BUDGET, domain=domain, solver=solver, test_key=KEY, **more).fit(frame)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_two_classes_are_told_apart_and_named_as_declared(name: str) -> None:
    frame, new = table(20_000), table(2000, seed=1)
    loose = {"radius": 20.0} if name == "StructuredSparseClassifier" else {}  # its default binds
    model = fitted(name, domain_for(name), frame, **loose)
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.coef_.shape, model.intercept_.shape) == ((1, 4), (1,))
    assert model.coef_[0] == pytest.approx([0.05, 0.0, 0.0, 2.0], abs=0.6)
    decision = model.decision_function(new)
    assert decision.shape == (2000,)
    assert np.array_equal(model.predict(new), np.where(decision > 0, "yes", "no"))
    assert model.score(new, new["ill"]) > 0.65
    assert roc_auc_score(new["ill"] == "yes", decision) > 0.72


@pytest.mark.slow
def test_probabilities_are_calibrated() -> None:
    frame, new = table(20_000), table(4000, seed=1)
    model = fitted("LogisticRegression", domain_for("LogisticRegression"), frame)
    chances = model.predict_proba(new)
    assert chances.shape == (4000, 2)
    assert chances.sum(axis=1) == pytest.approx(np.ones(4000))
    assert np.exp(model.predict_log_proba(new)) == pytest.approx(chances)
    share = float((frame["ill"] == "yes").mean())
    constant = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert log_loss(new["ill"], chances) < constant - 0.05


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("declared", "classes"),
    [
        ([1, 0], [0, 1]),
        (["yes", "no"], ["no", "yes"]),
        ([True, False], [False, True]),
        ([2.5, -1], [-1, 2.5]),
        ([10, 9], [9, 10]),
        ([1, "other"], [1, "other"]),
    ],
)
def test_labels_are_of_the_declared_type_and_in_their_natural_order(declared: list[Any], classes: list[Any]) -> None:
    """scikit-learn's scores take the second class for the positive one, in this order."""
    X = np.linspace(-1.0, 1.0, 2000)[:, None]
    y = [classes[1] if value > 0.3 else classes[0] for value in X[:, 0]]
    domain = hb.Domain(features={"a": (-1, 1)}, classes=declared, indicators=False)
    model = hb.LogisticRegression(budget=hb.Budget(3.0, 1e-6), domain=domain, solver="gradient", test_key=KEY).fit(X, y)
    assert model.classes_.tolist() == classes
    kinds = {type(label) for label in classes}
    assert {type(label) for label in model.classes_.tolist()} == (kinds if kinds != {int, float} else {float})
    assert model.coef_[0, 0] > 0.0
    assert model.predict([[-1.0], [1.0]]).tolist() == classes


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_declared_class_without_records_is_no_error(name: str) -> None:
    frame = table(3000)
    domain = hb.Domain(features=FEATURES, classes={"ill": ["no", "yes"]}, indicators=False)
    frame["ill"] = "no"
    model = fitted(name, domain, frame)
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.predict(frame) == "no").mean() > 0.95


def test_a_class_that_was_not_declared_counts_as_the_fill() -> None:
    frame = table(3000)
    undeclared = frame["ill"].where(frame["ill"] != "yes", "unheard of")
    domain = hb.Domain(features=FEATURES, classes=["no", "yes"], target_fill="yes", indicators=False)
    models = [
        hb.LogisticRegression(budget=BUDGET, domain=domain, solver="gradient", test_key=KEY).fit(frame, y)
        for y in (frame["ill"], undeclared)
    ]
    assert models[0].release_.theta.tobytes() == models[1].release_.theta.tobytes()


def test_three_classes_have_a_row_of_coefficients_each() -> None:
    frame, new = table(8_000), table(3000, seed=1)
    model = fitted("LogisticRegression", THREE, frame)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 4), (3,))
    assert model.decision_function(new).shape == (3000, 3)
    chances = model.predict_proba(new)
    assert chances.sum(axis=1) == pytest.approx(np.ones(3000))
    assert np.array_equal(model.predict(new), model.classes_[np.argmax(chances, axis=1)])
    shares = np.array([(frame["ward"] == label).mean() for label in "abc"])
    assert log_loss(new["ward"], chances) < -float(shares @ np.log(shares)) - 0.05
    assert model.score(new, new["ward"]) > float(shares.max())
    assert {row.target for row in model.summary().rows} == {"ward=a", "ward=b", "ward=c"}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_against_the_rest(name: str) -> None:
    frame, new = table(5000), table(3000, seed=1)
    more = {"multi_class": "one-vs-rest"} if name == "LogisticRegression" else {}
    model = fitted(name, THREE, frame, **more)
    assert model.coef_.shape == (3, 4)
    assert model.score(new, new["ward"]) > float(frame["ward"].value_counts(normalize=True).max())
    if name == "LogisticRegression":
        assert model.predict_proba(new).sum(axis=1) == pytest.approx(np.ones(3000))


@pytest.mark.few(8)
@pytest.mark.parametrize("classes", [3, 7, 40])
@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0, 1e4])
@pytest.mark.parametrize("level", [-30.0, 0.0, 30.0])
def test_chances_of_several_classes_lose_for_no_class_against_the_rest(
    classes: int, spread: float, level: float
) -> None:
    """Divided by their sum they did: of a class of 15 % of `shuttle` the total was 24 % high, and the log-loss of all a fifth larger."""
    z = level + spread * np.random.default_rng(classes).standard_normal((500, classes))
    low, high = -z.max(axis=1) - np.log(classes), -z.min(axis=1)
    for _ in range(80):  # the shift at which they add up to 1, by halving
        middle = 0.5 * (low + high)
        above = expit(z + middle[:, None]).sum(axis=1) > 1.0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    q, moved = probabilities_apart(z), z + middle[:, None]
    assert q == pytest.approx(expit(moved), rel=1e-9, abs=1e-12)
    assert q.sum(axis=1) == pytest.approx(np.ones(500), abs=1e-12)
    assert np.all(np.diff(np.take_along_axis(q, np.argsort(z, axis=1), axis=1), axis=1) >= 0.0)
    before, now = against_the_rest(z), against_the_rest(moved)
    assert np.all(now <= before + 1e-9 * (1.0 + before))


def against_the_rest(z: Any) -> Any:
    """Sums of the log-losses of each class against the rest, (n, k), where the record's class is each in turn."""
    return -log_expit(-z).sum(axis=1, keepdims=True) + log_expit(-z) - log_expit(z)


def test_chances_of_classes_that_one_line_does_not_part_are_better_than_divided_by_their_sum() -> None:
    """Three classes in a row along x: the middle one is rare, and each line of its own is off."""
    x = np.random.default_rng(2).uniform(-3, 3, 20_000)
    q = np.exp(np.stack([-2.0 * x, -1.0 + 0.0 * x, 2.0 * x], axis=1))
    y = (np.random.default_rng(3).random((len(x), 1)) > np.cumsum(q / q.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    domain = hb.Domain(features={"x": (-3, 3)}, classes=[0, 1, 2], indicators=False)
    free = hb.Budget(math.inf)
    model = hb.LogisticRegression(budget=free, domain=domain, multi_class="one-vs-rest").fit(x[:, None], y)
    apart = expit(model.decision_function(x[:, None]))
    divided = apart / apart.sum(axis=1, keepdims=True)
    assert log_loss(y, model.predict_proba(x[:, None])) < log_loss(y, divided)


def test_bounds_of_a_number_are_no_classes() -> None:
    for domain in (
        hb.Domain(features=FEATURES, target={"ill": (0, 1)}),
        hb.Domain(features=FEATURES),
    ):
        model = hb.LogisticRegression(budget=BUDGET, domain=domain)
        for asked in (lambda: model.fit(table(50)), lambda: model.price(n=50)):  # noqa: B023 - called at once
            with pytest.raises(DomainError, match=r"learns classes.*classes=\['no', 'yes'\]"):
                asked()
    for wrong in (1e-10, -1.0, math.nan, "wide", True):
        with pytest.raises(InvalidParameter, match=r"smoothing .* above 1e-09"):
            hb.LinearSVC(budget=BUDGET, domain=domain_for("LinearSVC"), smoothing=wrong).price(n=100)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("domain", [domain_for("LogisticRegression"), THREE], ids=["two", "three"])
def test_classifiers_survive_saving_and_leave_for_scikit_learn(tmp_path: Path, name: str, domain: hb.Domain) -> None:
    frame, new = table(3000), table(200, seed=1)
    model = fitted(name, domain, frame)
    model.save(tmp_path / "model.json")
    for back in (hb.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(back.predict(new), model.predict(new))
        assert back.coef_.tobytes() == model.coef_.tobytes()
        assert back.classes_.tolist() == model.classes_.tolist()
        assert {**back.get_params(), "test_key": KEY, "domain": None, "neighbours": ""} == {
            **model.get_params(), "domain": None, "neighbours": "",
        }  # fmt: skip
    plain = model.to_sklearn()
    assert np.array_equal(plain.predict(new), model.predict(new))
    assert plain.decision_function(new) == pytest.approx(model.decision_function(new))
    if name == "LogisticRegression":
        assert plain.predict_proba(new) == pytest.approx(model.predict_proba(new))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_needs_moments_says_so(name: str) -> None:
    model = fitted(name, domain_for(name), table(2000))
    with pytest.raises(NotReleased, match="not the squared one"):
        model.refit()
    with pytest.raises(NotReleased, match="not the squared one"):
        hb.compare([model])
    with pytest.raises(HullabalooError, match="squared"):
        fitted(name, domain_for(name), table(2000), solver="moments")


def test_the_summary_says_what_a_coefficient_is() -> None:
    two = fitted("LogisticRegression", domain_for("LogisticRegression"), table(2000)).summary()
    assert "the log-odds of 'yes'" in two.note
    assert "solver='moments'" not in str(two)
    svc = fitted("LinearSVC", domain_for("LinearSVC"), table(2000)).summary()
    assert "the decision in favour of 'yes'" in svc.note
    together = fitted("LogisticRegression", THREE, table(2000), "auto", multi_class="multinomial")
    assert "the log-probability, up to what all classes share, of the class" in together.summary().note
    with pytest.raises(HullabalooError, match="of several classes one-vs-rest"):
        together.summary(exponentiate=True)


def test_a_pipeline_of_a_classifier_is_one() -> None:
    frame = table(5000)
    X = frame[["age", "hours"]].to_numpy() / 100
    domain = hb.Domain(features={"a": (0, 1), "b": (0, 1)}, classes=["no", "yes"], indicators=False)
    pipe = hb.private_pipeline(
        Normalizer(), hb.LogisticRegression(budget=BUDGET, domain=domain, solver="gradient", test_key=KEY)
    )
    pipe.fit(X, frame["ill"])
    assert set(pipe.predict(X)) <= {"no", "yes"}
    assert pipe.predict_proba(X).shape == (5000, 2)
    assert pipe.score(X, frame["ill"]) == pytest.approx(np.mean(pipe.predict(X) == frame["ill"]))
    assert pipe.__sklearn_tags__().estimator_type == "classifier"
    assert pipe.classes_.tolist() == ["no", "yes"]
    numbers = hb.private_pipeline(Normalizer(), hb.Ridge(budget=BUDGET, domain=domain))
    assert numbers.__sklearn_tags__().estimator_type == "regressor"
    assert not hasattr(numbers, "predict_proba")


@pytest.mark.slow
@pytest.mark.parametrize(
    "solvers", [pytest.param(["auto"], marks=pytest.mark.slow), ["gradient", "mirror_descent"]], ids=["auto", "named"]
)
def test_the_plain_hinge_is_learned_by_subgradients(solvers: list[str]) -> None:
    """smoothing=0: the mean of max(0, 1 − yz) comes within 0.02 of its least over the ball, with a fixed key (0.28 against 1 of the constant)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6_000, 3))
    signs = np.where(X @ [2.0, -1.0, 0.5] + rng.logistic(0, 0.3, 6_000) > 0, 1.0, -1.0)
    domain = hb.Domain({f"x{j}": (-1, 1) for j in range(3)}, classes=[0, 1], indicators=False)
    asked = {"smoothing": 0, "constraint": hb.L2Ball(3.0), "domain": domain}
    y = (signs > 0).astype(int)

    def hinge(model: hb.LinearSVC) -> float:
        return float(np.mean(np.maximum(0.0, 1.0 - signs * model.decision_function(X))))

    exact = hinge(hb.LinearSVC(budget=hb.Budget(math.inf), **asked).fit(X, y))
    assert exact < 0.4
    for solver in solvers:
        model = hb.LinearSVC(budget=hb.Budget(1.0, 1e-8), solver=solver, test_key=KEY, **asked).fit(X, y)
        assert hinge(model) < exact + 0.02, solver
    with pytest.raises(CapabilityError, match=r"no curvature.*Nothing was charged"):
        hb.LinearSVC(budget=hb.Budget(1.0, 1e-8), solver="objective_perturbation", **asked).fit(X, y)


def test_the_word_of_scikit_learn_for_one_against_the_rest_is_told() -> None:
    domain = hb.Domain(features={"a": (-1, 1)}, classes=[0, 1, 2], indicators=False)
    with pytest.raises(InvalidParameter, match="multi_class='one-vs-rest'"):
        hb.LogisticRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, multi_class="ovr").price(n=100)
    with pytest.raises(InvalidParameter, match="multi_class"):
        hb.LogisticRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, multi_class=np.zeros(0)).price(n=100)  # type: ignore[arg-type]
