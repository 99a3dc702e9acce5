"""Continual sums: standard deviation of noisy sums at μ = 1 and sensitivity 1, under drift, speed, and memory over a long stream."""

import math
import resource
import time
from typing import Any

import numpy as np

from hullabaloo.noise import TestKey
from hullabaloo.noise.continual.base import Strategy
from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.choose import NAMED, strategy_named
from hullabaloo.noise.continual.history import LONGEST, MOST
from hullabaloo.noise.continual.mechanism import ContinualSum
from hullabaloo.privacy.schedule import FOREVER

HORIZONS = (4, 64, 1 << 10, 1 << 16, 1 << 20, 10_000_000)
WINDOWS = ((1024, 16), (1024, 256), (65_536, 16), (65_536, 1024))
DECAYS = ((1024, 0.9), (1024, 0.99), (65_536, 0.99), (65_536, 0.999))
D, STEPS, BATCH, FLAT = 78, 100_000, 10_000, 1_000_000


def fingerprint() -> dict[str, Any]:
    """Errors of every strategy at few steps, and five noisy sums."""
    key, sums = TestKey(bytes(32)), {}
    for name in ("tree", "buffered", "square_root"):
        strategy = strategy_named(name, 16)
        stream = ContinualSum(strategy, 1.0, length=1, bound=strategy.reach, key=key)
        sums[name] = stream.add(np.ones((5, 1)))
    return {
        "errors": [_errors(steps) for steps in (4, 64)],
        "drift": [_drift(64, 1.0, 16), _drift(64, 0.9, None)],
        "unknown": strategy_named("auto", FOREVER).errors(np.array([10, 1000])),
        "sums": sums,
    }


def run() -> dict[str, Any]:
    """Errors are exact; speed is the median of three runs of one thread, noise included."""
    return {
        "std_prefix_sums": {str(steps): _errors(steps) for steps in HORIZONS},
        "ratios_65536": _ratios(1 << 16),
        "std_unknown_horizon": _unknown(),
        "max_std_windows": {f"{steps} steps, window {w}": _drift(steps, 1.0, w) for steps, w in WINDOWS},
        "max_std_forgetting": {f"{steps} steps, decay {g}": _drift(steps, g, None) for steps, g in DECAYS},
        "steps_per_second_78_coordinates": {
            "buffered": _speed(BufferedToeplitz(10_000_000), STEPS, D),
            "tree": _speed(strategy_named("tree", 10_000_000), STEPS, D),
            "unknown horizon": _speed(strategy_named("auto", FOREVER), STEPS, D),
        },
        "seconds_square_root_65536_steps_10_coordinates": 65_536
        / _speed(strategy_named("square_root", 65_536), 65_536, 10, repeats=1),
        "memory_million_steps_78_coordinates": _memory(),
    }


def _offered(name: str, steps: int) -> bool:
    return {"square_root": steps <= LONGEST, "dense": steps <= MOST}.get(name, True)


def _errors(steps: int) -> dict[str, dict[str, float]]:
    """Largest and root mean square standard deviation over all steps."""
    found = {}
    for name in NAMED:
        if _offered(name, steps):
            strategy = strategy_named(name, steps)
            errors = strategy.column_norm * strategy.errors()
            found[name] = {"max": float(errors.max()), "mean": math.sqrt(float(np.mean(errors**2)))}
    return found


def _ratios(steps: int) -> dict[str, float]:
    tree, square_root, buffered = (
        _largest(strategy_named(name, steps)) for name in ("tree", "square_root", "buffered")
    )
    k = np.arange(1, steps)
    plain = 1.0 + float(np.sum(np.cumprod((k - 0.5) / k) ** 2))
    return {
        "tree / best Toeplitz": tree / square_root,
        "tree / best Toeplitz without normalised columns": tree / plain,
        "buffered / best Toeplitz": buffered / square_root,
    }


def _unknown() -> dict[str, dict[str, float]]:
    """At several times: the mechanism for any end, the classical hybrid, and buffers that know the end."""
    found = {}
    for now in (10, 100, 1000, 10_000, 100_000, 1_000_000):
        at = np.array([now])
        found[str(now)] = {
            "any end": float(strategy_named("auto", FOREVER).errors(at)[0]),
            "hybrid": float(strategy_named("hybrid", FOREVER).errors(at)[0]),
            "known end": _largest(BufferedToeplitz(now)),
        }
    return found


def _drift(steps: int, decay: float, window: int | None) -> dict[str, Any]:
    found = {name: _largest(strategy_named(name, steps, decay, window)) for name in ("buffered", "square_root")}
    if window is not None:
        found["difference of prefix sums"] = _difference(steps, window)
        found["restarted blocks"] = _restarted(window)
    return {**found, "auto": strategy_named("auto", steps, decay, window).name}


def _difference(steps: int, window: int) -> float:
    """Largest error of differences of sums that were released for all steps: the square root's without normalised columns."""
    k = np.arange(1, steps)
    root = np.concatenate(([1.0], np.cumprod((k - 0.5) / k)))
    late = np.concatenate((np.zeros(window), root[:-window]))
    return float(np.linalg.norm(root) * np.linalg.norm(root - late))


def _restarted(window: int) -> float:
    """Largest error with a fresh square root every `window` steps: what is left of the block before, and the sum of this one."""
    rows = strategy_named("square_root", window).decoder(window).decode(np.eye(window), window)
    return float(np.sqrt(np.sum(rows**2 + (rows[-1] - rows) ** 2, axis=1)).max())


def _largest(strategy: Strategy) -> float:
    return float(strategy.column_norm * strategy.errors().max())


def _speed(strategy: Strategy, steps: int, length: int, repeats: int = 3) -> float:
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (steps, length))
    ContinualSum(strategy, 1.0, length=length, bound=strategy.reach).add(x[:100])
    seconds = []
    for _ in range(repeats):
        stream = ContinualSum(strategy, 1.0, length=length, bound=strategy.reach)
        start = time.perf_counter()
        for first in range(0, steps, BATCH):
            stream.add(x[first : first + BATCH])
        seconds.append(time.perf_counter() - start)
    return steps / sorted(seconds)[repeats // 2]


def _memory() -> dict[str, float]:
    """Of the default mechanism: the state's bytes, and what the process's peak grows by after the first batches."""
    stream = ContinualSum(BufferedToeplitz(10_000_000), 1.0, length=D, bound=BufferedToeplitz(10_000_000).reach)
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (BATCH, D))
    for _ in range(5):
        stream.add(x)
    before, bytes_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, _bytes(stream)
    for _ in range(FLAT // BATCH - 5):
        stream.add(x)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "state_bytes_early": bytes_before,
        "state_bytes_late": _bytes(stream),
        "peak_growth_MB": (after - before) / 1024,
    }


def _bytes(stream: ContinualSum) -> float:
    return float(sum(array.nbytes for array in stream.state().values()))


if __name__ == "__main__":
    for key, value in run().items():
        print(key, value)
