"""Inference measured: what a fit tells of the coefficients, whether that holds, how wide it is, what it costs, and what was forecast of it.

The population is a table (`inference_tables.py`); samples of n records (of whole units where there are units) are drawn from it with
replacement; the truth is the population's unpenalised estimate without privacy, in the user's units; δ = 1/n². What the columns say stands in
`inference_lines.py`, what is compared of forecasts in `forecasts.py`. The core grid (the development half, three hours at most) is recorded.

    python -m benchmarks.inference --grid smoke
    python -m benchmarks.inference --tables california --bounds fit --eps 1 3 --n 20000 --draws 20 --solver auto --detail
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import forecasts, small
from benchmarks.inference_lines import LEVEL, Case, measure, told
from benchmarks.inference_populations import BOUNDS, ESTIMATORS
from benchmarks.inference_tables import names, population
from benchmarks.record import plain

GOALS = {"strong": {1.0: 0.60, 3.0: 0.85}, "power": {1.0: 0.05, 3.0: 0.25}, "width": {1.0: 3.5, 3.0: 2.0}}
"""By ε, of medians over tables of 20 000 records and more under the expert's bounds: at least, at least, at most."""


def grid(name: str) -> list[Case]:
    """The lines of "smoke", "record" (of both halves, ten draws: what is recorded, a quarter of an hour of two cores), "core" (of the development half, hours) or "full" (of both halves)."""
    if name == "record":
        return list(cases(names(), BOUNDS, (1.0, 3.0), {20_000: 10}))
    if name == "smoke":
        tables, sizes = ["california", "diamonds", "adult", "fremtpl2", "v_shape", "rare_class"], {20_000: 10}
        return list(cases(tables, ["fit", "expert"], (1.0, 3.0), sizes))
    if name == "core":
        tables = names("development")
        few = ["california", "diamonds", "adult", "fremtpl2", "v_shape", "clustered", "rare_levels"]
        return [
            *cases(tables, BOUNDS, (0.5, 1.0, 3.0), {20_000: 200}, all_losses=True),
            *cases(tables, ["expert"], (1.0,), {20_000: 200}, relations=[small.REMOVED]),
            *cases(["california", "v_shape"], ["fit"], (1.0,), {20_000: 200}, solver="stream"),
            *cases(few, ["expert"], (1.0,), {2_000: 200, 200_000: 100, 1_000_000: 20}),
        ]
    small_and_large = {2_000: 200, 200_000: 100}
    return [
        *cases(names(), BOUNDS, (0.5, 1.0, 3.0), {20_000: 200}, all_losses=True),
        *cases(names(), BOUNDS, (1.0,), {20_000: 200}, relations=[small.REMOVED], all_losses=True),
        *cases(names(), BOUNDS, (1.0,), small_and_large),
        *cases(names(), ["expert"], (1.0,), {1_000_000: 20}),
    ]


def cases(
    tables: Sequence[str],
    bounds: Sequence[str],
    epsilons: Sequence[float],
    sizes: dict[int, int],
    *,
    relations: Sequence[str] = (small.REPLACED,),
    all_losses: bool = False,
    **more: Any,
) -> Iterator[Case]:
    """Tables × losses × bounds × n (with its number of draws) × ε × relations."""
    for table in tables:
        losses = population(table).losses
        for loss in losses if all_losses else losses[:1]:
            for declared in bounds:
                for n, draws in sizes.items():
                    for epsilon in epsilons:
                        for relation in relations:
                            yield Case(table, declared, loss, n, epsilon, relation, draws=draws, **more)


COLUMNS = ["told", "strong", "cover", "worst", "below", "width", "power", "size", "means", "total", "share", "distance"]


UNRECORDED = {"coefficients", "nulls", "compare", "plain", "solver", "often told", "sound", "nulls told"}


def text(line: dict[str, Any]) -> str:
    """One line of the printed table."""
    head = f"{line['table']:17s} {line['loss']:8s} {line['bounds']:6s} {line['n']:8,} {line['epsilon']:4g} {line['neighbours'][:3]}"
    if "refused" in line:
        return f"{head}  refused: {line['refused']}"
    cells = [f"{line['slopes']:3d}/{line['strong ones']:<3d}"]
    for name in COLUMNS:
        value = line[name]
        if name == "below":
            cells.append(f"{value:3d}({line['below by chance']:4.1f})")
        elif name == "total":
            held = "  – " if line["total held"] is None else f"{line['total held']:4.2f}"
            cells.append(f"{value:6.4g}±{line['total spread']:.2g} {held}")
        elif name == "cover" and line["cover error"] is not None:
            cells.append(f"{value:5.3f}±{line['cover error']:.3f} ({line['robust cover']:.3f})")
        else:
            cells.append("    –" if value is None or np.isnan(value) else f"{value:5.3g}")
    plain = "" if line["plain"] is None else f" (plain {line['plain']:.3f})"
    return f"{head} {line['solver that ran'][:12]:12s} {' '.join(cells)}{plain}  {line['seconds']:.2f} s"


HEAD = (
    f"{'table':17s} {'loss':8s} {'bounds':6s} {'n':>8s} {'ε':>4s} rel {'solver':12s} slopes   told strong   cover (without privacy) worst   below   "
    "width power  size means  total (within 2 errors) share distance"
)


KEY = ("half", "bounds", "n", "epsilon", "neighbours", "solver")


def summary(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over tables and losses, for every half, declaration, n, ε, relation and solver; the goals beside the expert's bounds."""
    held = [line for line in lines if "refused" not in line]
    out = []
    for key in dict.fromkeys(tuple(line[name] for name in KEY) for line in held):
        part = [line for line in held if tuple(line[name] for name in KEY) == key]
        counts = [line["told"] * line["slopes"] * line["draws"] for line in part]
        nulls = sum(line["nulls told"] for line in part)
        one: dict[str, Any] = {**dict(zip(KEY, key, strict=True)), "lines": len(part)}
        one |= {name: _median([line[name] for line in part]) for name in ("told", "strong", "width", "power", "share")}
        hits = sum(line["cover"] * count for line, count in zip(part, counts, strict=True) if count)
        one["cover"] = hits / sum(counts) if any(counts) else None
        one["outside 93–97 %"] = ", ".join(f"{line['table']} {line['cover']:.3f}" for line in part if _outside(line))
        one["size"] = sum((line["size"] or 0.0) * line["nulls told"] for line in part) / nulls if nulls else None
        one["below / by chance"] = (
            f"{sum(line['below'] for line in part)} / {sum(line['below by chance'] for line in part):.1f}"
        )
        goals = {name: goal[one["epsilon"]] for name, goal in GOALS.items() if one["epsilon"] in goal}
        one["goals"] = (
            ", ".join(f"{name} {goal:g}" for name, goal in goals.items()) if one["bounds"] == "expert" else ""
        )
        out.append(one)
    return out


def _outside(line: dict[str, Any]) -> bool:
    """Whether coverage is outside 93–97 % by more than two of its standard errors."""
    if line["cover error"] is None:
        return False
    slack = 2.0 * line["cover error"]
    return bool(line["cover"] < 0.93 - slack or line["cover"] > 0.97 + slack)


def _median(values: Sequence[float | None]) -> float | None:
    """Of what there is; untold is nothing for a width."""
    there = [value for value in values if value is not None]
    return float(np.median(there)) if there else None


def fingerprint() -> dict[str, Any]:
    """What small fits tell of their coefficients, and the truth of a synthetic population."""
    models = {
        "auto": small.fitted(epsilon=10.0),
        "moments": small.fitted("moments", epsilon=10.0),
        "logistic": small.fitted("objective_perturbation", classes=True, epsilon=10.0),
    }
    found: dict[str, Any] = {name: told(model) for name, model in models.items()}
    known = population("rare_class").truth("expert", "logistic")
    return {**found, "truth": known.value, "errors": known.spread}


def run() -> dict[str, Any]:
    """What is recorded; coefficients one by one are left to `--out`."""
    return recorded(list(measured(grid("record"), os.cpu_count() or 1)))


def recorded(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is kept of lines: their medians, how forecasts fared, and their columns without the coefficients one by one."""
    kept = [line for line in lines if "refused" not in line]
    return {
        "confidence": LEVEL,
        "refused": [f"{line['table']}, {line['loss']}: {line['refused']}" for line in lines if "refused" in line],
        "medians": summary(lines),
        "forecasts": forecasts.summary(kept),
        "lines": [{name: value for name, value in line.items() if name not in UNRECORDED} for line in kept],
    }


def measured(asked: list[Case], jobs: int) -> Iterator[dict[str, Any]]:
    """The lines of cases, tables together: a worker encodes a population once."""
    asked = sorted(asked, key=lambda case: (case.table, case.loss, case.bounds))
    if jobs == 1:
        yield from map(measure, asked)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(measure, asked)


def main(words: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inference")
    parser.add_argument("--grid", choices=("smoke", "record", "core", "full"))
    parser.add_argument("--tables", nargs="+", help="names, or development or report", default=["development"])
    parser.add_argument("--loss", nargs="+", choices=ESTIMATORS)
    parser.add_argument("--bounds", nargs="+", choices=(*BOUNDS, "bare"), default=list(BOUNDS))
    parser.add_argument("--eps", nargs="+", type=float, default=[1.0, 3.0])
    parser.add_argument("--n", nargs="+", type=int, default=[20_000])
    parser.add_argument("--neighbours", nargs="+", default=[small.REPLACED])
    parser.add_argument("--draws", type=int)
    parser.add_argument("--solver", nargs="+", help="a solver's name, or stream")
    parser.add_argument("--nulls", type=int, default=2, help="columns without effect that are added")
    parser.add_argument("--compare", action="store_true", help="fit without inference too")
    parser.add_argument("--detail", action="store_true", help="show every coefficient")
    parser.add_argument("--forecasts", action="store_true", help="show what was forecast beside what came")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a file for the lines, as JSON")
    asked = parser.parse_args(words)
    tables = [name for one in asked.tables for name in (names(one) if one in ("development", "report") else [one])]
    sizes = dict.fromkeys(asked.n, asked.draws or 20)
    lines = (
        grid(asked.grid)
        if asked.grid
        else list(
            cases(tables, asked.bounds, asked.eps, sizes, relations=asked.neighbours, all_losses=asked.loss is not None)
        )
    )
    if asked.loss:
        lines = [case for case in lines if case.loss in asked.loss]
    if asked.grid and asked.draws:
        lines = [replace(case, draws=asked.draws) for case in lines]
    lines = [
        replace(case, solver=solver, nulls=asked.nulls, compare=asked.compare)
        for case in lines
        for solver in asked.solver or [case.solver]
    ]
    print(HEAD)
    found = []
    for line in measured(lines, asked.jobs):
        found.append(line)
        print(text(line), flush=True)
    for line in found if asked.detail else []:
        print(line["table"], line["bounds"], line["epsilon"])
        for one in line.get("coefficients", []):
            print(
                "   ",
                *(f"{key} {value:.3g}" if isinstance(value, float) else f"{value}" for key, value in one.items()),
                sep="  ",
            )
    kept = [line for line in found if "refused" not in line]
    if asked.forecasts:
        print(forecasts.HEAD, *map(forecasts.text, kept), sep="\n")
    for one in [*summary(found), *forecasts.summary(kept)]:
        print(*(f"{key} {_short(value)}" for key, value in one.items()), sep="  ")
    if asked.out:
        asked.out.write_text(json.dumps(plain({**recorded(found), "lines": found})) + "\n", encoding="utf-8")


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
