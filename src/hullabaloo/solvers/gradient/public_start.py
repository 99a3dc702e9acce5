"""How much of a public model the records confirm: a few noisy derivatives along the way to it say how far their loss falls."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from hullabaloo.losses import Loss
from hullabaloo.solvers.base import Answers, Array, Problem
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.histogram import BINS
from hullabaloo.solvers.gradient.location_scale import TINY

EDGES = np.array([0.0, 0.1, 0.2, 0.4, 0.7, 1.0])
"""Parts of the way to a public model, in the middle of each of which one derivative is asked for, after one of the level alone: short parts first, where models
that are far too sure end."""
MIDPOINTS = 0.5 * (EDGES[1:] + EDGES[:-1])
ASKED = 1 + MIDPOINTS.size
SURE, ASSURED = 1.645, 3.0
"""Standard deviations of noise that the evidence has to exceed: a worthless model passes in one fit of twenty, which moves no median. And how many times that the
public rows promise: records that confirm two thirds of it, as rows that the model was not fitted to usually do, pass in nineteen fits of twenty."""
CHECK, MOST_CHECK = 0.02, 0.1
"""Share of μ² up to which contributions are shortened less, and the most of either question: excess risk falls at most as 1/μ², so a share s costs at most s/(1 − s) of what is not kept."""
NEARLY = 0.9
"""The start is the nearest point of the way where the loss has fallen by so much of its greatest fall: too sure a model costs more than too modest a one."""
FAR, FOREIGN = 0.1, 0.27
"""Share of the public records that lie furthest from their middle along the model, and that of private ones beyond the same distance where they spread half as wide
again (of a normal law). Half-way between the two they are of another population, for which no length of contributions shows how wrong the model is."""
LONGEST = 6
"""How often the length of contributions is doubled at most."""
LIMIT = 30.0
"""Predictions beyond it count as it, so that no hostile public table makes a number that is not finite."""
FAINT = 1e-3
"""Standard deviation of a public model's predictions below which it says nothing; least lengths that are reckoned with."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """From the best level b alone (t = 0) to the public slopes w at b + δ (t = 1), δ the public difference of the two.

    Attributes:
        slopes: w, (q,).
        middle, ruler: mean and standard deviation of the public predictions Xw.
        level, shift: b and δ.
        gone: what the public predictions move by, (m,).
        lengths: of the public records: of (what they move by over the ruler, the constant column), (m,).
        far: the distance of Xw from its middle that a share `FAR` exceeds; a little more, as many may be as far.
        rising: derivatives of their losses at the midpoints, (parts, m).
    """

    slopes: Array
    middle: float
    ruler: float
    level: float
    shift: float
    gone: Array
    lengths: Array
    far: float
    rising: Array

    @classmethod
    def of(cls, problem: Problem) -> "Way | None":
        """That of a problem's public table; None where its model says nothing."""
        public, loss, q = problem.public, problem.loss, problem.slopes
        assert public is not None
        assert isinstance(loss, Loss)
        slopes, last, y = public.theta[:q, 0], float(public.theta[q:, 0].sum()), public.Y[:, 0]
        along = public.X[:, :q] @ slopes
        middle = float(along.mean()) if problem.intercept else 0.0
        ruler = float(np.sqrt(np.mean((along - middle) ** 2)))
        if not FAINT < ruler < math.inf:
            return None
        known, (low, high) = 0.0 if public.offset is None else public.offset, loss.intercept_bounds
        level = shift = 0.0
        if problem.intercept:
            best = minimize_scalar(lambda b: np.mean(loss.value(b + known, y)), bounds=(low, high), method="bounded")
            level = float(best.x)
            shift = min(max(last + middle, low), high) - level
        gone = along - middle + shift
        at = [np.clip(t * gone + level + known, -LIMIT, LIMIT) for t in MIDPOINTS]
        rising = np.array([loss.derivative(z, y) for z in at])
        lengths, far = np.hypot(gone / ruler, problem.intercept), float(np.quantile(np.abs(along - middle), 1.0 - FAR))
        return cls(slopes, middle, ruler, level, shift, gone, lengths, max(1.001 * far, FAINT), rising)

    def promised(self, clip: float) -> Array:
        """How fast the loss of the public records falls in each part of the way, contributions shortened to `clip`."""
        short = np.minimum(1.0, clip / np.maximum(np.abs(self.rising) * self.lengths, FAINT)) * self.rising
        return np.asarray(-(short @ self.gone) / len(self.gone))

    def threshold(self, noise: float, clip: float) -> float:
        """`SURE` standard deviations of the evidence `Σ a_k p_k/‖p‖` for rates of falling a, p those promised; s is all answers' together."""
        return SURE * noise * clip * self.ruler * math.sqrt(ASKED)

    def check(self, noise: float, share_noise: float, steep: float, *, residual: bool) -> tuple[float, float, float]:
        """Shares of μ² that derivatives and the histogram take, and the length c that contributions are shortened to; 0 where noise hides what would be seen.

        What falls is another convex loss, whose slopes end at c: half of a usual length, or a longer one for which asking takes no more than `CHECK`, as
        a short one does not see that a model is too sure of few records.

        Args:
            noise, share_noise: s of one answer, and that of a share of a histogram, that all of the budget is spent on.
            steep: the greatest derivative of the loss that rules go by.
            residual: whether derivatives are residuals.
        """
        clip = 0.5 * steep * float(np.sqrt(np.mean(self.lengths**2)))
        if residual:
            clip = max(float(np.median(np.abs(self.rising[-1]) * self.lengths)), FAINT)

        def share(clip: float) -> float:
            promised = float(np.linalg.norm(self.promised(clip)))
            return (ASSURED * self.threshold(noise, clip) / promised) ** 2 if promised > 0.0 else math.inf

        for _ in range(LONGEST):
            clip *= 2.0 if share(2.0 * clip) <= CHECK else 1.0
        derivatives, spread = share(clip), (2.0 * SURE * share_noise / (FOREIGN - FAR)) ** 2
        return (derivatives, spread, clip) if max(derivatives, spread) <= MOST_CHECK else (0.0, 0.0, 0.0)


def confirmed(
    problem: Problem, curator: Answers, view: Coordinates, noise: float, clip: float, smoothness: float
) -> tuple[float, float] | None:
    """How much of the public slopes to start from, t, and the level beside them; None where the records do not show that any of it gains.

    Records have to lie where public ones do. The derivative of their loss along the way is asked for in the middle of each part, the level following. Its sum
    weighted by what public rows promise, the most powerful linear test, has to exceed noise. t is where the loss has fallen by `NEARLY` all that it falls.

    Args:
        problem, curator: as in a solver's run; the curator is asked a histogram and `ASKED` centred gradients of rows of one column.
        view: whose centre is m.
        noise, clip: s of all answers together, over the mean weight, and the length that contributions are shortened to.
        smoothness: the greatest curvature of the loss that rules go by.
    """
    way, q, (low, high) = Way.of(problem), problem.slopes, problem.loss.intercept_bounds
    if way is None:  # of another target than the one that was planned for
        return None
    level, seen, matrix = way.level, [], np.zeros((problem.dimension, 1 + problem.intercept))
    matrix[:q, 0] = way.slopes / way.ruler
    if problem.intercept:
        matrix[-1] = (way.shift - way.middle) / way.ruler, 1.0
    records, nowhere, weight = curator.projected(matrix), np.zeros(matrix.shape[1]), TINY if problem.intercept else 1.0
    middle, grid = nowhere.copy(), way.far / way.ruler * np.arange(1, BINS) / (BINS - 1)
    middle[0] = way.shift / way.ruler
    shares = records.answer("norm_histogram", None, centre=middle, intercept_weight=weight, edges=grid)
    if not float(shares[-1]) / view.counted < 0.5 * (FAR + FOREIGN):
        return None
    for t in (0.0, *MIDPOINTS):
        point = np.array([t * way.ruler, level][: nowhere.size])
        answer = records.answer("centred_gradient", point, centre=nowhere, intercept_weight=1.0, clip_norm=clip)
        if problem.intercept:
            level = min(max(level - float(answer[-1]) / view.mean_weight / smoothness, low), high)
        seen.append((-float(answer[0]) * way.ruler / view.mean_weight, level))
    rates, levels = np.array(seen[1:]).T
    promised, fallen = way.promised(clip), np.cumsum(rates * np.diff(EDGES))
    if not rates @ promised > way.threshold(noise, clip) * np.linalg.norm(promised) or fallen.max() <= 0.0:
        return None
    part = int(np.argmax(fallen >= NEARLY * fallen.max()))
    t, level = float(EDGES[part + 1]), float(levels[part])
    return t, level + t * (way.shift - way.middle + float(view.centre @ way.slopes)) if problem.intercept else 0.0
