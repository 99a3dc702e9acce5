"""The binary tree mechanism: one partial sum a step, sums of few of them."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hullabaloo.noise.continual import kernels
from hullabaloo.noise.continual.base import UNIT_ROUNDOFF, UP, Array, Decoder, Encoder, Integers, Strategy


@dataclass(frozen=True)
class BinaryTree(Strategy):
    """Step t encodes the sum of the last `2^l` vectors, l the lowest set bit of t; the sum after t is that of one node per set bit of t.

    **Guarantee** (of `column_norm` and `slack`). The vector of step s is in one node of level l when `⌈s/2^l⌉` is odd, and in none
    otherwise: in at most `⌊log2 T⌋ + 1` nodes, as many as the first step is in. *Floating point*: a node is the sum of its children,
    which are sums of theirs: l roundings of at most `u 2^l`, in both streams; nodes without the step that differs are identical. So
    `slack = 2u sqrt(Σ_l (l 2^l)²)`, at most `4u L 2^L` with L the highest level.
    Source: Chan, Shi and Song (2011); Kasiviswanathan, Nissim and Jin (2017), Appendix C.

    Attributes:
        steps, decay, window: the workload; prefix sums alone.

    Source: 003, Algorithm 4; 003, Proposition C.1.
    """

    name: ClassVar[str] = "tree"
    forgets: ClassVar[bool] = False

    @property
    def levels(self) -> int:
        """`⌊log2 T⌋ + 1`."""
        return self.steps.bit_length()

    @property
    def column_norm(self) -> float:
        """`sqrt(⌊log2 T⌋ + 1)`.

        Source: 003, Proposition C.1.
        """
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

    def errors_at(self, at: Integers) -> Array:
        """`sqrt` of the number of set bits."""
        return np.sqrt(np.bitwise_count(at).astype(np.float64))

    def encoder(self, length: int) -> Encoder:
        """One sum per level."""
        return _Nodes(nodes=np.zeros((self.levels, length)))

    def decoder(self, length: int) -> Decoder:
        """One noisy node per level."""
        return _Prefix(nodes=np.zeros((self.levels, length)))

    def to_dict(self) -> dict[str, Any]:
        """Public description."""
        return {"name": self.name, "steps": self.steps, "column_norm": self.column_norm}


class _Nodes(Encoder):
    """`nodes[l]` is the sum of the latest complete node of level l that is a left child."""

    def encode(self, x: Array) -> Array:
        out = np.empty(x.shape)
        kernels.encode_nodes(x, self.step, self.kept["nodes"], out)
        self.step += x.shape[0]
        return out


class _Prefix(Decoder):
    def decode(self, noisy: Array, steps: int) -> Array:
        out = np.empty((steps, noisy.shape[1]))
        kernels.decode_nodes(noisy, self.step, self.kept["nodes"], out)
        self.step += steps
        return out
