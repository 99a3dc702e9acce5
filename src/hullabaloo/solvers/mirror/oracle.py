"""Mirror descent with the caller's own noisy gradients: the loop of the private solver, without privacy."""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet
from hullabaloo.solvers.base import Array
from hullabaloo.solvers.mirror.mirror_descent import descend, require_step
from hullabaloo.solvers.mirror.mirror_rule import Block, potential
from hullabaloo.solvers.mirror.mirror_rule import lipschitz as lipschitz_rule
from hullabaloo.solvers.options import number

MOST, LARGEST = 10**7, 1e100
"""Coordinates that a point may have, and what they are counted up to."""


def mirror_descent(
    oracle: Callable[[Array], Array],
    constraint: ConvexSet,
    *,
    steps: int,
    lipschitz: float,
    noise: float = 0.0,
    dimension: int | None = None,
) -> Array:
    """Minimise a convex L over a set C from noisy gradients: `steps` questions to `oracle`, the mean point as the answer.

    `θ_{t+1} = argmin_{θ∈C} η⟨g_t, θ⟩ + B_Ψ(θ, θ_t)`, `g_t = oracle(θ_t)`, from `θ₁ = argmin_C Ψ` at
    `η = R√(2/N)/V`, `N = steps + 1`, `V = L₂‖Q‖₂ + noise · √(w(Q)² + ‖Q‖₂²)`, Ψ the set's own potential (else ½‖θ‖²) and
    Q the unit ball of its norm. The mean θ̄ of θ₁ … θ_N obeys `E L(θ̄) − min_C L ≤ R V √(2/N)`.

    **This is not differentially private.** Nothing is charged, and no noise is drawn here: what the points reveal is what
    the oracle reveals. For a private model pass `solver="mirror_descent"` to an estimator.

    Args:
        oracle: gives an unbiased estimate of a (sub)gradient of L at a point of C, shape (p,).
        constraint: C, with a mirror map or a projection.
        steps: how many times the oracle is asked, at least 1.
        lipschitz: L₂, bound of the exact gradients' l2 norm over C.
        noise: bound of the errors' standard deviation in every direction, √λ_max of their covariance; errors sub-Gaussian.
        dimension: p; may be left out for a set that is made for one p.

    Raises:
        InvalidParameter: a number out of range, no dimension, or an oracle's answer of the wrong shape or not finite.
        CapabilityError: the set has neither a mirror map nor a projection.

    Source: Talwar, Thakurta and Zhang 2014, Corollary 3.6, with the constants of its proof.

    >>> from hullabaloo import L1Ball
    >>> aim = np.array([0.5, 0.0, -0.5])
    >>> theta = mirror_descent(lambda theta: theta - aim, L1Ball(1.0), steps=500, lipschitz=1.5, dimension=3)
    >>> bool(np.abs(theta - aim).max() < 0.1)
    True

    Source: 002, Corollary 3.6.
    """
    _check(oracle, constraint, steps, lipschitz, noise)
    size = dimension if dimension is not None else constraint.dimension
    if size is None:
        raise InvalidParameter(
            f"Mirror descent over {constraint!r} needs the number of coordinates, because the set serves every number of them. Pass dimension=3, say."
        )
    if not 1 <= number(size, Integral) <= MOST or (constraint.dimension or size) != size:
        raise InvalidParameter(
            f"Mirror descent over {constraint!r} was asked in {size!r} dimensions, and their number is a whole one of at most {MOST:,}, that of "
            "the set where it is made for one. Pass dimension=3, say."
        )
    mirror = potential(constraint, size, euclidean=False)
    block = Block(0, size, mirror, lipschitz * mirror.unit_radius, math.inf)

    def asked(theta: Array) -> Array:
        told = oracle(theta.copy())
        try:
            if np.iscomplexobj(told):
                raise TypeError("complex numbers")
            gradient = np.asarray(told, dtype=np.float64)
            if gradient.shape != (size,):
                raise ValueError(f"one of shape {gradient.shape}")
            if not (np.abs(gradient) <= LARGEST).all():
                raise ValueError("one that is not finite or too large")
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidParameter(
                f"The oracle was asked for a gradient of shape ({size},) with finite entries, none beyond {LARGEST:g}, and did not give one "
                f"({error}). Return one number per coordinate."
            ) from error
        return gradient

    return descend([block], asked, lipschitz_rule([block], steps, noise).steps, count=steps, with_start=True)


def _check(oracle: object, constraint: object, steps: Any, lipschitz: Any, noise: Any) -> None:
    if not callable(oracle):
        raise InvalidParameter(
            f"Mirror descent asks its oracle for gradients, and an object of {type(oracle).__name__} cannot be called. Pass a function of a point."
        )
    require_step(constraint)
    sizes = 1.0 / LARGEST < number(lipschitz) <= LARGEST and 0.0 <= number(noise) <= LARGEST
    if not 1 <= number(steps, Integral) < 2**53 or not sizes:
        raise InvalidParameter(
            f"Mirror descent was asked with steps={steps!r}, lipschitz={lipschitz!r} and noise={noise!r}, which its step size is "
            "made of. Pass at least one step, a positive finite lipschitz and a finite noise of at least 0."
        )
