"""Rows of a table for people as a pandas dataframe; pandas is needed for nothing else."""

from collections.abc import Sequence
from typing import Any


def dataframe(rows: Sequence[Any]) -> Any:
    """A pandas dataframe with a row for each record, a column for each of its slots."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "A dataframe was asked for, but the library pandas is not installed; str(...) shows the same table without it. "
            "Install it with: pip install pandas",
            name=error.name,
        ) from None
    return pd.DataFrame([{name: getattr(row, name) for name in type(row).__slots__} for row in rows])
