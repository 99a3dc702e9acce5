"""Groups of features enter together; several targets share directions."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import hullabaloo as hb
from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.structure.structure import column_groups
from tests.linear_model.examples import FEATURES, table

pytestmark = pytest.mark.filterwarnings("ignore:score compares predictions:hullabaloo.errors.NotPrivateWarning")

KEY = TestKey(bytes(range(32)))
BUDGET = hb.Budget(2.0, 1e-7)
FREE = hb.Budget(math.inf)
DOMAIN = hb.Domain(features=FEATURES, target={"cost": (-20, 20)}, indicators=False)
MARKED = hb.Domain(features=FEATURES, target={"cost": (-20, 20)}, interactions=[("age", "job"), ("age", "hours")])
TWO = hb.Domain(features=FEATURES, target={"cost": (-20, 20), "visits": (0, 30)}, indicators=False)


def test_a_category_and_its_missing_column_are_one_group_by_default() -> None:
    encoding = MARKED.encoding()
    names = [[encoding.feature_names_out[place] for place in group] for group in column_groups(encoding, None)]
    assert names == [
        ["age", "age:missing"],
        ["hours", "hours:missing"],
        ["job=nurse", "job=cook", "job:missing"],
        ["age*job=nurse", "age*job=cook"],
        ["age*hours"],
    ]
    assert column_groups(DOMAIN.encoding(), None) == ((0,), (1,), (2, 3))
    assert column_groups(hb.Domain(row_norm=1.0, target=(0, 1)).encoding(n_features=3), None) == ((0,), (1,), (2,))


@pytest.mark.parametrize("groups", [[["age", "job"]], [[0, "job"]], [(2, 0)], {"who": ["job", "age"]}])
def test_features_are_grouped_by_name_or_place(groups: Any) -> None:
    found = column_groups(DOMAIN.encoding(), groups)
    assert {frozenset(group) for group in found} == {frozenset({0, 2, 3}), frozenset({1})}
    assert column_groups(DOMAIN.encoding(), [["job=cook", "age"]]) == ((3, 0), (1,), (2,))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("age", "lists of features"),
        (3, "lists of features"),
        (["age", "job"], "Each group is a list"),
        ([[]], "at least one feature"),
        ([["age"], ["hours", "age"]], "'age' is named twice by 'age'.*StructuredSparseRegression"),
        ([["job", "job=cook"]], "'job=cook' is named by 'job' and by 'job=cook'"),
        ([["income"]], "'income', which is no feature.*'age', 'hours', 'job'"),
        ([[3]], r"place of a feature, 0 to 2"),
        ([[-1]], "place of a feature"),
        ([[True]], "names True"),
    ],
)
def test_what_are_no_groups_is_refused_before_anything_is_spent(groups: Any, words: str) -> None:
    model = hb.GroupLasso(groups=groups, budget=BUDGET, domain=DOMAIN)
    for asked in (lambda: model.fit(table(50)), lambda: model.price(n=50)):
        with pytest.raises(InvalidParameter, match=words):
            asked()


def test_wrong_radii_and_strengths_are_refused() -> None:
    for wrong in (0.0, -1.0, math.inf, "1"):
        for model in (hb.GroupLasso(radius=wrong), hb.GroupLasso(strength=wrong), hb.MultiTaskRegression(radius=wrong)):
            with pytest.raises(InvalidParameter, match="above 0"):
                model.set_params(budget=BUDGET, domain=DOMAIN).price(n=100)
    overlapping = [[0, 1], [1, 2, 3]]
    with pytest.raises(HullabalooError, match="must not overlap"):
        hb.GroupLasso(constraint=hb.GroupBall(overlapping, 1.0), budget=BUDGET, domain=DOMAIN)
    with pytest.raises(HullabalooError, match="encoded columns"):
        hb.GroupLasso(constraint=hb.GroupBall([[0, 1], [2]], 1.0), budget=BUDGET, domain=DOMAIN).price(n=100)


@pytest.mark.parametrize("more", [{"radius": 0.2}, {"strength": 0.02}], ids=["ball", "penalty"])
def test_without_noise_the_group_lasso_is_optimal(more: dict[str, float]) -> None:
    """θ is optimal iff it is the projection (or prox) of a gradient step from itself; whole groups are at 0."""
    frame = table(400)
    model = hb.GroupLasso(groups=[["hours", "job"]], budget=FREE, domain=DOMAIN, **more).fit(frame)  # type: ignore[arg-type]
    rows, theta = model.encoding_.encode(frame), model.release_.theta[:, 0]
    gradient = rows.X.T @ (rows.X @ theta - rows.Y[:, 0]) / len(frame)
    step = theta[:-1] - gradient[:-1]
    groups = ((1, 2, 3), (0,))
    if "radius" in more:
        moved = hb.GroupBall(groups, 0.2).project(step)
    else:
        moved = hb.GroupPenalty(groups, 0.02).prox(step, 1.0)
    assert moved == pytest.approx(theta[:-1], abs=1e-6)
    assert abs(gradient[-1]) < 1e-6


def test_a_group_that_explains_nothing_stays_out_as_a_whole() -> None:
    frame = table(20_000)
    model = hb.GroupLasso(strength=0.05, budget=FREE, domain=DOMAIN).fit(frame)
    theta = model.release_.theta[:, 0]
    assert theta[0] != 0.0
    assert theta[1] == 0.0 or np.all(theta[2:4] == 0.0) or np.all(theta[2:4] != 0.0)
    stronger = model.refit(penalty=hb.GroupPenalty([[0], [1], [2, 3]], 10.0))
    assert np.all(stronger.release_.theta[:-1, 0] == 0.0)


@pytest.mark.slow
def test_the_group_lasso_under_noise(tmp_path: Path) -> None:
    frame = table(20_000)
    for solver in ("moments", "gradient"):
        model = hb.GroupLasso(groups=[["age", "hours"]], budget=BUDGET, domain=DOMAIN, solver=solver, test_key=KEY).fit(
            frame
        )
        assert model.coef_ == pytest.approx([0.1, -0.05, 0.0, 3.0], abs=1.0)
        model.save(tmp_path / f"{solver}.json")
        back = hb.load(tmp_path / f"{solver}.json")
        assert back.get_params()["groups"] == [["age", "hours"]]
        assert back.coef_.tobytes() == model.coef_.tobytes()
        assert str(back.summary()) == str(model.summary())


def test_several_targets_with_room_enough_are_least_squares() -> None:
    frame = table(400)
    model = hb.MultiTaskRegression(radius=100.0, budget=FREE, domain=TWO).fit(frame)
    rows = model.encoding_.encode(frame)
    other = LinearRegression().fit(rows.X[:, :-1], rows.Y)
    assert rows.X @ model.release_.theta == pytest.approx(other.predict(rows.X[:, :-1]), abs=1e-5)
    assert model.coef_.shape == (2, 4)
    assert model.predict(frame).shape == (400, 2)


def test_without_noise_several_targets_are_optimal_on_the_nuclear_ball() -> None:
    frame = table(400)
    model = hb.MultiTaskRegression(radius=0.1, budget=FREE, domain=TWO).fit(frame)
    rows, theta = model.encoding_.encode(frame), model.release_.theta
    assert np.linalg.svd(theta[:-1], compute_uv=False).sum() == pytest.approx(0.1)
    gradient = rows.X.T @ (rows.X @ theta - rows.Y) / len(frame)
    step = (theta - gradient)[:-1].ravel()
    assert hb.NuclearBall(0.1, columns=2).project(step) == pytest.approx(theta[:-1].ravel(), abs=1e-6)
    assert np.abs(gradient[-1]).max() < 1e-6


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["moments", "gradient", "frank_wolfe", "output_perturbation", "mirror_descent"])
def test_the_slopes_of_one_target_may_be_a_matrix(solver: str) -> None:
    """Trace regression: without noise at the optimum of the nuclear ball over slopes in rows of three; noisy fits stay inside it."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (2_000, 6))
    y = X @ np.outer([1.0, -0.5], [0.4, 0.2, -0.3]).ravel() + 0.1 * rng.standard_normal(2_000)
    domain = hb.Domain({f"pixel {j}": (-1, 1) for j in range(6)}, target=(-2, 2), indicators=False)
    ball = hb.NuclearBall(0.1, columns=3)
    model = hb.LinearRegression(domain=domain, constraint=ball, solver=solver, budget=FREE).fit(X, y)
    rows, theta = model.encoding_.encode(X, y), model.release_.theta
    gradient = rows.X.T @ (rows.X @ theta - rows.Y) / len(y)
    gap = float(gradient[:-1].ravel() @ theta[:-1].ravel() + ball.support(-gradient[:-1].ravel()))
    assert gap <= (1e-2 if solver in {"mirror_descent", "frank_wolfe"} else 1e-6) * float(np.mean(rows.Y**2))
    noisy = model.set_params(budget=BUDGET, test_key=KEY, inference=False).fit(X, y).release_.theta
    assert ball.contains(noisy[:-1].ravel() * (1.0 - 1e-9))


@pytest.mark.slow
def test_several_targets_under_noise(tmp_path: Path) -> None:
    frame, new = table(8_000), table(100, seed=1)
    model = hb.MultiTaskRegression(budget=BUDGET, domain=TWO, solver="mirror_descent", test_key=KEY).fit(frame)
    assert model.score(frame, frame[["cost", "visits"]]) > 0.1
    model.save(tmp_path / "model.json")
    assert hb.load(tmp_path / "model.json").predict(new).tobytes() == model.predict(new).tobytes()
    assert model.to_sklearn().predict(new) == pytest.approx(model.predict(new))
    assert {row.target for row in model.summary().rows} == {"cost", "visits"}
    single = hb.MultiTaskRegression(budget=BUDGET, domain=DOMAIN, solver="mirror_descent", test_key=KEY)
    single.fit(frame.head(2_000))
    assert single.coef_.shape == (4,)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [3, 4, 7])
def test_the_planner_takes_any_number_of_columns_with_any_number_of_targets(columns: int) -> None:
    domain = hb.Domain(
        features={f"x{j}": (0, 1) for j in range(columns)}, target={"a": (0, 1), "b": (0, 1)}, indicators=False
    )
    assert hb.MultiTaskRegression(domain=domain, budget=hb.Budget(1.0, 1e-7)).price(n=5000).epsilon <= 1.0
