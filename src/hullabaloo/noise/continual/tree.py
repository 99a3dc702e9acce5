"""The binary tree mechanism: one partial sum a step, sums of few of them."""

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
class BinaryTree(Strategy):
    """Step t encodes the sum of the last `2^l` vectors, l the lowest set bit of t; the sum after t is that of one node per set bit of t.

    **Guarantee** (of `column_norm` and `slack`). The vector of step s is in one node of level l when `⌈s/2^l⌉` is odd, and in none
    otherwise: in at most `⌊log2 T⌋ + 1` nodes, as many as the first step is in. *Floating point*: a node is the sum of its children,
    which are sums of theirs: l roundings of at most `u 2^l`, in both streams; nodes without the step that differs are identical. So
    `slack = 2u sqrt(Σ_l (l 2^l)²)`, at most `4u L 2^L` with L the highest level.
    Source: Chan, Shi and Song (2011); Kasiviswanathan, Nissim and Jin (2017), Appendix C.

    Attributes:
        steps, decay, window: the workload; prefix sums alone.
    """

    steps: int
    decay: float = 1.0
    window: int | None = None

    name: ClassVar[str] = "tree"

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
    def reach(self) -> float:
        """Elements of the largest node."""
        return 2.0 ** (self.levels - 1) * UP

    @property
    def slack(self) -> float:
        """See the guarantee."""
        top = self.levels - 1
        return 4.0 * UNIT_ROUNDOFF * top * 2.0**top * UP

    def errors(self, at: npt.NDArray[np.int64] | None = None) -> Array:
        """`sqrt` of the number of set bits."""
        return np.sqrt(np.bitwise_count(all_steps(self.steps, at)).astype(np.float64))

    def encoder(self, length: int) -> Encoder:
        """One sum per level."""
        return _Nodes(self.levels, length)

    def decoder(self, length: int) -> Decoder:
        """One noisy node per level."""
        return _Prefix(self.levels, length)

    def to_dict(self) -> dict[str, Any]:
        """Public description."""
        return {"name": self.name, "steps": self.steps, "column_norm": self.column_norm}


@final
class _Nodes(Encoder):
    """`nodes[l]` is the sum of the latest complete node of level l that is a left child."""

    __slots__ = ("_nodes", "_step")

    def __init__(self, levels: int, length: int) -> None:
        self._nodes, self._step = np.zeros((levels, length)), 0

    def encode(self, x: Array) -> Array:
        from hullabaloo.noise.continual import tree_kernels

        out = np.empty(x.shape)
        tree_kernels.encode_nodes(x, self._step, self._nodes, out)
        self._step += x.shape[0]
        return out

    def state(self) -> dict[str, Array]:
        return {"nodes": self._nodes.copy(), "step": np.array([float(self._step)])}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._nodes, self._step = np.array(state["nodes"]), int(state["step"][0])


@final
class _Prefix(Decoder):
    __slots__ = ("_nodes", "_step")

    def __init__(self, levels: int, length: int) -> None:
        self._nodes, self._step = np.zeros((levels, length)), 0

    def decode(self, noisy: Array, steps: int) -> Array:
        from hullabaloo.noise.continual import tree_kernels

        out = np.empty((steps, noisy.shape[1]))
        tree_kernels.decode_nodes(noisy, self._step, self._nodes, out)
        self._step += steps
        return out

    def state(self) -> dict[str, Array]:
        return {"nodes": self._nodes.copy(), "step": np.array([float(self._step)])}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._nodes, self._step = np.array(state["nodes"]), int(state["step"][0])
