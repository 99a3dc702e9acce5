"""Spark Connect: the same bits through a server on this machine, in a process of its own, as a session is of one kind; skipped where grpcio is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.engines import clusters

DRIVER = """
import os, sys
import hullabaloo as hb
from pyspark.sql import SparkSession
from tests.data.engines.fits import FITS, ONE, fitted, table
os.environ["PYSPARK_PYTHON"] = sys.executable
session = SparkSession.builder.remote("local[2]").getOrCreate()
frame = session.read.parquet(sys.argv[1])
assert "connect" in type(frame).__module__
for name in ("several", "weights"):
    assert fitted(name, hb.scan(frame)) == fitted(name, table()), name
model = FITS["moments"]().set_params(budget=ONE).fit(table())
lazy = hb.predict(model, hb.scan(frame), keep=["unused"])
assert len(lazy.collect()) == len(table())
session.stop()
print("the same bits")
"""


@pytest.mark.slow
def test_bits_through_a_connect_server_are_those_of_memory(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio: pip install 'pyspark[connect]'")
    clusters.needed("pyspark", java=True)
    from tests.data.engines.fits import table

    table().to_parquet(tmp_path / "table.parquet", index=False)
    words = [sys.executable, "-W", "ignore", "-c", DRIVER, str(tmp_path / "table.parquet")]
    done = subprocess.run(words, cwd=clusters.ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.splitlines()[-1:] == ["the same bits"], done.stderr
