"""Real clusters on this machine; where the libraries are absent tests skip with a sentence, and fail under `.ci/run`."""

import contextlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def needed(library: str, *, java: bool = False) -> None:
    """Skip, or fail where engines are required."""
    missing = [library] if importlib.util.find_spec(library) is None else []
    missing += (
        ["a Java runtime (apt-get install default-jre-headless)"] if java and shutil.which("java") is None else []
    )
    if not missing:
        return
    why = f"{' and '.join(missing)} not installed: pip install 'hullabaloo[dask,spark]' 'pyspark[connect]'"
    if os.environ.get("HULLABALOO_REQUIRE_ENGINES"):
        pytest.fail(f"HULLABALOO_REQUIRE_ENGINES is set, but {why}")
    pytest.skip(why)


@contextlib.contextmanager
def dask(workers: int = 2) -> Iterator[Any]:
    """A client of a cluster of processes, which come again when they are killed."""
    needed("distributed")
    from dask import config
    from distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    quiet = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    # Workers are forked from a process that has imported what they need; in each of its own that takes seconds.
    with config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(
            ["distributed", "pandas", "pyarrow", "pytest", "tests.data.engines.fits"]
        )
        with (
            LocalCluster(**quiet, silence_logs=50, memory_limit=0) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


@contextlib.contextmanager
def spark(master: str = "local[2]", **conf: str) -> Iterator[Any]:
    """A Spark session."""
    needed("pyspark", java=True)
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    os.environ["PYTHONWARNINGS"] = "ignore"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.python.daemon.module": "tests.data.engines.spark_daemon",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        **conf,
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
