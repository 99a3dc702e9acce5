"""What other libraries may have set for the process: the processor's rounding and traps, NumPy's and SciPy's error handling, decimals, hashes.

Either the same answer to the last bit, or a sentence before anything is charged.
"""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, decimal, hashlib, sys, warnings
import numpy as np
from scipy import special
import hullabaloo as hb

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (300, 3))
y = np.clip(X @ [0.5, -0.3, 0.2] + 0.1 * rng.normal(size=300), -1, 1)
X[0, 0], X[1], X[2, 1], X[3], X[4] = 5e-324, np.nan, np.inf, 1e-310, -0.0
mode, folder, *solvers = sys.argv[1:]
libm = ctypes.CDLL("libm.so.6")
ROUNDING = {"up": 0x800, "down": 0x400, "zero": 0xC00}


def settings():
    if mode in ROUNDING:
        libm.fesetround(ROUNDING[mode])
    elif mode == "traps":
        libm.feenableexcept(1 | 4 | 8)
    elif mode == "fast":  # what -ffast-math sets: numbers below 2.2e-308 are 0
        held = (ctypes.c_ubyte * 32)()
        libm.fegetenv(held)
        held[28:32] = (int.from_bytes(bytes(held[28:32]), "little") | 0x8040).to_bytes(4, "little")
        libm.fesetenv(held)
    elif mode == "errors":
        np.seterr(all="raise")
        special.seterr(all="raise")
        decimal.getcontext().prec = 2


ledger = hb.Ledger(f"sqlite:///{folder}/{mode}.db")
domain = hb.Domain({f"x{i}": (-1, 1) for i in range(3)}, target=(-1, 1))
for solver in solvers:
    ledger.create(solver, hb.Budget(9.0, 1e-5))
    kwargs = {"constraint": hb.L1Ball(1.0)} if solver in ("frank_wolfe", "mirror_descent") else {}
    terms = {"budget": hb.Budget(1.0, 1e-6), "domain": domain, "solver": solver, **kwargs}
    settings()
    try:
        hb.LinearRegression(**terms, ledger=ledger, dataset=solver).fit(X, y)
        told = hb.LinearRegression(**terms, test_key=bytes(32)).fit(X, y).release_.theta.tobytes()
        print(solver, hashlib.sha256(told).hexdigest()[:16], len(ledger.charges(solver)))
    except hb.errors.InvalidParameter as error:
        print(solver, "refused" if "floating-point numbers are not" in str(error) else error, len(ledger.charges(solver)))
"""
QUICK = ("moments", "objective_perturbation", "greedy_coordinate_descent")
SOLVERS = (*QUICK, "gradient", "preconditioned_gradient", "coordinate_descent", "frank_wolfe", "mirror_descent")
REFUSED = ("up", "down", "zero", "traps", "fast")


def told(mode: str, folder: object, solvers: tuple[str, ...], **environment: str) -> list[str]:
    """What a process with these settings says of fits by these solvers."""
    words = [sys.executable, "-c", PROGRAM, mode, str(folder), *solvers]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="settings of one processor, by glibc's names"
)
@pytest.mark.parametrize("solvers", [QUICK, pytest.param(SOLVERS, marks=pytest.mark.slow)], ids=["quick", "all"])
def test_settings_of_the_process_change_no_bit_or_are_refused(tmp_path: object, solvers: tuple[str, ...]) -> None:
    usual = told("usual", tmp_path, solvers)
    assert all(line.endswith(" 1") and "refused" not in line for line in usual)
    assert told("errors", tmp_path, solvers, PYTHONHASHSEED="7", LC_ALL="C") == usual
    for mode in REFUSED:
        assert told(mode, tmp_path, solvers[:1]) == [f"{solvers[0]} refused 0"]
