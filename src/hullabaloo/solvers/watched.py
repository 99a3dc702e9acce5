"""The points of a run: where noisy gradients, partial derivatives and choices were asked for, and noisy minimisers, in the problem's coordinates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.solvers.base import Answers, Array, Problem

ASKED = ("gradient", "vertex", "centred_gradient", "coordinate_gradient", "select")
"""Queries that are asked at an iterate,"""
MINIMISERS = ("output_perturbation", "objective_perturbation")
"""and those whose answer is one."""


class Watched:
    """A curator's answers, with a note of each iterate that they are asked at; whatever view of the records it is asked through.

    **Guarantee.** A note is a function of public facts and of earlier answers, as every question is: post-processing, whoever reads it. The
    answers, and how many are left, are the curator's own.

    Args:
        curator: whose answers they are.
        problem: whose coordinates the notes are in.
        points: what notes are appended to, each a copy, (p, k).
    """

    def __init__(self, curator: Answers, problem: Problem, points: list[Array]) -> None:
        self._curator, self._problem, self._points = curator, problem, points
        self._whole: Callable[[Array], Array] = lambda theta: theta
        self._target: int | slice = slice(None)

    def answer(self, name: str, /, *given: Any, **named: Any) -> Any:
        """The curator's answer; a question that it refuses is no iterate."""
        if name in ASKED and given:
            point = np.array(given[0], dtype=np.float64)
            found = self._curator.answer(name, point.copy(), *given[1:], **named)
        else:
            found = self._curator.answer(name, *given, **named)
            if name not in MINIMISERS:
                return found
            point = np.array(found, dtype=np.float64)
        last = self._points[-1].copy() if self._points else np.zeros((self._problem.dimension, self._problem.targets))
        whole = self._whole(point)
        last[:, self._target] = whole[:, None] if whole.ndim == 1 and self._target == slice(None) else whole
        self._points.append(last)
        return found

    def give_up(self, count: int) -> None:
        """As the curator does."""
        self._curator.give_up(count)

    def of_target(self, target: int) -> "Watched":
        """Of one target alone; the others' coefficients stay where they were last asked at."""
        seen = self._seen(self._curator.of_target(target), self._whole)
        seen._target = target
        return seen

    def restricted(self, columns: npt.ArrayLike) -> "Watched":
        """Of some columns; the others' coefficients are 0."""
        kept = np.asarray(columns, dtype=np.int64)
        kept = np.append(kept, self._problem.dimension - 1) if self._problem.intercept else kept

        def spread(theta: Array) -> Array:
            whole = np.zeros(self._problem.dimension)
            whole[kept] = theta
            return whole

        return self._seen(self._curator.restricted(columns), spread)

    def projected(self, matrix: npt.ArrayLike) -> "Watched":
        """Through a matrix: `⟨Wᵀx, θ⟩ = ⟨x, Wθ⟩`."""
        turn = np.array(matrix, dtype=np.float64)
        return self._seen(self._curator.projected(turn.copy()), lambda theta: turn @ theta)

    def centred(self, centre: npt.ArrayLike) -> "Watched":
        """From a centre: `⟨x − m, θ⟩ = ⟨x, θ⟩ − ⟨m, θ⟩`, which the intercept takes up."""
        middle = np.array(centre, dtype=np.float64)

        def moved(theta: Array) -> Array:
            level = np.zeros_like(theta)
            level[-1] = middle @ theta
            return theta - level

        return self._seen(self._curator.centred(middle.copy()), moved)

    def _seen(self, view: Answers, whole: Callable[[Array], Array]) -> "Watched":
        before = self._whole
        seen = Watched(view, self._problem, self._points)
        seen._whole, seen._target = lambda theta: before(whole(theta)), self._target
        return seen
