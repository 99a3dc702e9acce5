"""Whether a thread's arithmetic is that of proofs and kernels: other libraries may change it (-ffast-math, fesetround, feenableexcept)."""

import ctypes
import math
import sys

from hullabaloo.data.table import TornTable


class OtherArithmetic(TornTable):
    """A thread of a worker does arithmetic in another way."""

    why = "a library that a worker has loaded changed how its processor rounds, flushes or traps floating-point numbers (-ffast-math, fesetround, feenableexcept). Start workers without that library."


def is_usual() -> bool:
    """Whether this thread rounds to the nearest number, keeps small ones and traps nothing."""
    nearest = 1.0 + math.ulp(0.5) == 1.0 == 1.0 - math.ulp(0.25)
    return nearest and 0.5 * sys.float_info.min > 0.0 and not getattr(ctypes.CDLL(None), "fegetexcept", int)()
