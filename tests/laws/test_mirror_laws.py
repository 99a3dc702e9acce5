"""Laws of every mirror map: of each set that has one, and the Euclidean map of each projection."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import (
    ConvexSet,
    HasComposite,
    HasMirrorMap,
    MirrorMap,
    NuclearBall,
    Projectable,
    Simplex,
    euclidean_map,
)
from hullabaloo.geometry.width import simulated_width
from tests.laws import zoo
from tests.laws.mirror_norms import divergence, dual_norm, norm
from tests.sampling import sampled

DIMENSIONS = (1, 2, 50)


def maps() -> list[tuple[str, ConvexSet, MirrorMap, int]]:
    """(name, set, map, dimension)."""
    found = []
    for body, p in zoo.sets(HasMirrorMap, dimensions=DIMENSIONS):
        mirror = body.mirror_map(p)
        found.append(("own", body, mirror, p))
    for nuclear in (NuclearBall(1.5, 8), NuclearBall(0.5, 9)):  # enough singular values for a power below 2
        found.append(("own", nuclear, nuclear.mirror_map(72), 72))
    for body, p in zoo.sets(Projectable, dimensions=(7,)):
        if math.isfinite(body.max_norm(2, p)):
            found.append(("euclidean", body, euclidean_map(body, p), p))
    return found


def of_kind(case):
    kind, _, mirror, _ = case
    return kind, type(mirror), getattr(mirror, "power", 2.0) < 2.0  # of many sizes, whose gradient is of another degree


every = sampled("kind, body, mirror, p", maps(), of_kind, ids=zoo.short)


def states(mirror: MirrorMap, p: int, seed: int = 0) -> list[np.ndarray]:
    """The start, where steps of every size lead from it (the far ones to the border), and mixtures of these."""
    rng = np.random.default_rng(seed)
    moves = [g for g in zoo.points(p, seed) if np.abs(g).max() <= 1e6]
    moves += [10.0**scale * rng.standard_normal(p) for scale in range(-2, 7)]
    found = [mirror.start()] + [mirror.step(mirror.start(), g) for g in moves]
    weights = rng.dirichlet(np.full(len(found), 0.3), size=15)
    return found + [weight @ np.array(found) for weight in weights]


@every
def test_range_bounds_the_potential_and_is_attained(kind, body, mirror, p):
    low = mirror.value(mirror.start())
    values = [mirror.value(state) for state in states(mirror, p)]
    slack = 1e-12 * (1.0 + abs(low) + mirror.range)
    assert min(values) >= low - slack
    assert max(values) <= low + mirror.range + slack
    if p <= 2:
        corners = [np.array(g, dtype=float) for g in itertools.product([-1, 0, 1], repeat=p)]
        farthest = [mirror.value(mirror.step(mirror.start(), 1e9 * g)) for g in corners]
        assert max(farthest) - low == pytest.approx(mirror.range, rel=1e-9, abs=1e-12)


@every
def test_states_stand_for_members(kind, body, mirror, p):
    found = states(mirror, p)
    assert all(body.contains(mirror.point(state)) for state in found)
    assert mirror.point(mirror.start()).shape == (p,)
    mixed = 0.25 * found[1] + 0.75 * found[2]
    both = 0.25 * mirror.point(found[1]) + 0.75 * mirror.point(found[2])
    assert mirror.point(mixed) == pytest.approx(both, rel=1e-12, abs=1e-12 * (1.0 + np.abs(both).max()))


@every
def test_potential_is_strongly_convex_in_its_norm(kind, body, mirror, p):
    """Tests: 002, Fact 3.4."""
    found = states(mirror, p)
    inner = [0.5 * state + 0.5 * mirror.start() for state in found]  # away from where the entropy has no slope
    near = [0.999 * origin + 0.001 * state for state, origin in zip(found, reversed(inner), strict=True)]
    for tops in (found, near):
        for state, origin in zip(tops, reversed(inner), strict=True):
            length = norm(mirror, mirror.point(state) - mirror.point(origin))
            scale = abs(mirror.value(state)) + abs(mirror.value(origin)) + mirror.range
            apart = divergence(mirror, state, origin)
            assert apart >= 0.0
            assert apart >= 0.5 * length**2 - 1e-13 * scale


@every
def test_a_composite_step_carries_the_potential(kind, body, mirror, p):
    """`step(eased(state, 1 + c), g/(1 + c))` minimises ⟨g, u⟩ + cΨ(u) + B(u, state). Tests of the rule are in `tests/solvers`."""
    assert isinstance(mirror, HasComposite)
    rng = np.random.default_rng(12)
    found = states(mirror, p)
    for c in (1e-3, 0.5, 3.0):
        origin, g = 0.5 * found[-1] + 0.5 * mirror.start(), rng.standard_normal(p)
        u = mirror.step(mirror.eased(origin, 1.0 + c), g / (1.0 + c))

        def value(state, origin=origin, g=g, c=c):
            return float(g @ mirror.point(state)) + c * mirror.value(state) + divergence(mirror, state, origin)

        others = found + [0.99 * u + 0.01 * state for state in found]
        slack = 1e-12 * (1.0 + abs(mirror.value(origin)) + mirror.range)
        assert value(u) <= min(map(value, others)) + slack * (1.0 + abs(value(u)))


@every
def test_step_is_the_minimiser(kind, body, mirror, p):
    """Tests: 002, Section 2.2, Bregman divergence."""
    rng = np.random.default_rng(11)
    found = states(mirror, p)
    for origin in (mirror.start(), 0.5 * found[-1] + 0.5 * mirror.start()):
        for scale in (0.0, 1e-3, 1.0, 100.0):
            g = scale * rng.standard_normal(p)
            u = mirror.step(origin, g)
            least = float(g @ mirror.point(u)) + divergence(mirror, u, origin)
            for state in found + [0.99 * u + 0.01 * state for state in found]:
                value = float(g @ mirror.point(state)) + divergence(mirror, state, origin)
                assert least <= value + 1e-12 * (1.0 + abs(value) + abs(mirror.value(origin)) + mirror.range)


@every
def test_steps_do_not_write_to_their_arguments(kind, body, mirror, p):
    state, g = mirror.start(), np.ones(p)
    state.flags.writeable = g.flags.writeable = False
    mirror.step(state, g), mirror.value(state), divergence(mirror, state, state), norm(mirror, g), dual_norm(mirror, g)


@every
def test_norms_are_dual(kind, body, mirror, p):
    """Tests: 002, Fact 2.2."""
    rng = np.random.default_rng(12)
    vectors = [rng.standard_normal(p) for _ in range(4)] + [np.eye(p)[0], np.ones(p), np.zeros(p)]
    moves = [mirror.point(state) - mirror.point(mirror.start()) for state in states(mirror, p)[::5]]
    for v in vectors + moves:
        length = norm(mirror, v)
        assert norm(mirror, -2.0 * v) == pytest.approx(2.0 * length, rel=1e-9)
        for g in vectors:
            size = dual_norm(mirror, g)
            assert dual_norm(mirror, -2.0 * g) == pytest.approx(2.0 * size, rel=1e-12)
            assert math.isinf(length) or abs(float(g @ v)) <= size * length * (1.0 + 1e-9) + 1e-300
    assert norm(mirror, np.zeros(p)) == 0.0


@every
def test_facts_about_the_unit_ball(kind, body, mirror, p):
    """Tests: 002, Claim 3.5; 002, Remark 3."""
    seen = simulated_width(
        partial(dual_norm, mirror), p, mirror.unit_radius, generator=np.random.default_rng(12), draws=300, failure=1e-9
    )  # false alarm ≤ 1e-9 for each of fewer than 1000 maps
    width = mirror.unit_width
    assert width.low <= width.value <= width.high
    assert seen.low <= width.high
    assert width.low <= seen.high
    for v in zoo.points(p, 1)[11:]:
        assert np.linalg.norm(v) <= mirror.unit_radius * norm(mirror, v) * (1.0 + 1e-9)


@every
def test_dual_bound_holds_for_rows(kind, body, mirror, p):
    rng = np.random.default_rng(13)
    for x in [*(rng.standard_normal(p) for _ in range(5)), np.ones(p), np.eye(p)[0]]:
        bound = mirror.dual_bound(*(float(np.linalg.norm(x, q)) for q in (1, 2, math.inf)))
        assert dual_norm(mirror, x) <= bound * (1.0 + 1e-12)


def test_maps_that_cannot_be_are_refused():
    class Bare(ConvexSet):
        dimension = support = vertex = contains = max_norm = gaussian_width = start = to_dict = None

    with pytest.raises(CapabilityError, match="cannot be projected onto"):
        euclidean_map(Bare(), 3)
    assert euclidean_map(Simplex(), 4).range == pytest.approx(0.5 * (1.0 - 0.25))
