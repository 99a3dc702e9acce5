"""Few releases: five blocks of time, a release after each of the first four, scored on the next block, one budget for all four.

`share = (loss of the constant − loss) / (loss of the constant − loss of the non-private model)` as in `share_kept.py`, constant and non-private
model (least squares of minimum norm, logistic regression) from the same records as the release. Streams drift: where the
non-private model gains less than `LEAST` of the constant's loss on the next block there is nothing to keep, and the pair is left out, counted
in the record. δ = 1/n², both relations (the clock of a stream is public under either), all defaults.

"again" fits anew at each release (`PeriodicERM`), "sums" keeps running sums (`IncrementalRegression`, squared losses only), and "planned" is
what `hb.streaming.plan` takes of the two.
"""

import itertools
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from benchmarks import small
from benchmarks.share_kept import baselines, loss
from benchmarks.stream_tables import STREAMS, Stream, scores, stream
from hullabaloo import Budget
from hullabaloo.curation.moments_process import StreamTask, open_moments
from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.curation.process import Process
from hullabaloo.losses import Logistic, Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.streaming import plan
from hullabaloo.streaming.refits import planned

EPSILONS = (0.1, 1.0, 3.0)
BLOCKS, DRAWS, LEAST = 5, 24, 0.05
TARGETS = {"replace-one": (0.50, 0.88, 0.95), "add-or-remove": (0.70, 0.93, 0.97)}
KNOWN = {
    "re-fitting by noisy gradients with exact composition": (0.43, 0.78, 0.90),
    "AdaSSP by parts": (-2.57, -0.19, 0.20),
}
METHODS = ("again", "sums", "planned")
Array = np.ndarray


def fingerprint() -> dict[str, Any]:
    """What streams of sums and of fits release, and which of them is planned."""
    about: dict[str, Any] = {"horizon": small.RECORDS, "every": small.RECORDS // 4, "neighbours": small.REMOVED}
    return {
        "planned": [
            plan(domain=small.domain(classes=classes), loss=phi, budget=small.BUDGET, **about).chosen
            for classes, phi in ((False, Squared()), (True, Logistic()))
        ],
        "sums": small.streamed(neighbours=small.REMOVED),
        "again": small.streamed(again=True, neighbours=small.REMOVED),
        "classes": small.streamed(again=True, classes=True),
        "levels": list(map(float, baselines(*small.table()[:2], False)[1])),
    }


def run(tables: list[str] | None = None, draws: int = DRAWS) -> dict[str, Any]:
    """Shares of every table, score, release, budget and method, and their medians."""
    asked = [(table, score, draws) for table in tables or STREAMS for score in scores(table)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(_measure, asked) for line in lines]
    return {"draws": draws, "blocks": BLOCKS, "summary": summary(found), "known": KNOWN, "tables": found}


def measure(table: str, score: str, draws: int) -> list[dict[str, Any]]:
    """The lines of one table by one score."""
    data, found = stream(table, score), []
    cuts = [data.n * block // BLOCKS for block in range(BLOCKS + 1)]
    levels = [_levels(data, cuts[k], cuts[k + 1]) for k in range(1, BLOCKS)]
    gains = [1.0 - best / constant for constant, best in levels]
    for neighbours, epsilon in itertools.product(TARGETS, EPSILONS):
        known: dict[str, dict[str, Any]] = {}
        for method in METHODS:
            start = time.perf_counter()
            if method == "planned":
                found.append({**known[_planned(data, cuts, epsilon, neighbours)], "method": method})
                continue
            processes, taken = _processes(data, cuts, epsilon, neighbours, method, draws)
            if not processes:
                continue
            shares = np.array([_shares(data, process, cuts, levels) for process in processes])
            known[method] = {
                "table": table,
                "score": score,
                "records": data.n,
                "columns": data.rows.X.shape[1],
                "neighbours": neighbours,
                "epsilon": epsilon,
                "method": method,
                "taken": taken,
                "gain of the non-private model": gains,
                "share": shares.mean(axis=0).tolist(),
                "standard error": (shares.std(axis=0, ddof=1) / np.sqrt(draws)).tolist() if draws > 1 else None,
                "seconds": time.perf_counter() - start,
            }
            found.append(known[method])
    return found


def summary(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over tables and releases beside what is asked, each table once: classes by log-loss; and those by Brier score alone."""
    lines = []
    of_scores = (("squared error", "log-loss"), ("squared error",), ("Brier score",))
    for neighbours, kept_scores, method in itertools.product(TARGETS, of_scores, METHODS):
        of = [line for line in found if (line["neighbours"], line["method"]) == (neighbours, method)]
        of = [line for line in of if line["score"] in kept_scores]
        if {line["score"] for line in of} != {*kept_scores}:
            continue
        medians, counted, left_out = [], 0, 0
        for epsilon in EPSILONS:
            part = [line for line in of if line["epsilon"] == epsilon]
            pairs = [
                pair for line in part for pair in zip(line["share"], line["gain of the non-private model"], strict=True)
            ]
            kept = [share for share, gain in pairs if gain >= LEAST]
            medians.append(float(np.median(kept)) if kept else None)
            counted, left_out = len(kept), len(pairs) - len(kept)
        lines.append(
            {"neighbours": neighbours, "by": " or ".join(kept_scores), "method": method, "epsilon": EPSILONS}
            | {"median share": medians, "target": TARGETS[neighbours], "pairs of table and release": counted}
            | {"left out, as nothing can be kept": left_out}
        )
    return lines


def _levels(data: Stream, upto: int, stop: int) -> tuple[float, float]:
    """Losses on the next block: of the best constant and of the non-private model of the records so far."""
    X, y, classes = data.rows.X, data.rows.Y[:, 0], data.score == "log-loss"
    constant, theta = baselines(X[:upto], y[:upto], classes)
    test = y[upto:stop]
    return loss(np.full(test.size, constant), test, classes), loss(X[upto:stop] @ theta, test, classes)


def _planned(data: Stream, cuts: list[int], epsilon: float, neighbours: str) -> str:
    """What `hb.streaming.plan` takes."""
    table = plan(
        domain=data.encoding.domain,
        loss=data.loss,
        horizon=data.n,
        every=tuple(cuts[1:BLOCKS]),
        budget=Budget(epsilon, 1.0 / data.n**2),
        neighbours=neighbours,
    )
    return {"IncrementalRegression": "sums", "PeriodicERM": "again"}[table.chosen]


def _processes(
    data: Stream, cuts: list[int], epsilon: float, neighbours: str, method: str, draws: int
) -> tuple[list[Process], str]:
    """The streams that learn, one for each draw; none where the method does not apply."""
    budget, schedule = Budget(epsilon, 1.0 / data.n**2), Schedule(data.n, tuple(cuts[1:BLOCKS]))
    domain = data.encoding.domain
    if method == "again":
        about: dict[str, Any] = {"budget": budget, "domain": domain, "neighbours": neighbours}
        task = data.estimator(**about, inference=False)._task(data.encoding)  # as `PeriodicERM` has it
        refits = planned(task, data.encoding, schedule)
        solvers = ", ".join(dict.fromkeys(fit.plan.solver for fit in refits.fits))
        return [PrefixProcess(task, refits) for _ in range(draws)], f"again: {solvers}"
    if data.score == "log-loss":
        return [], ""
    of = StreamTask("a stream", domain, budget, Neighbours(neighbours), schedule=schedule)
    return [open_moments(of, data.encoding) for _ in range(draws)], "sums"


def _shares(data: Stream, process: Process, cuts: list[int], levels: list[tuple[float, float]]) -> list[float]:
    shares = []
    for k, (constant, best) in enumerate(levels, start=1):
        process.take(data.part(cuts[k - 1], cuts[k]))
        release = process.released()
        assert release is not None
        X, y = data.rows.X[cuts[k] : cuts[k + 1]], data.rows.Y[cuts[k] : cuts[k + 1], 0]
        found = loss(X @ release.theta[:, 0], y, data.score == "log-loss")
        shares.append((constant - found) / (constant - best))
    return shares


def _measure(asked: tuple[str, str, int]) -> list[dict[str, Any]]:
    return measure(*asked)


if __name__ == "__main__":
    result = run(sys.argv[1:] or None, draws=3)
    for line in result["tables"]:
        shares = " ".join(
            f"{100 * share:6.1f}" if gain >= LEAST else "     –"
            for share, gain in zip(line["share"], line["gain of the non-private model"], strict=True)
        )
        print(
            f"{line['table']:12s} {line['score']:13s} {line['neighbours']:13s} {line['epsilon']:4g} {line['method']:8s} {shares}  {line['seconds']:5.1f} s  {line['taken']}"
        )
    for line in result["summary"]:
        print(line)
