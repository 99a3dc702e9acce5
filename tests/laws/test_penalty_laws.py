"""Laws of every exported penalty."""

import json
import pickle

import numpy as np
import pytest

from hullabaloo import geometry
from hullabaloo.geometry import HasElasticForm, NuclearPenalty, Penalty, penalty_from_dict
from hullabaloo.geometry.numerics import euclidean_norm
from tests.laws import zoo
from tests.sampling import sampled

every = sampled("penalty, p", zoo.penalties(1, 2, 7, 1000), zoo.kind, ids=zoo.short)


def moderate(p, seed):
    return [v for v in zoo.points(p, seed) if np.abs(v).max() < 1e6]


def test_every_exported_penalty_has_samples():
    assert set(zoo.exported(geometry, Penalty)) == set(zoo.PENALTY_SAMPLES)


@every
def test_prox_is_the_minimiser(penalty, p):
    rng = np.random.default_rng(0)
    for v in moderate(p, 1):
        for step in (0.01, 1.0, 30.0):
            u = penalty.prox(v, step)

            def objective(x, v=v, step=step):
                return penalty.value(x) + 0.5 / step * float((x - v) @ (x - v))

            least = objective(u)
            others = [np.zeros(p), v, *(u + scale * rng.standard_normal(p) for scale in (1e-6, 1e-2, 1.0))]
            assert all(least <= objective(x) + 1e-10 * (1.0 + abs(least)) for x in others)


@every
def test_prox_is_exact_on_huge_and_tiny_vectors(penalty, p):
    for v in zoo.points(p, 2)[6:11]:
        u = penalty.prox(v, 0.5)
        assert np.isfinite(u).all()
        assert euclidean_norm(u) <= euclidean_norm(v) * (1.0 + 1e-14)
        if not isinstance(penalty, NuclearPenalty):
            assert (np.abs(u) <= np.abs(v)).all()
            assert (u * np.sign(v) >= 0.0).all()
        assert u is not v


@every
def test_value_is_convex_with_the_stated_strength(penalty, p):
    """Tests: 002, Section 2.2, strong convexity; 003, Definition 9."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        u, v, t = rng.standard_normal(p), rng.standard_cauchy(p), rng.uniform()
        mixed = penalty.value(t * u + (1.0 - t) * v)
        bend = 0.5 * penalty.strong_convexity * t * (1.0 - t) * float((u - v) @ (u - v))
        above = t * penalty.value(u) + (1.0 - t) * penalty.value(v)
        assert mixed <= above - bend + 1e-10 * (1.0 + above)
    assert penalty.value(np.zeros(p)) == 0.0


@every
def test_elastic_weights_give_the_value(penalty, p):
    if isinstance(penalty, HasElasticForm):
        theta = np.random.default_rng(4).standard_normal(p)
        weight, square = penalty.elastic_weights(p)
        assert weight @ np.abs(theta) + 0.5 * square @ theta**2 == pytest.approx(penalty.value(theta))
        assert min(weight.min(), square.min()) >= 0.0
        assert square.min() == penalty.strong_convexity


@every
def test_plain_data_pickle_and_hash_give_an_equal_penalty(penalty, p):
    assert penalty_from_dict(json.loads(json.dumps(penalty.to_dict()))) == penalty
    assert pickle.loads(pickle.dumps(penalty)) == penalty
    assert hash(pickle.loads(pickle.dumps(penalty))) == hash(penalty)
