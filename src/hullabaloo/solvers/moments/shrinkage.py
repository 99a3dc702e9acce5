"""How much ridge noisy moments need: the least upper confidence bound of the risk, from the known noise alone.

In coordinates where ‖x‖ ≤ 1 the release is `G̃ = G + E`, `b̃ = b + e`: E symmetric Gaussian (variance s² on the diagonal,
s²/2 off it), `e ~ N(0, t² I)`. The candidates are `θ = K b̃`, `K = (G̃ + λD)⁻¹`, for all λ and two D: the identity, and the
identity but for a 0 at the intercept, which leaves the mean alone that a model has to beat. (The first is better where the
mean is near the middle of its range, the second everywhere else. By name there is a third, `I − qqᵀ`, q the first eigenvector
of G̃, of eigenvalue γ: where columns stand off their centres `qᵀx` is nearly the same in all records, and a prediction `(qᵀb̃/γ) qᵀx` is
nearly a constant, with noise of variance t²/γ where that of the mean alone has t²/c, c ≤ γ the intercept's own entry.) The excess risk over predicting zero is
`f = ½θᵀGθ − bᵀθ`. Stein's lemma, applied to E and to e, takes the optimism of the noisy moments out of it exactly:

    f̂(λ) = ½[θᵀG̃θ + s²(tr K · ‖θ‖² + θᵀKθ)] − [b̃ᵀθ − t² tr K],      E f̂ = E f  for every fixed λ,

as `Σ_a B_a K B_a = ½(tr K · I + K)` over an orthonormal basis B_a of the symmetric matrices. (q turns towards noise that raises γ,
which f̂ takes for risk: it is too high, if anything.) By the delta method
`sd² = t²‖θ + v‖² + s²‖sym((½θ + v)θᵀ)‖_F²` with `v = λKDθ`. D and λ minimise `f̂ + sd`; when even that minimum is not
below zero, nothing that noise leaves is worth predicting and the coefficients are zero.

Post-processing of a private release: no privacy is spent here. Stein 1981 for the lemma; the rule is ours.
"""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers.base import Array
from hullabaloo.solvers.constant import USUAL_LEVEL

CAUTION, LESS = 1.0, 0.5
"""How many of its own standard deviations the estimated risk is raised by, and of its difference to that of the mean alone, in which less is noise that all candidates share.
The second was chosen on the twelve regression tables of `benchmarks/floors.py` (of 0.25, 0.5, 0.7, 1, 1.5 and 2; ε = 0.1 and 0.5, both relations). On ten others (those of `solvers/floored.py`; 2 000 and
8 000 records, ε = 0.1, 0.3 and 1, medians of 5 draws) 31 of 120 lines lose more than 1.02 times what the private constant does, where 40 did by comparison with 0; the mean fell from 1.18 to 0.93, and the 42 useful models lost 0.006 less (one 0.25 more). That the mean is
never left out altogether made 10 lines of 13 on floors' tables (ε = 0.1, mean 1.059 -> 1.027), and nothing worse by more than 0.02; on the ten others 33 lines are as many, and their mean falls by 0.009.
Useful models stay as they are. With q spared 12 lines of 24 on floors' tables, where 16 did (20 new draws each; ε = 0.1, mean 1.015 -> 1.002; ε = 0.5, 0.827 -> 0.778), and 28 of 120 on the ten others, where 32
did (12 new draws; mean 0.925 -> 0.900); the 58 useful models lose 0.029 less. Nothing was chosen for it."""
EDGE = 0.25
"""A noise matrix has spectral radius s√(2p); eigenvalues are lifted to this share of s√p, which keeps K stable."""
COUNT_DOUBT = 0.2
"""Prior standard deviation of (sum of weights)/(declared records), over the largest weight."""
SLOPELESS = 1e6
"""A ridge that leaves nothing of a slope and all of the intercept: the constant model."""
INFINITE = 1e8
"""A ridge that, beside rows of norm at most 1, leaves nothing of a coefficient."""


@dataclass(frozen=True, slots=True, eq=False)
class Normalised:
    """One target's noisy moments for rows with ‖x‖ ≤ 1, the Gram's intercept corner mended.

    Attributes:
        gram, cross: G̃ of shape (p, p), b̃ of shape (p,).
        gram_noise, cross_noise: s and t.
        intercept: whether the last column is the constant.
        corner: how much of the noise of that column's own Gram entry is left in it, in [0, 1].
        heard: what share of the variance of the noise is left in that column's own entry of `cross`.
    """

    gram: Array
    cross: Array
    gram_noise: float
    cross_noise: float
    intercept: bool
    corner: float
    heard: float = 1.0

    @property
    def noiseless(self) -> bool:
        """Whether no noise was drawn."""
        return self.gram_noise == 0.0 and self.cross_noise == 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """What is added to the normalised Gram's diagonal, but for the intercept's entry.

    Attributes:
        strength: λ; 0 without noise, `INFINITE` where nothing can be learned.
        free_intercept: whether the intercept's own entry is left alone.
        floor: the least λ that makes the Gram safely positive definite.
        risk: f̂(λ), the estimated ½ mean squared error minus that of predicting zero; NaN without noise.
        bound: f̂ + CAUTION · sd, at most 0; NaN without noise. With `above_mean` f̂ + LESS · sd of the difference to the mean alone, whose own is f̂.
        intercept: what is added to the entry of a free intercept.
        spared: the unit vector along which nothing is added, `λ(I − qqᵀ)` otherwise; None where there is none.
    """

    strength: float
    free_intercept: bool
    floor: float
    risk: float
    bound: float
    intercept: float = 0.0
    spared: Array | None = None


def normalised(moments: NoisyMoments, target: int, intercept: bool, heaviest: float = 1.0) -> Normalised:
    """Divide by the bounds of ‖x‖ and of weights, and weigh what is known about the intercept's column against its noisy sum.

    That column is 1 in every record, so its own entry is (sum of weights)/records, over the largest weight: one over this, as weights are 1 on average, up to what the declared number
    and lighter records miss, and exactly 1 where the records are counted. Prior and noisy entry are averaged by precision. A sum of weights is
    positive: where far fewer records came than were declared, what noise left of it is raised to its own deviation.
    """
    scale = moments.scale_x
    gram, noise, corner = moments.gram / scale**2 / heaviest, moments.gram_noise / scale**2 / heaviest, 1.0
    if intercept and noise > 0.0:
        doubt, own = 0.0 if moments.counted else COUNT_DOUBT / scale**2, math.sqrt(moments.corner)
        corner = doubt**2 / (doubt**2 + (own * noise) ** 2)
        gram[-1, -1] = corner * gram[-1, -1] + (1.0 - corner) / scale**2 / heaviest
        corner *= own
        gram[-1, -1] = max(gram[-1, -1], corner * noise)
    noises = noise, moments.cross_noise / scale / heaviest
    return Normalised(gram, moments.cross[:, target] / scale / heaviest, *noises, intercept, corner, moments.level)


def choose_ridge(facts: Normalised, *, above_mean: bool = False) -> Ridge:
    """The ridge with the least upper confidence bound; none at all where there is no noise.

    With `above_mean` it is never zero: the mean alone, of level m and with noise of variance `N = (heard t² + corner²s²m²)/c` in predictions, is drawn to the middle of the range by `κ = V/(V + N)`,
    V the square of the level less N, or of a usual level where that is more; and what has slopes, or goes along q, has to be better than that by `LESS` standard deviations of the difference, as the noise in
    the mean is in both. `f̂ = ½κ²m²c − κm²c + κ³corner²s²m²/c + κ heard t²/c`, by the same lemma.
    """
    if facts.noiseless:
        return Ridge(0.0, True, 0.0, math.nan, math.nan)
    chosen, level = Ridge(INFINITE, False, 0.0, 0.0, 0.0), 0.0
    kinds = [(True, False)] * facts.intercept + [(False, True)] * (facts.intercept and above_mean) + [(False, False)]
    for free, spare in kinds:
        path = RidgePath(facts, free_intercept=free, spare=spare)
        grid = path.floor + np.concatenate([[0.0], np.geomspace(1e-4 * path.edge, 1e2, 100), [SLOPELESS]])
        if free and above_mean:
            level, c = path.middle / path.corner, path.corner
            heard, size = facts.heard * facts.cross_noise**2 / c, min(level**2 * c, 1.0)
            own = (facts.corner * facts.gram_noise / c) ** 2 * size
            known = max(size - heard - own, USUAL_LEVEL**2)
            kept = known / (known + heard + own)
            mean = kept * (heard + kept**2 * own - (1.0 - 0.5 * kept) * level**2 * c)
            chosen = Ridge(float(grid[-1]), True, path.floor, mean, mean, c * (1.0 / kept - 1.0))
            level *= kept
        risk, spread = path.risk(grid, level)
        bound = risk + (LESS if above_mean else CAUTION) * spread
        best = int(np.argmin(bound))
        if bound[best] < chosen.bound:
            told = float(risk[best]), float(bound[best])
            chosen = Ridge(float(grid[best]), free, path.floor, *told, spared=path.spared)
    return chosen


class RidgePath:
    """θ, f̂ and sd along λ, from one eigendecomposition; with `spare` the first eigenvector takes no ridge.

    With a free intercept, `G̃ = [[A, g], [gᵀ, c]]` and the intercept last, K is known from the Schur complement `S = A − ggᵀ/c = QΛQᵀ` and
    `M = (S + λI)⁻¹`: `K = [[M, −Mg/c], [−gᵀM/c, 1/c + gᵀMg/c²]]`. Otherwise `S = G̃` and `K = M`.
    """

    def __init__(self, facts: Normalised, *, free_intercept: bool, spare: bool = False) -> None:
        self.facts, self.free = facts, free_intercept
        columns = len(facts.cross) - free_intercept
        gram, cross = facts.gram[:columns, :columns], facts.cross[:columns]
        g, self.corner, self.middle = np.zeros(columns), math.inf, 0.0
        if free_intercept:
            self.corner, self.middle = float(facts.gram[-1, -1]) or 1.0, float(facts.cross[-1])
            g = facts.gram[:columns, -1]
            gram, cross = gram - np.outer(g, g) / self.corner, cross - g * (self.middle / self.corner)
        self.values, self.vectors = np.linalg.eigh(gram)
        self.cross, self.mean = self.vectors.T @ cross, self.vectors.T @ g  # in the eigenbasis of S
        self.spared = self.vectors[:, -1] if spare else None
        self.ridged = np.ones(columns)
        self.ridged[columns - spare :] = 0.0
        self.edge = EDGE * facts.gram_noise * math.sqrt(len(facts.cross))
        self.floor = max(0.0, self.edge - float(self.values[0])) if columns else 0.0

    def risk(self, grid: Array, level: float = 0.0) -> tuple[Array, Array]:
        """f̂ and sd for every λ of `grid`, each above minus the smallest eigenvalue; sd is that of the difference to the constant `level`, by the same formula with `v = 0`."""
        facts, g, c = self.facts, self.mean, self.corner
        s2, t2 = facts.gram_noise**2, facts.cross_noise**2
        ridge = grid[:, None] * self.ridged
        kernel = 1.0 / (self.values + ridge)  # eigenvalues of M
        theta = kernel * self.cross
        slide = ridge * kernel * theta
        theta0, slide0 = (self.middle - theta @ g) / c, -(slide @ g) / c  # 0 where the intercept is not free
        last = 1.0 / c + kernel @ g**2 / c**2  # the intercept's own entry of K
        squares = (theta**2).sum(axis=1)
        size, trace = squares + theta0**2, kernel.sum(axis=1) + last
        along = (kernel * theta**2).sum(axis=1) - 2.0 * theta0 / c * ((kernel * theta) @ g) + theta0**2 * last  # θᵀKθ
        gain = theta @ (self.cross + g * (self.middle / c)) + theta0 * self.middle
        optimism = 0.5 * s2 * (trace * size + along)
        u, u0 = 0.5 * theta + slide, 0.5 * theta0 + slide0
        frobenius = 0.5 * (((u**2).sum(axis=1) + u0**2) * size + ((u * theta).sum(axis=1) + u0 * theta0) ** 2)
        far = ((theta + slide) ** 2).sum(axis=1) + (theta0 + slide0) ** 2
        if facts.intercept:  # its own Gram entry carries only the share `corner` of its noise
            row = np.zeros(0) if self.free else self.vectors[-1]
            own, moved, entry = (theta0, u0, last) if self.free else (theta @ row, u @ row, kernel @ row**2)
            optimism -= (1.0 - facts.corner**2) * s2 * own**2 * entry
            both, half = moved * own, 0.5 * level**2  # the same of the constant, all of whose other entries are 0
            frobenius -= (1.0 - facts.corner**2) * both**2 + facts.corner**2 * half * (2.0 * both - half)
            there = moved + 0.5 * own - level  # θ + v at the intercept, beside the constant's
            far += (facts.heard - 1.0) * there**2 + level**2 - 2.0 * level * (moved + 0.5 * own)
            trace = trace - (1.0 - facts.heard) * entry
        fitted = gain - grid * (squares - theta**2 @ (1.0 - self.ridged))  # θᵀG̃θ = θᵀ(b̃ − λDθ)
        risk = 0.5 * fitted - gain + optimism + t2 * trace
        return risk, np.sqrt(t2 * np.maximum(far, 0.0) + s2 * np.maximum(frobenius, 0.0))
