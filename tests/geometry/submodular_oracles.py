"""Submodular norms by looking at every set of columns, in rational numbers: slow, and plainly right."""

import itertools
import math
from fractions import Fraction

import numpy as np

from hullabaloo.geometry import CustomSetFunction, SetFunction
from tests.laws import zoo

PLACES = np.array([0.0, 0.1, 0.15, 0.4, 0.45, 0.5, 0.8, 0.85, 1.0, 1.2])


def rooted(columns):
    """√ of a modular function, plus 1 for every pair {2i, 2i + 1} that is met, plus the spread of places."""
    if not columns:
        return 0.0
    root = math.sqrt(sum(1.0 + 0.3 * j for j in columns))
    spread = 1.0 + max(PLACES[j] for j in columns) - min(PLACES[j] for j in columns)
    return root + len({j // 2 for j in columns}) + spread


def custom(p: int) -> CustomSetFunction:
    return CustomSetFunction(rooted, p)


def functions(p: int) -> list[SetFunction]:
    return [*zoo.set_functions(p), custom(p)]


def subsets(p: int):
    """Every set of columns but the empty one, as booleans."""
    for bits in itertools.product([False, True], repeat=p):
        if any(bits):
            yield np.array(bits)


def table(function: SetFunction, p: int) -> dict[frozenset[int], Fraction]:
    """F of every set."""
    found = {frozenset(np.flatnonzero(a).tolist()): Fraction(function.value(a)) for a in subsets(p)}
    return {frozenset(): Fraction(0), **found}


def exact_prox(values: dict[frozenset[int], Fraction], v: np.ndarray, weight: float) -> list[Fraction]:
    """argmin weight·Ω(u) + ½‖u − v‖²: split at the mean, by the set that minimises F − |v| + mean (Groenevelt 1991)."""
    size = [abs(Fraction(float(x))) for x in v]
    lam = Fraction(weight)
    u = [Fraction(0)] * len(size)

    def solve(inside: frozenset[int], below: frozenset[int]) -> None:
        def excess(a: frozenset[int], mean: Fraction) -> Fraction:
            return lam * (values[below | a] - values[below]) - sum(size[j] for j in a) + mean * len(a)

        mean = -excess(inside, Fraction(0)) / len(inside)
        choices = [frozenset(a) for k in range(len(inside) + 1) for a in itertools.combinations(sorted(inside), k)]
        best = min(choices, key=lambda a: (excess(a, mean), -len(a)))
        if excess(best, mean) == 0:
            for j in inside:
                u[j] = max(mean, Fraction(0))
            return
        solve(best, below)
        solve(inside - best, below | best)

    solve(frozenset(range(len(size))), frozenset())
    return [x if y >= 0 else -x for x, y in zip(u, v, strict=True)]


def exact_projection(
    values: dict[frozenset[int], Fraction], v: np.ndarray, u: np.ndarray, radius: float
) -> tuple[list[Fraction], Fraction]:
    """The projection onto Ω ≤ radius if it has the level sets of u, and by how much it then fails to be one.

    Level sets B, in falling order, give levels (|v|(B) − τD(B))/|B| with D the gains of F, and τ solves Ω = radius. It
    is the projection when the levels fall and s = |v| − level is in τ|P|: the second number is the worst violation.
    """
    size = [abs(Fraction(float(x))) for x in v]
    levels = sorted(set(np.abs(u).tolist()) - {0.0}, reverse=True)
    before: frozenset[int] = frozenset()
    blocks = []
    for level in levels:
        block = frozenset(np.flatnonzero(np.abs(u) == level).tolist())
        price = values[before | block] - values[before]
        blocks.append((block, price, sum(size[j] for j in block)))
        before |= block
    slope = sum(price * price / len(block) for block, price, _ in blocks)
    tau = (sum(price * total / len(block) for block, price, total in blocks) - Fraction(radius)) / slope
    exact = [Fraction(0)] * len(size)
    for block, price, total in blocks:
        for j in block:
            exact[j] = (total - tau * price) / len(block)
    found = [exact[next(iter(block))] for block, _, _ in blocks]
    worst = max([-found[-1], *(b - a for a, b in itertools.pairwise(found))])
    for a, value in values.items():
        worst = max(worst, sum(size[j] - exact[j] for j in a) - tau * value)
    return [x if y >= 0 else -x for x, y in zip(exact, v, strict=True)], worst


def apart(u: np.ndarray, exact: list[Fraction]) -> float:
    """‖u − exact‖₂, the differences in rational numbers."""
    return math.sqrt(sum(float(Fraction(float(x)) - y) ** 2 for x, y in zip(u, exact, strict=True)))
