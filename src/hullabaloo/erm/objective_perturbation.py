"""The perturbed-minimiser query: the minimiser of an objective to which a random linear term was added."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.query import Array
from hullabaloo.data.source import Rows
from hullabaloo.erm.minimisation import Family, Minimised, refuse_unfit
from hullabaloo.erm.optimise import minimise
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.losses import VectorLoss
from hullabaloo.noise import Key, gaussian, gaussian_scale, lattice
from hullabaloo.privacy import Event, GaussianEvent, ObjectivePerturbationEvent, compose

FAINT = 0.02
"""Noise added to the minimiser, relative to the least that the linear term can cause in any direction."""

_CUT = 13.27  # the sampler's largest draw, in standard deviations, and rounding
_ROUNDING = 2.0**-78
_COARSEST = 2.0**34


@dataclass(frozen=True)
class ObjectivePerturbationQuery(Minimised):
    """`argmin Σ_i w_i φ_c(⟨x_i, θ⟩ + o_i, y_i) + (λ/2)‖θ‖² + nψ(θ) + ⟨b, θ⟩` over C, `b ~ N(0, σ²I)`, plus faint noise.

    **Guarantee.** Precondition: `‖x_i‖₂ ≤ B`, `0 ≤ w_i ≤ W` (enforced by the encoding); φ_c is convex in ⟨x, θ⟩ with
    `|φ_c'| ≤ c` and a Lipschitz derivative (refused otherwise); λ, ψ, C, σ are public and the same for both tables. A record's
    loss then has a gradient of norm at most `L = W c B` along its own x and curvature at most `β = W sup φ_c'' B²` in that one
    direction: the exact minimiser θ̂ is objective perturbation with multiplier σ/L and curvature ratio β/λ. Source:
    docs/objective-perturbation.md; Chaudhuri, Monteleoni & Sarwate (2011), Kifer, Smith & Thakurta (2012) for larger noise.

    What is computed is a θ̃ with `‖θ̃ − θ̂‖₂ ≤ r` for every table (`optimise.py`), r being public and including the lattice
    on which b is drawn, `g√p/(2λ)` (θ̂ is 1/λ-Lipschitz in b), and the last rounding. Given θ̂, the answers `θ̃ + N(0, σ_out²I)`
    of two tables are Gaussians at most 2r apart, whichever b led there: adaptive composition with one Gaussian release of
    sensitivity 2r. Nothing else leaves: no step count, gap or exception. (Time does; statements list it.) r reckons
    with tables of up to `MARGIN` times the declared number of rows, if that number is private; statements say so.

    Attributes:
        ridge: λ, for sums.
        noise_multiplier: σ/L.
        curvature: κ that is paid for, at least β/λ.
        output_multiplier: σ_out/2r.

    Source: 002, Algorithm 2.
    """

    noise_multiplier: float
    curvature: float
    output_multiplier: float

    name: ClassVar[str] = "objective_perturbation"
    key_label: ClassVar[str] = "perturbed_minimizer"
    price: ClassVar[str] = "output_multiplier"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.loss, VectorLoss):
            raise CapabilityError(
                f"Objective perturbation was asked of the loss {self.loss.name!r} of several predictions at once, to which its proof does not apply. Use one class against the rest (a loss of one prediction), or solver='gradient'."
            )
        if self.facts.records_per_unit != 1:
            raise CapabilityError(
                f"Objective perturbation was asked where a unit may hold {self.facts.records_per_unit} records, but its proof is about one. Use solver='gradient' or 'moments', or declare records_per_unit=1."
            )
        for what in ("clip", "ridge", "noise_multiplier", "curvature", "output_multiplier"):
            if not (getattr(self, what) > 0.0 and math.isfinite(getattr(self, what))):
                raise InvalidParameter(
                    f"Objective perturbation needs a positive finite {what}, but {what} = {getattr(self, what)!r} was asked. For a fit without noise use solver='output_perturbation'."
                )

        refuse_unfit(self.family, "Objective perturbation")
        if not self.family.smoothness / self.ridge <= self.curvature * (1.0 + 2.0**-30):
            raise InvalidParameter(
                f"Objective perturbation with ridge = {self.ridge!r} has a curvature ratio of {self.family.smoothness / self.ridge!r}, but {self.curvature!r} was to be paid for. Raise either."
            )

    def resized(self, records: int) -> "ObjectivePerturbationQuery":
        """λ and σ shrink with the table, so that the mean objective stays."""
        share = records / self.records
        return replace(
            self,
            records=records,
            ridge=self.ridge * share,
            noise_multiplier=self.noise_multiplier * share,
            curvature=self.curvature / share,
        )

    @cached_property
    def family(self) -> Family:
        """The objectives without b."""
        basics = (self.facts, self.neighbours, self.records, self.loss, self.clip, self.ridge)
        return Family(*basics, self.feasible, self.penalty)

    @cached_property
    def sigma(self) -> float:
        """σ, of every coordinate of b."""
        return self.noise_multiplier * self.family.lipschitz * (1.0 + 2.0**-50)

    @cached_property
    def largest_linear(self) -> float:
        """A bound of ‖b‖₂: the sampler cuts every coordinate."""
        return _CUT * self.sigma * math.sqrt(self.facts.width)

    @cached_property
    def distance(self) -> float:
        """How near to the minimiser for the drawn b the inner optimiser must come."""
        family = self.family
        reach = family.reach(self.largest_linear, family.most)
        wanted = FAINT * self.sigma / reach.curvature / (2.0 * self.output_multiplier)
        if not family.doubled:
            return max(wanted, 2.0 * reach.limit)
        terms = family.most * family.lipschitz + self.largest_linear + reach.curvature * reach.radius
        return max(wanted, 2.0 * _ROUNDING * terms / self.ridge)

    @cached_property
    def approximation(self) -> float:
        """r: the distance, the lattice of b, and the rounding of θ̃ to doubles."""
        pitch, root = lattice(self.sigma, self.sigma).pitch, math.sqrt(self.facts.width)
        return (self.distance + 0.5 * pitch * root / self.ridge + 2.0**-52 * self.bound) * (1.0 + 1e-9)

    @cached_property
    def bound(self) -> float:
        """Public bound of the released coordinates, to which they are clipped."""
        return self.family.radius(self.largest_linear, self.family.most)

    @cached_property
    def output_sigma(self) -> float:
        """σ_out: at least `output_multiplier` times 2r with its own lattice, and what that lattice can hold.

        The lattice is made for what it can hold; what lies beyond is clipped, and never is.
        """
        moved = 2.0 * self.approximation
        held = min(self.bound, moved * self.output_multiplier * _COARSEST)
        return max(gaussian_scale(moved, 1.0 / self.output_multiplier, self.facts.width, held), self.bound / _COARSEST)

    @property
    def noisy_event(self) -> Event:
        """Objective perturbation, then one Gaussian release."""
        p = self.facts.width
        perturbed = ObjectivePerturbationEvent(
            noise_multiplier=self.noise_multiplier,
            curvature=max(self.curvature, self.family.smoothness / self.ridge * (1.0 + 2.0**-50)),
            neighbours=self.neighbours,
            samples=p,
        )
        return compose(perturbed, GaussianEvent(self.output_multiplier, samples=p))

    def to_dict(self) -> dict[str, Any]:
        """The query with its constants."""
        family = self.family
        return {
            **self.described(),
            "coordinates": self.facts.width,
            **family.to_dict(),
            **family.limits,
            "lipschitz_per_record": family.lipschitz,
            "smoothness_per_record": family.smoothness,
            "noise_std_of_linear_term": self.sigma,
            "distance_to_minimiser": self.approximation,
            "noise_std_of_output": self.output_sigma,
        }

    def answered(self, rows: Rows, question: tuple[Any, ...], key: Key | None, kept: dict[Any, Any]) -> Array:
        """One answer, for the first target."""
        linear, output = (None, None) if key is None else (key.derive("linear"), key.derive("output"))
        drawn = gaussian(np.zeros(self.facts.width), self.sigma, bound=self.sigma, key=linear)
        return gaussian(self.near(rows, drawn), self.output_sigma, bound=self.bound, key=output)

    def near(self, rows: Rows, linear: Array) -> Array:
        """θ̃ for a given b; PRIVATE."""
        public = self.family.reach(self.largest_linear, self.family.most)
        own = self.family.reach(self.largest_linear, max(rows.Y.shape[0], 1))
        return minimise(self.family.objective(rows, linear), own, self.distance, slack=public.limit)
