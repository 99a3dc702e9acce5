"""The profile of objective perturbation against its definition, exact mechanisms, a dynamic programme and its table."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hullabaloo.privacy import Neighbours, gdp_delta, gdp_mu
from hullabaloo.privacy.objective_events import _far_integral, _near_integral, _whole_integral, objective_delta, peak

Array = npt.NDArray[np.float64]
ADD, REPLACE = Neighbours.ADD_OR_REMOVE, Neighbours.REPLACE_ONE
CASES = [(1.0, 0.2, 1 / 3), (0.1, 0.02, 1 / 30), (1.0, 0.3, 0.1), (4.0, 0.7, 4 / 3), (0.2, 0.2, 1.0), (1.0, 0.2, 4.0)]
T = np.linspace(-14.0, 14.0, 28_001)


def density(x: Array) -> Array:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def brute_peak(a: Array, b: Array, kappa: float) -> Array:
    """sup_x φ(x) w(a x + b) on a fine grid of x ≥ 0: the definition, without its structure."""
    x = np.linspace(0.0, 14.0, 6001)
    gain = a[..., None] * x + b[..., None]
    weight = np.clip((1 + kappa - np.exp(-np.maximum(gain, -50.0))) / kappa, 0.0, 1.0)
    return np.asarray((density(x) * weight).max(-1))


def huber(t: Array, centre: float, s: float, kappa: float) -> tuple[Array, Array]:
    """γ and −γ' of a record with a Huber loss, whose kink is anywhere."""
    raw = -kappa * (t - centre)
    return np.clip(raw, -s, s), np.where(np.abs(raw) < s, kappa, 0.0)


def logistic(t: Array, centre: float, s: float, kappa: float) -> tuple[Array, Array]:
    """γ and −γ' of a record with a logistic loss."""
    share = 1 / (1 + np.exp(np.clip(4 * kappa / s * (t - centre), -500, 500)))
    return s * share, 4 * kappa * share * (1 - share)


RECORDS: list[Callable[[Array, float, float, float], tuple[Array, Array]]] = [huber, logistic]


def law(record: int, side: int, centre: float, s: float, kappa: float) -> Array:
    """The density of b when one record is there, pulled back to the same map θ(b)."""
    shift, slope = RECORDS[record](side * T, centre, s, kappa)
    return np.asarray(density(T - side * shift) * (1 + slope))


def divergence(p: Array, q: Array, epsilon: float) -> float:
    step = float(T[1] - T[0])
    return step * max(np.maximum(p - math.exp(epsilon) * q, 0).sum(), np.maximum(q - math.exp(epsilon) * p, 0).sum())


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3, 1.0, 8.0])
@pytest.mark.parametrize("kappa", [1e-9, 0.03, 1.0, 50.0])
@pytest.mark.few(8)
def test_peak_is_the_largest_value_of_its_definition(epsilon: float, kappa: float) -> None:
    m = np.geomspace(1e-2, 9.0, 40)
    found = peak(m, np.array(epsilon), kappa)
    brute = brute_peak(m, m * m / 2 - epsilon, kappa)
    assert np.all(found >= brute)
    seen = brute > 1e-12
    assert np.all(found[seen] <= brute[seen] * 1.03)
    assert np.all(np.diff(found) >= 0)


def test_peak_at_the_ends_of_the_floats() -> None:
    for m in (1e-140, 1e-8, 1.0, 1e4):
        for epsilon in (0.0, 1e-300, 1.0, 1e6):
            for kappa in (1e-300, 1e-16, 1.0, 1e200):
                value = float(peak(np.array([m]), np.array(epsilon), kappa)[0])
                assert 0.0 <= value <= 1 / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(("epsilon", "s", "kappa"), CASES)
def test_quadrature_is_above_and_close(epsilon: float, s: float, kappa: float) -> None:
    nodes, weights = np.polynomial.legendre.leggauss(300)
    g, w, at = s * (nodes + 1) / 2, weights * s / 2, np.array([epsilon])
    exact = [w @ peak(m, at, kappa) for m in (g, s + g, np.hypot(s, g))]
    found = [float(f(s, at, kappa)[0]) for f in (_whole_integral, _far_integral, _near_integral)]
    for number, (value, above) in enumerate(zip(exact, found, strict=True)):
        assert value * (1 - 1e-9) <= above <= value * (1.12 if number == 2 else 1.0025)


@pytest.mark.parametrize("epsilon", [3.0, 3.25, 3.5])
def test_quadrature_is_above_where_products_of_two_values_underflow(epsilon: float) -> None:
    """Values near 1e-200, which Rényi orders in the hundreds weigh by as much."""
    s, kappa, at = 0.03, 3.3, np.array([epsilon])
    nodes, weights = np.polynomial.legendre.leggauss(60)
    cells = s * (1.0 - np.geomspace(1e-4, 1.0, 40)[::-1])
    middles, halves = (cells[1:] + cells[:-1]) / 2, (cells[1:] - cells[:-1]) / 2
    g, w = (middles[:, None] + halves[:, None] * nodes).ravel(), (halves[:, None] * weights).ravel()
    exact = float(w @ peak(s + g, at, kappa))
    found = float(_far_integral(s, at, kappa)[0])
    assert 1e-300 < exact < 1e-150
    assert exact <= found <= 1.2 * exact


@pytest.mark.parametrize(("epsilon", "s", "kappa"), CASES)
@pytest.mark.few(1)
def test_every_angle_is_below_the_bound(epsilon: float, s: float, kappa: float) -> None:
    """First and second term at given ρ = |⟨u₁, u₂⟩|, by brute force over the plane; the bound must cover all of them."""
    bound = objective_delta(1 / s, kappa, REPLACE, epsilon)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    g, w = s * (nodes + 1) / 2, weights * s / 2
    y = np.linspace(-9, 9, 73)
    t = np.linspace(-10, 10, 801)
    values = []
    for rho in (1.0, 0.999, 0.98, 0.9, 0.7, 0.5, 0.25, 0.0):
        q = math.sqrt(1 - rho * rho)
        c = np.abs(rho * t[:, None] + q * y[None, :])
        rival = np.exp(epsilon - (t[:, None] ** 2 + y**2) / 2 - s * c - s * s / 2)
        own = np.exp(-(np.maximum(np.abs(t) - s, 0)[:, None] ** 2 + y**2) / 2)
        first = float(np.maximum(own - rival, 0).sum()) * (t[1] - t[0]) * (y[1] - y[0]) / (2 * math.pi)
        up = brute_peak(
            (g + s * rho)[:, None] + 0 * y,
            (g * g + s * s)[:, None] / 2 - epsilon + s * (rho * g[:, None] + q * y),
            kappa,
        )
        down = brute_peak(
            np.abs(g - s * rho)[:, None] + 0 * y,
            (g * g + s * s)[:, None] / 2 - epsilon - s * (rho * g[:, None] + q * y),
            kappa,
        )
        second = 2 * float(w @ np.maximum(up, down) @ density(y)) * (y[1] - y[0])
        values.append(first + second)
    assert max(values) <= bound * (1 + 3e-3)  # rectangles on the kinked first term are good to 2e-3
    assert max(values) >= 0.5 * bound


@pytest.mark.few(1)
@pytest.mark.parametrize(("epsilon", "s", "kappa"), CASES)
def test_exact_mechanisms_of_one_coefficient_never_exceed_it(epsilon: float, s: float, kappa: float) -> None:
    """Their laws are known exactly: b is normal without the record, φ(t − γ)(1 − γ') with it."""
    add, replace = (objective_delta(1 / s, kappa, relation, epsilon) for relation in (ADD, REPLACE))
    laws = [law(r, side, c, s, kappa) for r in (0, 1) for side in (1, -1) for c in np.linspace(-9, 9, 37)]
    alone = [divergence(p, density(T), epsilon) for p in laws]
    assert max(alone) <= add * (1 + 1e-3)
    assert max(alone) >= 0.5 * add
    generator = np.random.default_rng(7)
    strong = sorted(range(len(laws)), key=lambda i: -alone[i])[:6]
    pairs = [(i, j) for i in strong for j in range(len(laws))]
    pairs += [tuple(generator.integers(0, len(laws), 2)) for _ in range(200)]
    assert 0.2 * replace <= max(divergence(laws[i], laws[j], epsilon) for i, j in pairs) <= replace


@pytest.mark.few(1)
@pytest.mark.parametrize(("epsilon", "s", "kappa"), CASES[:3])
def test_pairs_in_the_plane_never_exceed_it(epsilon: float, s: float, kappa: float) -> None:
    grid = np.linspace(-9, 9, 361)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    cell = float((grid[1] - grid[0]) ** 2)
    generator = np.random.default_rng(11)
    bound = objective_delta(1 / s, kappa, REPLACE, epsilon)
    for _ in range(60):
        laws = []
        for _ in range(2):
            angle, centre, record = generator.uniform(0, 2 * math.pi), generator.uniform(-5, 5), generator.integers(2)
            u = (math.cos(angle), math.sin(angle))
            shift, slope = RECORDS[record](u[0] * x + u[1] * y, centre, s, kappa)
            laws.append(density(x - shift * u[0]) * density(y - shift * u[1]) * (1 + slope))
        assert cell * float(np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0).sum()) <= bound


@pytest.mark.parametrize(
    ("epsilon", "s", "kappa"), [(1.0, 0.5, 0.43), (0.1, 0.03, 0.05), (3.0, 0.6, 0.5), (1.0, 0.23, 1.0)]
)
def test_a_dynamic_programme_over_all_records_comes_close_under_add_or_remove(
    epsilon: float, s: float, kappa: float
) -> None:
    """The best nonincreasing, κ-Lipschitz path γ on a grid, its falls rewarded as in the proof: near the supremum itself."""
    cells = 121
    gap = 2 * s / (cells - 1)
    steps = int(16.0 / (gap / kappa)) if gap / kappa > 16 / 1200 else 1200
    t = np.linspace(-8, 8, steps + 1)
    h = float(t[1] - t[0])
    most = max(1, math.floor(kappa * h / gap + 1e-9))
    gamma = np.linspace(-s, s, cells)
    value = np.zeros(cells)
    for middle in ((t[1:] + t[:-1]) / 2)[::-1]:
        rival = math.exp(epsilon) * density(np.asarray(middle))
        base = np.maximum(density(middle - gamma) - rival, 0) * h
        own = density(middle - (gamma - gap / 2))  # a fall of one cell, rewarded at its middle
        reward = np.where(own > rival, own, np.maximum((1 + 1 / kappa) * own - rival / kappa, 0)) * gap
        best, gained = base + value, np.zeros(cells)
        for fall in range(1, most + 1):
            gained[fall:] = gained[fall:] + reward[1 : cells - fall + 1]
            best[fall:] = np.maximum(best[fall:], base[fall:] + gained[fall:] + value[: cells - fall])
        value = best
    bound = objective_delta(1 / s, kappa, ADD, epsilon)
    assert 0.5 * bound <= float(value.max()) <= bound * 1.01


@pytest.mark.parametrize(
    ("relation", "epsilon", "share", "ratio"),
    [
        (REPLACE, 1.0, 1 / 10, 1.075), (REPLACE, 1.0, 1 / 6, 1.10), (REPLACE, 1.0, 1 / 3, 1.23), (REPLACE, 1.0, 1 / 2, 1.41),
        (ADD, 1.0, 1 / 10, 1.04), (ADD, 0.1, 1 / 10, 1.047), (ADD, 1.0, 1 / 3, 1.18), (ADD, 1.0, 1 / 2, 1.35),
    ],
)  # fmt: skip
def test_the_table_of_noise_ratios(relation: Neighbours, epsilon: float, share: float, ratio: float) -> None:
    """σ over that of the Gaussian mechanism of the same relation, whose sensitivity is 2L under replace-one."""
    gaussian = (2.0 if relation is REPLACE else 1.0) / gdp_mu(epsilon, 1e-6)
    for factor, admitted in ((ratio + 6e-3, True), (ratio - 6e-3, False)):
        assert (objective_delta(gaussian * factor, share * epsilon, relation, epsilon) <= 1e-6) is admitted


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.sampled_from([ADD, REPLACE]),
    st.floats(0.05, 200.0),
    st.floats(1e-3, 20.0),
    st.floats(0.0, 6.0),
    st.floats(1.0, 1.5),
)
def test_monotone(relation: Neighbours, noise: float, kappa: float, epsilon: float, more: float) -> None:
    delta = objective_delta(noise, kappa, relation, epsilon)
    assert 0.0 < delta <= 1.0
    assert objective_delta(noise, kappa, relation, epsilon * more) <= delta * (1 + 1e-9)
    assert objective_delta(noise * more, kappa, relation, epsilon) <= delta * (1 + 2e-3)
    assert objective_delta(noise, kappa * more, relation, epsilon) >= delta * (1 - 2e-3) or relation is ADD
    assert delta >= gdp_delta((2 if relation is REPLACE else 1) / noise, epsilon) * (1 - 1e-9)
    assert objective_delta(noise, kappa, REPLACE, epsilon) >= objective_delta(noise, kappa, ADD, epsilon) * (1 - 2e-3)


def test_without_curvature_it_is_twice_the_gaussian() -> None:
    """κ → 0 leaves 2H: the factor two that signs of γ on both half-lines could cost."""
    for epsilon, s in ((1.0, 0.2), (0.1, 0.03)):
        assert objective_delta(1 / s, 1e-12, ADD, epsilon) == pytest.approx(2 * gdp_delta(s, epsilon), rel=0.2)


def test_extremes() -> None:
    for relation in (ADD, REPLACE):
        assert objective_delta(1e-6, 0.1, relation, 1.0) == 1.0
        assert objective_delta(10.0, 1e250, relation, 1.0) == 1.0
        assert objective_delta(1e300, 0.1, relation, 1.0) < 1e-130
        assert objective_delta(10.0, 0.1, relation, 1e9) < 1e-300
        assert 0.0 < objective_delta(10.0, 0.1, relation, 0.0) < 0.5
