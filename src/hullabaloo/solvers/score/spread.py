"""How gradients vary, for the errors that are asked for: by record, by unit of privacy, or as the curvature has it where errors are alike.

- "robust": `E w²φ'²vvᵀ` as released (White 1980); "bound", which is not asked for by name, m times that: of more records a unit than are summed.
- "unit": `(1/n) Σ s sᵀ`, s a unit's sum of gradients (Liang and Zeger 1986), asked twice: shortened to m times what 99 % of the records' are shorter
  than, which shortens next to none, and to `REACH` times the root mean square that the first answer speaks for, for n/m units.
- "homoskedastic": `τ E φ''vvᵀ`, τ the ratio of both traces; 1 for the logistic loss, whose likelihood says so. Of the squared loss τ is
  σ², of counts the dispersion (McCullagh and Nelder 1989, §6.2), of Huber's `Eφ'²/Eφ''` (Huber 1981, §7.6): errors that do not depend on the columns.
"""

import math
from collections.abc import Callable

import numpy as np

from hullabaloo.losses import AnyLoss, Logistic
from hullabaloo.privacy.answers import Array, NoisyScore
from hullabaloo.solvers.score.step import SEEN

ERRORS = ("auto", "robust", "homoskedastic", "unit")
REACH = 3.0
"""At most a ninth of the units, if each has m records, is shortened (Chebyshev); a hundredth of sums that are normal."""
TAIL_SPREAD = 0.01
"""Share of the gradients that is shortened for their spread, at most: less where noise is so low that what shortening takes of the variance along one direction, `E(L² − w²)_+/q`, is more than noise of w² puts there (`with_inference.py`)."""
FEW = 0.25
"""Of the spread's share, for what only a trace is read from."""


def shares(errors: str, loss: AnyLoss) -> tuple[float, ...]:
    """What the answers take of the spread's share; the score has what they leave."""
    if errors == "homoskedastic":
        return () if isinstance(loss, Logistic) else (FEW,)
    return (FEW, 1.0 - FEW) if errors == "unit" else (1.0,)


def asked(
    ask: Callable[[str, float], Array],
    errors: str,
    noises: list[float],
    wide: float,
    curvature: Array,
    copies: int,
    least: float,
) -> tuple[Array, float]:
    """The spread and its noise, at weights of 1 at most.

    Args:
        ask: the answer of a kind, shortened to a length.
        noises: of each answer, over the squared length.
        wide: the length that 99 % of the gradients are shorter than, or more.
        curvature: as the spread is seen.
        copies: m.
        least: what of the curvature's trace is told from noise.
    """
    if errors == "homoskedastic":
        ratio = 1.0
        if noises:
            ratio = max(float(np.trace(ask("gradients", wide))), 0.0) / max(float(np.trace(curvature)), least)
        return ratio * curvature, 0.0
    if errors != "unit":
        return ask("gradients", wide), noises[0] * wide**2
    size, longest = len(curvature), copies * wide
    seen = max(float(np.trace(ask("units", longest))), 0.0) + math.sqrt(size) * noises[0] / copies * longest**2
    reach = min(REACH * math.sqrt(copies * seen), longest)
    return ask("units", reach), noises[1] / copies * reach**2


def unlike(found: NoisyScore) -> bool:
    """Whether gradients of classes spread less than half as far as they do near the estimates, by `SEEN` deviations of noise: there `E φ'²‖v‖² = E φ''‖v‖²` (the information matrix equality: White 1982).

    Where a step sees little of the way, as the loss is flat around coefficients that are far off, this shows it (covertype at ε = 1: 1 to 6 % of the spread; from 0.75 on in nine of ten fits of other tables).
    """
    own, of_curvature = math.sqrt(len(found.score)) * found.spread_noise, np.linalg.norm(found.scale**2)
    noise = math.hypot(own, 0.5 * found.curvature_noise * float(of_curvature))
    return 0.5 * float(np.trace(found.curvature)) - float(np.trace(found.spread)) > SEEN * noise


def steadied(found: NoisyScore) -> Array:
    """The spread S̃, as far as noise may have made the difference D = S̃ − τG̃ that of residuals alike for all records, τ the ratio of both traces:

    `τG̃ + (1 − E‖noise‖²/‖D‖²)₊ D`, which is nearest to the truth on average (James & Stein 1961; Ledoit & Wolf 2004), eigenvalues below 0 taken as 0.
    """
    q, bent = len(found.spread), float(np.trace(found.curvature))
    alike = max(float(np.trace(found.spread)), 0.0) / (bent if bent > 0.0 else math.inf) * found.curvature
    apart = found.spread - alike
    noise = 0.5 * q * (q + 1) * found.spread_noise**2
    values, vectors = np.linalg.eigh(alike + max(1.0 - noise / max(float(np.sum(apart**2)), 1e-300), 0.0) * apart)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T, dtype=np.float64)
