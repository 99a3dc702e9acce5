"""The curvature that a noisy one speaks for, whichever way its eigenvectors point, and what of its noise that leaves.

Noise E that is symmetric Gaussian (variance s² on the diagonal, ½s² off it) points no way, so neither does it tell one: of all that is known of a curvature G before `G̃ = G + E` is seen, let its
eigenvectors be of any direction alike. Then `E[G | G̃]` has the eigenvectors of G̃ (Bun, Allez, Bouchaud & Potters 2016, IEEE Trans. Inf. Theory 62, 7475–7490), and its eigenvalues are, as in Stein's (1975) estimator of a covariance,

    ξ_k = λ_k − s² Σ_l (λ_k − λ_l)/((λ_k − λ_l)² + 2s²),

as eigenvalues repel each other by noise: those of a bulk are drawn together, to one value where noise alone has spread them, and those that stand apart stay. The sum is Hilbert's transform of the density of the λ, smoothed over √2 s, half of a mean distance of their
neighbours where noise makes them. By Tweedie's formula (Robbins 1956; Efron 2011) the covariance of G given G̃ is that of the noise times the derivative of `E[G | G̃]`: in the directions of λ_k and λ_l the variance is a share

    c_kl = (ξ_k − ξ_l)/(λ_k − λ_l)

of the noise's, which is the derivative of a function of a symmetric matrix (Daleckii & Krein 1965); for k = l it is taken in full. So `(G − Ξ)δ` along u has the variance
`½s² Σ_kl c_kl (u_k² δ_l² + u_k δ_k u_l δ_l)`, in place of `½s² (‖u‖² ‖δ‖² + (uᵀδ)²)`.

No prior holds the eigenvectors in fact; coordinates that are whitened have a bulk of eigenvalues near one value and a few apart, for which it is nearly right. Coverage is measured in `benchmarks/inference.py`.
"""

from dataclasses import dataclass

import numpy as np

from hullabaloo.inference.fitted import Array


@dataclass(frozen=True, slots=True, eq=False)
class LikelyCurvature:
    """Ξ and the shares of the noise that are left of it.

    Attributes:
        gram: Ξ, (q, q).
        vectors: its eigenvectors, (q, q).
        shares: c, (q, q).
    """

    gram: Array
    vectors: Array
    shares: Array

    @classmethod
    def of(cls, gram: Array, noise: float) -> "LikelyCurvature":
        """What is likely of a curvature that is released with this noise s; itself and all of the noise where s = 0."""
        values, vectors = np.linalg.eigh(gram)
        apart = values[:, None] - values
        drawn = np.sum(noise**2 * apart / np.maximum(apart**2 + 2.0 * noise**2, 1e-300), axis=1)
        slopes = np.divide(drawn[:, None] - drawn, apart, out=np.zeros_like(apart), where=apart != 0.0)
        return cls((vectors * (values - drawn)) @ vectors.T, vectors, np.clip(1.0 - slopes, 0.0, 1.0))

    def spoiled(self, squares: Array) -> Array:
        """`E (G − Ξ) δδᵀ (G − Ξ)` over ½s², (q, q), of `squares` = E δδᵀ."""
        inside = self.vectors.T @ squares @ self.vectors
        within = np.diag(self.shares @ np.diag(inside)) + self.shares * inside
        return np.asarray(self.vectors @ within @ self.vectors.T, dtype=np.float64)

    def together(self, u: Array, v: Array, w: Array) -> Array:
        """The covariance of `uᵀ(G − Ξ)v` and `uᵀ(G − Ξ)w` over ½s², of each row of u and v; w is one, (q,), or as many."""
        u, v, w = u @ self.vectors, v @ self.vectors, w @ self.vectors
        return np.asarray(
            ((u**2 @ self.shares) * v * w + ((u * v) @ self.shares) * u * w).sum(axis=1), dtype=np.float64
        )
