"""The event of objective perturbation."""

import math
from dataclasses import dataclass
from typing import final

from hullabaloo.privacy._rounding import padded
from hullabaloo.privacy.events import Event, group_size, set_count, set_positive, shrunk
from hullabaloo.privacy.neighbours import Neighbours
from hullabaloo.privacy.objective_profile import objective_curve, objective_delta
from hullabaloo.privacy.renyi import checked_order


@final
@dataclass(frozen=True, slots=True)
class ObjectivePerturbationEvent(Event):
    """One minimiser of a noisily perturbed objective, θ̂ = argmin Σ losses + ψ + (λ/2)‖θ‖² + ⟨b, θ⟩ over C.

    Attributes:
        noise_multiplier: σ/L, the standard deviation of b over the bound of one record's gradient norm. No factor for the relation.
        curvature: κ = β/λ, the bound of one record's curvature over the strong convexity.
        neighbours: the relation, which the price depends on.
        samples: lattice draws (one per coordinate of b).
        records: how many records apart the tables are, see `group`.
    """

    noise_multiplier: float
    curvature: float
    neighbours: Neighbours
    samples: int = 0
    records: int = 1
    kind = "objective-perturbation"

    def __post_init__(self) -> None:
        """Refuse what cannot be priced."""
        set_positive(self, "noise_multiplier")
        set_positive(self, "curvature")
        set_count(self, "samples")
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        object.__setattr__(self, "records", group_size(self.records))

    def gdp_mu(self) -> None:
        """Give None: no Gaussian-DP parameter that is worth its price is known."""

    def renyi(self, alpha: float) -> float:
        """Give a bound from the integral of the profile, `ObjectiveCurve.divergence`."""
        order = checked_order(alpha)
        return objective_curve(self.noise_multiplier, self.curvature, self.neighbours, self.records).divergence(order)

    def zcdp_rho(self) -> None:
        """Give None: at small orders the curve is far above a line through 0."""

    def exact(self, epsilon: float) -> float:
        """Give the profile of the exact law; for K records ``Σ_{i<K} e^{iε/K} δ(ε/K)`` (Dwork & Roth 2014, Thm 2.2)."""
        if math.isinf(epsilon):
            return 0.0
        share = shrunk(epsilon, self.records)
        delta = objective_delta(self.noise_multiplier, self.curvature, self.neighbours, share)
        if self.records == 1:
            return delta
        if epsilon > 700.0:
            return 1.0
        steps = math.fsum(math.exp(epsilon * i / self.records) for i in range(self.records))
        return min(1.0, padded(steps * delta))

    def group(self, k: int) -> "ObjectivePerturbationEvent":
        """Give the event between tables k times as far apart: a chain of k neighbours, Σ e^{iε/k} δ(ε/k)."""
        return ObjectivePerturbationEvent(
            self.noise_multiplier, self.curvature, self.neighbours, self.samples, self.records * group_size(k)
        )
