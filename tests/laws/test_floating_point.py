"""What other libraries may have set for the process: the processor's rounding and traps, NumPy's and SciPy's error handling, decimals, hashes.

Either the same answer to the last bit, or a sentence before anything is charged.
"""

import ctypes
import io
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from inspect import isfunction, signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

import hullabaloo as hb
from hullabaloo.curator.asked import Asked
from hullabaloo.data import open_table
from hullabaloo.data.engines import cluster
from hullabaloo.data.engines.base import Reading, Task
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries

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
folder, modes, *solvers = sys.argv[1:]
domain = hb.Domain({f"x{i}": (-1, 1) for i in range(3)}, target=(-1, 1))
ledger = hb.Ledger(f"sqlite:///{folder}/{modes}.db")
libm = ctypes.CDLL("libm.so.6")
usual, fast = (ctypes.c_ubyte * 32)(), (ctypes.c_ubyte * 32)()
libm.fegetenv(usual)
fast[:] = usual[:]
fast[28:32] = (int.from_bytes(bytes(usual[28:32]), "little") | 0x8040).to_bytes(4, "little")  # as -ffast-math sets it
SET = {
    "up": lambda: libm.fesetround(0x800),
    "down": lambda: libm.fesetround(0x400),
    "zero": lambda: libm.fesetround(0xC00),
    "traps": lambda: libm.feenableexcept(1 | 4 | 8),
    "fast": lambda: libm.fesetenv(fast),
    "usual": lambda: None,
}


def fitted(name, solver):
    shape = {"constraint": hb.L1Ball(1.0)} if solver in ("frank_wolfe", "mirror_descent") else {}
    terms = {"budget": hb.Budget(1.0, 1e-6), "domain": domain, "solver": solver, **shape}
    one = hb.LinearRegression(**terms, ledger=ledger, dataset=name)
    other = hb.LinearRegression(**terms, test_key=bytes(32))
    SET.get(name, SET["usual"])()
    try:
        one.fit(X, y)
        told = hashlib.sha256(other.fit(X, y).release_.theta.tobytes()).hexdigest()[:16]
    except hb.errors.InvalidParameter as error:
        told = "refused" if "fesetround" in str(error) else error
    libm.fesetenv(usual)
    print(name, told, len(ledger.charges(name)))


for name in [mode for mode in modes.split(",") if mode in SET] + solvers:
    ledger.create(name, hb.Budget(9.0, 1e-5))
for mode in modes.split(","):
    if mode in SET:
        fitted(mode, solvers[0])
if "errors" in modes:
    np.seterr(all="raise")
    special.seterr(all="raise")
    decimal.getcontext().prec = 2
for solver in solvers:
    fitted(solver, solver)
"""
QUICK = ("moments", "greedy_coordinate_descent")
SOLVERS = (
    *QUICK,
    "objective_perturbation",
    "gradient",
    "preconditioned_gradient",
    "coordinate_descent",
    "frank_wolfe",
    "mirror_descent",
)
REFUSED = ("up", "down", "zero", "traps", "fast")


def here(folder: object, solvers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The same of this process, whose settings are the usual ones."""
    monkeypatch.setattr(sys, "argv", ["", str(folder), "none", *solvers])
    with redirect_stdout(io.StringIO()) as said:
        exec(PROGRAM, {})
    return said.getvalue().splitlines()


def told(folder: object, modes: str, solvers: tuple[str, ...], **environment: str) -> list[str]:
    """What a process with these settings says of fits by these solvers."""
    words = [sys.executable, "-c", PROGRAM, str(folder), modes, *solvers]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="settings of one processor, by glibc's names"
)
@pytest.mark.parametrize("solvers", [QUICK, pytest.param(SOLVERS, marks=pytest.mark.slow)], ids=["quick", "all"])
def test_settings_of_the_process_change_no_bit_or_are_refused(
    tmp_path: object, solvers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = here(tmp_path, solvers, monkeypatch)
    assert all(line.endswith(" 1") and "refused" not in line for line in usual)
    modes = ",".join((*REFUSED, "errors"))
    changed = told(tmp_path, modes, solvers, PYTHONHASHSEED="7", LC_ALL="C")
    assert changed == [*(f"{mode} refused 0" for mode in REFUSED), *usual]


def doors(quick: bool) -> dict[str, Callable[[], object]]:
    """What reckons without a charge: prices, plans and what is read off a release."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.uniform(-1, 1, 20_000), "b": rng.uniform(0, 1e6, 20_000)})
    table["y"] = np.clip(table.a + 0.3 * rng.normal(size=20_000), -1, 1)
    table["k"], table["m"] = np.where(table.y > 0, "yes", "no"), rng.poisson(np.exp(table.a))
    terms = {"budget": hb.Budget(1.0, 1e-6), "test_key": bytes(32)}
    columns = {"a": (-1, 1), "b": (0, 1e6)}
    number = {**terms, "domain": hb.Domain(columns, target={"y": (-1, 1)})}
    classes = {**terms, "domain": hb.Domain(columns, classes={"k": ["no", "yes"]})}
    kinds = (
        (hb.LinearRegression, number),
        (hb.LogisticRegression, classes),
        (hb.PoissonRegressor, {**terms, "domain": hb.Domain(columns, target={"m": (0, 20)})}),
    )
    found: dict[str, Callable[[], object]] = {}
    found["price of a Huber loss"] = partial(hb.HuberRegressor(**number, solver="adaptive_gradient").price, 3_000)
    found["price of a minimiser"] = partial(hb.LinearRegression(**number, solver="objective_perturbation").price, 3_000)
    for kind, about in kinds[-1:] if quick else kinds:
        found[f"price of {kind.__name__}"] = partial(kind(**about).price, 3_000)
        fitted = kind(**about, solver="preconditioned_gradient").fit(table)
        found[f"summary of {kind.__name__}"] = lambda fitted=fitted: str(fitted.summary())
        found[f"table of {kind.__name__}"] = lambda fitted=fitted: fitted.summary().tidy()
        found[f"contrast of {kind.__name__}"] = partial(fitted.contrast, {"a": 1})
        found[f"intervals of {kind.__name__}"] = partial(fitted.predict_interval, table[:9])
    sums = hb.streaming.IncrementalRegression(**number, horizon=3_000, every=1_000)
    found["price of running sums"] = sums.price
    if quick:
        return found
    streamed = hb.streaming.PeriodicERM(hb.LogisticRegression(**classes), 3_000, every=1_000)
    found["price of a stream of fits"] = streamed.price
    found["first records of a stream of fits"] = partial(streamed.partial_fit, table[:9])
    found["plan"] = partial(hb.plan, n=3_000, domain=classes["domain"], loss=hb.Logistic(), budget=terms["budget"])
    return found


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_price_plan_or_summary_depends_on_how_errors_of_arithmetic_are_treated(quick: bool) -> None:
    said: dict[str, str] = {}
    for name, door in doors(quick).items():
        with np.errstate(all="raise"), special.errstate(all="raise"):
            try:
                door()
            except (ArithmeticError, special.SpecialFunctionError) as error:
                said[name] = repr(error)
    assert not said


ROUNDINGS = {"up": 0x800, "down": 0x400, "zero": 0xC00}


def change(mode: str) -> None:
    """Of this thread: how it rounds, or that small numbers are 0, as -ffast-math sets it."""
    libm, state = ctypes.CDLL("libm.so.6"), (ctypes.c_ubyte * 32)()
    if mode in ROUNDINGS:
        libm.fesetround(ROUNDINGS[mode])
        return
    libm.fegetenv(state)
    state[28:32] = (int.from_bytes(bytes(state[28:32]), "little") | 0x8040).to_bytes(4, "little")
    libm.fesetenv(state)


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="settings of one processor, by glibc's names"
)
@pytest.mark.parametrize("mode", [*ROUNDINGS, "fast"])
def test_whatever_a_worker_is_sent_is_refused_by_a_thread_with_such_settings(mode: str) -> None:
    """Every function of `cluster.py` that a worker runs on what was sent to it: a worker's threads are not the one where the fit was checked."""
    terms: Any = {"features": {"a": (-1, 1), "b": (-1, 1)}, "target": {"y": (-1, 1)}, "indicators": False}
    domain, alone = hb.Domain(**terms, unit="who"), hb.Domain(**terms)
    frame = pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4], "y": [0.5, 0.6], "who": [1, 2]})
    prices = PricedQueries(alone.encoding().facts, Neighbours.ADD_OR_REMOVE, 2)
    task = cluster.sent(Task((), Asked.of(prices.price("means", mu=1.0), ())))
    reading, units = cluster.sent(Reading(alone.encoding())), cluster.sent(Reading(domain.encoding()))
    shape = (None, cluster.kinds_of(open_table(frame).schema))
    (piece,), part = cluster.deal(units, frame, shape, 1), cluster.read(frame, reading, shape)
    work: dict[str, Callable[[], object]] = {
        "read": lambda: cluster.read(frame, reading, shape, task),
        "deal": lambda: cluster.deal(units, frame, shape, 1)[0],
        "gather": lambda: cluster.gather(units, [piece]),
        "bring": lambda: cluster.bring(units, [piece], task),
        "ask": lambda: cluster.ask(task, part),
        "total": lambda: cluster.total(task, lambda: iter([part])),
        "add": lambda: cluster.add(task, [usual["ask"]]),
        "version": cluster.version,
    }
    sent = {
        name
        for name, one in vars(cluster).items()
        if isfunction(one) and one.__module__ == cluster.__name__ and "bytes" in str(signature(one))
    }
    # on the driver, below the others, or of released models
    assert sent - set(work) == {"said", "sound", "dumped", "loaded", "heard", "sent", "applied"}
    usual = {"ask": work["ask"]()}
    usual |= {name: one() for name, one in work.items()}
    assert all(one[:1] != b"!" for one in usual.values() if isinstance(one, bytes))
    with ThreadPoolExecutor(1, initializer=change, initargs=(mode,)) as thread:
        found = {name: thread.submit(one).result() for name, one in work.items()}
    with pytest.raises(hb.errors.CapabilityError, match="where arithmetic is unusual"):
        cluster.check_versions([found.pop("version")])
    assert set(found.values()) == {b"!rounds"}
    with pytest.raises(cluster.OtherArithmetic):
        cluster.heard(None, found["ask"])
