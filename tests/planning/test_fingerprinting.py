"""The packed instance is the dense one; its optimum names who is in the table, a model that names nothing does not."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.planning.theory.fingerprinting import LITERAL, PackedLasso, PaddedModel, packed_lasso
from hullabaloo.planning.theory.hard_instances import orthogonal_block


def dense(made: PackedLasso, theta: PaddedModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The table and the model, cell by cell."""
    rest = [np.full(count, sign) for sign, _, count in theta.padding]
    code = [np.concatenate([made.row(user), *rest]) for user in range(made.users)]
    X = np.concatenate([np.array(code), orthogonal_block(made.columns)])
    flat = np.concatenate([theta.code, *[np.full(count, value) for _, value, count in theta.padding]])
    return X, np.append(np.ones(made.users), np.zeros(made.block)), flat


def test_loss_optimum_and_agreement_are_those_of_the_table() -> None:
    rng = np.random.default_rng(0)
    bias = rng.uniform(0.1, 0.9, 11)
    bits = np.array([np.packbits(rng.uniform(size=11) < bias) for _ in range(3)])
    made = PackedLasso(bits, bias, (4, 3), 32)
    theta = PaddedModel(rng.normal(size=11), ((1.0, 0.2, 4), (-1.0, 0.1, 1), (-1.0, -0.3, 2)))
    X, y, flat = dense(made, theta)
    assert made.loss(theta) == pytest.approx(0.5 * np.mean((X @ flat - y) ** 2))
    assert (theta.square, theta.length) == (pytest.approx(flat @ flat), pytest.approx(np.abs(flat).sum()))
    X, y, flat = dense(made, made.best())
    assert flat == pytest.approx(np.linalg.lstsq(X, y, rcond=None)[0])
    agreed = np.abs(X[:3].sum(axis=0)) == 3.0
    assert made.agreement(made.best()) == np.mean(np.sign(flat[agreed]) == X[0, agreed])


def test_the_optimum_traces_every_user_and_nobody_else_and_noise_traces_nobody() -> None:
    """m = 30 of the paper, 900 000 columns. Strangers' scores are standard normal: 2000 of them exceed 6.2 with probability below 1e-6."""
    made, rng = packed_lasso(30, generator=np.random.default_rng(1)), np.random.default_rng(2)
    assert (made.users, made.columns, made.block) == (9, 900_000, 1 << 20)
    best = made.best()
    assert best.length < 1.0
    assert made.agreement(best) > 0.999
    reference = PaddedModel(np.zeros(900), ((1.0, 1e-6, made.padding[0]), (-1.0, -1e-6, made.padding[1])))
    assert made.loss(best) < made.loss(reference) < made.loss(PaddedModel(np.zeros(900), ()))
    strangers = made.traced(best, made.strangers(2000, rng))
    assert strangers.max() < 6.2 < made.traced(best, made.bits).min()
    assert made.traced(best, made.bits, signs=True).mean() > 2.0  # nine of them: a chance of 1e-9
    assert abs(strangers.mean()) < 6.0 / math.sqrt(2000.0)
    noise = PaddedModel(rng.normal(size=900), ())
    assert np.abs(made.traced(noise, made.bits)).max() < 6.2


def test_the_literal_instance_begins_where_orthogonal_columns_fit() -> None:
    assert LITERAL / math.log(LITERAL) >= 1000.0 > (LITERAL - 1) / math.log(LITERAL - 1)
    with pytest.raises(InvalidParameter, match="at least 3"):
        packed_lasso(2, generator=np.random.default_rng(0))
