"""Fits among deaths: workers of Dask, executors of Spark and drivers, killed at random instants; which fits had the bits of memory, which failed in a sentence.

Clusters of two workers on this machine; a worker comes again when it is killed. No fit may be charged twice or give other bits, and no release be without its charge: then
nothing is recorded (`tests/data/engines/faults.py`). Seconds are beside whatever else the machine does: those of a fit without a kill stand beside them.
HULLABALOO_KILLS=0.25 takes a quarter of all kills.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

SPEED = True
WORKERS, EXECUTORS, DRIVERS = (
    max(1, round(float(os.environ.get("HULLABALOO_KILLS", "1")) * kills)) for kills in (200, 20, 20)
)


def run() -> dict[str, Any]:
    import pyarrow as pa
    from dask import dataframe
    from pyarrow import parquet
    from tests.data.engines import clusters, faults
    from tests.data.engines.fits import table

    whole = table()
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder) / name for name in ("dask", "far", "here", "spark")}
        for place in places.values():
            place.mkdir()
        for number in range(3):
            part = pa.Table.from_pandas(whole.iloc[500 * number :][:500], preserve_index=False)
            parquet.write_table(part, places["spark"] / f"{number}.parquet")

        def frame(parts: int) -> Any:
            return dataframe.from_pandas(whole, npartitions=parts, sort=False)

        with clusters.dask() as client:
            found = {"workers of Dask": faults.of_dask(client, frame, WORKERS, places["dask"])}
            address = client.scheduler.address
            found["drivers of Dask"] = faults.of_drivers(address, DRIVERS // 2, places["far"])
        found["drivers that read a file"] = faults.of_drivers(None, DRIVERS // 2, places["here"])
        return {**found, "executors of Spark": faults.of_spark(places["spark"], EXECUTORS)}
