"""The experiments of Mangold, Bellet, Salmon and Tommasi (2022): coordinate descent against DP-SGD, raw and standardised tables.

Every point of the curves is a fit of its own, whose noise is for that many passes over the data. Settings are chosen on
other seeds than those whose errors are reported: each setting on one, the best ten on three more. The choice itself is
charged to nobody, in the paper as here.
"""

import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import dp_sgd
from benchmarks.composite_problems import CompositeProblem, every_problem, root_mean_square, small_problems
from benchmarks.dp_cd import CoordinateDescent, public_rule

PASSES = (1, 2, 5, 10, 20, 50)
STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)
CLIPS = (0.5, 1.0, 2.0, 4.0, 8.0)
ORDERS = ("uniform", "cyclic")
FRACTIONS = (10, 100, 1000)  # n divided by the size of a minibatch
LEAST_BATCH = 10
FIRST, SECOND, REPORTED = range(1), range(1, 4), range(1000, 1012)
KEPT = 10
CALIBRATING = threading.Lock()  # the second thread then finds the number in the cache
MANY, LONG = 200, 500  # passes with and without noise
TRUE, ESTIMATED, MINIBATCH, FULL = "DP-CD, true M", "DP-CD, estimated M", "DP-SGD", "full gradient"

Array = np.ndarray
Setting = dict[str, Any]
Fit = Callable[[int, Setting, int], tuple[Array, Array]]


def fingerprint() -> dict[str, Any]:
    """Every method at one setting on two small problems, with the exact minimum of each."""
    found = {}
    for problem in small_problems():
        fits = {name: fit(2, grid[0], 0)[0] for name, (fit, grid) in methods(problem).items() if name != MINIBATCH}
        least = problem.value(problem.minimiser())
        found[problem.name] = {"least": least, "public rule": public_rule(problem, 0)[0], **fits}
    return found


def run() -> dict[str, Any]:
    """Every problem, four methods each."""
    problems = every_problem()
    curves = [row for problem in problems for row in _curves(problem)]
    return {
        "best_number_of_passes": [_best(problem, curves) for problem in problems],
        "public_rule_nothing_tuned": [_untuned(problem) for problem in problems],
        "problems": [_described(problem) for problem in problems],
        "grid": {
            "passes": list(PASSES),
            "steps": list(STEPS),
            "clips": list(CLIPS),
            "orders": list(ORDERS),
            "n / minibatch": list(FRACTIONS),
            "reported seeds": len(REPORTED),
        },
        "clips_without_noise": [
            row for problem in problems if "raw" not in problem.name for row in clips_alone(problem)
        ],
        "many_passes": [row for problem in problems if "standardised" in problem.name for row in many_passes(problem)],
        "curves": curves,
    }


def methods(problem: CompositeProblem) -> dict[str, tuple[Fit, list[Setting]]]:
    """Each method's fit by passes, setting and seed, and its grid."""
    n = len(problem.y)
    orders = _grid(order=ORDERS)
    sizes = sorted({max(LEAST_BATCH, n // part) for part in FRACTIONS})
    return {
        TRUE: (_descent(CoordinateDescent(problem, known=True)), orders),
        ESTIMATED: (_descent(CoordinateDescent(problem, known=False)), orders),
        MINIBATCH: (_sgd(problem), _grid(batch=sizes)),
        FULL: (_sgd(problem), _grid(batch=[n])),
    }


def _grid(**last: Sequence[Any]) -> list[Setting]:
    names = ("step", "clip", *last)
    return [dict(zip(names, one, strict=True)) for one in itertools.product(STEPS, CLIPS, *last.values())]


def _descent(method: CoordinateDescent) -> Fit:
    return lambda passes, setting, seed: method.fit(passes=passes, seed=seed, **setting)


def _sgd(problem: CompositeProblem) -> Fit:
    unit = root_mean_square(problem)

    def fit(passes: int, setting: Setting, seed: int) -> tuple[Array, Array]:
        steps = dp_sgd.steps_of(problem, setting["batch"], passes)
        rate = min(1.0, setting["batch"] / len(problem.y))
        with CALIBRATING:
            multiplier = dp_sgd.noise_multiplier(rate, steps, problem.epsilon, problem.delta)
        clip = setting["clip"] * unit
        return dp_sgd.fit(
            problem, batch=setting["batch"], passes=passes, step=setting["step"], clip=clip, seed=seed, multiplier=multiplier
        )  # fmt: skip

    return fit


def _curves(problem: CompositeProblem) -> Iterator[dict[str, Any]]:
    """A row for each method and number of passes."""
    least = problem.value(problem.minimiser())
    for (name, (fit, grid)), passes in itertools.product(methods(problem).items(), PASSES):
        yield _point(problem, name, passes, fit, grid, least)


def many_passes(problem: CompositeProblem) -> list[dict[str, Any]]:
    """What more passes than anybody would make do for coordinate descent and for the full gradient: a part of the grid."""
    least, found = problem.value(problem.minimiser()), methods(problem)
    rows = []
    for name in (TRUE, FULL):
        fit, grid = found[name]
        part = [one for one in grid if one["step"] in (0.5, 1.0, 2.0) and one["clip"] in (1.0, 2.0, 4.0)]
        part = [one for one in part if one.get("order") != "uniform"]
        rows.append(_point(problem, name, MANY, fit, part, least))
    return rows


def tuned(errors: Callable[[Setting, int], Array], grid: list[Setting]) -> tuple[Setting, int, Array]:
    """The setting that did best on the tuning seeds, which of its two outputs did, and that one's errors on the reported seeds."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def mean(settings: list[Setting], seeds: range) -> list[Array]:
            jobs = [pool.submit(errors, setting, seed) for setting in settings for seed in seeds]
            found = np.array([job.result() for job in jobs])
            return list(found.reshape(len(settings), len(seeds), 2).mean(axis=1))

        first = mean(grid, FIRST)
        kept = [grid[one] for one in sorted(range(len(grid)), key=lambda one: float(first[one].min()))[:KEPT]]
        again = mean(kept, SECOND)
        winner = int(np.argmin([pair.min() for pair in again]))
        output = int(again[winner].argmin())
        jobs = [pool.submit(errors, kept[winner], seed) for seed in REPORTED]
        return kept[winner], output, np.array([job.result()[output] for job in jobs])


def _point(
    problem: CompositeProblem, method: str, passes: int, fit: Fit, grid: list[Setting], least: float
) -> dict[str, Any]:
    """One method at one number of passes, tuned: the errors of the reported seeds."""

    def pair(setting: Setting, seed: int) -> Array:
        return np.array([problem.relative_error(w, least) for w in fit(passes, setting, seed)])

    setting, output, errors = tuned(pair, grid)
    low, middle, high = np.quantile(errors, (0.1, 0.5, 0.9))
    return {
        "problem": problem.name,
        "method": method,
        "passes": passes,
        "mean": float(errors.mean()),
        "lowest_tenth": float(low),
        "median": float(middle),
        "highest_tenth": float(high),
        "step": setting["step"],
        "clip": setting["clip"],
        "order_or_batch": setting.get("order", setting.get("batch")),
        "output": ("last", "mean")[output],
        "at_the_edge": setting["step"] in (STEPS[0], STEPS[-1]) or setting["clip"] in (CLIPS[0], CLIPS[-1]),
    }


def _untuned(problem: CompositeProblem) -> dict[str, Any]:
    """The library's solver with its defaults."""
    least = problem.value(problem.minimiser())
    fits = [public_rule(problem, seed) for seed in REPORTED]
    errors = np.array([problem.relative_error(w, least) for w, _ in fits])
    low, middle, high = np.quantile(errors, (0.1, 0.5, 0.9))
    return {
        "problem": problem.name,
        "passes": fits[0][1],
        "mean": float(errors.mean()),
        "lowest_tenth": float(low),
        "median": float(middle),
        "highest_tenth": float(high),
    }


def _best(problem: CompositeProblem, curves: list[dict[str, Any]]) -> dict[str, Any]:
    """Each method's least mean error over the numbers of passes, with the passes, and how far ahead coordinate descent is."""
    row: dict[str, Any] = {"problem": problem.name}
    for method in dict.fromkeys(one["method"] for one in curves):
        best = min(
            (one for one in curves if one["problem"] == problem.name and one["method"] == method),
            key=lambda one: float(one["mean"]),
        )
        row |= {method: best["mean"], f"passes of {method}": best["passes"]}
    row["DP-SGD / true M"] = row[MINIBATCH] / row[TRUE]
    row["DP-SGD / estimated M"] = row[MINIBATCH] / row[ESTIMATED]
    row["full gradient / true M"] = row[FULL] / row[TRUE]
    return row


def _described(problem: CompositeProblem) -> dict[str, Any]:
    squares, w = problem.second_moments(), problem.minimiser()
    least = problem.value(w)
    return {
        "problem": problem.name,
        "n": len(problem.y),
        "p": problem.X.shape[1],
        "loss": problem.loss.name,
        "l1": problem.l1,
        "l2": problem.l2,
        "epsilon": problem.epsilon,
        "least objective": least,
        "error of w = 0": problem.relative_error(np.zeros(len(w)), least),
        "largest M / smallest M": float(squares.max() / squares.min()),
        "beta / largest M": problem.smoothness() / (problem.bend * float(squares.max())),
    }


def clips_alone(problem: CompositeProblem) -> list[dict[str, Any]]:
    """What clipping leaves without noise, when a partial derivative is clipped or a whole gradient, at the same root mean square.

    At one noise a pass, that is: both methods' noise is proportional to the clip in this unit.
    """
    quiet, least = replace(problem, epsilon=math.inf), problem.value(problem.minimiser())
    rows = []
    for clip in CLIPS:
        by_coordinate, _ = CoordinateDescent(quiet, known=True).fit(
            passes=LONG // 2, step=1.0, clip=clip, order="cyclic", seed=0
        )
        length = clip * root_mean_square(problem)
        by_record, _ = dp_sgd.fit(
            problem, batch=len(problem.y), passes=LONG, step=1.0, clip=length, seed=0, multiplier=0.0
        )
        rows.append(
            {
                "problem": problem.name,
                "clip": clip,
                "by_coordinate": problem.relative_error(by_coordinate, least),
                "by_record": problem.relative_error(by_record, least),
            }
        )
    return rows
