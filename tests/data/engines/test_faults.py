"""Many deaths (`make soak NAMES=faults`): 200 workers of Dask, 20 executors of Spark and 60 drivers, killed at random instants of fits.

What was counted is written beside the line of the run in `tests/soaked.json`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.data.engines import clusters, faults
from tests.data.engines.fits import table
from tests.data.engines.sources import write_parts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200), pytest.mark.filterwarnings("ignore")]
Record = Callable[[str, object], None]


def frame(parts: int) -> Any:
    from dask import dataframe

    return dataframe.from_pandas(table(), npartitions=parts, sort=False)


def test_two_hundred_workers(tmp_path: Path, record_property: Record) -> None:
    with clusters.dask() as client:
        found = faults.of_dask(client, frame, 200, tmp_path)
    record_property("counts", json.dumps(found))
    assert found["same bits"] > 150
    assert found["longest silence"] < faults.LONGEST


def test_twenty_executors(tmp_path: Path, record_property: Record) -> None:
    found = faults.of_spark(write_parts(tmp_path / "parts"), 20, tmp_path)
    record_property("counts", json.dumps(found))
    assert found["same bits"] > 15
    assert found["longest silence"] < faults.LONGEST


@pytest.mark.parametrize("place", ["here", "dask", "spark"])
def test_twenty_drivers(place: str, tmp_path: Path, record_property: Record) -> None:
    if place == "dask":
        with clusters.dask() as client:
            found = faults.of_drivers(client.scheduler.address, 20, tmp_path)
    else:
        clusters.needed("pyspark", java=True)
        found = faults.of_drivers(None if place == "here" else place, 20, tmp_path)
    record_property("counts", json.dumps(found))
    assert found["kills"] == 20
