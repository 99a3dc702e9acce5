"""Minimiser queries: sensitivity on real neighbours, the coupling of the proof, certified distances, every table answered."""

import math
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.erm import optimise as inner
from hullabaloo.erm.minimisation import MARGIN
from hullabaloo.erm.newton import with_momentum
from hullabaloo.erm.objective_perturbation import ObjectivePerturbationQuery
from hullabaloo.erm.output_perturbation import LaplaceMinimiserQuery, OutputPerturbationQuery
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ElasticNetPenalty,
    L1Ball,
    L1Penalty,
    L2Ball,
    LpBall,
    NoPenalty,
    Simplex,
    SquaredL2Penalty,
)
from hullabaloo.geometry.numerics import euclidean_norm
from hullabaloo.losses import Huber, Logistic, MultinomialLogistic, Pinball, Poisson, SmoothedHinge, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from tests.curator.neighbours import facts, join, pairs, random_rows

LOSSES = [(Squared(), 0.5), (Logistic(), 1.0), (Huber(0.3), 0.3), (SmoothedHinge(0.5), 0.7), (Poisson(), 1.0)]
SHAPES: list[tuple[Any, Any]] = [
    (None, NoPenalty()),
    (None, L1Penalty(0.02)),
    (None, ElasticNetPenalty(0.05, 0.5)),
    (L1Ball(0.4), NoPenalty()),
    (L2Ball(0.3), SquaredL2Penalty(0.1)),
    (Box(-0.1, 0.2), NoPenalty()),
    (Simplex(0.5), NoPenalty()),
    (Box(-0.1, 0.2), ElasticNetPenalty(0.05, 0.5)),
    (L2Ball(0.3), L1Penalty(0.02)),
]
IDS = ["free", "lasso", "elastic", "l1", "l2", "box", "simplex", "box and elastic", "l2 and lasso"]


def minimizer(about: Any, relation: Neighbours, n: int, **changes: Any) -> OutputPerturbationQuery:
    query = OutputPerturbationQuery(about, relation, n, 1, Squared(), 0.5, 0.1, None, NoPenalty(), 0.5)
    return replace(query, **changes)


def perturbed(about: Any, relation: Neighbours, n: int, **changes: Any) -> ObjectivePerturbationQuery:
    settings = {"loss": Squared(), "clip": 0.5, "ridge": 3.0, "feasible": None, "penalty": NoPenalty()}
    settings |= {"noise_multiplier": 4.0, "output_multiplier": 4000.0} | changes
    draft = ObjectivePerturbationQuery(about, relation, n, 1, **settings, curvature=1e9)
    return replace(draft, curvature=draft.family.smoothness / draft.ridge)


def squeezed(rows: Rows, loss: Any) -> Rows:
    """Targets as the loss takes them."""
    if loss.name == "poisson":
        return Rows(rows.X, np.abs(rows.Y), rows.weight)
    if loss.name in ("logistic", "smoothed_hinge"):
        return Rows(rows.X, np.where(rows.Y >= 0.0, 1.0, -1.0), rows.weight)
    return rows


@pytest.mark.few(6)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("feasible", "penalty"), SHAPES, ids=IDS)
def test_neighbours_minimisers_are_within_the_sensitivity(relation: Neighbours, feasible: Any, penalty: Any) -> None:
    """Tests: 001, Equation (17)."""
    for loss, clip in LOSSES:
        check_neighbours(relation, loss, clip, feasible, penalty)


def check_neighbours(relation: Neighbours, loss: Any, clip: float, feasible: Any, penalty: Any) -> None:
    about = facts(3, norm_l2=1.0, max_weight=2.0 if clip == 0.3 else 1.0)
    n = 21
    query = minimizer(about, relation, n, loss=loss, clip=clip, feasible=feasible, penalty=penalty, ridge=0.02)
    zero, moved = np.zeros(3), 0.0
    for one, other in pairs(np.random.default_rng(1), relation, about, rounds=4):
        points = [query.kept_work(squeezed(rows, loss)).minimiser(zero) for rows in (one, other)]
        moved = max(moved, float(np.linalg.norm(points[0] - points[1])))
    assert moved <= query.sensitivity
    assert moved > 0.0 or feasible is not None  # a corner may stay


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("loss", "clip"), LOSSES, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.few(4)
def test_neighbours_are_within_the_l1_sensitivity_that_laplace_noise_is_of(
    relation: Neighbours, loss: Any, clip: float
) -> None:
    """√p times the l2 one, attained along the diagonal; noise and price follow from it."""
    about, n = facts(3, norm_l2=1.0), 12
    query = LaplaceMinimiserQuery(about, relation, n, 1, loss, clip, 0.05, None, NoPenalty(), 0.5, linear_bound=0.1)
    linear, moved = np.full(3, 0.05), 0.0
    for one, other in pairs(np.random.default_rng(1), relation, about, rounds=4):
        points = [query.kept_work(squeezed(rows, loss)).minimiser(n * linear) for rows in (one, other)]
        moved = max(moved, float(np.abs(points[0] - points[1]).sum()))
    assert 0.0 < moved <= query.sensitivity
    wide = replace(query, ridge=1e4)
    x = np.full((1, 3), 3**-0.5)
    ends = [
        Rows(np.vstack([np.zeros((n - 1, 3)), sign * x]), np.vstack([np.zeros((n - 1, 1)), [[1.0]]]))
        for sign in (1, -1)
    ]
    far = [wide.kept_work(squeezed(rows, loss)).minimiser(np.zeros(3)) for rows in ends]
    if isinstance(loss, Squared) and relation is Neighbours.REPLACE_ONE:
        assert float(np.abs(far[0] - far[1]).sum()) == pytest.approx(wide.sensitivity, rel=1e-3)
    assert query.event.pure_epsilon() <= 0.5 * (1.0 + 1e-9)
    assert query.scale >= query.sensitivity / 0.5


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_sensitivity_is_nearly_attained(relation: Neighbours) -> None:
    """Huge ridge: θ = −Σ w · clipped slopes/(nλ), so that one extreme unit's records of the largest weight move it by the whole bound."""
    n, x = 10, np.array([[1.0, 0.0]])
    for heaviest, m in ((1.0, 1), (3.0, 1), (1.0, 4)):
        about = facts(2, norm_l2=1.0, max_weight=heaviest, unit=m)
        query = minimizer(about, relation, n, ridge=1e4, clip=0.5)
        common = Rows(np.zeros((n - m, 2)), np.zeros((n - m, 1)), np.ones(n - m))
        one, other = (join(common, *[Rows(x, np.full((1, 1), y), np.array([heaviest]))] * m) for y in (1.0, -1.0))
        other = common if relation is Neighbours.ADD_OR_REMOVE else other
        points = [query.kept_work(rows).minimiser(np.zeros(2)) for rows in (one, other)]
        assert float(np.linalg.norm(points[0] - points[1])) == pytest.approx(query.sensitivity, rel=1e-3)


@pytest.mark.parametrize(("loss", "clip"), LOSSES, ids=lambda value: getattr(value, "name", ""))
def test_no_record_bends_the_objective_by_more_than_its_smoothness(loss: Any, clip: float) -> None:
    """β, which the price of a perturbed objective rests on, is above every secant of w φ'_c of a row as long as rows may be, w the largest weight."""
    z = np.linspace(-4.0, 4.0, 2_001)
    for heaviest in (1.0, 3.0):
        query = perturbed(
            facts(3, norm_l2=1.0, max_weight=heaviest), Neighbours.ADD_OR_REMOVE, 20, loss=loss, clip=clip
        )
        for y in (0.0, 0.5, 1.0) if loss.name == "poisson" else (-1.0, 1.0):
            slopes = heaviest * np.clip(loss.derivative(z, np.full(z.size, y)), -clip, clip)
            assert np.max(np.abs(np.diff(slopes)) / np.diff(z)) <= query.family.smoothness * (1.0 + 1e-9)


@pytest.mark.few(6)
@pytest.mark.parametrize(("loss", "clip"), LOSSES, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.parametrize(("feasible", "penalty"), SHAPES, ids=IDS)
def test_the_bijection_of_the_proof_gives_the_neighbour_the_same_minimiser(
    loss: Any, clip: float, feasible: Any, penalty: Any
) -> None:
    """θ_D(b) = θ_{D'}(T(b)) with `T(b) = b + φ'(⟨x, θ⟩)x` for a record x that D has and D' has not; T moves b by ≤ L."""
    about = facts(3, norm_l2=1.0)
    rng = np.random.default_rng(2)
    query = perturbed(about, Neighbours.ADD_OR_REMOVE, 20, loss=loss, clip=clip, feasible=feasible, penalty=penalty)
    family = query.family
    for _ in range(5):
        common, extra = (squeezed(random_rows(rng, n, about), loss) for n in (20, 1))
        b = rng.normal(size=3) * query.sigma * 0.2
        theta = query.near(join(common, extra), b)
        d = float(np.clip(loss.derivative(extra.X @ theta, extra.Y[:, 0])[0], -clip, clip))
        moved = d * extra.X[0]
        assert np.linalg.norm(moved) <= family.lipschitz
        assert query.near(common, b + moved) == pytest.approx(theta, abs=4.0 * query.distance)


def precise_minimiser(rows: Rows, clip: float, ridge: float, b: np.ndarray, logistic: bool) -> list[Any]:
    """Newton's method in 60 digits on the smooth objective, damped by halving the gradient's norm."""
    mpmath.mp.dps = 60
    n, p = rows.X.shape
    X = [[mpmath.mpf(float(v)) for v in row] for row in rows.X]
    y = [mpmath.mpf(float(v)) for v in rows.Y[:, 0]]
    c = mpmath.mpf(clip)

    def local(theta: Any) -> tuple[Any, Any]:
        g = mpmath.matrix([ridge * theta[j] + mpmath.mpf(float(b[j])) for j in range(p)])
        h = mpmath.eye(p) * ridge
        for i in range(n):
            z = mpmath.fsum(X[i][j] * theta[j] for j in range(p))
            d = -y[i] / (1 + mpmath.exp(y[i] * z)) if logistic else z - y[i]
            bend = -d * y[i] * (1 + d * y[i]) if logistic else mpmath.mpf(1)
            if abs(d) >= c:
                d, bend = c * mpmath.sign(d), mpmath.mpf(0)
            for j in range(p):
                g[j] += d * X[i][j]
                for k in range(p):
                    h[j, k] += bend * X[i][j] * X[i][k]
        return g, h

    theta = mpmath.matrix(p, 1)
    g, h = local(theta)
    for _ in range(200):
        if mpmath.norm(g) < mpmath.mpf(10) ** -45:
            break
        step, length = mpmath.lu_solve(h, -g), mpmath.mpf(1)
        while True:
            new = theta + length * step
            g_new, h_new = local(new)
            if mpmath.norm(g_new) < mpmath.norm(g):
                break
            length /= 2
        theta, g, h = new, g_new, h_new
    return [theta[j] for j in range(p)]


@pytest.mark.few(3)
@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
def test_the_distance_holds_against_sixty_digits(logistic: bool, condition: float) -> None:
    """Nearly dependent columns, and σ so small that a distance of some 1e-12 is asked for."""
    about = facts(3, norm_l2=1.0)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3))
    X[:, 2] = X[:, 0] + (X[:, 1] + X[:, 2]) / condition
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    loss: Any = Logistic() if logistic else Squared()
    rows = squeezed(Rows(X, np.clip(rng.normal(size=(30, 1)), -1.0, 1.0)), loss)
    query = perturbed(about, Neighbours.REPLACE_ONE, 30, loss=loss, clip=0.4, ridge=1e-3, noise_multiplier=1e-6)
    b = rng.normal(size=3) * 1e-3
    theta = query.near(rows, b)
    exact = precise_minimiser(rows, 0.4, 1e-3, b, logistic)
    error = mpmath.sqrt(mpmath.fsum((mpmath.mpf(float(t)) - e) ** 2 for t, e in zip(theta, exact, strict=True)))
    size = float(np.linalg.norm(theta))
    assert query.distance < 1e-8
    assert float(error) <= query.distance + 2.0**-52 * size


EXTREMES = {
    "empty columns": lambda rng, about: Rows(np.zeros((40, 3)), np.ones((40, 1))),
    "all equal": lambda rng, about: Rows(np.tile([[0.6, 0.8, 0.0]], (40, 1)), np.ones((40, 1))),
    "two classes apart": lambda rng, about: Rows(
        np.concatenate([np.tile([[1.0, 0.0, 0.0]], (20, 1)), np.tile([[-1.0, 0.0, 0.0]], (20, 1))]),
        np.repeat([[1.0], [-1.0]], 20, axis=0),
    ),
    "opposed": lambda rng, about: Rows(np.tile([[0.0, 0.0, 1.0]], (40, 1)), np.tile([[1.0], [-1.0]], (20, 1))),
    "tiny": lambda rng, about: Rows(rng.normal(size=(40, 3)) * 1e-160, rng.choice([-1.0, 1.0], size=(40, 1))),
    "one row": lambda rng, about: random_rows(rng, 1, about),
    "no row": lambda rng, about: Rows(np.zeros((0, 3)), np.zeros((0, 1))),
    "fifty times too many": lambda rng, about: random_rows(rng, 2000, about, extreme=True),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize(("loss", "clip"), LOSSES, ids=lambda value: getattr(value, "name", ""))
def test_every_table_is_answered_in_the_same_shape(name: str, loss: Any, clip: float) -> None:
    about = facts(3, norm_l2=1.0)
    rows = squeezed(EXTREMES[name](np.random.default_rng(4), about), loss)
    for feasible, penalty in SHAPES:
        query = perturbed(
            about, Neighbours.ADD_OR_REMOVE, 40, loss=loss, clip=clip, feasible=feasible, penalty=penalty, ridge=1.0
        )
        output = minimizer(
            about, Neighbours.ADD_OR_REMOVE, 40, loss=loss, clip=clip, feasible=feasible, penalty=penalty
        )
        curator = Curator(rows, [query, output], key=TestKey(bytes(32)))
        for answer in (curator.answer("objective_perturbation"), curator.answer("output_perturbation")):
            assert answer.shape == (3,)
            assert np.isfinite(answer).all()


@pytest.mark.few(7)
@pytest.mark.parametrize(("feasible", "penalty"), [SHAPES[k] for k in (0, 1, 3, 4)], ids=["free", "lasso", "l1", "l2"])
@pytest.mark.parametrize(
    "error",
    [np.linalg.LinAlgError, ValueError, FloatingPointError, InvalidParameter, RuntimeError, IndexError, MemoryError],
)
def test_plain_steps_alone_reach_the_distance(
    error: type[Exception], feasible: Any, penalty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the quick methods fail in any way, the slow one gives the same point, within twice the distance."""
    about = facts(3, norm_l2=1.0)
    rows = random_rows(np.random.default_rng(5), 25, about)
    query = perturbed(about, Neighbours.REPLACE_ONE, 25, feasible=feasible, penalty=penalty, ridge=2.0)
    b = np.array([1.0, -2.0, 0.5])
    quick = query.near(rows, b)

    def broken(*arguments: Any) -> Any:
        raise error("broken")

    monkeypatch.setattr(inner, "newton", broken)
    assert float(np.linalg.norm(query.near(rows, b) - quick)) <= 2.0 * query.distance


def test_steps_with_momentum_end_whatever_they_meet() -> None:
    """No table of a domain makes a gradient undefined; if one did, the slow steps would have to be reached."""
    about = facts(3, norm_l2=1.0)
    objective = perturbed(about, Neighbours.REPLACE_ONE, 5).family.objective(
        random_rows(np.random.default_rng(0), 5, about), np.full(3, np.nan)
    )
    found = with_momentum(objective, objective.at(np.zeros(3), objective.predictions(np.zeros(3))), 5)
    assert np.isnan(found.theta).all()


def test_the_radius_bounds_every_minimiser() -> None:
    about = facts(3, norm_l2=1.0)
    rng = np.random.default_rng(6)
    for loss, clip in LOSSES:
        query = perturbed(about, Neighbours.REPLACE_ONE, 20, loss=loss, clip=clip, ridge=0.01, noise_multiplier=0.1)
        for extreme in (False, True):
            rows = squeezed(random_rows(rng, 20, about, extreme=extreme), loss)
            b = rng.normal(size=3)
            b *= query.largest_linear / np.linalg.norm(b)
            assert np.linalg.norm(query.near(rows, b)) <= query.bound


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1.0, 1e160])
def test_a_short_subgradient_is_not_taken_for_none(scale: float) -> None:
    """Squares of tiny numbers are 0: of weights so small, any point had passed for the minimiser."""
    assert euclidean_norm(scale * np.array([3.0, -4.0])) == pytest.approx(5.0 * scale, rel=1e-15)
    assert euclidean_norm(np.zeros(2)) == 0.0
    assert math.isnan(euclidean_norm(np.array([np.nan, 1.0])))
    assert euclidean_norm(np.array([np.inf, 1.0])) == math.inf


def test_where_the_number_of_rows_is_private_larger_tables_are_reckoned_with() -> None:
    about = facts(2, norm_l2=1.0)
    assert minimizer(about, Neighbours.REPLACE_ONE, 10).family.most == 10
    assert minimizer(about, Neighbours.ADD_OR_REMOVE, 10).family.most == MARGIN * 10
    assert minimizer(replace(about, weighted=True), Neighbours.REPLACE_ONE, 10).family.most == MARGIN * 10


@pytest.mark.few(6)
@pytest.mark.parametrize("make", [minimizer, perturbed], ids=["minimizer", "perturbed"])
@pytest.mark.parametrize(("feasible", "penalty"), SHAPES, ids=IDS)
def test_the_distance_is_proved_for_as_many_rows_as_a_description_says(make: Any, feasible: Any, penalty: Any) -> None:
    """Up to as many, what rounding can hide is half of the stated distance at most; of four thousand times as many it no longer is."""
    query = make(facts(3, norm_l2=1.0), Neighbours.ADD_OR_REMOVE, 1000, feasible=feasible, penalty=penalty)
    family, described = query.family, query.to_dict()
    linear = query.largest_linear if isinstance(query, ObjectivePerturbationQuery) else 0.0
    assert described.get("rows_at_most") == (None if make is minimizer and family.doubled else 8000)
    for rows in (1, 1000, 8000, *([] if "rows_at_most" in described else [1 << 36])):
        assert 2.0 * hidden(family.reach(linear, rows), family, linear, rows) <= query.distance * (1.0 + 1e-12)
    if "rows_at_most" in described:
        beyond = 1 << 46
        assert 2.0 * hidden(family.reach(linear, beyond), family, linear, beyond) > query.distance
    known = make(facts(3, norm_l2=1.0), Neighbours.REPLACE_ONE, 1000, feasible=feasible, penalty=penalty)
    assert "rows_at_most" not in known.to_dict()


def hidden(reach: Any, family: Any, linear: float, rows: int) -> float:
    """What rounding may hide of the distance to the minimiser of a table with so many rows."""
    if family.doubled:
        return float(2.0**-78 * (rows * family.lipschitz + linear + reach.curvature * reach.radius) / reach.ridge)
    return float(reach.limit)


@pytest.mark.parametrize("feasible", [Simplex(1.0), Box(0.5, 1.0)], ids=["simplex", "box"])
def test_the_radius_of_a_set_without_zero_is_the_sets_own(feasible: Any) -> None:
    """A strong ridge draws towards 0, which such a set has not: what is reckoned from there is too little."""
    about = facts(3, norm_l2=1.0)
    rows = Rows(np.zeros((10, 3)), np.zeros((10, 1)))
    output = minimizer(about, Neighbours.REPLACE_ONE, 10, feasible=feasible, ridge=100.0)
    query = perturbed(about, Neighbours.REPLACE_ONE, 10, feasible=feasible, ridge=1000.0)
    nearest = feasible.project(np.zeros(3))
    for found, bound in (
        (output.kept_work(rows).minimiser(np.zeros(3)), output.bound),
        (query.near(rows, np.zeros(3)), query.bound),
    ):
        assert found == pytest.approx(nearest, abs=1e-6)
        assert float(np.linalg.norm(nearest)) <= bound


def test_several_predictions_at_once_keep_the_sensitivity() -> None:
    about = facts(2, 3, norm_l2=1.0)
    rng = np.random.default_rng(7)
    query = minimizer(
        about,
        Neighbours.REPLACE_ONE,
        20,
        loss=MultinomialLogistic(),
        clip=math.sqrt(2.0),
        ridge=0.01,
        penalty=L1Penalty(0.01),
    )

    def classes(n: int) -> Rows:
        X = random_rows(rng, n, about).X
        return Rows(X, np.where(np.eye(3)[rng.integers(0, 3, n)] > 0.0, 1.0, -1.0))

    moved = 0.0
    for _ in range(20):
        common, one, other = classes(19), classes(1), classes(1)
        points = [query.kept_work(join(common, last)).minimiser(np.zeros(6)) for last in (one, other)]
        moved = max(moved, float(np.linalg.norm(points[0] - points[1])))
    assert 0.02 * query.sensitivity < moved <= query.sensitivity


def test_a_linear_term_shifts_the_minimiser_and_is_bounded_by_the_plan() -> None:
    """Tests: 001, Theorem 3."""
    about = facts(2, norm_l2=1.0)
    rows = random_rows(np.random.default_rng(8), 30, about)
    query = minimizer(about, Neighbours.REPLACE_ONE, 30, clip=5.0, mu=math.inf, linear_bound=1.0)
    s = np.array([0.3, -0.2])
    theta = Curator(rows, [query]).answer("output_perturbation", s)
    system = rows.X.T @ rows.X / 30 + 0.1 * np.eye(2)
    assert theta == pytest.approx(np.linalg.solve(system, rows.X.T @ rows.Y[:, 0] / 30 - s), abs=1e-10)
    with pytest.raises(InvalidParameter, match="bounds it by"):
        Curator(rows, [query]).answer("output_perturbation", 10.0 * s)


def test_what_has_no_proof_is_refused_before_anything_is_read() -> None:
    about = facts(2, norm_l2=1.0)
    one, unit = Neighbours.REPLACE_ONE, facts(2, norm_l2=1.0, unit=3)
    for refused in (
        lambda: perturbed(about, one, 10, loss=Pinball(0.5)),
        lambda: perturbed(about, one, 10, loss=MultinomialLogistic()),
        lambda: perturbed(about, one, 10, feasible=LpBall(1.5, 1.0), penalty=L1Penalty(0.1)),
        lambda: perturbed(unit, one, 10),
        lambda: minimizer(about, one, 10, loss=Pinball(0.5)),
        lambda: minimizer(about, one, 10, loss=MultinomialLogistic(), clip=0.5),
    ):
        with pytest.raises(CapabilityError):
            refused()
    for wrong in (
        lambda: perturbed(about, one, 10, ridge=0.0),
        lambda: perturbed(about, one, 10, noise_multiplier=math.inf),
        lambda: minimizer(about, one, 10, ridge=0.0),
        lambda: replace(perturbed(about, one, 10), curvature=1e-6),
    ):
        with pytest.raises(HullabalooError):
            wrong()


def test_a_resized_query_is_the_same_mean_problem() -> None:
    about = facts(2, norm_l2=1.0)
    for query in (perturbed(about, Neighbours.REPLACE_ONE, 1000), minimizer(about, Neighbours.REPLACE_ONE, 1000)):
        small = query.resized(100)
        family, other = query.family, small.family
        assert other.ridge / small.records == pytest.approx(family.ridge / query.records)
    large = perturbed(about, Neighbours.REPLACE_ONE, 1000)
    assert large.resized(100).sigma / 100 == pytest.approx(large.sigma / 1000)
    mean = minimizer(about, Neighbours.REPLACE_ONE, 1000)
    assert mean.resized(100).sigma == pytest.approx(mean.sigma, rel=1e-3)
