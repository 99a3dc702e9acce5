"""Output perturbation: the minimiser of a regularised loss, released with Gaussian or with Laplace noise."""

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.known import numbers
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, Noised, Noisy, PureNoisy
from hullabaloo.data.source import Rows
from hullabaloo.erm.minimisation import Family, Minimised, refuse_both, refuse_unfit
from hullabaloo.erm.repeated import WarmStarted
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry.numerics import euclidean_norm
from hullabaloo.losses import VectorLoss
from hullabaloo.noise import Key

NEAR = 1e-4
"""Distance to the minimiser relative to L/λ, what one record can move it by."""


@dataclass(frozen=True)
class Minimiser(Minimised, Noised):
    """A minimiser, released with noise: the point, and what is proved of it, of `OutputPerturbationQuery`.

    Attributes:
        ridge: λ, for means.
        linear_bound: bound of ‖s‖₂.
    """

    _: KW_ONLY
    linear_bound: float = 0.0

    tells: ClassVar[tuple[str, ...]] = ("loss", "ridge")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.clip > 0.0 and self.ridge >= 0.0 and self.linear_bound >= 0.0):
            raise InvalidParameter(
                "A minimiser needs a positive clip, and a ridge and a bound of the linear term from 0 on, but "
                f"clip = {self.clip!r}, ridge = {self.ridge!r}, linear_bound = {self.linear_bound!r}."
            )
        if not self.is_private:
            refuse_both(self.feasible, self.penalty, self.length, "The exact optimum")
            return
        if not (self.ridge > 0.0 and math.isfinite(self.clip)):
            raise InvalidParameter(
                f"Output perturbation with ridge = {self.ridge!r} and clip = {self.clip!r} was asked, but one record can then "
                "move the minimiser without limit. Pass a positive ridge and a finite clip."
            )
        refuse_unfit(self.family, "Output perturbation")
        if isinstance(self.loss, VectorLoss) and self.loss.constants(math.inf, 1.0).lipschitz > self.clip:
            raise CapabilityError(
                f"Output perturbation was asked of the loss {self.loss.name!r} with gradients clipped at {self.clip:g}. A "
                "clipped gradient of several predictions belongs to no convex loss, so nothing bounds its minimiser. Use solver='moments' or 'gradient'."
            )

    @cached_property
    def family(self) -> Family:
        """The objectives in the sum form, without s."""
        basics = (self.facts, self.neighbours, self.records, self.loss, self.clip, self.records * self.ridge)
        return Family(*basics, self.feasible, self.penalty)

    @cached_property
    def length(self) -> int:
        """p, or pk."""
        return self.family.coordinates

    @cached_property
    def hidden(self) -> float:
        """What rounding can hide of the distance: nothing that counts in doubled precision, else projections and plain sums."""
        family = self.family
        if family.doubled:
            return 0.0
        reach = family.reach(self.records * self.linear_bound, family.most)
        terms = (4096.0 + family.most / 4096.0 + self.facts.width) * 8.0 * UNIT_ROUNDOFF
        return reach.limit + 2.0 * terms * reach.largest_gradient / family.ridge

    @cached_property
    def distance(self) -> float:
        """How near to the minimiser the inner optimiser must come."""
        family = self.family
        return max(NEAR * family.lipschitz / family.ridge, 2.0 * self.hidden)

    @cached_property
    def shift(self) -> float:
        """l2 distance of the answers of two neighbours before noise."""
        family = self.family
        moved = self.copies * self.facts.records_per_unit * family.lipschitz / family.ridge
        return moved + 2.0 * (self.distance + 2.0**-52 * self.bound)

    @cached_property
    def bound(self) -> float:
        """Public bound of a coordinate, to which it is clipped."""
        family = self.family
        return family.radius(self.records * self.linear_bound, family.most)

    def to_dict(self) -> dict[str, Any]:
        """The query with its constants."""
        clip = self.clip if math.isfinite(self.clip) else None
        described = {**self.described(), "coordinates": self.length, "clip": clip}
        if self.is_private:
            described |= {f"sensitivity_{self.norm}": self.sensitivity, "noise_std": self.sigma}
            if not self.family.doubled:
                described |= self.family.limits
        return described

    def question(self, linear: Any = None) -> tuple[Array]:
        """s, as a vector."""
        slope = np.zeros(self.length) if linear is None else numbers(linear).ravel()
        if slope.size != self.length:
            raise InvalidParameter(
                f"A minimiser with a linear term of {slope.size} numbers was asked, but there are {self.length} coefficients. Pass one for each."
            )
        if not euclidean_norm(slope) <= self.linear_bound * (1.0 + 1e-12):
            raise InvalidParameter(
                f"A minimiser with a linear term of norm {euclidean_norm(slope):g} was asked, but the plan bounds it by {self.linear_bound:g}. Plan for the largest one."
            )
        return (slope,)

    def kept_work(self, rows: Rows) -> WarmStarted:
        """What answers of one query about one table share; PRIVATE."""
        distance, slack = (self.distance, self.hidden) if self.is_private else (0.0, 0.0)
        largest = self.records * self.linear_bound * (1.0 + 1e-12)
        return WarmStarted(rows, self.family, largest=largest, distance=distance, slack=slack)

    def answered(self, rows: Rows, question: tuple[Any, ...], key: Key | None, kept: dict[Any, Any]) -> Array:
        """One answer, (p,) or (p, k)."""
        place = "minimisers", id(self), id(rows)
        if place not in kept:
            kept[place] = self.kept_work(rows)
        theta = self.noisy(kept[place].minimiser(question[0] * self.records), key)
        return theta.reshape(self.facts.width, -1) if isinstance(self.loss, VectorLoss) else theta


@dataclass(frozen=True)
class OutputPerturbationQuery(Minimiser, Noisy):
    """`argmin (1/n) Σ_i w_i φ_c(⟨x_i, θ⟩ + o_i, y_i) + (λ/2)‖θ‖² + ψ(θ) + ⟨s, θ⟩` over C, with Gaussian noise; s is public.

    **Guarantee.** Precondition: `‖x_i‖₂ ≤ B`, `0 ≤ w_i ≤ W` (enforced by the encoding); φ_c is convex in the predictions with
    gradient of norm at most c; λ, ψ, C, s are public and the same for both tables. In the sum form F is nλ-strongly convex.
    Let θ, θ' minimise F and F' = F + Δ, Δ being the loss of the new record less that of the old. By strong monotonicity of ∂F
    (normal cone and ∂ψ included) and `−∇Δ(θ') ∈ ∂F(θ')`: `nλ‖θ − θ'‖² ≤ ⟨∇Δ(θ'), θ − θ'⟩`, hence `‖θ − θ'‖ ≤ ‖∇Δ(θ')‖/(nλ)`: at most
    `2G/(nλ)` for a replaced record, `G/(nλ)` for one more or one less, `G = W c B`; a unit of m records, m times as much.
    The computed point is within a public r of the minimiser for every table (`optimise.py`; where `hidden` is not 0 and the number of rows
    is private, of up to `MARGIN` times the declared number, and statements say so), and clipping it to a public box lengthens nothing: 2r more. No second derivative of the loss is needed but for r. Source: Chaudhuri, Monteleoni &
    Sarwate (2011), Lemma 7; with sparsity-inducing ψ, Kumar & Deisenroth (2019), section 4.1.

    With μ = ∞ it is the exact optimum without noise, whatever λ ≥ 0, loss and c (which may be ∞); not private.

    Attributes:
        mu: Gaussian-DP cost of one answer.

    Source: 001, Equation (17); 001, Theorem 3.
    """

    mu: float

    name: ClassVar[str] = "output_perturbation"
    key_label: ClassVar[str] = "minimizer"

    @cached_property
    def sensitivity(self) -> float:
        """l2 sensitivity of the numbers that noise is added to."""
        return self.shift


@dataclass(frozen=True)
class LaplaceMinimiserQuery(Minimiser, PureNoisy):
    """The minimiser of `OutputPerturbationQuery` with Laplace noise on every coordinate: pure differential privacy.

    **Guarantee.** Precondition as there. What noise is added to moves by at most Δ₂, its l2 sensitivity, hence by `Δ₁ = √p Δ₂` in l1 (Cauchy–Schwarz), p
    the number of coordinates. Laplace noise of scale b gives `ε = Δ₁/b` (Dwork, McSherry, Nissim and Smith 2006, Theorem 1), lattice rounding included.

    Attributes:
        epsilon: pure-DP cost of one answer; ∞ means that no noise is drawn.

    Source: 001, Algorithm 2.
    """

    epsilon: float

    name: ClassVar[str] = "laplace_minimiser"
    key_label: ClassVar[str] = "laplace_minimiser"

    @cached_property
    def sensitivity(self) -> float:
        """l1 sensitivity of the numbers that noise is added to."""
        return math.sqrt(self.length) * self.shift * (1.0 + 4.0 * UNIT_ROUNDOFF)
