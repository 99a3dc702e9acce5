"""The kept file: of every case and part a digest of its exact bits, how many numbers it has, and the first of them for people.

Bits are a machine's: matrix products, logarithms and compiled kernels round differently elsewhere. So the file names the machine that
wrote it. On such a one parts agree bit for bit; on another their words and counts agree, and their first numbers to 1e-9 of the largest.
"""

import hashlib
import json
import math
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden import fits, prices, questions, streams
from tests.golden.case import Case, Parts, numbers

PATH = Path(__file__).with_name("golden.json")
SHOWN = {"theta": 4, "event": 0, "moments": 0, "errors": 0}
"""How many numbers of a part are kept to be read; of any other three."""
NEAR = 1e-9

Kept = list[Any]  # digest, count, and the first numbers
Outcome = dict[str, str | Kept]


@cache
def cases() -> dict[str, Case]:
    """Every case by its name."""
    return {name: case for kind in (fits, streams, questions, prices) for name, case in kind.cases().items()}


def machine() -> dict[str, str]:
    """All that the bits of a result depend on besides the code."""
    import llvmlite
    import numba
    import scipy
    from llvmlite.binding import get_host_cpu_name
    from threadpoolctl import threadpool_info

    blas = sorted({f"{one['internal_api']} {one['version']} {one.get('architecture')}" for one in threadpool_info()})
    versions = {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
    }
    return versions | {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()} {' '.join(platform.libc_ver())}",
        "processor": get_host_cpu_name(),
        "blas": "; ".join(one for one in blas if not one.startswith("openmp")),
    }


def _exact(value: Any) -> Any:
    """The same with floats as their bits."""
    if isinstance(value, Mapping):
        return {str(name): _exact(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    return float(value).hex() if isinstance(value, float) else value


def kept(parts: Parts) -> Outcome:
    """What is kept of the parts of a case: words as they are, the rest as digest, count and first numbers."""
    found: Outcome = {}
    for name, value in parts.items():
        if isinstance(value, str):
            found[name] = value
            continue
        text = json.dumps(_exact(value), sort_keys=True)
        told = numbers(value)
        first = [float(f"{number:.12g}") for number in told[: SHOWN.get(name, 3)]]
        found[name] = [hashlib.sha256(text.encode()).hexdigest()[:12], len(told), *first]
    return found


def differences(before: Outcome, after: Outcome, *, exact: bool) -> list[str]:
    """Which parts differ, in a sentence each."""
    found = [f"{name} is no longer told" for name in before if name not in after]
    for name, new in after.items():
        old = before.get(name)
        if old is None:
            found.append(f"{name} is new")
        elif isinstance(old, str) or isinstance(new, str):
            found += [] if old == new else [f"{name}: {old} then, {new} now"]
        elif old[:2] != new[:2] if exact else (old[1] != new[1] or not near(old[2:], new[2:])):
            place = next(
                (i for i, (a, b) in enumerate(zip(old[2:], new[2:], strict=False)) if not near([a], [b], 0.0)), None
            )
            where = (
                f"beyond its first {len(old) - 2}"
                if place is None
                else f"number {place} was {old[2 + place]!r}, is {new[2 + place]!r}"
            )
            found.append(f"{name} ({old[1]} numbers then, {new[1]} now): {where}")
    return found


def near(old: list[float], new: list[float], tolerance: float = NEAR) -> bool:
    """Whether numbers agree to a share of the largest of them; infinities and NaN with themselves."""
    size = max([abs(one) for one in old if math.isfinite(one)], default=0.0)
    return len(old) == len(new) and all(
        a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * size
        for a, b in zip(old, new, strict=True)
    )


@cache
def read() -> dict[str, Any]:
    """The kept file."""
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def write(outcomes: Mapping[str, Outcome]) -> None:
    """Keep these outcomes: a line a case."""
    lines = [f"{json.dumps(name)}: {json.dumps(one, separators=(',', ':'))}" for name, one in outcomes.items()]
    body = ",\n".join(lines)
    PATH.write_text(f'{{"machine": {json.dumps(machine())},\n"cases": {{\n{body}\n}}}}\n', encoding="utf-8")
