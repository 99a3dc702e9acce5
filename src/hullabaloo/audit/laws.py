"""Exact laws of answers that are not Gaussian, by other formulas than those that draw them: choices, Laplace noise, perturbed minimisers.

An auditor who knows both tables takes from an answer its log-likelihood ratio, and compares how often each answer comes with how often
it should. A law that can be written down is compared by χ² with all its frequencies, which finds a wrong temperature with a hundredth of
the draws that a bound of ε takes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import InvalidParameter

Array = npt.NDArray[np.float64]
Elementwise = Callable[[Array, Array], Array]


def exponential_law(scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Logarithms of `P(i) ∝ exp(ε s_i/(2Δ))`, −∞ where a score is −∞ (a candidate that is excluded)."""
    logits = np.asarray(scores, dtype=np.float64) * (epsilon / (2.0 * sensitivity))
    behind = logits - logits.max()
    return np.asarray(behind - math.log(float(np.exp(behind).sum())))


def flipping_law(scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Logarithms of permute-and-flip's law: candidate i shows heads with `q_i = exp(−ε(max s − s_i)/(2Δ))`, a uniform one of the heads is taken.

    `P(i) = q_i E[1/(1 + H_i)]`, H_i the number of heads among the others: `∫₀¹ Π_{j≠i} (1 − q_j + q_j t) dt`, a polynomial of degree n − 1
    in t, by Gauss–Legendre quadrature of enough points to be exact. Source: McKenna and Sheldon (2020).
    """
    behind = np.asarray(scores, dtype=np.float64)
    heads = np.exp((behind - behind.max()) * (epsilon / (2.0 * sensitivity)))
    nodes, weights = np.polynomial.legendre.leggauss(heads.size // 2 + 1)
    t = 0.5 * (nodes + 1.0)
    factors = 1.0 - heads[:, None] * (1.0 - t)
    others = np.array([np.prod(np.delete(factors, i, axis=0), axis=0) for i in range(heads.size)])
    with np.errstate(divide="ignore"):
        return np.log(heads * (others @ weights) * 0.5)


def misfit(counts: npt.ArrayLike, log_law: npt.ArrayLike) -> float:
    """The probability of a χ² as large as that of the counts under the law; 0 where something came that cannot.

    Cells of fewer than 20 expected answers are thrown together, the rarest first; the tail is that of the χ² law, which discrete counts
    keep to within a few per cent of its logarithm at such cells.
    """
    from scipy.special import chdtrc

    seen, law = np.asarray(counts, dtype=np.float64), np.exp(np.asarray(log_law, dtype=np.float64))
    if seen.shape != law.shape:
        raise InvalidParameter(
            f"Counts of shape {seen.shape} were compared with a law of shape {law.shape}. Pass one count a candidate."
        )
    if np.any(seen[law == 0.0] > 0.0):
        return 0.0
    expected = law * seen.sum()
    order = np.argsort(expected)
    cut = int(np.searchsorted(np.cumsum(expected[order]), 20.0)) + 1 if expected.min() < 20.0 else 0
    rare, rest = order[:cut], order[cut:]
    if rare.size and rest.size and expected[rare].sum() < 20.0:
        rare, rest = order[: cut + 1], order[cut + 1 :]
    groups = [(seen[rare].sum(), expected[rare].sum())] * bool(rare.size) + list(
        zip(seen[rest], expected[rest], strict=True)
    )
    if len(groups) < 2:
        return 1.0
    square = sum((found - wanted) ** 2 / wanted for found, wanted in groups)
    return float(chdtrc(len(groups) - 1, square))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LaplaceLaw:
    """Two tables' exact answers under Laplace noise of scale b in each coordinate.

    Attributes:
        sums: the exact answers of both tables, (2, d).
        scale: b, as declared.
    """

    sums: Array
    scale: float

    @property
    def realised(self) -> float:
        """The ε that this pair of tables realises, `‖difference‖₁/b`."""
        return float(np.abs(self.sums[1] - self.sums[0]).sum()) / self.scale

    def log_ratio(self, answer: Array) -> float:
        """`log p₁(answer) − log p₀(answer)`, within ± `realised`."""
        far = np.abs(answer - self.sums)
        return float((far[0] - far[1]).sum()) / self.scale

    def drawn(self, answer: Array, truth: int) -> Array:
        """The noise that was drawn, in units of b: its magnitudes are exponential of mean 1."""
        return np.asarray((answer - self.sums[truth]) / self.scale)


@final
@dataclass(frozen=True, slots=True)
class PerturbedLaw:
    """The law of a perturbed minimiser of one coefficient: `b = −(λθ + Σ clip(φ'(xθ, y)) x)` is normal, and known once θ is.

    The faint noise on the minimiser is left out: it can only hide, and moves the ratio by a part of it that is as faint.

    Attributes:
        tables: (x, y) of the records of both tables, (n, 2) each.
        slope, bend: φ' and φ'' of (z, y).
        clip: bound of |φ'|; 0 curvature beyond.
        ridge: λ of the sum.
        sigma: standard deviation of b.
    """

    tables: tuple[Array, Array]
    slope: Elementwise
    bend: Elementwise
    clip: float
    ridge: float
    sigma: float

    def drawn(self, theta: float, which: int) -> float:
        """b in units of its standard deviation, if `which` was the table."""
        x, y = self.tables[which].T
        pull = np.clip(self.slope(x * theta, y), -self.clip, self.clip) @ x
        return -(self.ridge * theta + float(pull)) / self.sigma

    def log_ratio(self, theta: float) -> float:
        """`log p₁(θ) − log p₀(θ)`: of normal densities of b, and of how fast b changes with θ."""
        found = [0.0, 0.0]
        for which, table in enumerate(self.tables):
            x, y = table.T
            inside = np.abs(self.slope(x * theta, y)) < self.clip
            bend = self.ridge + float((np.where(inside, self.bend(x * theta, y), 0.0) * x * x).sum())
            found[which] = -0.5 * self.drawn(theta, which) ** 2 + math.log(bend)
        return found[1] - found[0]
