"""Definition 5 of Kasiviswanathan, Nissim and Jin (2017): a released function that is near the gradient at every point at once."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy.answers import Array, NoisyMoments


@dataclass(frozen=True, slots=True)
class PrivateGradient:
    """`g_t(θ) = Gθ − c`, near the gradient of `f_t(θ) = (1/2t) Σ_{i≤t} w_i (⟨x_i, θ⟩ − y_i)²` for all θ, on the unit domain.

    G and c are the released means of `w x xᵀ` and `w x yᵀ`. Whatever is made of g_t, at any number of points, is post-processing of that one
    release. It is so for every loss whose gradient is linear in θ (Remark 4.4): squares with weights, of several targets, with a ridge.

    **Guarantee.** *Claim*: `‖g_t(θ) − ∇f_t(θ)‖ ≤ α` for every θ of norm at most R at once, except with probability β, α = `error(R, β)`.
    *Proof*: the noise of G is symmetric with standard deviations s on and s/√2 off the diagonal, so its largest eigenvalue has mean at most
    s√(2p) (Sudakov and Fernique) and is s-Lipschitz in the standard normal coordinates of the Frobenius isometry; the noise of c has length
    of mean at most s′√p and is s′-Lipschitz. With `u = √(2 ln(3/β))` each of the three events (two ends of the spectrum, one length) that
    exceeds its mean by u standard deviations has probability at most β/3 (Tsirelson, Ibragimov and Sudakov).
    Source: 003, Definition 5; 003, Lemma 4.1; 003, Remark 4.4.

    Attributes:
        moments: the release.

    Example:
        >>> import hullabaloo as hb
        >>> domain = hb.Domain(features={"a": (-1, 1)}, target=(-1, 1), indicators=False)
        >>> X = [[i % 3 - 1.0] for i in range(2_000)]
        >>> stream = hb.streaming.IncrementalRegression(budget=hb.Budget(1.0, 1e-8), domain=domain, horizon=2_000, every=1_000)
        >>> stream = stream.fit(X, [0.5 * x for (x,) in X])
        >>> g = stream.model_at().gradient
        >>> g([0.0, 0.0]).shape, g.error(1.0) > 0.0
        ((2, 1), True)
    """

    moments: NoisyMoments

    def __call__(self, theta: npt.ArrayLike) -> Array:
        """Gθ − c at θ of shape (p,), for every target, or (p, k); the intercept last: (p, k)."""
        point = np.asarray(theta, dtype=np.float64)
        p, k = self.moments.cross.shape
        if point.shape not in ((p,), (p, k)) or not np.isfinite(point).all():
            raise InvalidParameter(
                f"The gradient was asked for at a point of shape {point.shape}. Pass {p} finite numbers, the intercept last, or shape {(p, k)}."
            )
        return np.asarray(self.moments.gram @ (point if point.ndim == 2 else point[:, None]) - self.moments.cross)

    def error(self, radius: float, failure: float = 0.01) -> float:
        """α of one target, for ‖θ‖₂ ≤ radius, exceeded with probability at most `failure`."""
        if not (0.0 <= radius < math.inf and 0.0 < failure < 1.0):
            raise InvalidParameter(
                f"The error was asked for with radius={radius!r} and failure={failure!r}. Pass a radius of 0 or more and a probability between 0 and 1."
            )
        root, u = math.sqrt(self.moments.gram.shape[0]), math.sqrt(2.0 * math.log(3.0 / failure))
        return radius * self.moments.gram_noise * (math.sqrt(2.0) * root + u) + self.moments.cross_noise * (root + u)
