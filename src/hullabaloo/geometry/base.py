"""What a convex set can do: one abstract class for what every set has, one for each capability that only some have.

Abstract or final: a class here holds no method body that a set could override, and solvers ask for a capability
by its class (`require`), never by trying an attribute. Sets are pure mathematics on R^p; p comes from
the argument, so the same `L1Ball(2.0)` serves every number of coordinates. Matrices (nuclear ball) are passed
flattened.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.geometry.checks import Vector, keep_number
from hullabaloo.geometry.width import Width


class ConvexSet(ABC):
    """A nonempty closed bounded convex set C of R^p."""

    __slots__ = ()

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """The p the set is made for, or None when it serves every p."""

    @abstractmethod
    def support(self, g: Vector) -> float:
        """Support function h_C(g) = max over s in C of ⟨s, g⟩."""

    @abstractmethod
    def vertex(self, g: Vector) -> Vector:
        """An extreme point of C that minimises ⟨s, g⟩ (linear minimisation oracle); for g = 0 a fixed one."""

    @abstractmethod
    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """Whether θ is in C, up to `tolerance` relative to the size of C."""

    @abstractmethod
    def max_norm(self, q: float, p: int) -> float:
        """max over C of ‖θ‖_q, attained, for q in {1, 2, inf}.

        Source: 003, Definition 2.
        """

    @abstractmethod
    def gaussian_width(self, p: int) -> Width:
        """w(C) = E h_C(g) for g standard normal in R^p.

        Source: 000, Section 1.2, Gaussian width; 002, Section 2.2, Gaussian width; 003, Definition 3.
        """

    @abstractmethod
    def start(self, p: int) -> Vector:
        """The point of C nearest to zero, argmin over C of ½‖θ‖²."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `set_from_dict` makes an equal set; under "kind" its name."""


class HasVertices(ABC):
    """The convex hull of finitely many points, few enough to score each of them.

    Source: 000, Fact 2.3; 002, Fact 5.3.
    """

    __slots__ = ()

    @abstractmethod
    def vertex_count(self, p: int) -> int:
        """How many vertices the set has in R^p."""

    @abstractmethod
    def vertex_at(self, index: int, p: int) -> Vector:
        """The vertex of that number, 0 ≤ index < vertex_count(p)."""

    @abstractmethod
    def vertex_scores(self, g: Vector) -> Vector:
        """⟨s, g⟩ for every vertex s, in the order of `vertex_at`."""


class Projectable(ABC):
    """Euclidean projection onto the set is cheap."""

    __slots__ = ()

    @abstractmethod
    def project(self, theta: Vector) -> Vector:
        """The point of the set nearest to θ, argmin over C of ½‖u − θ‖²: a new array."""


class HasFaces(ABC):
    """A polyhedron that names the face a point lies on, so that a quadratic can be minimised exactly on it."""

    __slots__ = ()

    @abstractmethod
    def face(self, theta: Vector) -> "Face":
        """The smallest face of the set that holds θ, θ being an output of `project`."""


class HasGauge(ABC):
    """The gauge of the set is cheap.

    Source: 001, Section 2, gauge; 002, Section 2.2, Minkowski norm; 003, Definition 6.
    """

    __slots__ = ()

    @abstractmethod
    def gauge(self, theta: Vector) -> float:
        """‖θ‖_C = min{r ≥ 0 : θ ∈ rC}, infinity when no multiple of C holds θ."""


class NormBall(Written, ConvexSet, Projectable, HasGauge):
    """The ball {‖θ‖ ≤ radius} of a norm; radius > 0 and finite, else `InvalidParameter`."""

    __slots__ = ()
    radius: float

    def __post_init__(self) -> None:
        keep_number(self, "radius")

    @abstractmethod
    def norm(self, theta: Vector) -> float:
        """‖θ‖."""

    @final
    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """‖θ‖ ≤ radius (1 + tolerance)."""
        return self.norm(theta) <= self.radius * (1.0 + tolerance)

    @final
    def gauge(self, theta: Vector) -> float:
        """‖θ‖/radius."""
        return self.norm(theta) / self.radius

    @final
    def start(self, p: int) -> Vector:
        """Zero."""
        self.max_norm(math.inf, p)  # refuses a p that the ball is not made for
        return np.zeros(p)


class HasMirrorMap(ABC):
    """A potential fitted to the shape of the set is known."""

    __slots__ = ()

    @abstractmethod
    def mirror_map(self, p: int) -> "MirrorMap":
        """The potential on C in R^p with its Bregman step."""


@dataclass(frozen=True, slots=True)
class Face:
    """A face around a point: coordinates that may move, and at most one direction their sum must not leave.

    `free` (p,) booleans; `normal` (p,) or None: moves δ obey ⟨normal, δ⟩ = 0 and δ_j = 0 where `free` is false.
    """

    free: Any
    normal: Vector | None


class MirrorMap(ABC):
    """A potential Ψ on a set C, 1-strongly convex over C in a norm of its own.

    Mirror descent of g_t with step η goes state ← step(state, η g_t) from `start()`, and θ_t = point(state); `range`,
    `unit_width`, `unit_radius` and `dual_bound` are what its risk bound needs (Talwar, Thakurta, Zhang 2014,
    Algorithm 1). For most maps the state is θ itself. A map over weights of vertices keeps the weights: its potential
    lives there, 1-strongly convex in l1 of the weights, which is never below the norm of the points.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def range(self) -> float:
        """R² = max over C of Ψ − min over C of Ψ."""

    @property
    @abstractmethod
    def unit_width(self) -> Width:
        """Gaussian width of the unit ball Q of the norm: E of the dual norm of a standard normal vector."""

    @property
    @abstractmethod
    def unit_radius(self) -> float:
        """‖Q‖₂, the largest Euclidean norm in the unit ball Q of the norm."""

    @abstractmethod
    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """A bound of the dual norm ‖x‖_* = max of ⟨x, v⟩ over ‖v‖ ≤ 1 for every row x with these norms; for matrices, of x ⊗ v with ‖v‖₂ ≤ 1.

        Source: 002, Fact 2.2.
        """

    @abstractmethod
    def start(self) -> Vector:
        """The state of the minimiser of Ψ over C, the only start for which `range` bounds the distance to go."""

    @abstractmethod
    def point(self, state: Vector) -> Vector:
        """The θ in C that a state stands for; linear in the state."""

    @abstractmethod
    def value(self, state: Vector) -> float:
        """Ψ of a state."""

    @abstractmethod
    def step(self, state: Vector, g: Vector) -> Vector:
        """The minimiser over states u of ⟨g, point(u)⟩ + B(u, state), B(u, s) = Ψ(u) − Ψ(s) − ⟨∇Ψ(s), u − s⟩.

        Source: 002, Section 2.2, Bregman divergence.
        """


class HasComposite(MirrorMap):
    """A map that can step with a multiple of its own potential beside g.

    `step(eased(state, 1 + c), g/(1 + c))` is the minimiser over u of ⟨g, point(u)⟩ + cΨ(u) + B(u, state), which is
    `(1 + c)[Ψ(u) − ⟨∇Ψ(state)/(1 + c), u⟩ + ⟨g/(1 + c), point(u)⟩]` up to a constant.
    """

    __slots__ = ()

    @abstractmethod
    def eased(self, state: Vector, factor: float) -> Vector:
        """Where ∇Ψ is ∇Ψ(state)/factor, factor ≥ 1, up to what is constant over the set; only to be stepped from."""
