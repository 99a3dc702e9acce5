"""The search for coordinates that the greedy solvers share: choose one privately, move it, bring earlier ones up to date.

Every step, clip and noise is public or a function of released numbers: the intercept first; how large |φ'| is, from one histogram; the
second moment of each chosen column, released when it is chosen, which gives its step `1/(L M_j)` and its clip. Columns of whose moment noise says
little take short steps.
"""

import math

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Box
from hullabaloo.geometry.separable import SeparableForm, separable_form
from hullabaloo.solvers.base import Answers, Problem
from hullabaloo.solvers.by_hand import descend
from hullabaloo.solvers.coordinate.greedy_rule import BINS, UNCUT, Search
from hullabaloo.solvers.gradient.histogram import edges, quantile
from hullabaloo.solvers.ordinary import within_reach

Array = npt.NDArray[np.float64]

BEHIND = 0.5
"""Steps of coordinates that were chosen before, in parts of 1/(L M_j)."""
CUT = 0.5
"""Clip of |φ' x_j|, in parts of c √(b √M_j)."""
FAINT = 10.0
"""A step moves predictions by noise at most a tenth of the typical |φ'|."""
LEAST = 5e-4
"""Least second moment that is believed, in parts of b²."""
AFAR = 1e6
"""From so far away every record looks equally long: the histogram of |φ'| ‖u‖ is then that of |φ'|."""


class GreedySearch:
    """State of one search: the point, the coordinates chosen so far, and their clips and steps."""

    __slots__ = (
        "_again",
        "_behind",
        "_clips",
        "_curator",
        "_form",
        "_load",
        "_problem",
        "_search",
        "_squares",
        "_steps",
        "clip",
        "picked",
        "theta",
    )

    def __init__(self, problem: Problem, search: Search, curator: Answers) -> None:
        p = problem.dimension
        self._problem, self._search, self._curator = problem, search, curator
        self._form = form_of(problem)
        self._load = problem.max_weight * problem.records_per_unit  # what one of the declared records may count
        self._clips, self._steps = (
            np.full(p, UNCUT if search.epsilon is None else search.slope),
            np.full(p, 1.0 / (search.smoothness * self._load)),
        )
        self._squares: Array | None = None
        self._behind = 0
        self.clip = UNCUT if search.epsilon is None else search.slope
        self.picked: list[int] = []
        self.theta = np.zeros(p)

    def begin(self) -> None:
        """The intercept, the size of |φ'|, and, where they are bought together, all second moments."""
        search, p = self._search, self._problem.dimension
        if search.opening:
            self._update([p - 1] * search.opening, 1.0)
        if search.measured:
            self.clip = self._typical()
        if search.together:
            self._squares = np.array([self._believed(float(found)) for found in self._curator.answer("second_moments")])
        if self._problem.intercept:
            self._settle(p - 1, self._load if self._squares is None else self._counted(float(self._squares[-1])))

    def advance(self) -> None:
        """One choice, its update, and those of the intercept and of the earlier choices whose turn it is."""
        problem, search = self._problem, self._search
        excluded = np.zeros(problem.dimension, dtype=np.bool_)
        if problem.intercept:
            excluded[-1] = True
        if not search.again:
            excluded[self.picked] = True
        scales = None if self._squares is None else tuple((1.0 / np.sqrt(self._squares)).tolist())
        j = self._curator.answer("select", self.theta, excluded, clip=self.clip, scales=scales, within=self._still())
        if self._squares is None:  # bought for every choice, whether or not it is a new one
            squares = self._curator.of_columns([j]).answer("second_moments")
            self._settle(j, self._believed(float(squares[0])))
            if problem.intercept:
                self._settle(problem.dimension - 1, self._counted(float(squares[-1])))
        else:
            self._settle(j, float(self._squares[j]))
        self._update([j], 1.0)
        self.picked.append(j)
        order = [problem.dimension - 1] * problem.intercept + self._turn()
        if order:
            self._update(order, BEHIND)

    def _still(self) -> tuple[Array, Array]:
        """The subdifferential of ψ at θ: a coordinate whose −∂f lies in it does not move."""
        form, theta = self._form, self.theta
        bent = form.curvatures * theta
        lower, upper = (bent + form.kinks * np.where(theta == 0.0, side, np.sign(theta)) for side in (-1.0, 1.0))
        return np.where(theta <= form.lower, -np.inf, lower), np.where(theta >= form.upper, np.inf, upper)

    def _turn(self) -> list[int]:
        """The next `window` of the coordinates chosen so far, in a circle; all while there are fewer."""
        window, known = self._search.window, self.picked
        if len(known) <= window:
            return list(known)
        first, self._behind = self._behind, (self._behind + window) % len(known)
        return [known[(first + i) % len(known)] for i in range(window)]

    def _update(self, order: list[int], share: float) -> None:
        clips, steps = within_reach(self._clips), within_reach(share * self._steps)
        found = descend(
            self._curator, self.theta, order=np.array(order, dtype=np.int64), clips=clips, steps=steps, form=self._form
        )
        self.theta = found.theta

    def _settle(self, j: int, square: float) -> None:
        """Clip and step of a coordinate with that mean square."""
        search = self._search
        if search.epsilon is None:
            self._clips[j], self._steps[j] = UNCUT, 1.0 / (search.smoothness * square)
            return
        last = j == self._problem.dimension - 1 and self._problem.intercept
        usual = math.sqrt(square / self._load)  # of a cell
        part = 1.0 if last else min(1.0, CUT * math.sqrt(self._problem.norm_linf * usual))
        self._clips[j] = self.clip * part
        floor = FAINT * part * search.partial_noise * usual
        self._steps[j] = 1.0 / (search.smoothness * max(square, floor))

    def _believed(self, square: float) -> float:
        """A released mean square inside what it can be, and not below a third of its noise."""
        most = self._load * self._problem.norm_linf**2
        return min(max(square, 0.3 * self._search.square_noise, LEAST * most), most)

    def _counted(self, square: float) -> float:
        """The constant column's mean square, which is the mean weight: 1 where every record counts once."""
        return self._load if self._load == 1.0 else self._believed(square)

    def _typical(self) -> float:
        """The median of |φ'|: of records seen through one public column, from so far that all of them have one length."""
        far = AFAR * self._problem.norm_linf
        grid = edges(2.0 * self._search.slope, BINS - 1) * far
        if self._problem.intercept:
            centre, lift, point = np.zeros(2), far, np.array([0.0, self.theta[-1]])
        else:
            centre, lift, point = np.array([-far]), 1.0, np.zeros(1)
        shares = self._curator.of_columns([0]).answer("scales", point, centre=centre, lift=lift, edges=grid)
        likely = 0.25 * self._search.slope * far
        return quantile(shares, grid, self._search.share_noise, above=0.5, likely=likely) / far


def form_of(problem: Problem) -> SeparableForm:
    """The penalty and a box by coordinates; other sets are left to the refit."""
    body = problem.feasible if isinstance(problem.constraint, Box) else None
    try:
        return separable_form(problem.regulariser, body, problem.dimension)
    except CapabilityError:
        p = problem.dimension
        return SeparableForm(np.zeros(p), np.zeros(p), np.full(p, -np.inf), np.full(p, np.inf))
