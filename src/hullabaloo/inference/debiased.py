"""Unshrunk estimates from noisy estimating equations, and intervals that stay honest where noise hides a direction.

The equations `b̃ − G̃θ = 0` are noisy in both parts: `G̃ = G + E`, `b̃ = b + e`, E symmetric Gaussian (variance s² on the diagonal,
s²/2 off it), `e ~ N(0, t²I)`. Their solution `θ̃ = G̃⁻¹b̃` is shrunk by nothing, and its error is not that of a linear map: E is in
G̃⁻¹ too. But at the true θ the residual is *exactly* normal,

    b̃ − G̃θ ~ N(0, Ω(θ)),   Ω(θ) = (t² + ½s²‖θ‖²) I + ½s² θθᵀ + sampling,

so a value c of `aᵀθ` is kept by the interval when the residual of the best θ with `aᵀθ = c` is not too long. With `u = G̃⁻¹a` and the
restricted estimate `θ_c = θ̃ + (c − aᵀθ̃) w`, `w = Va/aᵀVa`, `V = G̃⁻¹Ω(θ̃)G̃⁻¹`, that is

    (aᵀθ̃ − c)² ≤ q² uᵀΩ(θ_c)u,

a quadratic inequality in c as Ω is quadratic in θ: for one coefficient the exact interval of Fieller (1954) for a ratio of normals, for several
the test of Anderson and Rubin (1949) with the other coefficients fitted, whose size Guggenberger, Kleibergen, Mavroeidis and Chen (2012) prove
at whatever strength. It is not symmetric around θ̃, which takes the second-order bias out; where noise may have made all of G in a
direction the set has no end, and none is told.

*What is likely of G.* Noise E that is symmetric Gaussian (variance s² on the diagonal, ½s² off it) points no way, so neither does it tell one: of all that is known of a curvature G before `G̃ = G + E` is seen, let its
eigenvectors be of any direction alike. Then `E[G | G̃]` has the eigenvectors of G̃ (Bun, Allez, Bouchaud & Potters 2016, IEEE Trans. Inf. Theory 62, 7475–7490), and its eigenvalues are, as in Stein's (1975) estimator of a covariance,

    ξ_k = λ_k − s² Σ_l (λ_k − λ_l)/((λ_k − λ_l)² + 2s²),

as noise makes eigenvalues repel each other: those of a bulk are drawn together, to one value where noise alone has spread them, and those that stand apart stay. The sum is Hilbert's transform of the density of the λ, smoothed over √2 s, the deviation of the difference of
two that stand apart. Its errors are told by the noise of G̃ in full, though less is left where eigenvectors are of any direction alike (`(G − Ξ)δ` would vary by a share `(ξ_k − ξ_l)/(λ_k − λ_l)` of it between the directions of λ_k and λ_l): intervals are as short
and as many without that reduction, as it is the inverse of an eigenvalue that noise drew away which made them long (12 and 16 lines of the development tables, ε = 1 and 3: power .053 and .191 with it, .052 and .185 without), and of columns that go together (pol, ε = 1, 80 draws) 90 % of what was told held with it, and 93 without.

That eigenvectors are of any direction alike no table says: for one table it is an approximation, as good as the eigenvalues of whitened records are, a bulk at one value and a few apart. Coverage with it is measured
in `benchmarks/inference.py`.

Where the inverse is regularised, `u = Ha`, what H leaves undone, `(I − G̃H)a`, meets the unknown θ* − θ̃: its likely variance
(`solvers/score/step.py`) is part of the interval's, and where it is more than `TOLD` of the rest none is told. The noise E meets all of θ*, what H leaves undone, too: Ω is of the second moment `θ̃θ̃ᵀ + (I − HG̃)T`, T the
likely variance of θ*, of which twice `(I − HG̃)T(I − HG̃)ᵀ` is as much at least where H keeps no more than half. (Of copies of columns, whose
difference noise hides, θ* is several times as long as θ̃.) Coverage is measured in `benchmarks/inference.py`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from hullabaloo.inference.fitted import Array
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.solvers.score.step import SEEN

TOLD = 0.5
"""Largest share of the variance that what a regularised inverse leaves undone may have where an interval is told. Chosen on the development half of `benchmarks/inference.py`: 0.25 tells as much there, 0.3 of
twice what is left half as much, and all cover as often."""


def likely(gram: Array, noise: float) -> Array:
    """Ξ, what is likely of a symmetric matrix that is released with this noise s; itself where s = 0."""
    values, vectors = np.linalg.eigh(gram)
    apart = values[:, None] - values
    drawn = np.sum(noise**2 * apart / np.maximum(apart**2 + 2.0 * noise**2, 1e-300), axis=1)
    return np.asarray((vectors * (values - drawn)) @ vectors.T, dtype=np.float64)


def as_likely(found: NoisyScore) -> NoisyScore:
    """The score beside what is likely of its curvature, in coordinates in which that one's noise points no way.

    (Against the noisy curvature, same fits, n = 20 000, an expert's bounds, development tables, `benchmarks/inference.py`: median power 0.018 → 0.052 and 0.129 → 0.185 at ε = 1 and 3, width 4.5 → 4.0 and
    2.5 → 2.2 robust errors, cover 97.8 → 97.2 and 97.3 → 96.6 %.) How far the released coefficients are, and thus whether anything is told, is still judged by the noisy one: the likely one follows a far estimate less.
    """
    scales = np.outer(found.scale, found.scale)
    return replace(found, curvature=likely(found.curvature / scales, found.curvature_noise) * scales)


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Noisy equations `cross = gram · θ` in a subspace of θ, with all that is known of their errors.

    Attributes:
        gram: G̃, (p, p), symmetric, ridge included where a ridge belongs to the question.
        cross: b̃, (p,).
        gram_noise, cross_noise: s and t.
        sampling: covariance of the residual at the true θ by sampling, (p, p).
        basis: orthonormal columns (p, r) of the subspace in which θ lies; the Gram's noise comes in as Eθ.
        scale: (p,); the Gram's noise is S E S with this diagonal S; None for 1.
        inverse: H in place of the pseudo-inverse, (p, p), and
        left: the covariance of what it leaves undone, (p, p).
        allowed: part of `sampling` that bounds what few records may hide, (p, p). It is no law of θ's errors, along which an interval would look for its ends: the Gram's noise times
            what it may have moved is a part of the variance.
        exact_corner: whether the last diagonal entry of the Gram carries no noise.
    """

    gram: Array
    cross: Array
    gram_noise: float
    cross_noise: float
    sampling: Array
    basis: Array
    scale: Array | None = None
    inverse: Array | None = None
    left: Array | None = None
    allowed: Array | None = None
    exact_corner: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Of m linear functions `aᵀθ`: estimates, standard errors and ends, (m,) each; NaN where noise leaves no end. `stretch` is how much of an end is that of a whole move (`reach`), which says nothing of values on the estimate's other side."""

    estimate: Array
    sampling_error: Array
    privacy_error: Array
    low: Array
    high: Array
    stretch: Array | float = 0.0


def reach(found: Intervals, functions: Array, at: Array, chances: dict[int, float]) -> None:
    """The far end of the coefficient of a level that is told to have moved from where it was released, `at`: where a move ends, not a step; and neither end, NaN, where no move makes such a step.

    Where the predictions z of records alike have to move by d a step is `x = (φ'(z + d) − φ'(z))/φ''(z)`: −0.8 where a rate of counts falls to a fifth, d = −1.6, and never below −1. So x stands for
    `d = log(1 + (1 − p)x) − log(1 − px)`, p the chance of a class at z and 0 of counts: `chances`, by the level's column. Told it is where the step is `SEEN` errors long: a far end of what may be none is
    nearer than noise tells apart.
    """
    for row, moved in enumerate(found.estimate - at):
        column = int(np.argmax(np.abs(functions[row])))
        errors = math.hypot(found.sampling_error[row], found.privacy_error[row])
        if column not in chances or np.count_nonzero(functions[row]) > 1 or abs(moved) <= SEEN * errors:
            continue
        end, per, p = (found.low, found.high)[int(moved > 0.0)], float(functions[row, column]), chances[column]
        x = (float(end[row]) - float(at[row])) / per
        left, right = 1.0 + (1.0 - p) * x, 1.0 - p * x
        far = max(abs(x), abs(math.log(left / right))) if min(left, right) > 0.0 else math.nan
        found.stretch[row] = at[row] + math.copysign(per * far, moved) - end[row]  # type: ignore[index]  # of scores an array
        end[row] += found.stretch[row]  # type: ignore[index]
        found.low[row], found.high[row] = np.array([found.low[row], found.high[row]]) + 0.0 * far


class Debiased:
    """The solution θ̃ of noisy equations and the intervals of its linear functions."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.scale: Array = np.ones(equations.cross.size) if equations.scale is None else equations.scale
        basis = equations.basis
        inner = np.linalg.pinv(basis.T @ equations.gram @ basis, hermitian=True)
        self.inverse: Array = basis @ inner @ basis.T if equations.inverse is None else equations.inverse
        self.theta: Array = self.inverse @ equations.cross
        s2, t2, far = equations.gram_noise**2, equations.cross_noise**2, self.scale * self.theta
        scales, allowed = np.outer(self.scale, self.scale), equations.allowed
        self.allowed: Array = np.zeros_like(scales) if allowed is None else self.inverse @ allowed @ self.inverse.T
        self.left: Array = np.zeros_like(scales) if equations.left is None else equations.left
        squares = np.outer(far, far) + scales * (self.allowed + 2.0 * self.left)
        spoiled = 0.5 * s2 * (float(np.trace(squares)) * np.eye(far.size) + squares)
        spoiled[-1, -1] -= equations.exact_corner * s2 * far[-1] ** 2
        self.noise: Array = t2 * np.eye(far.size) + spoiled * scales
        self.covariance: Array = self.inverse @ (self.noise + equations.sampling) @ self.inverse.T + self.left

    def intervals(self, functions: Array, quantile: float, own: float | Array = 0.0) -> Intervals:
        """The intervals of `functions @ θ`, functions (m, p), at ± `quantile` standard errors where noise is small.

        With `own`, variances, of what deviates from them by a normal residual of that variance.
        """
        s2, theta = self.equations.gram_noise**2, self.scale * self.theta
        u = functions @ self.inverse
        sampling, left = forms(u, self.equations.sampling), forms(functions, self.left)
        privacy = forms(u, self.noise) + left
        variance = privacy + sampling
        alone = variance - forms(functions, self.allowed)
        w = (functions @ (self.covariance - self.allowed)) / np.where(alone > 0.0, alone, np.inf)[:, None] * self.scale
        u = u * self.scale
        uu, uw, ww = (u * u).sum(axis=1), (u * w).sum(axis=1), (w * w).sum(axis=1)
        corner = self.equations.exact_corner * w[:, -1] * u[:, -1] ** 2
        slope = s2 * (uu * (w @ theta) + (u @ theta) * uw - 2.0 * corner * theta[-1])
        bend = 0.5 * s2 * (uu * ww + uw**2 - 2.0 * corner * w[:, -1])
        rest = 1.0 - quantile**2 * bend
        ended = (rest > 0.0) & (variance > 0.0) | (variance == 0.0)
        if self.equations.left is not None:
            ended &= (rest > 0.5) & (left < TOLD * (variance - left))
        safe = np.where(ended, rest, 1.0)
        middle = 0.5 * quantile**2 * slope / safe
        half = np.sqrt(np.maximum(middle**2 + quantile**2 * variance / safe, 0.0) + quantile**2 * own)
        estimate = functions @ self.theta
        low, high = (np.where(ended, estimate + middle + sign * half, np.nan) for sign in (-1.0, 1.0))
        return Intervals(estimate, np.sqrt(sampling), np.sqrt(privacy), low, high)


def forms(vectors: Array, matrix: Array) -> Array:
    """`vᵀMv` of each row, 0 where noise makes it negative."""
    return np.asarray(np.maximum(((vectors @ matrix) * vectors).sum(axis=1), 0.0), dtype=np.float64)
