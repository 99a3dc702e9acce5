"""Inputs of garbage, many of them, at every public door (tests/fuzz): by door, how many were refused, accepted, and crashed."""

from multiprocessing import get_context
from typing import Any

SOURCES = ["src/hullabaloo", "tests/fuzz", "tests/linear_model/examples.py"]
SEEDS = (0, 1)
EACH = 500_000


def half(seed: int) -> tuple[dict[str, dict[str, int]], list[str]]:
    """One process's share."""
    from tests.fuzz.sweep import sweep

    tally = sweep(seed, EACH)
    return {name: dict(counted) for name, counted in tally.counts.items()}, sorted(tally.crashes.values())


def run() -> dict[str, Any]:
    """Two processes, each with a seed of its own."""
    with get_context("spawn").Pool(len(SEEDS)) as pool:
        halves = pool.map(half, SEEDS)
    doors: dict[str, dict[str, int]] = {}
    for counts, _ in halves:
        for name, counted in counts.items():
            kept = doors.setdefault(name, dict.fromkeys(("inputs", "refused", "accepted", "crashes"), 0))
            for what, number in counted.items():
                kept[what] += number
    total = {
        what: sum(counted[what] for counted in doors.values()) for what in ("inputs", "refused", "accepted", "crashes")
    }
    crashes = sorted({one for _, found in halves for one in found})
    rows = [{"door": name, **counted} for name, counted in sorted(doors.items())]
    return {"seeds": list(SEEDS), "total": total, "crashes": crashes, "doors": rows}
