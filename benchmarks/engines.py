"""One fit, any engine: the bits of eighteen fits in memory, from Parquet, CSV, DuckDB and Polars, by Dask and by Spark; and seconds of a question.

Every cluster is on this machine, so that seconds are of calls and not of networks: what a question costs however small its table is. Spark takes its
three parts from Parquet files whose rows are shuffled, as what is read here does, Dask eleven parts of shuffled rows; both keep encoded parts.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

SPEED = True
WORKERS, SOLVERS = (1, 2, 4), ("moments", "preconditioned_gradient")


def run() -> dict[str, Any]:
    from tests.data.engines.fits import FITS, fitted, table

    wanted, found = {name: fitted(name, table()) for name in FITS}, {}
    with tempfile.TemporaryDirectory() as folder:
        for engine, open_it in engines(Path(folder)):
            with ExitStack() as stack:
                source, same, start = open_it(stack), [], time.perf_counter()
                fitted("moments", source)  # workers import and compile
                first, start = time.perf_counter() - start, time.perf_counter()
                for name in FITS:
                    same.append(fitted(name, source) == wanted[name])
                found[engine] = {
                    "fits": len(FITS),
                    "same bits": sum(same),
                    "seconds": round(time.perf_counter() - start, 1),
                    "milliseconds of a question": round(1e3 * (time.perf_counter() - start) / questions(), 1),
                    "first fit": round(first, 1),
                }
    return {
        "questions": questions(),
        "engines": found,
        "two Dask workers over one": {name: divided(name) for name in SOLVERS},
    }


def divided(solver: str, records: int = 2_000_000) -> dict[str, float]:
    """Processor seconds of warm fits of a Parquet table of twenty features in sixteen parts: the driver's, and of the worker that has most of one and of two; of the fit that took least of three.

    What a process takes while it waits is left out, as it grows with others' work on the machine. Where cores are free a fit takes the sum of both at most, so that two workers are as
    many times faster as the ratio of the sums. Beside others' work chance decides which worker has more parts, so the ratio with the workers' mean in place of the larger is told, too.
    """
    from dask import dataframe
    from tests.data.engines import clusters

    import hullabaloo as hb
    from benchmarks.scan import model, written

    found: dict[int, tuple[float, float, float]] = {}
    for workers in (1, 2):
        with clusters.dask(workers) as client:
            source, taken = hb.scan(dataframe.read_parquet(written(records), split_row_groups=True), client=client), []

            def used(work: Any, client: Any = client) -> np.ndarray:
                """Of the clock, of this process, and of the workers."""
                clocks = lambda: [time.perf_counter(), time.process_time(), *client.run(time.process_time).values()]  # noqa: E731
                before = np.array(clocks())
                work()
                return np.array(clocks()) - before

            for _ in range(4):
                fit = used(lambda: model(records).set_params(solver=solver).fit(source))  # noqa: B023 - at once
                idle = used(lambda: time.sleep(3.0))
                share = idle[1:] / idle[0]
                own = (fit[1:] - share * fit[0]) / (1.0 - share)
                taken.append((float(own[0]), float(own[1:].max()), float(own[1:].mean())))
            found[workers] = min(taken[1:], key=lambda one: one[0] + one[2])
    ways = [
        (f"{who}, {workers}", place, workers) for workers in found for place, who in enumerate(("driver", "worker"))
    ]
    seconds = {name: found[workers][place] for name, place, workers in ways}
    one, two = found[1], found[2]
    seconds["times faster"] = (one[0] + one[1]) / (two[0] + two[1])
    seconds["times faster, shared alike"] = (one[0] + one[2]) / (two[0] + two[2])
    return {name: round(number, 2) for name, number in seconds.items()}


def engines(folder: Path) -> Iterator[tuple[str, Any]]:
    """By name, what opens the table with it."""
    from tests.data.engines import clusters
    from tests.data.engines.fits import N, table
    from tests.data.engines.sources import SOURCES, write_parts

    import hullabaloo as hb

    whole = table().iloc[np.random.default_rng(5).permutation(N)].reset_index(drop=True)
    parts = write_parts(folder / "parts")

    def here(stack: ExitStack, source: Any) -> Any:
        """Units are brought together in a folder."""
        return hb.scan(source(parts), cache=stack.enter_context(tempfile.TemporaryDirectory()))

    for name, source in SOURCES.items():
        yield name, lambda stack, source=source: here(stack, source)

    def by_dask(stack: ExitStack, workers: int) -> Any:
        from dask import dataframe

        client = stack.enter_context(clusters.dask(workers))
        return hb.scan(dataframe.from_pandas(whole, npartitions=11, sort=False), client=client)

    def by_spark(stack: ExitStack) -> Any:
        return hb.scan(stack.enter_context(clusters.spark()).read.parquet(str(parts)))

    for workers in WORKERS:
        yield f"dask, {workers} workers", lambda stack, workers=workers: by_dask(stack, workers)
    yield "spark, 2 threads", by_spark


def questions() -> int:
    """How many questions all fits ask."""
    from tests.data.engines.fits import FITS, fitted, table

    from hullabaloo.curator.query import Sum

    asked, plain = [0], Sum.exact

    def counted(self: Any, *given: Any) -> Any:
        asked[0] += 1
        return plain(self, *given)

    Sum.exact = counted  # type: ignore[method-assign]
    try:
        for name in FITS:
            fitted(name, table())
    finally:
        Sum.exact = plain  # type: ignore[method-assign]
    return asked[0]
