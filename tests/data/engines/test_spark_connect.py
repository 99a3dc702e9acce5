"""Spark Connect: the same bits through a server on this machine, in a process of its own, as a session is of one kind."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.engines import clusters

DRIVER = """
import os, signal, sys
from functools import partial
from pathlib import Path
import hullabaloo as hb
from pyspark.sql import SparkSession
from tests.data.engines import faults
from tests.data.engines.fits import FITS, ONE, fitted, table
from tests.data.engines.test_spark import slowly
os.environ["PYSPARK_PYTHON"] = sys.executable
session = SparkSession.builder.remote("local[2]").getOrCreate()
frame = session.read.parquet(sys.argv[1])
assert "connect" in type(frame).__module__
for name in ("several", "gradient"):
    assert fitted(name, hb.scan(frame)) == fitted(name, table()), name
model = FITS["moments"]().set_params(budget=ONE).fit(table())
lazy = hb.predict(model, hb.scan(frame), keep=["unused"])
assert len(lazy.collect()) == len(table())
slow, marks = frame.repartition(30), Path(sys.argv[2])
source = hb.scan(slow.mapInArrow(partial(slowly, str(marks)), slow.schema))
with faults.signals(signal.default_int_handler):
    assert faults.interrupted(lambda: fitted("moments", source), marks) < 10.0
assert faults.count(marks, still=0.6) < 30
assert fitted("moments", hb.scan(frame)) == fitted("moments", table())
session.stop()
print("the same bits")
"""


@pytest.mark.slow
def test_bits_through_a_connect_server_are_those_of_memory(tmp_path: Path) -> None:
    clusters.needed("pyspark", java=True)
    clusters.needed("grpc")
    from tests.data.engines.fits import table

    table().to_parquet(tmp_path / "table.parquet", index=False)
    (tmp_path / "marks").mkdir()
    words = [sys.executable, "-W", "ignore", "-c", DRIVER, str(tmp_path / "table.parquet"), str(tmp_path / "marks")]
    done = subprocess.run(words, cwd=clusters.ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.splitlines()[-1:] == ["the same bits"], done.stderr
