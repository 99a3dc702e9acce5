"""Lifting: exact recovery of sparse models, linear programs and closed forms as oracles, certificates for every other set."""

import numpy as np
import pytest
from scipy.optimize import linprog

from hullabaloo.curation.sketch import Sketch
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ConvexSet,
    ElasticBall,
    GroupBall,
    HasGauge,
    L1Ball,
    L2Ball,
    Polytope,
    Simplex,
    with_intercept,
)
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.streaming import lift as module
from hullabaloo.streaming.lift import is_least, lift, minimise_sketched

P, M = 30, 9
PHI = Sketch(P, M, 3).matrix


def point(seed: int, nonzeros: int = 4, p: int = P) -> np.ndarray:
    rng = np.random.default_rng(seed)
    theta = np.zeros(p)
    theta[rng.choice(p, nonzeros, replace=False)] = rng.normal(size=nonzeros)
    return theta


@pytest.mark.parametrize("route", ["linear program", "curve"])
def test_sparse_models_come_back_exactly(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if route == "curve":
        monkeypatch.setattr(module, "_LP", 0)
    phi, theta = Sketch(500, 80).matrix, point(0, 5, 500)
    found = lift(phi, phi @ theta, L1Ball(2.0))
    assert np.abs(found.theta - theta).max() < 1e-7
    assert found.gauge == pytest.approx(np.abs(theta).sum() / 2.0, rel=1e-7)
    assert found.least == pytest.approx(found.gauge, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_l1_ball_agrees_with_a_linear_program_of_bounds(seed: int) -> None:
    """min Σu subject to −u ≤ θ ≤ u and Φθ = ϑ: another program than the one on weights."""
    aim = PHI @ point(seed, 12)
    eye = np.eye(P)
    oracle = linprog(
        np.r_[np.zeros(P), np.ones(P)],
        A_ub=np.block([[eye, -eye], [-eye, -eye]]),
        b_ub=np.zeros(2 * P),
        A_eq=np.hstack([PHI, np.zeros((M, P))]),
        b_eq=aim,
        bounds=[(None, None)] * P + [(0, None)] * P,
    )
    found = lift(PHI, aim, L1Ball(3.0))
    assert found.gauge == pytest.approx(oracle.fun / 3.0, rel=1e-8)
    assert np.allclose(PHI @ found.theta, aim, atol=1e-10)


def test_the_l2_ball_has_a_closed_form() -> None:
    aim = PHI @ point(1)
    found = lift(PHI, aim, L2Ball(0.5))
    expected = PHI.T @ np.linalg.solve(PHI @ PHI.T, aim)
    assert np.allclose(found.theta, expected, atol=1e-12)
    assert found.gauge == pytest.approx(2.0 * np.linalg.norm(expected))


def test_simplex_and_polytope_lift_by_the_weights_of_their_vertices() -> None:
    theta = np.abs(point(2))
    corners = np.vstack([2.0 * np.eye(P), np.zeros(P)])
    one, other = lift(PHI, PHI @ theta, Simplex(2.0)), lift(PHI, PHI @ theta, Polytope(corners))
    assert one.gauge == pytest.approx(other.gauge, rel=1e-9)
    assert np.allclose(one.theta, other.theta, atol=1e-9)
    assert (one.theta >= 0.0).all()
    assert one.gauge <= theta.sum() / 2.0 * (1.0 + 1e-12)


SETS: dict[str, ConvexSet] = {
    "elastic": ElasticBall(0.4, 1.5),
    "groups": GroupBall([tuple(range(i, i + 3)) for i in range(0, P, 3)], 1.0),
    "box": Box(-1.0, 2.0),
    "l1": L1Ball(1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_along_the_curve_every_set_gets_a_certificate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gauge found is that of θ, at most that of the model behind ϑ, and next to a lower bound of all of them.

    Tests: 003, Theorem 5.3.
    """
    monkeypatch.setattr(module, "_LP", 0)
    body, theta = SETS[name], point(4)
    found = lift(PHI, PHI @ theta, body)
    assert isinstance(body, HasGauge)
    assert np.allclose(PHI @ found.theta, PHI @ theta, atol=1e-9)
    assert found.gauge == pytest.approx(body.gauge(found.theta), rel=1e-9)
    assert found.least <= found.gauge * (1.0 + 1e-9) <= found.least * (1.0 + 1e-3)
    assert found.least <= body.gauge(theta) * (1.0 + 1e-9)


def test_more_coordinates_than_columns_leave_one_model_and_zero_lifts_to_zero() -> None:
    phi, theta = np.random.default_rng(0).normal(size=(12, 6)), point(5, 3, 6)
    assert np.allclose(lift(phi, phi @ theta, L1Ball(1.0)).theta, theta, atol=1e-12)
    assert not lift(PHI, np.zeros(M), L1Ball(1.0)).theta.any()


@pytest.mark.parametrize("body", [L1Ball(0.7), L2Ball(0.7), Simplex(0.7), ElasticBall(0.4, 1.0)], ids=str)
def test_by_products_alone_the_minimum_is_that_of_the_quadratic_solver(body: ConvexSet) -> None:
    rng = np.random.default_rng(6)
    half = rng.normal(size=(M, M))
    gram, cross = half.T @ half, rng.normal(size=M)
    found = minimise_sketched(PHI, gram, cross, body, steps=5000, dense=0)
    expected = minimise_quadratic(PHI.T @ gram @ PHI, cross @ PHI, feasible=body).theta
    for theta in (found, minimise_sketched(PHI, gram, cross, body)):
        assert body.contains(theta)
        value, least = (0.5 * t @ PHI.T @ gram @ PHI @ t - cross @ PHI @ t for t in (theta, expected))
        assert value == pytest.approx(least, abs=1e-7)


def test_a_minimiser_on_the_edge_is_known_to_be_of_least_gauge() -> None:
    aim = PHI @ (5.0 * point(7))
    for radius, on_edge in ((0.5, True), (500.0, False)):
        body = L1Ball(radius)
        theta = minimise_sketched(PHI, np.eye(M), aim, body)
        assert is_least(PHI, theta, aim - PHI @ theta, body) is on_edge
        if on_edge:
            assert lift(PHI, PHI @ theta, body).gauge == pytest.approx(1.0, rel=1e-6)


def test_what_cannot_be_lifted_is_refused_in_a_sentence() -> None:
    with pytest.raises(InvalidParameter, match="no multiple reaches"):
        lift(np.array([[1.0, 1.0, 2.0]]), [-1.0], Simplex(1.0))
    with pytest.raises(CapabilityError, match="does not hold 0"):
        lift(PHI, PHI @ point(0), Box(1.0, 2.0))
    with pytest.raises(CapabilityError, match="lacks a gauge"):
        lift(PHI, PHI @ point(0), with_intercept(L1Ball(1.0), -1.0, 1.0))
