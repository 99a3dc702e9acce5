"""What a mirror map's constants are about and no solver computes: the norm of its convexity, the dual norm, Bregman divergences."""

import math
from functools import singledispatch

import numpy as np

from hullabaloo.geometry.mirror import EntropyMap, EuclideanMap, OfWeights
from hullabaloo.geometry.mirror_power import SizesMap, _OfPower
from hullabaloo.geometry.numerics import power_norm
from hullabaloo.geometry.polytope import VertexMap, least_weight


@singledispatch
def norm(mirror, v: np.ndarray) -> float:
    """‖v‖, the norm in which Ψ is 1-strongly convex; infinity where the unit ball does not reach."""
    raise NotImplementedError(type(mirror))


@singledispatch
def dual_norm(mirror, g: np.ndarray) -> float:
    """‖g‖_* = max of ⟨g, v⟩ over ‖v‖ ≤ 1."""
    raise NotImplementedError(type(mirror))


@singledispatch
def divergence(mirror, state: np.ndarray, origin: np.ndarray) -> float:
    """B(state, origin) = Ψ(state) − Ψ(origin) − ⟨∇Ψ(origin), state − origin⟩."""
    raise NotImplementedError(type(mirror))


@norm.register
@dual_norm.register
def _(mirror: EuclideanMap, v: np.ndarray) -> float:
    return float(np.linalg.norm(v))


@norm.register
def _(mirror: EntropyMap, v: np.ndarray) -> float:
    return float(np.abs(v).sum())


@dual_norm.register
def _(mirror: EntropyMap, g: np.ndarray) -> float:
    return float(np.abs(g).max(initial=0.0))


@norm.register
def _(mirror: _OfPower, v: np.ndarray) -> float:
    return power_norm(v, mirror.exponent)


@dual_norm.register
def _(mirror: _OfPower, g: np.ndarray) -> float:
    return power_norm(g, mirror.dual_exponent)


@norm.register
def _(mirror: SizesMap, v: np.ndarray) -> float:
    return float(mirror.parts.norms(v).sum())


@dual_norm.register
def _(mirror: SizesMap, g: np.ndarray) -> float:
    return float(mirror.parts.norms(g).max())


@norm.register
def _(mirror: VertexMap, v: np.ndarray) -> float:
    """min{Σ|w_i| : Σ w_i v_i = v}, by a linear program."""
    return least_weight(np.concatenate([mirror.vertices, -mirror.vertices]), v)


@dual_norm.register
def _(mirror: VertexMap, g: np.ndarray) -> float:
    return float(np.abs(mirror.vertices @ g).max())


@divergence.register
def _(mirror: EuclideanMap, state: np.ndarray, origin: np.ndarray) -> float:
    move = state - origin
    return 0.5 * float(move @ move)


@divergence.register
def _(mirror: OfWeights, state: np.ndarray, origin: np.ndarray) -> float:
    """radius·Σ w_i ln(w_i/origin_i); infinity where w_i > 0 = origin_i."""
    inside = state > 0.0
    if np.any(origin[inside] <= 0.0):
        return math.inf
    return max(0.0, mirror.radius * float(state[inside] @ np.log(state[inside] / origin[inside])))


@divergence.register
def _(mirror: _OfPower, state: np.ndarray, origin: np.ndarray) -> float:
    """As ⟨∇Ψ(x), x⟩ = 2Ψ(x)."""
    return max(0.0, mirror.value(state) + mirror.value(origin) - float(mirror._slope(origin) @ state))


@divergence.register
def _(mirror: SizesMap, state: np.ndarray, origin: np.ndarray) -> float:
    """As ⟨∇Ψ(x), x⟩ = M Ψ(x)."""
    slope = mirror._slope(mirror.parts.split(origin))
    own = (mirror.power - 1.0) * mirror.value(origin)
    return max(0.0, mirror.value(state) + own - float(slope @ state))
