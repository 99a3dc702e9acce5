"""Many deaths (`make soak NAMES=faults`): 200 workers of Dask, 20 executors of Spark and 40 drivers, killed at random instants of fits.

Seconds are beside whatever else the machine does, so a fit hangs that takes `faults.LONGEST` more than twice the seconds without a kill (`pytest -s` shows all counts).
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.data.engines import clusters, faults
from tests.data.engines.fits import table

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200), pytest.mark.filterwarnings("ignore")]


def frame(parts: int) -> Any:
    from dask import dataframe

    return dataframe.from_pandas(table(), npartitions=parts, sort=False)


def test_two_hundred_workers(tmp_path: Path) -> None:
    with clusters.dask() as client:
        found = faults.of_dask(client, frame, 200, tmp_path)
    print(found)
    assert found["same bits"] > 150
    assert found["longest seconds"] < faults.LONGEST + 2 * found["seconds without a kill"]


def test_twenty_executors(tmp_path: Path) -> None:
    for number in range(3):
        part = pa.Table.from_pandas(table().iloc[500 * number :][:500], preserve_index=False)
        parquet.write_table(part, tmp_path / f"{number}.parquet")
    found = faults.of_spark(tmp_path, 20)
    print(found)
    assert found["same bits"] > 15
    assert found["longest seconds"] < faults.LONGEST + 2 * found["seconds without a kill"]


@pytest.mark.parametrize("far", [False, True])
def test_twenty_drivers(far: bool, tmp_path: Path) -> None:
    if not far:
        found = faults.of_drivers(None, 20, tmp_path)
    else:
        with clusters.dask() as client:
            found = faults.of_drivers(client.scheduler.address, 20, tmp_path)
    print(found)
    assert found["kills"]
