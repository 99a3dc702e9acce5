"""Composition of events: structural, in one canonical form, and counted in one place."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hullabaloo.codec import made, table
from hullabaloo.errors import InvalidParameter, as_whole
from hullabaloo.privacy import bounded_range, noise_events
from hullabaloo.privacy._rounding import float_at_most, golden, padded, root_at_least, sum_at_least
from hullabaloo.privacy.events import Event
from hullabaloo.privacy.gaussian_dp import gdp_delta
from hullabaloo.privacy.objective_events import ObjectivePerturbationEvent
from hullabaloo.privacy.renyi import checked_order, renyi_delta
from hullabaloo.privacy.tuned_events import TunedEvent

_NO_COUNT = "An event was composed count={!r} times; a count is a whole number from 0 on."


@dataclass(frozen=True, slots=True)
class ComposedEvent(Event):
    """Several releases of the same records, each chosen freely after seeing the ones before.

    ``parts`` are (event, count), flat, merged and sorted on construction, so equal compositions are equal objects in
    whatever order they were made.

    **Guarantee.** Claim: each method bounds the adaptive composition of its parts, the sequence of parts fixed beforehand.
    Proof: Rényi divergences add (Mironov 2017, Prop. 1), GDP composes as ``√Σμ²`` (Dong, Roth & Su 2022, Cor. 3.3), pure
    ε add, total variation to the exact law adds; the profile is the smallest of what these and, for repeated equal
    selections, the exact bounded-range programme give. For Gaussian releases alone the GDP value is exact. With one objective
    perturbation among the parts also ``min_e δ₁(ε − e) + δ₂(e)`` over a split into it and the rest (basic composition, adaptive:
    Dwork & Roth 2014, Thm 3.16).
    """

    parts: tuple[tuple[Event, int], ...]
    kind = "composed"

    def __post_init__(self) -> None:
        """Bring the parts into canonical form."""
        counts: dict[Event, int] = {}
        for event, count in self.parts:
            for atom, times in _atoms(event):
                counts[atom] = counts.get(atom, 0) + times * as_whole(count, _NO_COUNT, 0)
        ordered = sorted((e for e, c in counts.items() if c), key=lambda e: json.dumps(e.to_dict(), sort_keys=True))
        object.__setattr__(self, "parts", tuple((e, counts[e]) for e in ordered))

    @property
    def delta0(self) -> float:
        """Give the sum of the parts' tails."""
        return sum_at_least((event.delta0, count) for event, count in self.parts)

    def gdp_mu(self) -> float | None:
        """Give ``√Σ count μ²`` rounded up, None when a part has none."""
        total = Fraction(0)
        for event, count in self.parts:
            mu = event.gdp_mu()
            if mu is None:
                return None
            if math.isinf(mu):
                return math.inf
            total += count * Fraction(mu) ** 2
        return root_at_least(total)

    def renyi(self, alpha: float) -> float:
        """Give the sum of the parts' divergences."""
        checked_order(alpha)
        return padded(math.fsum(_times(event.renyi(alpha), count) for event, count in self.parts), 4.0)

    def zcdp_rho(self) -> float | None:
        """Give the sum of the parts' ρ, None when a part has none."""
        rhos = [(event.zcdp_rho(), count) for event, count in self.parts]
        known = [(rho, count) for rho, count in rhos if rho is not None]
        return sum_at_least(known) if len(known) == len(rhos) else None

    def pure_epsilon(self) -> float:
        """Give the sum of the parts' ε."""
        return sum_at_least((event.pure_epsilon(), count) for event, count in self.parts)

    def exact(self, epsilon: float) -> float:
        """Give the smallest δ known."""
        return _profile(self)(epsilon)

    def group(self, k: int) -> "Event":
        """Give the composition of the parts' groups: each step faces the same two tables, k records apart."""
        return ComposedEvent(tuple((event.group(k), count) for event, count in self.parts))

    def to_dict(self) -> dict[str, Any]:
        """Give kind and the parts as a list of {event, count}."""
        return {"kind": self.kind, "parts": [{"event": e.to_dict(), "count": c} for e, c in self.parts]}


@lru_cache(maxsize=64)
def _profile(event: ComposedEvent) -> Callable[[float], float]:
    """The best bound on δ(ε) of a composition's exact law; what does not depend on ε is worked out once."""
    mu, pure = event.gdp_mu(), event.pure_epsilon()
    gaussian = all(isinstance(part, noise_events.GaussianEvent) for part, _ in event.parts)
    split = _split(event.parts)

    def bound(epsilon: float) -> float:
        if epsilon >= pure:
            return 0.0
        best = 1.0 if mu is None else gdp_delta(mu, epsilon)
        if gaussian or (mu is not None and math.isinf(mu)):
            return best
        if split is not None:
            best = min(best, best_split(*split, epsilon)[0])
        # Where the rest costs next to nothing no curve can do better.
        if split is None or best > 1.1 * split[0].exact(epsilon):
            best = min(best, renyi_delta(event.renyi, epsilon))
        *others, (part, count) = event.parts
        if not others and isinstance(part, noise_events.SelectionEvent) and bounded_range.priced(part.epsilon, count):
            best = min(best, bounded_range.adaptive_profile(part.epsilon, count).delta(epsilon))
        return best

    return bound


def _split(parts: tuple[tuple[Event, int], ...]) -> tuple[ObjectivePerturbationEvent, ComposedEvent] | None:
    """Give the one objective perturbation and the rest; None when there is none, or there are several."""
    objective = [(event, count) for event, count in parts if isinstance(event, ObjectivePerturbationEvent)]
    if len(objective) != 1 or objective[0][1] != 1:
        return None
    return objective[0][0], ComposedEvent(tuple(part for part in parts if part[0] != objective[0][0]))


def best_split(one: Event, rest: Event, epsilon: float) -> tuple[float, float]:
    """Give the smallest ``δ₁(ε − e) + δ₂(e)`` that a search over e finds, and its e; every e in [0, ε] is valid."""
    met: list[tuple[float, float]] = []

    def at(x: float) -> float:
        share = epsilon / (1.0 + math.exp(-x))
        delta = one.exact(float_at_most(Fraction(epsilon) - Fraction(share))) + rest.exact(share)
        met.append((padded(delta, 4.0), share))
        return met[-1][0]

    golden(at, -16.0, 4.0, 16)
    return min(met)


def compose(*events: Event, count: int = 1) -> Event:
    """Compose events, each ``count`` times; a single use of a single event is that event itself.

    Laws: ``compose(e, count=n)`` equals n times ``compose(e)``; the order and the grouping do not matter. Raises
    InvalidParameter for what is no event or no count.

    Source: 003, Theorem A.3; 003, Theorem A.4.
    """
    composed = ComposedEvent(tuple((event, count) for event in events))
    return composed.parts[0][0] if len(composed.parts) == 1 and composed.parts[0][1] == 1 else composed


def compose_answers(queries: Iterable[Any]) -> Event:
    """Compose what all answers to priced queries cost."""
    events = [(query.event, query.count) for query in queries]
    if any(isinstance(event, noise_events.NotPrivateEvent) for event, _ in events):
        return noise_events.NotPrivateEvent()
    return compose(*(compose(event, count=count) for event, count in events))


def event_from_dict(state: Mapping[str, Any]) -> Event:
    """Read what `Event.to_dict` wrote; every float comes back bit for bit, also through JSON."""
    if not isinstance(state, Mapping):
        raise InvalidParameter(f"An event was read as {state!r}, no dictionary with a kind; it cannot be priced.")
    return made({**ATOMS, ComposedEvent.kind: _composed}, state, "privacy event")


def _composed(parts: object) -> ComposedEvent:
    if not isinstance(parts, list) or not all(
        isinstance(part, Mapping) and {*part} == {"event", "count"} for part in parts
    ):
        raise InvalidParameter(f"A composed event has the parts {parts!r}; each is a dictionary of event and count.")
    return ComposedEvent(tuple((event_from_dict(part["event"]), part["count"]) for part in parts))


ATOMS: Mapping[str, Callable[..., Event]] = table(
    *(noise_events.GaussianEvent, noise_events.LaplaceEvent, noise_events.NotPrivateEvent),
    *(noise_events.SelectionEvent, noise_events.PermuteAndFlipEvent, ObjectivePerturbationEvent, TunedEvent),
)


def _atoms(event: Event) -> tuple[tuple[Event, int], ...]:
    if isinstance(event, ComposedEvent):
        return event.parts
    if not isinstance(event, Event):
        raise InvalidParameter(f"What is no event was composed: {event!r}. Only an Event states what it costs.")
    return ((event, 1),)


def _times(divergence: float, count: int) -> float:
    """Give the product, ∞ where a double cannot hold the count."""
    return divergence * count if count < 2**1000 or divergence == 0.0 else math.inf
