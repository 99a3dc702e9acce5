"""Every strategy with sample instances for at most 64 steps; one that is written without samples fails in `test_strategy_laws`."""

import numpy as np

from hullabaloo.noise.continual.base import Strategy
from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.history import BestFactorisation, SquareRootToeplitz
from hullabaloo.noise.continual.hybrid import LONGEST, Hybrid
from hullabaloo.noise.continual.tree import BinaryTree
from hullabaloo.privacy.schedule import FOREVER

DRIFTING = (BufferedToeplitz, SquareRootToeplitz, BestFactorisation)
PLAIN = (*DRIFTING, BinaryTree, Hybrid)
SAMPLES: list[Strategy] = [kind(steps) for kind in PLAIN for steps in (1, 2, 5, 64)]
SAMPLES += [
    kind(steps, decay, window)
    for kind in DRIFTING
    for steps, decay, window in (
        (4, 0.5, None),
        (40, 0.95, None),
        (64, 1.0, 1),
        (50, 1.0, 2),
        (64, 1.0, 9),
        (40, 0.9, 6),
        (3, 1.0, 3),
    )
]
SAMPLES += [Hybrid(37), Hybrid(64, first=8), Hybrid(64, first=LONGEST), BufferedToeplitz(64, any_time=True)]
ENDLESS = [
    Hybrid(FOREVER),
    Hybrid(FOREVER, first=LONGEST),
    BufferedToeplitz(FOREVER, 0.9),
    BufferedToeplitz(FOREVER, 1.0, 10),
]
LONG = [kind(10_000) for kind in (BufferedToeplitz, BinaryTree, Hybrid)] + ENDLESS


def workload(strategy: Strategy, steps: int) -> np.ndarray:
    """A, written down from its definition."""
    A = np.zeros((steps, steps))
    for t in range(steps):
        for s in range(t + 1):
            if strategy.window is None or t - s < strategy.window:
                A[t, s] = strategy.decay ** (t - s)
    return A


def factors(strategy: Strategy, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """B and C, by decoding and encoding unit vectors."""
    C = strategy.encoder(steps).encode(np.eye(steps))
    return strategy.decoder(C.shape[0]).decode(np.eye(C.shape[0]), steps), C


def label(strategy: Strategy) -> str:
    numbers = {"steps": strategy.steps, "decay": strategy.decay, "window": strategy.window}
    more = [str(getattr(strategy, extra)) for extra in ("first", "any_time") if hasattr(strategy, extra)]
    return "-".join([strategy.name, *(str(number) for number in numbers.values()), *more])
