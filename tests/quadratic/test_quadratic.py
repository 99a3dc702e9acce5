"""The quadratic solver against scikit-learn, SciPy, 50-digit arithmetic and its own optimality conditions."""

import math

import mpmath
import numpy as np
import pytest

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ElasticNetPenalty,
    L1Ball,
    L1Penalty,
    L2Ball,
    LpBall,
    NoPenalty,
    Penalty,
    PenaltyWithFreeIntercept,
    Projectable,
    Simplex,
    SquaredL2Penalty,
    with_intercept,
)
from hullabaloo.quadratic import Status, minimise_quadratic
from hullabaloo.quadratic.interior_point import interior_point

SETS = {
    "l1": lambda theta: L1Ball(0.4 * float(np.abs(theta).sum())),
    "l1 small": lambda theta: L1Ball(0.01 * float(np.abs(theta).sum())),
    "l1 large": lambda theta: L1Ball(5.0 * float(np.abs(theta).sum())),
    "l2": lambda theta: L2Ball(0.5 * float(np.linalg.norm(theta))),
    "l2 large": lambda theta: L2Ball(5.0 * float(np.linalg.norm(theta))),
    "box": lambda theta: Box(-0.5, 0.7),
    "positive": lambda theta: Box(0.0, 100.0),
    "simplex": lambda theta: Simplex(),
    "bounded intercept": lambda theta: with_intercept(L1Ball(0.4 * float(np.abs(theta).sum())), -0.1, 0.1),
}


def problem(p, condition, seed=0, rank=None):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((p, p)))[0]
    values = np.logspace(0.0, -math.log10(condition), p)
    values[p if rank is None else rank :] = 0.0
    gram = (basis * values) @ basis.T
    theta = rng.standard_normal(p)
    cross = gram @ theta + 0.01 * basis @ (np.sqrt(values) * rng.standard_normal(p))  # in the range of the matrix
    return 0.5 * (gram + gram.T), cross, theta


def table(n, p, seed, correlation=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + correlation * rng.standard_normal((n, 1)) * 2.0
    y = X @ np.where(rng.uniform(size=p) < 0.4, rng.standard_normal(p), 0.0) + rng.standard_normal(n) + 0.3
    return X, y


def moments(X, y):
    return X.T @ X / len(X), X.T @ y / len(X)


def objective(gram, cross, theta):
    return 0.5 * float(theta @ gram @ theta) - float(cross @ theta)


def most_gap(solved, gram, cross, body):
    """The most that h(−g) + ⟨g, θ⟩ = max ⟨g, θ − u⟩ over u in C can be, at the slope g = Aθ − b.

    With v in g + N(θ) it is at most ⟨v, θ − u⟩ ≤ ‖v‖ max ‖θ − u‖, where ‖v‖ ≤ residual · (‖b‖ + L‖θ‖), beside the
    rounding of g and of the products, of (p + 2) eps (‖b‖ + ‖A‖‖θ‖) each (Higham 2002, section 3.5).
    """
    p, size, right = len(cross), np.linalg.norm(solved.theta), np.linalg.norm(cross)
    corner = [max(body.support(axis), body.support(-axis)) for axis in np.eye(p)]
    rounding = 2.0 * (p + 2) * np.finfo(float).eps * (right + np.linalg.norm(gram) * size)
    away = solved.residual * (right + np.linalg.norm(gram, 2) * size)
    return (away + rounding) * (size + np.linalg.norm(corner))


@pytest.mark.few(12)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("condition", [1e1, 1e6, 1e10])
@pytest.mark.parametrize("p", [1, 2, 8, 60])
def test_constrained_minimisers_have_no_duality_gap(name, p, condition):
    gram, cross, theta = problem(p, condition)
    body = SETS[name](theta)
    solved = minimise_quadratic(gram, cross, feasible=body)
    slope = gram @ solved.theta - cross
    gap = body.support(-slope) + float(slope @ solved.theta)
    assert solved.status in (Status.EXACT, Status.CONVERGED)
    assert body.contains(solved.theta, tolerance=1e-12)
    assert solved.residual <= 1e-12
    assert gap <= most_gap(solved, gram, cross, body)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", SETS)
def test_constrained_minimisers_agree_with_scipy(name):
    from scipy.optimize import minimize

    gram, cross, theta = problem(5, 50.0, seed=3)
    body = SETS[name](theta)
    solved = minimise_quadratic(gram, cross, feasible=body).theta
    split = np.hstack([np.eye(5), -np.eye(5)])  # θ = u − v with u, v ≥ 0 makes the l1 norm linear
    rules = []
    bounds = [(0.0, None)] * 10
    if isinstance(body, L1Ball):
        rules = [{"type": "ineq", "fun": lambda w: body.radius - w.sum()}]
    elif isinstance(body, L2Ball):
        rules = [{"type": "ineq", "fun": lambda w: body.radius**2 - float((split @ w) @ (split @ w))}]
    elif isinstance(body, Simplex):
        rules = [{"type": "eq", "fun": lambda w: (split @ w).sum() - 1.0}]
        bounds = [(0.0, None)] * 5 + [(0.0, 0.0)] * 5
    elif isinstance(body, Box):
        bounds = [(0.0, body.upper)] * 5 + [(0.0, -body.lower)] * 5
    else:
        rules = [{"type": "ineq", "fun": lambda w: body.body.radius - w[:4].sum() - w[5:9].sum()}]
        bounds = ([(0.0, None)] * 4 + [(0.0, 0.1)]) * 2
    found = minimize(
        lambda w: objective(gram, cross, split @ w),
        np.full(10, 0.01),
        jac=lambda w: split.T @ (gram @ (split @ w) - cross),
        bounds=bounds,
        constraints=rules,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert split @ found.x == pytest.approx(solved, abs=1e-5)
    assert objective(gram, cross, solved) <= found.fun + 1e-10


@pytest.mark.few(13)
@pytest.mark.parametrize("condition", [1e2, 1e10])
@pytest.mark.parametrize("strength", [1e-1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("p", [1, 2, 30, 120])
def test_l1_minimisers_obey_their_optimality_conditions(p, strength, condition):
    gram, cross, _ = problem(p, condition)
    solved = minimise_quadratic(gram, cross, penalty=L1Penalty(strength))
    slope = gram @ solved.theta - cross
    scale = 1e-14 * (1.0 + np.linalg.norm(solved.theta) + np.linalg.norm(cross)) * p
    live = solved.theta != 0.0
    assert solved.status is Status.CONVERGED
    assert slope[live] == pytest.approx(-strength * np.sign(solved.theta[live]), abs=scale)
    assert np.abs(slope).max() <= strength + scale


def test_lasso_and_elastic_net_agree_with_scikit_learn():
    from sklearn.linear_model import ElasticNet, Lasso

    X, y = table(300, 25, seed=1)
    centre, mean = X - X.mean(axis=0), y - y.mean()
    augmented = np.column_stack([X, np.ones(len(X))])
    settings = {"tol": 1e-14, "max_iter": 1_000_000}
    for strength in (1.0, 0.1, 1e-2, 1e-4):
        theirs = Lasso(alpha=strength, **settings).fit(X, y)
        assert minimise_quadratic(*moments(centre, mean), penalty=L1Penalty(strength)).theta == pytest.approx(
            theirs.coef_, abs=1e-9
        )
        ours = minimise_quadratic(*moments(augmented, y), penalty=PenaltyWithFreeIntercept(L1Penalty(strength))).theta
        assert ours == pytest.approx(np.append(theirs.coef_, theirs.intercept_), abs=1e-9)
        for ratio in (0.2, 0.9):
            theirs = ElasticNet(alpha=strength, l1_ratio=ratio, **settings).fit(X, y)
            penalty = PenaltyWithFreeIntercept(ElasticNetPenalty(strength, ratio))
            ours = minimise_quadratic(*moments(augmented, y), penalty=penalty).theta
            assert ours == pytest.approx(np.append(theirs.coef_, theirs.intercept_), abs=1e-9)


def test_ridge_and_least_squares_agree_with_scikit_learn():
    from sklearn.linear_model import LinearRegression, Ridge

    X, y = table(300, 25, seed=2)
    augmented = np.column_stack([X, np.ones(len(X))])
    plain = LinearRegression().fit(X, y)
    ours = minimise_quadratic(*moments(augmented, y))
    assert ours.status is Status.EXACT
    assert ours.theta == pytest.approx(np.append(plain.coef_, plain.intercept_), abs=1e-10)
    for strength in (10.0, 1e-3):
        theirs = Ridge(alpha=strength * len(X), solver="cholesky").fit(X, y)
        penalty = PenaltyWithFreeIntercept(SquaredL2Penalty(strength))
        theta = minimise_quadratic(*moments(augmented, y), penalty=penalty).theta
        assert theta == pytest.approx(np.append(theirs.coef_, theirs.intercept_), abs=1e-10)


def test_parity_holds_on_badly_scaled_columns():
    from sklearn.linear_model import LinearRegression

    X, y = table(400, 12, seed=5)
    X = X * np.logspace(0, -5, 12)  # the Gram matrix has condition 1e10 and more
    theirs = LinearRegression(fit_intercept=False).fit(X, y).coef_
    ours = minimise_quadratic(*moments(X, y)).theta
    assert np.linalg.cond(moments(X, y)[0]) > 1e10
    assert X @ ours == pytest.approx(X @ theirs, abs=1e-9)
    assert ours * np.logspace(0, -5, 12) == pytest.approx(theirs * np.logspace(0, -5, 12), abs=1e-8)


@pytest.mark.parametrize("kind", ["none", "l1 ball", "l1", "l2"])
def test_minimisers_of_ill_conditioned_quadratics_are_near_the_exact_ones(kind):
    gram, cross, theta = problem(12, 1e10, seed=6)
    radius = 0.5 * float(np.linalg.norm(theta))
    ours = {
        "none": lambda: minimise_quadratic(gram, cross),
        "l1 ball": lambda: minimise_quadratic(gram, cross, feasible=L1Ball(radius)),
        "l1": lambda: minimise_quadratic(gram, cross, penalty=L1Penalty(1e-7)),
        "l2": lambda: minimise_quadratic(gram, cross, feasible=L2Ball(radius)),
    }[kind]().theta
    live = np.flatnonzero(ours)
    with mpmath.workdps(50):
        a, b = mpmath.matrix(gram[np.ix_(live, live)].tolist()), mpmath.matrix(cross[live].tolist())
        signs = mpmath.matrix(np.sign(ours[live]).tolist())
        if kind == "none":
            exact = mpmath.lu_solve(a, b)
        elif kind == "l1":
            exact = mpmath.lu_solve(a, b - signs * mpmath.mpf(1e-7))
        elif kind == "l1 ball":
            first, second = mpmath.lu_solve(a, b), mpmath.lu_solve(a, signs)
            exact = first - second * ((mpmath.fdot(signs, first) - mpmath.mpf(radius)) / mpmath.fdot(signs, second))
        else:

            def at(nu):
                return mpmath.lu_solve(a + nu * mpmath.eye(len(live)), b)

            guess = float(ours @ (cross - gram @ ours)) / float(ours @ ours)
            nu = mpmath.findroot(lambda x: mpmath.norm(at(x)) - mpmath.mpf(radius), guess)
            exact = at(nu)
        exact = np.array([float(x) for x in exact])
    assert ours[live] == pytest.approx(exact, rel=1e-8, abs=1e-11)


def test_singular_systems_give_the_solution_of_smallest_norm():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 30))
    y = rng.standard_normal(10)
    solved = minimise_quadratic(*moments(X, y))
    assert solved.theta == pytest.approx(np.linalg.pinv(X) @ y, abs=1e-10)
    assert solved.status is Status.EXACT
    ball = minimise_quadratic(*moments(X, y), feasible=L2Ball(1e3))
    assert ball.theta == pytest.approx(solved.theta, abs=1e-10)


def test_an_interior_start_without_any_weight_is_least_squares():
    gram, cross, _ = problem(12, 1e3, seed=3, rank=5)
    theta = interior_point(gram, cross, np.zeros(12), 1.0)
    assert gram @ theta == pytest.approx(cross, abs=1e-10)


@pytest.mark.few(11)
@pytest.mark.parametrize("rank", [1, 5, 39])
@pytest.mark.parametrize("name", SETS)
def test_singular_quadratics_on_sets_reach_the_optimum(name, rank):
    gram, cross, theta = problem(40, 1e3, seed=7, rank=rank)
    body = SETS[name](theta)
    solved = minimise_quadratic(gram, cross, feasible=body)
    slope = gram @ solved.theta - cross
    assert solved.status in (Status.EXACT, Status.CONVERGED)
    assert solved.residual <= 1e-12
    assert body.support(-slope) + float(slope @ solved.theta) <= most_gap(solved, gram, cross, body)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", SETS)
def test_a_matrix_of_zeros_leaves_a_linear_problem(name):
    cross = np.array([1.0, -2.0, 0.5])
    body = SETS[name](np.ones(3))
    theta = minimise_quadratic(np.zeros((3, 3)), cross, feasible=body).theta
    assert float(cross @ theta) == pytest.approx(body.support(cross), rel=1e-9)
    still = minimise_quadratic(np.zeros((3, 3)), np.zeros(3), feasible=body)
    assert body.contains(still.theta)
    assert still.residual == 0.0


def test_zeros_and_no_set_give_zero():
    for penalty in (NoPenalty(), L1Penalty(0.1), SquaredL2Penalty(1.0), PenaltyWithFreeIntercept(L1Penalty(0.1))):
        solved = minimise_quadratic(np.zeros((3, 3)), np.zeros(3), penalty=penalty)
        assert np.array_equal(solved.theta, np.zeros(3))
        assert solved.status in (Status.EXACT, Status.CONVERGED)
        gram, _, _ = problem(3, 10.0)
        assert minimise_quadratic(gram, np.zeros(3), penalty=penalty).theta == pytest.approx(np.zeros(3), abs=1e-15)


def test_what_has_no_minimiser_is_called_unbounded():
    gram = np.diag([1.0, 0.0])
    assert minimise_quadratic(gram, np.array([1.0, 1.0])).status is Status.UNBOUNDED
    assert minimise_quadratic(gram, np.array([1.0, 1.0]), penalty=L1Penalty(0.5)).status is Status.UNBOUNDED
    assert minimise_quadratic(gram, np.array([1.0, 1.0]), penalty=L1Penalty(1.5)).status is Status.CONVERGED
    free = with_intercept(L1Ball(1.0))
    assert minimise_quadratic(gram, np.array([1.0, 1.0]), feasible=free).status is Status.UNBOUNDED
    rng = np.random.default_rng(0)
    low = rng.standard_normal((10, 3))
    solved = minimise_quadratic(low @ low.T, rng.standard_normal(10), penalty=L1Penalty(1e-3))
    assert solved.status is Status.UNBOUNDED


@pytest.mark.few(5)
@pytest.mark.parametrize("ends", [(-math.inf, math.inf), (-0.1, 0.1), (0.2, 0.5), (-math.inf, -1.0)])
@pytest.mark.parametrize("kind", ["l1", "l2", "box"])
def test_the_eliminated_intercept_is_optimal_too(kind, ends):
    X, y = table(200, 6, seed=8)
    gram, cross = moments(np.column_stack([X, np.ones(len(X))]), y)
    body = {"l1": L1Ball(0.7), "l2": L2Ball(0.5), "box": Box(-0.2, 0.3)}[kind]
    theta = minimise_quadratic(gram, cross, feasible=with_intercept(body, *ends)).theta
    slope = gram @ theta - cross
    assert body.support(-slope[:-1]) + float(slope[:-1] @ theta[:-1]) <= 1e-12
    assert ends[0] <= theta[-1] <= ends[1]
    assert theta[-1] - slope[-1] == pytest.approx(theta[-1], abs=1e-13) or theta[-1] in ends
    if theta[-1] == ends[0]:
        assert slope[-1] >= 0.0
    if theta[-1] == ends[1]:
        assert slope[-1] <= 0.0


@pytest.mark.parametrize("columns", [2, 8])
def test_several_intercepts_are_each_optimal(columns):
    X, y = table(200, 8, seed=12)
    gram, cross = moments(X, y)
    bounded = with_intercept(Box(-0.1, 0.2), -0.05, 0.05, columns)
    theta = minimise_quadratic(gram, cross, feasible=bounded).theta
    slope = gram @ theta - cross
    assert bounded.contains(theta)
    assert bounded.support(-slope) + float(slope @ theta) <= 1e-11
    free = PenaltyWithFreeIntercept(L1Penalty(0.02), columns)
    theta = minimise_quadratic(gram, cross, penalty=free).theta
    slope = gram @ theta - cross
    assert slope[-columns:] == pytest.approx(np.zeros(columns), abs=1e-11)
    assert np.abs(slope[:-columns]).max(initial=0.0) <= 0.02 + 1e-11


def test_an_intercept_alone():
    body = with_intercept(L1Ball(1.0), -1.0, 1.0)
    assert minimise_quadratic([[2.0]], [1.0], feasible=body).theta == pytest.approx([0.5])
    assert minimise_quadratic([[2.0]], [7.0], feasible=body).theta == pytest.approx([1.0])
    assert minimise_quadratic([[2.0]], [1.0], penalty=PenaltyWithFreeIntercept(L1Penalty(1.0))).theta == [0.5]


@pytest.mark.parametrize("what", ["none", "l1 ball", "l2 ball", "lasso", "intercept"])
def test_several_right_hand_sides_are_separate_problems(what):
    X, _ = table(100, 8, seed=9)
    Y = np.random.default_rng(9).standard_normal((100, 3))
    gram, cross = X.T @ X / 100, X.T @ Y / 100
    settings = {
        "none": {},
        "l1 ball": {"feasible": L1Ball(0.05)},
        "l2 ball": {"feasible": L2Ball(0.05)},
        "lasso": {"penalty": L1Penalty(0.05)},
        "intercept": {"feasible": with_intercept(L2Ball(0.05), -0.01, 0.01)},
    }[what]
    together = minimise_quadratic(gram, cross, **settings)
    assert together.theta.shape == (8, 3)
    for j in range(3):
        alone = minimise_quadratic(gram, cross[:, j], **settings)
        assert np.array_equal(together.theta[:, j], alone.theta)
        assert together.residual >= alone.residual


def test_the_start_does_not_change_the_solution():
    gram, cross, theta = problem(20, 1e4, seed=10)
    body = SETS["l1"](theta)
    plain = minimise_quadratic(gram, cross, feasible=body)
    warm = minimise_quadratic(gram, cross, feasible=body, start=plain.theta)
    assert warm.theta == pytest.approx(plain.theta, abs=1e-12)
    assert warm.iterations <= plain.iterations
    assert np.array_equal(minimise_quadratic(gram, cross, feasible=body).theta, plain.theta)  # deterministic


class Ellipse(Projectable):
    """A set with no face to name: the unit ball around a centre."""

    def __init__(self, centre):
        self.centre = centre

    def project(self, theta):
        return self.centre + L2Ball(1.0).project(theta - self.centre)


class Groups(Penalty):
    """Sum of the norms of the two halves."""

    strong_convexity = 0.0
    to_dict = None

    def value(self, theta):
        return 0.1 * float(np.linalg.norm(theta.reshape(2, -1), axis=1).sum())

    def prox(self, v, step):
        halves = v.reshape(2, -1)
        norms = np.linalg.norm(halves, axis=1, keepdims=True)
        return (halves * np.maximum(0.0, 1.0 - 0.1 * step / np.maximum(norms, 1e-300))).ravel()


def test_other_sets_and_penalties_go_by_their_projection_and_prox_alone():
    gram, cross, _ = problem(10, 1e3, seed=11)
    centre = np.full(10, 2.0)
    on_ball = minimise_quadratic(gram, cross, feasible=Ellipse(centre))
    moved = minimise_quadratic(gram, cross - gram @ centre, feasible=L2Ball(1.0))
    assert on_ball.status is Status.CONVERGED
    assert on_ball.theta == pytest.approx(centre + moved.theta, abs=1e-8)
    grouped = minimise_quadratic(gram, cross, penalty=Groups())
    assert grouped.status is Status.CONVERGED
    halves, slope = grouped.theta.reshape(2, -1), (gram @ grouped.theta - cross).reshape(2, -1)
    for half, pull in zip(halves, slope, strict=True):
        norm = float(np.linalg.norm(half))
        if norm > 0.0:
            assert pull == pytest.approx(-0.1 * half / norm, abs=1e-9)
        else:
            assert np.linalg.norm(pull) <= 0.1 + 1e-9


def test_an_l2_penalty_may_stay_beside_a_set():
    gram, cross, theta = problem(6, 1e2, seed=12)
    body = SETS["l1"](theta)
    both = minimise_quadratic(gram, cross, feasible=body, penalty=SquaredL2Penalty(0.3)).theta
    assert both == pytest.approx(minimise_quadratic(gram + 0.3 * np.eye(6), cross, feasible=body).theta, abs=1e-12)
    with pytest.raises(CapabilityError, match="keep one of the two"):
        minimise_quadratic(gram, cross, feasible=LpBall(1.5, 1.0), penalty=L1Penalty(0.3))
    with pytest.raises(CapabilityError, match="Euclidean projection"):
        minimise_quadratic(gram, cross, feasible="l1")


@pytest.mark.parametrize(
    ("gram", "cross", "what"),
    [
        (np.eye(3), np.ones(2), "shape"),
        (np.ones((2, 3)), np.ones(2), "shape"),
        (np.eye(2), np.ones((2, 0)), "shape"),
        (np.diag([1.0, np.nan]), np.ones(2), "NaN"),
        (np.eye(2), np.array([1.0, np.inf]), "NaN"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), np.ones(2), "symmetric"),
        (np.diag([1.0, -0.1]), np.ones(2), "negative eigenvalue"),
    ],
)
def test_what_is_no_convex_quadratic_is_refused(gram, cross, what):
    with pytest.raises(InvalidParameter, match=what):
        minimise_quadratic(gram, cross)


def test_scale_of_the_problem_does_not_matter():
    gram, cross, theta = problem(15, 1e4, seed=13)
    for scale in (1e-8, 1e8):
        for name in ("l1", "l2", "box"):
            body = SETS[name](theta)
            plain = minimise_quadratic(gram, cross, feasible=body).theta
            assert minimise_quadratic(scale * gram, scale * cross, feasible=body).theta == pytest.approx(
                plain, abs=1e-11
            )
        plain = minimise_quadratic(gram, cross, penalty=L1Penalty(1e-3)).theta
        scaled = minimise_quadratic(scale * gram, scale * cross, penalty=L1Penalty(scale * 1e-3)).theta
        assert scaled == pytest.approx(plain, abs=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("condition", [1e1, 1e6, 1e10])
def test_a_thousand_columns(condition):
    gram, cross, theta = problem(1000, condition, seed=14)
    for body in SETS.values():
        solved = minimise_quadratic(gram, cross, feasible=body(theta))
        assert solved.status in (Status.EXACT, Status.CONVERGED)
    for strength in (1e-1, 1e-3, 1e-6, 1e-9):
        assert minimise_quadratic(gram, cross, penalty=L1Penalty(strength)).status is Status.CONVERGED


def test_many_columns_whose_matrix_vanishes_where_its_largest_eigenvalue_is_looked_for() -> None:
    """ARPACK refuses to start where A takes the starting vector to 0."""
    p = 301
    start = np.cos(np.arange(p))
    gram = np.zeros((p, p))
    gram[:2, :2] = np.outer([start[1], -start[0]], [start[1], -start[0]])
    for a in (gram, np.zeros((p, p))):
        found = minimise_quadratic(a, a @ np.arange(p), feasible=Box(-1.0, 1.0))
        assert found.residual <= 1e-12
