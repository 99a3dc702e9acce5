"""Kumar & Deisenroth (2019), Proposition 2: perturbing the objective is shifting the dual's argument.

    min over w of L(w) + λΩ(w) + ⟨b, w⟩   and   max over s in K = λ|P|(F) of −L*(−s − b)

give the same `w = ∇L*(−s − b) = argmin L(w) + ⟨s + b, w⟩`, and the same value. Proof: Ω is the support function of |P|(F), so the first is
`min_w max_{s∈K} L(w) + ⟨s + b, w⟩`; K is compact and convex and the function convex in w and linear in s, so min and max may
be exchanged (Sion 1958), and the inner minimum is −L*(−s − b). L being strongly convex, the w of any optimal s is the one minimiser. ∎

Each side is solved by a method of its own: the primal by proximal gradient steps with momentum, through the prox of Ω; the dual by
projected gradient steps with momentum on K, each gradient w(s + b) by an exact inner minimisation (a linear system, or Newton's method). The
dual's solution is certified besides by its gap, which the greedy algorithm gives.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

from hullabaloo.geometry import BoundedCardinality, Cardinality, ConcaveCardinality, SubmodularPenalty
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.geometry.submodular.norm import (
    dual_omega,
    greedy_vertex,
    omega,
    project_polyhedron,
    singletons,
)

N, P, RIDGE = 80, 7, 0.05
FUNCTIONS = [
    Cardinality(),
    BoundedCardinality(1),
    BoundedCardinality(3),
    ConcaveCardinality.power(P, 0.6),
    GroupCover([[0, 1, 2], [2, 3], [4], [3, 5, 6]]),
    GroupCover.tree([-1, 0, 0, 1, 1, 2, 2]),
    Intervals(P),
]


def strength_for(function: SetFunction) -> float:
    """|s_j| ≤ λF({j}) ≤ 0.1 on K."""
    return 0.1 / float(singletons(function, P).max())


@dataclass(frozen=True)
class Smooth:
    """`L(w) = (1/n) Σ φ(⟨x_i, w⟩, y_i) + (ν/2)‖w‖²`."""

    X: np.ndarray
    y: np.ndarray
    logistic: bool

    @classmethod
    def drawn(cls, logistic: bool, seed: int) -> "Smooth":
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N, P)) * 1.3 ** -np.arange(P)
        y = X @ rng.normal(size=P) + 0.3 * rng.normal(size=N)
        return cls(X, np.where(y >= 0.0, 1.0, -1.0) if logistic else y, logistic)

    @property
    def top(self) -> float:
        """The largest curvature."""
        return float(np.linalg.norm(self.X, 2)) ** 2 / N * (0.25 if self.logistic else 1.0) + RIDGE

    def value(self, w: np.ndarray) -> float:
        z = self.X @ w
        losses = np.logaddexp(0.0, -self.y * z) if self.logistic else 0.5 * (z - self.y) ** 2
        return float(np.mean(losses) + 0.5 * RIDGE * w @ w)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        z = self.X @ w
        slopes = -self.y * expit(-self.y * z) if self.logistic else z - self.y
        return np.asarray(self.X.T @ slopes / N + RIDGE * w)

    def hessian(self, w: np.ndarray) -> np.ndarray:
        z = self.X @ w
        bends = expit(z) * expit(-z) if self.logistic else np.ones(N)
        return np.asarray(self.X.T @ (bends[:, None] * self.X) / N + RIDGE * np.eye(P))

    def minimiser(self, linear: np.ndarray, start: np.ndarray) -> np.ndarray:
        """`∇L*(−linear)`, to the last digits."""
        w, gradient = start, self.gradient(start) + linear
        for _ in range(50):
            size = float(np.linalg.norm(gradient))
            if size < 1e-14:
                break
            move, length = np.linalg.solve(self.hessian(w), gradient), 1.0
            while length > 1e-6 and float(np.linalg.norm(self.gradient(w - length * move) + linear)) > size:
                length *= 0.5
            w = w - length * move
            gradient = self.gradient(w) + linear
        return w


def accelerated(step: Callable[[np.ndarray], np.ndarray], start: np.ndarray, condition: float) -> np.ndarray:
    """Steps with the momentum of a strongly convex problem, until they no longer move."""
    root = np.sqrt(condition)
    momentum, here, ahead = (root - 1.0) / (root + 1.0), start, start
    for _ in range(2000):
        new = step(ahead)
        ahead, moved, here = new + momentum * (new - here), float(np.abs(new - here).max()), new
        if moved < 1e-13 * float(np.abs(new).max()):
            break
    return here


def primal(smooth: Smooth, function: SetFunction, b: np.ndarray) -> np.ndarray:
    penalty, size = SubmodularPenalty(function, strength_for(function)), 1.0 / smooth.top
    return accelerated(
        lambda w: penalty.prox(w - size * (smooth.gradient(w) + b), size), np.zeros(P), smooth.top / RIDGE
    )


def dual(smooth: Smooth, function: SetFunction, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(s, w)."""
    w, strength = np.zeros(P), strength_for(function)

    def step(s: np.ndarray) -> np.ndarray:
        nonlocal w
        w = smooth.minimiser(s + b, w)
        return project_polyhedron(function, s + RIDGE * w, strength)  # the dual is 1/ν-smooth

    s = accelerated(step, np.zeros(P), smooth.top / RIDGE)
    return s, smooth.minimiser(s + b, w)


@pytest.mark.few(6)
@pytest.mark.parametrize("logistic", [False, True], ids=["squared", "logistic"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_a_perturbed_objective_is_a_shifted_dual(function: SetFunction, logistic: bool) -> None:
    """Tests: 001, Proposition 2."""
    smooth, rng = Smooth.drawn(logistic, 3), np.random.default_rng(4)
    apart, strength = 0.0, strength_for(function)
    for size in (0.0, 0.05, 0.4):
        b = size * rng.normal(size=P)
        w = primal(smooth, function, b)
        s, other = dual(smooth, function, b)
        assert other == pytest.approx(w, abs=1e-9)
        assert dual_omega(function, s).value <= strength * (1.0 + 1e-9)  # s is in K,
        assert float(s @ w) == pytest.approx(strength * omega(function, w), abs=1e-9)  # where ⟨s, w⟩ is largest:
        vertex = strength * greedy_vertex(function, other)
        assert float((vertex - s) @ other) <= 1e-9
        conjugate = float((-s - b) @ other) - smooth.value(other)  # L*(−s − b)
        assert smooth.value(w) + strength * omega(function, w) + float(b @ w) == pytest.approx(-conjugate, abs=1e-9)
        apart = max(apart, float(np.linalg.norm(w - primal(smooth, function, np.zeros(P)))))
    assert apart > 1e-2  # the shift does matter


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_the_shift_is_not_a_matter_of_the_penalty(function: SetFunction) -> None:
    """The same b added to s after the dual was solved unperturbed gives another w: the argument has to be shifted, not the answer.

    Tests: 001, Proposition 2.
    """
    smooth, b = Smooth.drawn(False, 5), 0.3 * np.cos(np.arange(P))
    s, _ = dual(smooth, function, np.zeros(P))
    late = smooth.minimiser(s + b, np.zeros(P))
    assert float(np.linalg.norm(late - primal(smooth, function, b))) > 1e-4
