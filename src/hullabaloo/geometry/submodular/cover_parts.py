"""What the covers share: compressed lists of groups, forests of groups, and the way from a signed vector to a kernel and back."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector, nonnegative_number, positive_number
from hullabaloo.geometry.width import Width, by_quadrature

Indices = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of indices one after the other: list i is entry[start[i]:start[i + 1]]."""

    start: Indices
    entry: Indices

    def turned(self, count: int) -> "Lists":
        """For each of `count` indices, which lists it is in, rising."""
        owner = np.repeat(np.arange(self.start.size - 1), np.diff(self.start))
        return Lists(starts(np.bincount(self.entry, minlength=count)), owner[np.argsort(self.entry, kind="stable")])


@final
@dataclass(frozen=True, slots=True)
class Forest:
    """Groups that are nested or disjoint, numbered children first.

    `up` is the next larger group around each, or −1; `weight` its weight; `own` the columns whose smallest group it is.
    """

    up: Indices
    weight: Vector
    own: Lists

    def prox(self, v: Vector, weight: float) -> Vector:
        """argmin over u of weight·Σ weight_G max|u_G| + ½‖u − v‖²."""
        from hullabaloo.geometry.submodular.laminar_kernels import disjoint_prox, laminar_prox

        start, entry = self.own.start, self.own.entry
        if (self.up < 0).all():
            return signed_prox(v, weight, self.weight, lambda size, charge: disjoint_prox(size, charge, start, entry))
        return signed_prox(
            v, weight, self.weight, lambda size, charge: laminar_prox(size, self.up, charge, start, entry)
        )


def group_weights(weights: object, count: int) -> tuple[float, ...]:
    """One positive number for each of `count` groups, 1 for None; else `InvalidParameter`."""
    if weights is None:
        return (1.0,) * count
    given = weights.tolist() if isinstance(weights, np.ndarray) else weights
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != count:
        raise InvalidParameter(
            f"The weights of a cover must be one positive number for each of its {count} groups, but they are "
            f"{weights!r}; give a list of {count} numbers, or leave them out for 1 each."
        )
    found = tuple(positive_number(weight, f"The weight of group {i}") for i, weight in enumerate(given))
    if not np.isfinite(sum(found)):
        raise InvalidParameter("The weights of the groups add up to more than a float can hold; give smaller ones.")
    return found


def starts(lengths: Indices) -> Indices:
    """Where lists of these lengths begin, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def signed_prox(v: Vector, weight: float, weights: Vector, solve: Callable[[Vector, Vector], Vector]) -> Vector:
    """The prox at v by a kernel that takes |v|/2^k, with largest entry in [½, 1), and the charges weight·weights/2^k.

    Ω(u) = f(|u|) with f nondecreasing in each coordinate, so the prox keeps the signs of v, and |u| minimises over
    u ≥ 0 alone. Powers of two lose no digit; so neither huge nor tiny vectors leave the range of floats on the way.
    What is charged beyond twice Σ|v| makes everything 0 and is charged no more than that.
    """
    weight = nonnegative_number(weight, "The weight of the norm in a prox")
    size = np.abs(v)
    largest = float(size.max(initial=0.0))
    if weight == 0.0 or largest == 0.0:
        return v + 0.0
    power = math.frexp(largest)[1]
    digits, exponent = math.frexp(weight)
    with np.errstate(over="ignore", under="ignore"):
        charge = np.minimum(np.ldexp(digits * weights, exponent - power), 2.0 * v.size)
        found = np.ldexp(solve(np.ldexp(size, -power), charge), power)
    return np.copysign(found, v) + 0.0  # never −0.0


def largest_magnitudes(sizes: Indices, weights: Vector) -> Width:
    """Σ_i weights_i E max over sizes_i independent standard normals of |g_j|.

    ∫₀^∞ Σ_i weights_i (1 − q(t)^sizes_i) dt with q(t) = P(|g| ≤ t), all groups in one quadrature.
    """
    from scipy.special import erfc

    from hullabaloo.geometry.submodular.cover_kernels import geometric_sums
    from hullabaloo.geometry.width import quadrature_nodes

    t, panel = quadrature_nodes()
    total = np.bincount(sizes, weights=weights)
    return by_quadrature(float(panel @ geometric_sums(np.log1p(-erfc(t / math.sqrt(2.0))), total)))
