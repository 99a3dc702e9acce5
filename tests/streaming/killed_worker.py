"""Runs streams in children and kills them; a script of its own, so that children share nothing with the tests.

Each line of standard input is a task as JSON: the folder of a stream, its ledger, its epsilon, how far it releases, and after how many
seconds the child that works on it is killed (null: not at all). Each answer is the child's exit status: -9 when the kill hit it, 0 when
the stream was done. Children are forked from here, after everything is imported, so that kills fall into the work and not into imports.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

import hullabaloo as hb
from hullabaloo.streaming import IncrementalRegression

RECORDS, WIDTH = 100_000, 3
NAMES = [f"x{column}" for column in range(WIDTH)]


def table() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(11)
    x = draw.uniform(-1.0, 1.0, (RECORDS, WIDTH))
    return x, np.clip(x @ np.linspace(-1.0, 1.0, WIDTH) + 0.1 * draw.normal(size=RECORDS), -2.0, 2.0)


X, Y = table()


def stream(task: dict) -> IncrementalRegression:
    folder = Path(task["folder"])
    return IncrementalRegression(
        budget=hb.Budget(task["epsilon"], 1e-6),
        domain=hb.Domain(features=dict.fromkeys(NAMES, (-1.0, 1.0)), target=(-2.0, 2.0), indicators=False),
        horizon=RECORDS,
        every=task["every"],
        ledger=task["ledger"],
        dataset=None if task["ledger"] is None else "clinic",
        state=folder / "stream.state",
        key_file=task["key_file"],
    )


def work(task: dict) -> None:
    """Take records from where the state stands, and write every model that is shown, whole or not at all."""
    releases = Path(task["folder"]) / "releases"
    sizes = random.Random(os.getpid())
    model = stream(task).begin(feature_names=NAMES)
    last = -1
    while True:
        if model.released_at_ != last and model.released_at_:
            last = model.released_at_
            part = releases / f".{os.getpid()}"
            part.write_text(json.dumps([last, *map(float.hex, [*model.coef_, model.intercept_])]))
            part.rename(releases / f"{last}-{os.getpid()}")
        start = model.position_
        if start == RECORDS:
            break
        stop = min(start + sizes.randint(1, task["every"]), RECORDS)
        model.partial_fit(X[start:stop], Y[start:stop])
        if sizes.random() < 0.1:
            model.checkpoint()
    model.close()


def child(task: dict) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work(task)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if task["kill_after"] is not None:
        until = time.perf_counter() + task["kill_after"]
        while time.perf_counter() < until:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)  # not waited for yet, so the number is still this child's
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    warm = IncrementalRegression(
        budget=hb.Budget(1.0, 1e-6), domain=hb.Domain(features=dict.fromkeys(NAMES, (-1.0, 1.0)), target=(-2.0, 2.0)), horizon=10
    )  # fmt: skip
    warm.partial_fit(X[:10], Y[:10]).predict(X[:1])
    warm.close()
    print("ready", flush=True)
    for line in sys.stdin:
        print(child(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
