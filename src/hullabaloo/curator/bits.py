"""Two instructions that a compiled kernel can give: read a double's 64 bits as an integer, and the other way round.

They cost nothing and work on several numbers at a time, where conversions do not: with `M = 1.5 · 2^52`, the bits of
`v + M` are those of M plus v rounded to a whole number, ties to even, for every |v| < 2^51.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

MAGIC = 1.5 * 2.0**52
MAGIC_BITS = 0x4338000000000000


def _bits_of(_: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


def _double_of(_: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


bits_of: Any = intrinsic(_bits_of)
double_of: Any = intrinsic(_double_of)
