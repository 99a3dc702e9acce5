"""The lower bound's instance at p = 1000 m² columns, and who is in its table: traced from the optimum, and from private Frank–Wolfe's models.

n = w + k rows, w = m/ln m of the code and k ≥ p orthogonal ones. Frank–Wolfe is Talwar, Thakurta and Zhang 2015, Algorithm 2, at the exact composition's
ε₀ for (ε, 1/n²), T = 32 steps, simulated from counts: of padding columns that no step has touched one Gumbel number stands for the largest of their
scores. A user is traced above 4.75 (a stranger with chance 1e-6).
"""

import math
import time
from typing import Any

import numpy as np

from hullabaloo.planning.theory.fingerprinting import LITERAL, PackedLasso, PaddedModel, packed_lasso
from hullabaloo.planning.theory.lower_bounds import lasso_rate
from hullabaloo.privacy import Allowance, Budget

SIZES, EPSILONS, STEPS, TRACED = (10, 30, 100, 300, 1000), (0.1, 1.0, 10.0), 32, 4.75


def fingerprint() -> dict[str, Any]:
    """The attack and the private models at m = 10."""
    return {"small": _line(10)}


def run() -> dict[str, Any]:
    """A line for each m."""
    rows = [_line(m) for m in SIZES]
    return {"attack": rows, "smallest m of the paper's own k": LITERAL, "seconds": rows[-1].pop("seconds")}


def _line(m: int) -> dict[str, Any]:
    began, rng = time.perf_counter(), np.random.default_rng(m)
    made = packed_lasso(m, generator=rng)
    best, zero = (
        made.best(),
        PaddedModel(np.zeros(made.bias.size), ((1.0, 0.0, made.padding[0]), (-1.0, 0.0, made.padding[1]))),
    )
    least = made.loss(best)
    strangers = made.traced(best, made.strangers(50, rng))
    row: dict[str, Any] = {
        "m": m,
        "users": made.users,
        "n": made.records,
        "p": made.columns,
        "megabytes": (made.bits.nbytes + made.bias.nbytes) / 1e6,
        "excess of zero": made.loss(zero) - least,
        "rate (n ln n)^(-2/3)": lasso_rate(made.records).value,
        "signs named": made.agreement(best),
        "traced": _share(made.traced(best, made.bits)),
        "least score": float(made.traced(best, made.bits).min()),
        "by signs alone": _share(made.traced(best, made.bits, signs=True)),
        "strangers traced": _share(strangers),
    }
    for epsilon in EPSILONS if m <= 300 else ():
        theta = private(made, epsilon, rng)
        row[f"excess, epsilon {epsilon:g}"] = made.loss(theta) - least
        row[f"signs named, epsilon {epsilon:g}"] = made.agreement(theta)
        row[f"traced, epsilon {epsilon:g}"] = _share(made.traced(theta, made.bits))
    return row | ({"seconds": time.perf_counter() - began} if m == SIZES[-1] else {})


def _share(scores: np.ndarray) -> float:
    return float(np.mean(scores > TRACED))


def private(made: PackedLasso, epsilon: float, rng: np.random.Generator) -> PaddedModel:
    """T steps 2/(t + 2) towards vertices of least noisy slope; |∂ℓ/∂θ_j| ≤ 2, so a score of the sum moves by 4 under replace-one."""
    temperature = 2.0 * 4.0 / Allowance(Budget(epsilon, float(made.records) ** -2)).selection_epsilon(STEPS)
    code, touched = (
        np.zeros(made.bias.size),
        {1.0: {}, -1.0: {}},
    )  # of the padding: values by column, by the columns' sign
    counts = dict(zip((1.0, -1.0), made.padding, strict=True))

    def model() -> PaddedModel:
        groups = [(sign, value, 1) for sign, own in touched.items() for value in own.values()]
        groups += [(sign, 0.0, counts[sign] - len(own)) for sign, own in touched.items()]
        return PaddedModel(code, tuple(groups))

    for t in range(1, STEPS + 1):
        slopes, shared = made.pulled(made.predictions(model()) - 1.0)
        slopes = slopes + made.block * code
        found = []  # noisy score, kind, column, end
        for end in (1.0, -1.0):
            noisy = -end * slopes + temperature * rng.gumbel(size=slopes.size)
            found.append((float(noisy.max()), 0.0, int(noisy.argmax()), end))
            for sign, own in touched.items():
                rest = counts[sign] - len(own)
                score = -end * sign * shared + temperature * (rng.gumbel() + math.log(rest))
                found.append((score, sign, len(own), end))
                for column, value in own.items():
                    score = -end * (sign * shared + made.block * value) + temperature * rng.gumbel()
                    found.append((score, sign, column, end))
        _, sign, column, end = max(found)
        step = 2.0 / (t + 2.0)
        code = (1.0 - step) * code
        for own in touched.values():
            own.update({one: (1.0 - step) * value for one, value in own.items()})
        if sign == 0.0:
            code[column] += step * end
        else:
            touched[sign][column] = touched[sign].get(column, 0.0) + step * end
    return model()
