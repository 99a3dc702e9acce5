"""The tree with every node: sums of few nodes, each estimated from its own noisy value and those of all nodes below it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.noise.continual.base import Array, Decoder, Encoder, Strategy
from hullabaloo.noise.continual.workload import UNIT_ROUNDOFF, UP, all_steps, check, only_prefix_sums


@final
@dataclass(frozen=True, slots=True)
class VarianceReducedTree(Strategy):
    """Step t encodes all nodes that end with it, of the levels 0 … l, l the lowest set bit of t; sums use estimates from below.

    A node of level l is estimated by `s_l · (its own value) + (1 − s_l) · (its children's estimates)` with `s_l = 1/(2 − 2^-l)`, the
    combination of least variance, which is s_l again. The sum after t is that of one node per set bit of t.

    **Guarantee** (of `column_norm` and `slack`). Every vector is in one node of each level, if that node is complete by step T: in
    `⌊log2 T⌋ + 1` at most, as the first is. *Floating point*: as in `BinaryTree`, over the same levels.
    Source: Honaker (2015), estimates from below.

    Attributes:
        steps, decay, window: the workload; prefix sums alone.
    """

    steps: int
    decay: float = 1.0
    window: int | None = None

    name: ClassVar[str] = "variance_reduced_tree"

    def __post_init__(self) -> None:
        """Refuse what is not a workload of prefix sums."""
        check(self.steps, self.decay, self.window)
        only_prefix_sums(self.name, self.decay, self.window)

    @property
    def levels(self) -> int:
        """`⌊log2 T⌋ + 1`."""
        return self.steps.bit_length()

    @property
    def column_norm(self) -> float:
        """`sqrt(⌊log2 T⌋ + 1)`."""
        return math.sqrt(self.levels) * UP

    @property
    def encoded(self) -> int:
        """All nodes that are complete by the last step."""
        return sum(self.steps >> level for level in range(self.levels))

    @property
    def reach(self) -> float:
        """Elements of the largest node."""
        return 2.0 ** (self.levels - 1) * UP

    @property
    def slack(self) -> float:
        """See the guarantee."""
        top = self.levels - 1
        return 4.0 * UNIT_ROUNDOFF * top * 2.0**top * UP

    def errors(self, at: npt.NDArray[np.int64] | None = None) -> Array:
        """`sqrt(Σ s_l)` over the set bits l of t."""
        t = all_steps(self.steps, at)
        total = np.zeros(t.shape)
        for level, share in enumerate(_shares(self.levels)):
            total += ((t >> level) & 1) * share
        return np.sqrt(total)

    def encoder(self, length: int) -> Encoder:
        """One sum per level."""
        return _Nodes(self.levels, length)

    def decoder(self, length: int) -> Decoder:
        """One estimate per level."""
        return _Estimates(self.levels, length)

    def to_dict(self) -> dict[str, Any]:
        """Public description."""
        return {"name": self.name, "steps": self.steps, "column_norm": self.column_norm}


def _shares(levels: int) -> Array:
    return np.asarray(1.0 / (2.0 - 0.5 ** np.arange(levels)))


def _completed(start: int, steps: int) -> int:
    """Nodes of all levels that end with one of the steps start + 1, …, start + steps."""
    after = start + steps
    return sum((after >> level) - (start >> level) for level in range(after.bit_length()))


@final
class _Nodes(Encoder):
    __slots__ = ("_nodes", "_step")

    def __init__(self, levels: int, length: int) -> None:
        self._nodes, self._step = np.zeros((levels, length)), 0

    def encode(self, x: Array) -> Array:
        from hullabaloo.noise.continual import tree_kernels

        out = np.empty((_completed(self._step, x.shape[0]), x.shape[1]))
        tree_kernels.encode_all_nodes(x, self._step, self._nodes, out)
        self._step += x.shape[0]
        return out

    def state(self) -> dict[str, Array]:
        return {"nodes": self._nodes.copy(), "step": np.array([float(self._step)])}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._nodes, self._step = np.array(state["nodes"]), int(state["step"][0])


@final
class _Estimates(Decoder):
    __slots__ = ("_nodes", "_step")

    def __init__(self, levels: int, length: int) -> None:
        self._nodes, self._step = np.zeros((levels, length)), 0

    def decode(self, noisy: Array, steps: int) -> Array:
        from hullabaloo.noise.continual import tree_kernels

        out = np.empty((steps, noisy.shape[1]))
        tree_kernels.decode_all_nodes(noisy, self._step, _shares(self._nodes.shape[0]), self._nodes, out)
        self._step += steps
        return out

    def state(self) -> dict[str, Array]:
        return {"nodes": self._nodes.copy(), "step": np.array([float(self._step)])}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._nodes, self._step = np.array(state["nodes"]), int(state["step"][0])
