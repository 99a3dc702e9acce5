"""Floating point in the encoders, against rational arithmetic on the very doubles that they use."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.history import BestFactorisation, SquareRootToeplitz
from hullabaloo.noise.continual.hybrid import LONGEST, Hybrid
from hullabaloo.noise.continual.tree import BinaryTree

STEPS = 64
SAMPLES = [
    BufferedToeplitz(STEPS),
    BufferedToeplitz(STEPS, 0.9),
    BufferedToeplitz(STEPS, 1.0, 20),
    BufferedToeplitz(10_000_000),
    BufferedToeplitz(LONGEST, any_time=True),
    SquareRootToeplitz(STEPS),
    SquareRootToeplitz(STEPS, 0.95, 20),
    BestFactorisation(50),
    BinaryTree(STEPS),
    Hybrid(STEPS),
]


def exact(strategy, x):
    """Cx in rational numbers, C from the strategy's doubles; one coordinate."""
    x = [Fraction(float(value)) for value in x]
    if isinstance(strategy, BinaryTree):
        return [sum(x[t - (t & -t) : t]) for t in range(1, len(x) + 1)]
    if isinstance(strategy, Hybrid):
        return exact_epochs(strategy, x)
    if isinstance(strategy, BufferedToeplitz):
        return exact_buffers(strategy, x)
    C = strategy.encoder(len(x)).encode(np.eye(len(x)))
    return [sum(Fraction(float(c)) * value for c, value in zip(row, x, strict=True)) for row in C]


def exact_buffers(strategy, x):
    loss, weight = ([Fraction(float(value)) for value in part] for part in strategy.design.decayed)
    buffers, out = [Fraction(0)] * len(loss), []
    for value, norm in zip(x, strategy.norms(0, len(x)), strict=True):
        v = value / Fraction(float(norm))
        out.append(v + sum(w * b for w, b in zip(weight, buffers, strict=True)))
        buffers = [(1 - d) * b + v for d, b in zip(loss, buffers, strict=True)]
    return out


def exact_epochs(strategy, x):
    out, epoch, start = [], 0, 0
    while start < len(x):
        length = strategy.length(epoch)
        piece = x[start : start + length]
        factor = Fraction(strategy.factor(length))
        out += [factor * m for m in exact_buffers(strategy.inner(length), piece)]
        if len(piece) == length:
            out.append(Fraction(math.sqrt(strategy.share)) * sum(piece))
        epoch, start = epoch + 1, start + length
    return out


@pytest.mark.few(4)
@pytest.mark.parametrize("strategy", SAMPLES, ids=lambda s: f"{s.name}-{s.steps}-{s.decay}-{s.window}")
def test_floating_point_stays_within_the_slack(strategy):
    n = min(strategy.steps, STEPS)
    rng = np.random.default_rng(3)
    streams = np.stack([rng.uniform(-1, 1, n), np.full(n, 1 / 3)], axis=1)
    computed = strategy.encoder(streams.shape[1]).encode(streams)
    for j, stream in enumerate(streams.T):
        off = [abs(Fraction(float(m)) - c) for m, c in zip(computed[:, j], exact(strategy, stream), strict=True)]
        assert math.sqrt(float(sum(error * error for error in off))) <= strategy.slack / 2


@pytest.mark.slow
def test_uncompensated_buffers_would_not_do():
    """The bound is no tautology: at ten million steps plain buffers may be off by more than the compensated ones ever are."""
    strategy = BufferedToeplitz(10_000_000)
    n, value = 50_000, 1 / 3
    x = np.full((n, 1), value)
    compensated = strategy.encoder(1).encode(x)[-1, 0]
    loss, weight = strategy.design.decayed
    norms = strategy.norms(0, n)
    plain, precise = np.zeros(loss.size), np.zeros(loss.size, dtype=np.longdouble)
    for t in range(n - 1):
        plain = (1.0 - loss) * plain + value / norms[t]
        precise = precise - loss.astype(np.longdouble) * precise + np.longdouble(value) / np.longdouble(norms[t])
    exactly = np.longdouble(value) / np.longdouble(norms[n - 1]) + (weight.astype(np.longdouble) * precise).sum()
    assert abs(float(compensated - exactly)) <= strategy.slack / (2 * math.sqrt(strategy.steps))
    assert abs(float(value / norms[n - 1] + weight @ plain - exactly)) > 10 * abs(float(compensated - exactly))
