"""The hard lasso has the properties that its proof uses."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.planning.theory.hard_instances import hard_lasso, orthogonal_block, padded_code, tardos_code


@pytest.mark.parametrize("columns", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("copies", [1, 3])
def test_columns_of_the_block_are_orthogonal_signs(columns, copies):
    block = orthogonal_block(columns, copies)
    assert np.all(np.abs(block) == 1.0)
    assert np.array_equal(block.T @ block, len(block) * np.eye(columns))


def test_a_tardos_code_has_columns_of_every_bias_and_its_columns_are_like_the_law():
    """Means of 20 000 columns: E P = ½ and E P² = 3/8 up to the cut; six standard errors, false alarm 1e-8 each.

    Tests: 000, Theorem 3.2; 002, Theorem 5.9.
    """
    users = 10
    code = tardos_code(users, 20_000, np.random.default_rng(0))
    assert set(np.unique(code)) == {-1.0, 1.0}
    assert abs(code.mean()) < 6.0 * math.sqrt(0.55 / 20_000)
    pairs = np.mean(code[0] * code[1])  # E (2P − 1)² = ½ for the arcsine law, a little less with the cut
    cut = math.asin(math.sqrt(1 / (300 * users)))
    wanted = 0.5 - math.sin(4 * cut) / (8 * (math.pi / 4 - cut))
    assert pairs == pytest.approx(wanted, abs=6.0 / math.sqrt(20_000))


def test_all_but_a_share_of_the_columns_agree_for_every_row_left_out():
    """Tests: 000, Theorem 3.2."""
    code = padded_code(9, 2000, 0.05, np.random.default_rng(1))
    for left_out in range(9):
        rest = np.delete(code, left_out, axis=0)
        assert np.mean(np.abs(rest.sum(axis=0)) == 8) >= 0.95
    signs = code[0][np.abs(code.sum(axis=0)) == 9]
    assert 0.4 < np.mean(signs > 0) < 0.6


def test_the_instance_lies_in_the_papers_domain_and_its_reference_has_the_stated_loss():
    """Tests: 000, Equation (3)."""
    instance = hard_lasso(8, 64, generator=np.random.default_rng(2), share=0.25)
    n, w = len(instance.y), instance.code_rows
    assert instance.X.shape == (8 + 128, 64)
    assert np.abs(instance.X).max() == 1.0
    assert np.abs(instance.reference).sum() == pytest.approx(1.0)
    # (23): code rows are missed by at most twice the share of columns without consensus, the block costs k/p.
    missed = 2.0 * np.mean(instance.consensus == 0.0)
    assert 2 * n * instance.loss(instance.reference) <= w * missed**2 + (n - w) / 64 + 1e-9
    assert instance.agreement(instance.reference) == 1.0
    assert instance.loss(instance.reference) < instance.loss(np.zeros(64))


@pytest.mark.slow
def test_the_excess_of_spread_models_counts_the_wrong_signs():
    """What Lemma 5.10 uses: a share f of wrong signs costs every code row (2f)², so a small excess names the consensus.

    Tests: 000, Lemma 3.3; 002, Lemma 5.10.
    """
    w, p = 4, 4096
    instance = hard_lasso(w, p, generator=np.random.default_rng(3), share=0.001, copies=1)
    n = len(instance.y)
    rng = np.random.default_rng(4)
    for wrong in (0.0, 0.1, 0.3, 0.5):
        flips = np.where(rng.uniform(size=p) < wrong, -1.0, 1.0)
        theta = instance.reference * flips
        excess = 2 * n * (instance.loss(theta) - instance.loss(instance.reference))
        assert instance.agreement(theta) == pytest.approx(1.0 - wrong, abs=0.05)
        assert excess == pytest.approx(w * (2.0 * wrong) ** 2, abs=0.15 * w)


def test_one_seed_makes_one_instance_and_nonsense_is_refused():
    one, two = (hard_lasso(4, 10, generator=np.random.default_rng(5), share=0.5) for _ in range(2))
    assert np.array_equal(one.X, two.X)
    for broken in ({"code_rows": 0}, {"columns": 0}, {"share": 0.0}, {"share": 1.5}, {"copies": 0}):
        options = {"code_rows": 4, "columns": 10, "share": 0.5} | broken
        with pytest.raises(InvalidParameter, match="at least one of each"):
            hard_lasso(**options, generator=np.random.default_rng(0))
