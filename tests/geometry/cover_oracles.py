"""All subsets, in rational arithmetic: what covers are held against."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from hullabaloo.geometry import SetFunction

PRECISION = 2.0**-48  # of ‖v‖: what HasProximalForm promises


def subsets(p: int) -> np.ndarray:
    """Every set of columns, set number Σ_{j∈A} 2^j; (2^p, p) booleans."""
    return (np.arange(1 << p)[:, None] >> np.arange(p)) & 1 == 1


def assert_structured(function: SetFunction, p: int, rng: np.random.Generator) -> None:
    """F is submodular, nondecreasing, 0 at ∅ and positive at columns, and `gains` are its steps along any order."""
    sets = subsets(p)
    value = np.array([function.value(members) for members in sets])
    number = np.arange(1 << p)
    assert value[0] == 0.0
    assert (value[1 << np.arange(p)] > 0.0).all()
    gain = np.array([value[number | (1 << j)] - value for j in range(p)])
    assert (gain >= -1e-12 * value[-1]).all()
    for j in range(p):
        for k in range(p):
            assert (gain[j][number | (1 << k)] <= gain[j] + 1e-12 * value[-1])[(number >> j) & 1 == 0].all()
    for _ in range(5):
        order = rng.permutation(p)
        along = np.cumsum(1 << order)
        assert function.gains(order) == pytest.approx(np.diff(value[along], prepend=0.0), abs=1e-13 * value[-1])


def lovasz(function: SetFunction, w: np.ndarray) -> float:
    """Ω(w) as the integral of F({|w| > t})."""
    levels = np.concatenate([[0.0], np.unique(np.abs(w))])
    return sum((high - low) * function.value(np.abs(w) > low) for low, high in pairwise(levels))


def rational_prox(groups: list[list[int]], charges: list[Fraction], v: np.ndarray) -> list[Fraction]:
    """argmin of Σ_G charge_G max|u_G| + ½‖u − v‖², exact: the best ratio over all sets gives the highest block, and so on."""
    p = v.size
    size = [abs(Fraction(float(x))) for x in v]
    masks = [sum(1 << j for j in group) for group in groups]
    cost = [sum((c for c, mask in zip(charges, masks, strict=True) if mask & A), Fraction(0)) for A in range(1 << p)]
    total = [Fraction(0)] * (1 << p)
    for A in range(1, 1 << p):
        low = A & -A
        total[A] = total[A ^ low] + size[low.bit_length() - 1]
    done, u = 0, [Fraction(0)] * p
    while done != (1 << p) - 1:
        rest = ((1 << p) - 1) ^ done
        best, where, B = None, 0, rest
        while B:
            ratio = (total[B] - cost[done | B] + cost[done]) / B.bit_count()
            if best is None or ratio > best:
                best, where = ratio, B
            elif ratio == best:
                where |= B
            B = (B - 1) & rest
        if best is None or best <= 0:
            break
        for j in range(p):
            if where >> j & 1:
                u[j] = best if v[j] >= 0 else -best
        done |= where
    return u


def distance(u: np.ndarray, exact: list[Fraction], v: np.ndarray) -> float:
    """‖u − exact‖ over ‖v‖, both vectors scaled alike."""
    top = max((abs(Fraction(float(x))) for x in v), default=Fraction(0)) or Fraction(1)
    gap = [float((Fraction(float(x)) - y) / top) for x, y in zip(u, exact, strict=True)]
    return float(np.linalg.norm(gap) / max(np.linalg.norm([float(Fraction(float(x)) / top) for x in v]), 1.0))


def assert_optimal(function: SetFunction, v: np.ndarray, weight: float, sets: np.ndarray) -> None:
    """v − u in weight·|P|(F) for the given sets, ⟨v − u, u⟩ = weight·Ω(u): u is the prox (Fenchel's conditions)."""
    u = function.prox(v, weight)
    slack = 1e-12 * (float(np.abs(v).sum()) + weight)
    residual = np.abs(v - u)
    for members in sets:
        assert residual[members].sum() <= weight * function.value(members) + slack
    assert (u * v >= 0.0).all()
    assert (np.abs(u) <= np.abs(v)).all()
    pairing = float((v - u) @ u)
    assert abs(pairing - weight * lovasz(function, u)) <= slack * max(1.0, float(np.abs(u).max(initial=0.0)))


def vectors(p: int, rng: np.random.Generator) -> np.ndarray:
    """A vector of one of several awkward kinds."""
    kind = rng.integers(6)
    v = rng.normal(size=p)
    if kind == 1:
        v = np.round(2.0 * v) / 2.0  # ties
    elif kind == 2:
        v = v * np.exp(6.0 * rng.normal(size=p))  # many scales
    elif kind == 3:
        v = np.where(rng.random(p) < 0.5, 0.0, v)
    elif kind == 4:
        v = np.full(p, 1.0)
    elif kind == 5:
        v = np.round(2.0 * v) / 2.0 * (1.0 + 2.0**-51 * rng.integers(-8, 9, p))  # ties but for the last digits
    scale = 2.0 ** rng.choice([0, 0, 0, -900, 900])
    return v * scale


def weights_for(v: np.ndarray, rng: np.random.Generator) -> float:
    """A weight on the scale of v, from next to nothing to too much."""
    scale = float(np.abs(v).max()) or 1.0
    return scale * float(rng.choice([0.25, 0.125, 1.0 / 3.0, 0.1, 10.0 ** rng.uniform(-6.0, 0.7)]))
