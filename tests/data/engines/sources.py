"""What reads the table of `fits.py` on this machine, part by part: a folder of Parquet files, a CSV file, a query of DuckDB, a lazy frame of Polars."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from tests.data.engines.fits import N, table


def write_parts(folder: Path) -> Path:
    """The table as three Parquet files whose rows are shuffled: records of a unit lie in several."""
    whole = pa.Table.from_pandas(table().iloc[np.random.default_rng(5).permutation(N)], preserve_index=False)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(3):
        parquet.write_table(whole.slice(500 * number, 500), folder / f"{number}.parquet")
    return folder


def as_csv(folder: Path) -> Path:
    """The same rows in one file beside the folder."""
    place = folder.with_suffix(".csv")
    pd.read_parquet(folder).to_csv(place, index=False)
    return place


def by_duckdb(folder: Path) -> Any:
    import duckdb

    return duckdb.connect().sql(f"select * from '{folder}/*.parquet'")


def by_polars(folder: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(folder / "*.parquet")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "parquet": lambda folder: folder,
    "csv": as_csv,
    "duckdb": by_duckdb,
    "polars": by_polars,
}
"""By name, what `hb.scan` is handed for such a folder."""
