"""Structures in terms of features become set functions of encoded columns, and radii of them mean the same thing."""

import itertools
import math
import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import hullabaloo as hb
from hullabaloo.data import Encoding
from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.structure.features import Features
from hullabaloo.structure.structure import set_function
from hullabaloo.structure.structure_files import function_in_words, structure_in_words
from tests.linear_model.examples import FEATURES, table
from tests.sampling import sampled

pytestmark = pytest.mark.filterwarnings("ignore:score compares predictions:hullabaloo.errors.NotPrivateWarning")

KEY = TestKey(bytes(range(32)))
BUDGET = hb.Budget(2.0, 1e-7)
FREE = hb.Budget(math.inf)
DOMAIN = hb.Domain(features=FEATURES, target={"cost": (-20, 20)}, indicators=False)
"""Columns: age, hours, job=nurse, job=cook."""
CROSSED = hb.Domain(features=FEATURES, target={"cost": (-20, 20)}, indicators=False, interactions=[("age", "job")])
NUMBERS = hb.Domain(features={f"x{j}": (-1, 1) for j in range(6)}, target={"y": (-1, 1)}, indicators=False)
MATRIX = hb.Domain(row_norm=1.0, target=(-1, 1))


def staffed(features: frozenset[str]) -> float:
    """A function of a program's own: concave, and jobs cost twice."""
    return math.sqrt(len(features) + ("job" in features))


STRUCTURES: dict[str, Any] = {
    "features": None,
    "groups": [["age", "job"], ["job", "hours"]],
    "named": {"who": ["age", "job"], "how": [1, 2]},
    "intervals": "intervals",
    "tree": hb.FeatureTree({"hours": "age", "job": "hours"}),
    "grid": hb.FeatureGrid(1, 3),
    "windows": hb.FeatureGrid(1, 3, window=1),
    "function": hb.BoundedCardinality(2),
    "callable": staffed,
}


def by_features(encoding: Encoding, value: Callable[[frozenset[Any]], float]) -> dict[tuple[int, ...], float]:
    """F of every set of encoded columns, by what it is of the features that they belong to."""
    features = Features.of(encoding)
    owner = {column: key for key, block in zip(features.keys, features.blocks, strict=True) for column in block}
    every = range(len(encoding.feature_names_out))
    sets = (chosen for size in range(len(owner) + 1) for chosen in itertools.combinations(every, size))
    return {chosen: value(frozenset(owner[column] for column in chosen)) for chosen in sets}


def check(structure: Any, encoding: Encoding, value: Callable[[frozenset[Any]], float]) -> None:
    function, p = set_function(structure, encoding), len(encoding.feature_names_out)
    for chosen, wanted in by_features(encoding, value).items():
        members = np.isin(np.arange(p), chosen)
        assert function.value(members) == pytest.approx(wanted, abs=1e-12), (structure, chosen)


def test_features_and_interactions_have_their_columns() -> None:
    features = Features.of(CROSSED.encoding())
    assert features.keys == ("age", "hours", "job", "age*job")
    assert features.blocks == ((0,), (1,), (2, 3), (4, 5))
    assert (features.declared, features.places) == (3, (0, 1, 2))
    marked = hb.Domain(features=FEATURES, target={"cost": (-20, 20)})
    assert Features.of(marked.encoding()).blocks == ((0, 1), (2, 3), (4, 5, 6))
    assert Features.of(MATRIX.encoding(n_features=2)).keys == (0, 1)
    assert Features.of(MATRIX.encoding(["a", "b"])).keys == ("a", "b")


def test_each_feature_alone_by_default() -> None:
    check(None, CROSSED.encoding(), len)
    assert set_function(None, NUMBERS.encoding()) == hb.Cardinality()


def test_groups_may_overlap_and_what_none_names_stands_alone() -> None:
    def hit(found: frozenset[str]) -> float:
        groups: list[set[str]] = [{"age", "job"}, {"job", "hours"}, {"age*job"}]
        return sum(not found.isdisjoint(group) for group in groups)

    for structure in ([["age", "job"], ["job", "hours"]], [[0, 2], ("job", 1, 1)], {"who": [2, "age"], "how": [1, 2]}):
        check(structure, CROSSED.encoding(), hit)
    single = set_function([["job=cook", "age"], ["age*job"]], CROSSED.encoding())
    assert {frozenset(group) for group in single.groups} == {  # type: ignore[attr-defined]
        frozenset({0, 3}),
        frozenset({4, 5}),
        frozenset({1}),
        frozenset({2}),
    }


def test_a_tree_counts_a_set_with_all_above_it() -> None:
    check(
        hb.FeatureTree({"hours": "age", "job": "hours"}),
        DOMAIN.encoding(),
        _closed({"hours": ["age"], "job": ["hours", "age"]}),
    )
    heredity = _closed({"age*job": ["age", "job"]})
    for tree in (hb.FeatureTree({"age*job": ["age", "job"]}), hb.FeatureTree({"age*job": [0, 2]})):
        check(tree, CROSSED.encoding(), heredity)
    places = _closed({1: [0], 2: [0], 3: [1, 0], 4: [1, 0]})
    check(hb.FeatureTree({1: 0, 2: 0, 3: 1, 4: 1}), MATRIX.encoding(n_features=5), places)


def _closed(above: dict[Any, list[Any]]) -> Callable[[frozenset[Any]], float]:
    return lambda found: len(found | {parent for child in found for parent in above.get(child, [])})


def test_intervals_follow_the_declared_order() -> None:
    names = list(NUMBERS.feature_names)

    def spread(order: list[str]) -> Callable[[frozenset[str]], float]:
        def value(found: frozenset[str]) -> float:
            places = [order.index(name) for name in found]
            return len(order) - 1 + max(places) - min(places) + 1 if places else 0.0

        return value

    check("intervals", NUMBERS.encoding(), spread(names))
    check("intervals", DOMAIN.encoding(), spread(["age", "hours", "job"]))


def test_pixels_make_rectangles_or_windows() -> None:
    names = list(NUMBERS.feature_names)

    def windows(found: frozenset[str]) -> float:
        cells = {divmod(names.index(name), 3) for name in found}
        return sum(
            any(i <= r <= i + 1 and j <= c <= j + 1 for r, c in cells) for i in range(-1, 2) for j in range(-1, 3)
        )

    check(hb.FeatureGrid(2, 3, window=2), NUMBERS.encoding(), windows)
    one = Features.of(DOMAIN.encoding())
    line = hb.FeatureGrid(1, 3, window=1)
    check(line, DOMAIN.encoding(), len)
    assert one.plain is False
    wide = np.array([True, False, True, False, False, False])  # the ends of the first row
    tall = np.array([True, False, False, False, True, False])
    near = np.array([True, True, False, False, False, False])
    found = set_function(hb.FeatureGrid(2, 3), NUMBERS.encoding())
    assert found.value(near) < found.value(wide)
    assert found.value(near) < found.value(tall)
    assert found.value(wide) == found.value(np.arange(6) < 3)  # a rectangle costs no more than its corners


def test_a_function_of_features_is_asked_for_features() -> None:
    check(staffed, DOMAIN.encoding(), staffed)
    check(
        lambda found: math.log1p(sum(found) + len(found)),
        MATRIX.encoding(n_features=4),
        lambda f: math.log1p(sum(f) + len(f)),
    )
    seen: set[Any] = set()
    set_function(lambda found: seen.update(found) or len(found), CROSSED.encoding())
    assert seen == {"age", "hours", "job", "age*job"}


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_radius_is_the_largest_coefficient_whatever_the_structure(name: str) -> None:
    model = hb.StructuredSparseRegression(structure=STRUCTURES[name], radius=0.3, budget=BUDGET, domain=DOMAIN)
    ball, _ = model._default(DOMAIN.encoding())
    assert isinstance(ball, hb.SubmodularBall)
    assert ball.max_norm(math.inf, 4) == pytest.approx(0.3)
    _, penalty = clone(model).set_params(strength=0.3)._default(DOMAIN.encoding())
    assert min(penalty.value(unit) for unit in np.eye(4)) == pytest.approx(0.3)


@pytest.mark.slow
def test_features_by_themselves_make_the_lasso() -> None:
    encoding = NUMBERS.encoding()
    ball, _ = hb.StructuredSparseRegression(radius=0.7, budget=BUDGET, domain=NUMBERS)._default(encoding)
    _, penalty = hb.StructuredSparseRegression(strength=0.2, budget=BUDGET, domain=NUMBERS)._default(encoding)
    assert isinstance(ball, hb.SubmodularBall)
    rng = np.random.default_rng(4)
    for point in rng.normal(size=(50, 6)):
        assert ball.project(point) == pytest.approx(hb.L1Ball(0.7).project(point), abs=1e-14)
        assert ball.support(point) == pytest.approx(hb.L1Ball(0.7).support(point), rel=1e-15)
        assert penalty.prox(point, 1.3) == pytest.approx(hb.L1Penalty(0.2).prox(point, 1.3), abs=1e-15)
        assert ball.contains(point) == hb.L1Ball(0.7).contains(point)
    X, y = numbers(400)
    for more in ({}, {"solver": "gradient", "budget": BUDGET, "test_key": KEY}):
        given: dict[str, Any] = {"budget": FREE, "domain": NUMBERS, **more}
        model = hb.StructuredSparseRegression(radius=0.2, **given).fit(X, y)
        lasso = hb.Lasso(constraint=hb.L1Ball(0.2), **given).fit(X, y)
        assert model.coef_ == pytest.approx(lasso.coef_, abs=1e-6 if "test_key" not in given else 1e-9)


def numbers(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Six columns of which the third and fourth matter."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 6))
    return X, np.clip(X @ [0, 0, 0.4, 0.3, 0, 0] + 0.05 * rng.normal(size=n), -1, 1)


@pytest.mark.few(9)
@pytest.mark.parametrize("more", [{"radius": 0.2}, {"strength": 0.02}], ids=["ball", "penalty"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_without_noise_it_is_optimal(name: str, more: dict[str, float]) -> None:
    """θ is optimal iff it is the projection (or prox) of a gradient step from itself."""
    frame = table(400)
    model = hb.StructuredSparseRegression(structure=STRUCTURES[name], budget=FREE, domain=DOMAIN, **more).fit(frame)  # type: ignore[arg-type]
    rows, theta = model.encoding_.encode(frame), model.release_.theta[:, 0]
    gradient = rows.X.T @ (rows.X @ theta - rows.Y[:, 0]) / len(frame)
    step = theta[:-1] - gradient[:-1]
    ball, penalty = model._default(model.encoding_)
    moved = ball.project(step) if isinstance(ball, hb.SubmodularBall) else penalty.prox(step, 1.0)
    assert moved == pytest.approx(theta[:-1], abs=1e-6)
    assert abs(gradient[-1]) < 1e-6


def test_supports_have_the_structure() -> None:
    X, y = numbers(4000)
    given: dict[str, Any] = {"budget": FREE, "domain": NUMBERS}
    run = hb.StructuredSparseRegression(structure="intervals", strength=0.02, **given).fit(X, y)
    assert list(run.selected_) == ["x2", "x3"]
    tree = hb.FeatureTree({"x1": "x0", "x2": "x1", "x3": "x2", "x5": "x4"})
    below = hb.StructuredSparseRegression(structure=tree, strength=0.005, **given).fit(X, y)
    assert list(below.selected_) == ["x0", "x1", "x2", "x3"]
    whole = hb.StructuredSparseRegression(structure=[["x0", "x2"], ["x2", "x3"]], strength=0.5, **given).fit(X, y)
    assert list(whole.selected_) == []


@pytest.mark.few(1)
@sampled("name,more", itertools.product(STRUCTURES, [{}, {"strength": 0.02}]), kind=lambda case: case[0])
def test_every_structure_is_fitted_saved_described_and_loaded(tmp_path: Path, name: str, more: dict[str, Any]) -> None:
    frame = table(2000)
    model = hb.StructuredSparseRegression(
        structure=STRUCTURES[name], budget=BUDGET, domain=DOMAIN, solver="gradient", test_key=KEY, **more
    ).fit(frame)
    model.save(tmp_path / "model.json")
    back = hb.load(tmp_path / "model.json")
    assert isinstance(back, hb.StructuredSparseRegression)
    assert back.coef_.tobytes() == model.coef_.tobytes()
    assert list(back.selected_) == list(model.selected_)
    assert np.array_equal(back.predict(frame), model.predict(frame))
    assert np.allclose(model.to_sklearn().predict(frame), model.predict(frame))
    if name == "callable":
        assert "staffed" in model.summary().note
        assert "staffed" in back.summary().note
        with pytest.raises(InvalidParameter, match=r"'staffed' of a program.*structure=.*Nothing was read or charged"):
            back.fit(frame)
        with pytest.raises(InvalidParameter, match="'staffed' of a program"):
            back.price(n=100)
        back.save(tmp_path / "again.json")
        assert hb.load(tmp_path / "again.json").coef_.tobytes() == model.coef_.tobytes()
        refitted = back.set_params(structure=staffed, test_key=KEY).fit(frame)
        assert refitted.coef_.tobytes() == model.coef_.tobytes()
    else:
        assert str(back.summary()) == str(model.summary())
        assert back.structure == STRUCTURES[name]
    for one in (model, back):
        text = hb.report.card(one).to_dict()["model"]["regularisation"]
        assert structure_in_words(one.structure) in text
    hb.report.CoefficientDisplay.from_model(model).plot()


def test_a_set_of_a_function_is_saved_on_every_estimator(tmp_path: Path) -> None:
    def root(columns: frozenset[int]) -> float:
        return math.sqrt(len(columns))

    frame = table(2000)
    function = hb.CustomSetFunction(root, 4)
    ball, penalty = hb.SubmodularBall(function, 1.0), hb.SubmodularPenalty(function, 0.1)
    given: dict[str, Any] = {"budget": BUDGET, "domain": DOMAIN, "solver": "moments"}
    for model in (
        hb.StructuredSparseRegression(constraint=ball, **given), hb.StructuredSparseRegression(penalty=penalty, **given),
        hb.LinearRegression(constraint=ball, **given), hb.LinearRegression(penalty=penalty, **given),
    ):  # fmt: skip
        model.fit(frame).save(tmp_path / "model.json")
        back = hb.load(tmp_path / "model.json")
        assert back.coef_.tobytes() == model.coef_.tobytes()
        assert "root" in str(hb.report.card(back).to_dict()["methods"])
        with pytest.raises(InvalidParameter, match="'root' of a program"):
            back.fit(frame)


NAMED = [
    hb.Cardinality(),
    hb.BoundedCardinality(2),
    hb.ConcaveCardinality([2.0, 1.0, 1.0, 0.5]),
    hb.GroupCover([[0, 1], [1, 2, 3]], [1.0, 2.0]),
    hb.GroupCover.tree([-1, 0, 0, 1]),
    hb.Intervals(),
]


@final
@dataclass(frozen=True)
class Doubled(hb.SetFunction):
    """A family of a user's own, which writes nothing down."""

    @property
    def dimension(self) -> int | None:
        return None

    def value(self, members: Any) -> float:
        return 2.0 * float(np.count_nonzero(members))

    def gains(self, order: Any) -> Any:
        return np.full(order.size, 2.0)

    def gaussian_width(self, p: int) -> Any:
        return hb.Cardinality().gaussian_width(p).scaled(2.0)

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError


@pytest.mark.few(2)
@pytest.mark.parametrize("function", [*NAMED, Doubled()], ids=lambda one: type(one).__name__)
def test_set_functions_are_structures_and_come_back(tmp_path: Path, function: hb.SetFunction) -> None:
    frame = table(2000)
    model = hb.StructuredSparseRegression(structure=function, budget=BUDGET, domain=DOMAIN, solver="gradient").fit(
        frame
    )
    model.save(tmp_path / "model.json")
    back = hb.load(tmp_path / "model.json")
    assert back.coef_.tobytes() == model.coef_.tobytes()
    if isinstance(function, Doubled):
        assert "Doubled" in back.summary().note
        with pytest.raises(InvalidParameter, match="'Doubled' of a program"):
            back.price(n=100)
    else:
        assert back.get_params()["structure"] == function
        assert str(back.summary()) == str(model.summary())


def test_a_release_of_moments_serves_other_structures() -> None:
    frame = table(20_000)
    model = hb.StructuredSparseRegression(
        structure="intervals", strength=0.02, budget=BUDGET, domain=DOMAIN, solver="moments", test_key=KEY
    ).fit(frame)
    assert "whatever noise, a set or a penalty made of coef" in model.summary().note
    other = model.refit(penalty=hb.SubmodularPenalty(hb.BoundedCardinality(1), 0.02))
    assert "BoundedCardinality (bound 1)" in other.summary().note
    assert other.release_.statement == model.release_.statement
    free = model.refit(penalty=hb.NoPenalty())
    assert "Structure" not in free.summary().note
    assert np.isfinite([row.low for row in free.summary().rows]).all()
    fewer = hb.StructuredSparseRegression(
        strength=0.001, budget=BUDGET, domain=NUMBERS, solver="moments", test_key=KEY
    ).fit(*numbers(20_000))
    assert list(fewer.refit(features=["x2", "x3"]).selected_) == ["x2", "x3"]


def test_what_was_given_outright_wins() -> None:
    given: dict[str, Any] = {"structure": "intervals", "budget": BUDGET, "domain": DOMAIN}
    encoding = DOMAIN.encoding()
    ball = hb.L2Ball(0.5)
    assert hb.StructuredSparseRegression(constraint=ball, **given)._task(encoding).constraint is ball
    cost = hb.SquaredL2Penalty(0.5)
    task = hb.StructuredSparseRegression(penalty=cost, **given)._task(encoding)
    assert (task.constraint, task.penalty) == (None, cost)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c"]], ids=["two", "three"])
def test_classes_are_learned_with_structure(tmp_path: Path, classes: list[str]) -> None:
    frame, target = table(4000), {2: "ill", 3: "ward"}[len(classes)]
    domain = hb.Domain(features=FEATURES, classes={target: classes}, indicators=False)
    for more in ({"structure": STRUCTURES["groups"]}, {"structure": "intervals", "strength": 0.01}):
        model = hb.StructuredSparseClassifier(budget=BUDGET, domain=domain, solver="gradient", test_key=KEY, **more)
        model.fit(frame)
        chances = model.predict_proba(frame)
        assert chances.shape == (4000, len(classes))
        assert chances.sum(axis=1) == pytest.approx(1.0)
        assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(frame))
        assert np.exp(model.predict_log_proba(frame)) == pytest.approx(chances)
        assert model.score(frame, frame[target]) > 0.4
        plain = model.to_sklearn()
        assert plain.predict_proba(frame) == pytest.approx(chances)
        assert np.array_equal(plain.predict(frame), model.predict(frame))
        model.save(tmp_path / "model.json")
        back = hb.load(tmp_path / "model.json")
        assert np.array_equal(back.predict(frame), model.predict(frame))
        assert "the log-odds" in back._meaning()
        assert "Structure: " in back._meaning()
    assert back._meaning() in back.summary().note
    weak = clone(model).set_params(strength=10.0, budget=FREE, solver="auto").fit(frame)
    assert list(weak.selected_) == []


def test_estimators_are_cloned_searched_and_pickled() -> None:
    tree = STRUCTURES["tree"]
    assert pickle.loads(pickle.dumps(tree)) == deepcopy(tree) == tree
    assert hash(tree) == hash(deepcopy(tree))
    for structure in STRUCTURES.values():
        model = hb.StructuredSparseRegression(structure=structure, budget=BUDGET, domain=DOMAIN)
        assert clone(model).get_params()["structure"] == structure
        assert "StructuredSparseRegression" in repr(model)
    X, y = numbers(2000)
    model = hb.StructuredSparseRegression(budget=FREE, domain=NUMBERS)
    search = GridSearchCV(
        model, {"structure": [None, "intervals", [["x0", "x1"], ["x1", "x2"]]], "radius": [0.1, 1.0]}, cv=2
    )
    assert search.fit(X, y).best_params_["radius"] == 1.0
    with pytest.raises(NotFittedError):
        _ = model.selected_


def test_many_groups_are_few_words() -> None:
    groups = [[f"a feature with quite a long name {j}", "another"] for j in range(500)]
    assert len(structure_in_words(groups)) < 220
    assert structure_in_words({"first": [0], "second": [1]}) == "2 groups of features (first, second)"
    assert len(function_in_words(hb.GroupCover([[j, j + 1] for j in range(500)]))) < 120
    many = hb.FeatureTree({j: j - 1 for j in range(1, 500)})
    assert repr(many) == "FeatureTree({1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 6: 5, and 493 more})"
    assert "499 features" in structure_in_words(many)
    assert "8 × 8" in structure_in_words(hb.FeatureGrid(8, 8, window=3))
    assert function_in_words(hb.BoundedCardinality(3)) == "BoundedCardinality (bound 3)"


WRONG: list[tuple[Any, str]] = [
    ("runs", "'runs'.*a list of groups.*'intervals'"),
    (3, "an int.*a list of groups"),
    (hb.Cardinality, "the class Cardinality itself"),
    ([[]], "at least one feature"),
    (["age", "job"], "Each group is a list"),
    ([["age"], ["income"]], "'income', which is no feature"),
    ([[7]], "place of a feature, 0 to 2"),
    (hb.FeatureTree({"income": "age"}), "The tree names 'income'.*'age', 'hours', 'job'"),
    (hb.FeatureTree({"age": 3}), "The tree names 3.*0 to 2"),
    (hb.FeatureTree({"age": "job=cook"}), "The tree names 'job=cook'"),
    (hb.FeatureTree({"age": "hours", 0: "job"}), "'age' twice"),
    (
        hb.FeatureTree({"age": "hours", "hours": "job", "job": "age"}),
        "circle: 'age' under 'hours' under 'job' under 'age'",
    ),
    (hb.FeatureTree({"age": "age"}), "circle: 'age' under 'age'"),
    (hb.FeatureTree({"job": "age", "age": "hours", "hours": "age"}), "circle: 'age' under 'hours' under 'age'"),
    (hb.FeatureGrid(2, 2), "2 × 2 = 4 pixels, but the domain has 3 features"),
    (hb.BoundedCardinality, "the class"),
    (hb.CustomSetFunction(lambda found: math.sqrt(len(found)), 3), "of 3 columns, but 4 encoded columns.*job=cook"),
    (lambda found: len(found) ** 2, "not submodular.*0 is 'age'.*Nothing was read or charged"),
    (lambda found: math.nan, "must give a finite number"),
    (lambda found: "many", "must give a finite number"),
    (lambda found: {"age": 1}[next(iter(found))], "raised StopIteration"),
    (lambda found: 1.0, "empty set"),
]


@pytest.mark.few(11)
@pytest.mark.parametrize(("structure", "words"), WRONG)
def test_what_is_no_structure_is_refused_before_anything_is_spent(tmp_path: Path, structure: Any, words: str) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("ward", hb.Budget(100.0, 1e-3))
    given: dict[str, Any] = {"budget": BUDGET, "domain": DOMAIN, "ledger": ledger, "dataset": "ward"}
    model = hb.StructuredSparseRegression(structure=structure, **given)
    for asked in (lambda: model.fit(table(50)), lambda: model.price(n=50)):
        with pytest.raises(HullabalooError, match=words):
            asked()
    assert ledger.charges("ward") == ()


@pytest.mark.parametrize("structure", ["intervals", hb.FeatureGrid(1, 3)])
def test_interactions_have_no_place_in_an_order(structure: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"interactions \('age\*job'\), which have no place"):
        hb.StructuredSparseRegression(structure=structure, budget=BUDGET, domain=CROSSED).price(n=50)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, "1", None])
def test_wrong_radii_and_strengths_are_refused(wrong: Any) -> None:
    given: dict[str, Any] = {"budget": BUDGET, "domain": DOMAIN}
    with pytest.raises(InvalidParameter, match=r"radius.*above 0"):
        hb.StructuredSparseRegression(radius=wrong, **given).price(n=100)
    if wrong is not None:
        with pytest.raises(InvalidParameter, match=r"strength.*above 0"):
            hb.StructuredSparseRegression(strength=wrong, **given).price(n=100)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: hb.FeatureTree([("a", "b")]), "maps each child"),  # type: ignore[arg-type]
        (lambda: hb.FeatureTree({"a": []}), "no parents"),
        (lambda: hb.FeatureTree({"a": 1.5}), "names or places"),  # type: ignore[dict-item]
        (lambda: hb.FeatureTree({True: "a"}), "names or places"),
        (lambda: hb.FeatureGrid(0, 3), "rows=0 was given"),
        (lambda: hb.FeatureGrid(2, 2.0), "columns=2.0 was given"),  # type: ignore[arg-type]
        (lambda: hb.FeatureGrid(2, 3, window=4), "does not fit"),
        (lambda: hb.FeatureGrid(2, 3, window=True), "window=True was given"),
    ],
)
def test_what_is_no_tree_or_grid_is_refused_at_once(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        make()
