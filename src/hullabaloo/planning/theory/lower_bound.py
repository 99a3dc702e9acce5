"""One lower bound as a function of ε, and what a pair of tables costs any private method."""

import math
from dataclasses import dataclass

from hullabaloo.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class LowerBound:
    """No private method has a smaller worst-case excess risk: `min{cap, scale/ε^power}`, or by `pairs` `scale · max_k k(1 − TV_k)`.

    Attributes:
        name: what it is called in tables.
        value: the bound of the expected excess mean loss on the worst data of the class.
        explicit: whether the constant is proved, or 1 stands for one that the source leaves implicit.
        holds: for which problems and budgets.
        source: where it is from.
        scale, power, cap: of the bound as a function of ε.
        pairs: n, δ, steps that a changed record is, and which k there are, of a pair of tables; empty for the others.
    """

    name: str
    value: float
    explicit: bool
    holds: str
    source: str
    scale: float
    power: float = 0.0
    cap: float = math.inf
    pairs: tuple[float, ...] = ()

    def at(self, epsilon: float) -> float:
        """The bound at another ε, the δ and the class as they are.

        Raises:
            InvalidParameter: ε is not positive and finite.
        """
        check(1, epsilon, 0.0)
        if self.pairs:
            n, delta, changes, every, first = self.pairs
            return self.scale * told_apart(int(n), epsilon, delta, int(changes), int(every), int(first))
        return min(self.cap, float(self.scale / epsilon**self.power))

    @property
    def law(self) -> str:
        """The bound as a function of ε in words; of a pair of tables its size where δ is nothing beside ε: `max_x x/(1 + e^x)` is 0.278."""
        if self.pairs:
            return f"near {2.0 * 0.2784645 * self.scale / self.pairs[2]:.2g}/ε for small ε and δ"
        if self.power == 0.0:
            return f"{self.scale:.2g} at every such ε"
        rate = f"{self.scale:.2g}/ε{'²' if self.power == 2.0 else ''}"
        return rate if math.isinf(self.cap) else f"min{{{self.cap:.2g}, {rate}}}"


def told_apart(records: int, epsilon: float, delta: float, changes: int, every: int, first: int) -> float:
    """`max_k k (1 − TV_k)`."""
    largest = min(records, first + every * math.ceil(20.0 / (changes * epsilon)))
    return max(
        (k * (1.0 - _total_variation(changes * k, epsilon, delta)) for k in range(first, largest + 1, every)),
        default=0.0,
    )


def _total_variation(k: int, epsilon: float, delta: float) -> float:
    """Largest total variation of outputs on tables k steps apart, (ε, δ)-DP for one step."""
    if k * epsilon > 700.0:
        return 1.0
    together = math.expm1(k * epsilon)
    spread = delta * together / math.expm1(epsilon)
    return min(1.0, (together + 2.0 * spread) / (together + 2.0))


def check(records: int, epsilon: float, delta: float) -> None:
    """Refuse what is no number of records, ε or δ of a private method."""
    if records < 1 or not (epsilon > 0.0 and math.isfinite(epsilon)) or not 0.0 <= delta < 1.0:
        raise InvalidParameter(
            f"A lower bound was asked for n = {records}, ε = {epsilon} and δ = {delta}, but it is about private methods: pass at "
            "least one record, a positive finite ε and 0 ≤ δ < 1."
        )
