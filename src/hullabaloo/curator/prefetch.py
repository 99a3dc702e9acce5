"""One instruction that a compiled kernel can give: fetch this cache line from memory before it is needed.

A pass over a large table alternates between waiting for a row and working on it; asking for a row some way ahead lets the
two overlap, and halves the time of a gradient. It changes no number, and never faults, not even beyond the table's end.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_READ, _KEEP, _DATA = 0, 3, 1  # llvm.prefetch: for reading, into every level of cache, of data


@intrinsic
def prefetch(_: Any, table: Any, cell: Any) -> Any:
    """Fetch the cache line of the given cell, counted from the first one of a C-contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        data = context.make_array(kind)(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [cgutils.voidptr_t],
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number]),
        )
        builder.call(fetch, [place, *(ir.Constant(number, value) for value in (_READ, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.void(table, types.intp), generate
