"""Lower bounds of a privacy loss from the errors of an attack: what runs of a mechanism prove about it.

An attack guesses which of two neighbouring tables a release was made of. Its rates of false alarms (the first table taken
for the second) and of misses bound every claim from below, whatever the attack is, provided that its threshold was fixed before the runs
that it is judged by. Sources: Dong, Roth and Su (2022); Kairouz, Oh and Viswanath (2015); Nasr, Hayes, Steinke, Balle, Tramèr,
Jagielski, Carlini and Terzis (2023), who audit by the Gaussian trade-off.
"""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.privacy import gdp_epsilon
from hullabaloo.privacy.answers import Array


def upper(events: int, trials: int, alarm: float) -> float:
    """The largest rate that `events` of `trials` leave open, at confidence `1 − alarm`.

    **Guarantee.** Claim: of independent trials of rates p_1, …, p_N the true mean rate exceeds the result with probability at most
    `alarm`, for equal rates (Clopper and Pearson 1934), and for others where the result is below 1/2 and `alarm < 1/4`. Proof of the latter: at
    the true mean p no more than c events have no larger a probability than the binomial's as long as `c ≤ Np − 1`
    (Hoeffding 1956, Theorem 4), and the bound of c events exceeds `(c + 1)/N`.
    """
    from scipy.special import betaincinv

    return 1.0 if events >= trials else float(betaincinv(events + 1, trials - events, 1.0 - alarm))


@dataclass(frozen=True, slots=True)
class Errors:
    """How often an attack with a fixed threshold was wrong.

    Attributes:
        alarms: runs on the first table that were taken for the second.
        misses: runs on the second table that were taken for the first.
        first: runs on the first table.
        second: runs on the second table.
    """

    alarms: int
    misses: int
    first: int
    second: int

    @classmethod
    def of(cls, first: Array, second: Array, threshold: float = 0.0) -> "Errors":
        """Those of "the second table, where the score exceeds the threshold", from the scores of both tables' runs."""
        return cls(int(np.sum(first > threshold)), int(np.sum(~(second > threshold))), len(first), len(second))

    def mu(self, alarm: float) -> float:
        """A lower bound of μ at confidence `1 − alarm`: `−2 Φ⁻¹(err)`, err the upper bound of the error under a fair coin.

        **Guarantee.** Precondition: as many runs of either table (else the two rates are bounded apart, as by `epsilon`). Claim: a μ-GDP mechanism
        has a larger bound with probability at most `alarm`. Proof: the trade-off `G_μ(a) = Φ(Φ⁻¹(1 − a) − μ)` gives
        `a + b ≥ 2 Φ(−μ/2)` for every test (Dong, Roth and Su 2022, Def. 2.6: the sum is least at `a = b`), so the mean error of
        independent runs, half of them on either table, is at least `Φ(−μ/2)`; then `upper`.
        """
        from scipy.special import ndtri

        if self.first != self.second:
            false, missed = (upper(*pair, alarm / 2.0) for pair in self._pairs())
            return max(0.0, float(-ndtri(min(false, 0.5)) - ndtri(missed))) if missed < 1.0 else 0.0
        error = upper(self.alarms + self.misses, self.first + self.second, alarm)
        return max(0.0, -2.0 * float(ndtri(min(error, 0.5))))

    def epsilon(self, delta: float, alarm: float) -> float:
        """A lower bound of ε at δ and confidence `1 − alarm`, for mechanisms of any law.

        **Guarantee.** Claim: an (ε, δ)-DP mechanism has a larger bound with probability at most `alarm`. Proof: with a and b the two error
        rates, `1 − b ≤ e^ε a + δ`, `1 − a ≤ e^ε b + δ` (Kairouz, Oh and Viswanath 2015, Theorem 2.1); each rate is below its Clopper-Pearson bound
        but with probability `alarm/2`, and both inequalities weaken as the rates grow.
        """
        false, missed = (upper(*pair, alarm / 2.0) for pair in self._pairs())
        sure = [(1.0 - missed - delta, false), (1.0 - false - delta, missed)]
        return max(0.0, *(math.log(hit / wrong) if hit > 0.0 else 0.0 for hit, wrong in sure))

    def _pairs(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (self.alarms, self.first), (self.misses, self.second)


def epsilon_at(mu: float, delta: float) -> float:
    """ε at δ of a μ-GDP mechanism; 0 for what nothing was proved of."""
    return gdp_epsilon(mu, delta) if mu > 0.0 else 0.0


def best_threshold(first: Array, second: Array, delta: float, alarm: float) -> float:
    """The threshold with the largest bound of ε on these scores; the bound counts on *other* runs only."""
    pooled = np.unique(np.concatenate([first, second]))
    tried = pooled[np.linspace(0, len(pooled) - 1, min(len(pooled), 64)).astype(int)]
    bounds = [Errors.of(first, second, float(one)).epsilon(delta, alarm) for one in tried]
    return float(tried[int(np.argmax(bounds))])


def direction(first: Array, second: Array) -> Array:
    """The linear score that tells two samples of vectors, (m, p) each, apart best (Fisher 1936), from their means and covariance."""
    apart = second.mean(axis=0) - first.mean(axis=0)
    centred = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    covariance = centred.T @ centred / max(1, len(centred) - 2)
    floor = 1e-9 * float(np.trace(covariance)) / len(apart)
    return np.linalg.solve(covariance + max(floor, 1e-300) * np.eye(len(apart)), apart)
