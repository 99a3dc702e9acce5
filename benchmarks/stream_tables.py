"""Tables whose rows are in the order of time, with domains declared from what their columns mean.

Where a table of `share_tables.py` is a stream, its declaration is used as it is. Of the flights the delay on arrival is learned, without the
delay on departure, the elapsed time and the hour of arrival, which leak it. Of the hockey goals the seven columns of who is on the ice are
kept, as one strength of the two sides and the pulled goalkeeper: with the 2,769 of teams and players the non-private model is worse than a constant on the next
block. Left out is `spamassassin_stream.npz`, whose 39,916 columns are four times its records.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.share_tables import _FLIGHTS, DATA, TABLES, Declared, _each, _words
from hullabaloo.data import Encoding, Rows
from hullabaloo.losses import Logistic, Loss, Squared


def _delays(table: pa.Table) -> pa.Table:
    """Flights that landed; the hour of their departure."""
    kept = {*_DELAYS} - {"hour"} | {"DepTime", "ArrDelay"}
    table = table.select(sorted(kept)).drop_null()
    return table.append_column("hour", pa.array(np.asarray(table["DepTime"], dtype=float) // 100))


_DELAYS = {name: bounds for name, bounds in _FLIGHTS.items() if name != "Month"} | {"TaxiIn": (0, 60)}
_STRENGTHS = _words("S6v5 S6v4 S6v3 S5v4 S5v3 S4v3")
_ON_ICE = {
    "strength": ["even", *[f"{side} {name}" for name in _STRENGTHS for side in ("home", "away")]],
    "SNG": [-1, 0, 1],
}
_ELECTRODES = _words("AF3 F7 F3 FC5 T7 P7 O1 O2 P8 T8 FC6 F4 F8 AF4")


@dataclass(frozen=True, slots=True)
class _Hockey(Declared):
    """Who is on the ice, out of a sparse file."""

    def read(self) -> pa.Table:
        """The declared columns."""
        from scipy import sparse

        path = DATA / self.file
        with np.load(path) as file:
            names, goal = [str(name).removeprefix("config:") for name in file["feature_names"]], file["y"]
        X = sparse.load_npz(path).tocsc()[:, : len(_STRENGTHS) + 1].toarray()
        strength = np.full(goal.size, "even", dtype="U9")
        for name in _STRENGTHS:
            side = X[:, names.index(name)]
            strength[side > 0], strength[side < 0] = f"home {name}", f"away {name}"
        return pa.table({"strength": strength, "SNG": X[:, names.index("SNG")], "homegoal": goal})


STREAMS: dict[str, Declared] = {
    "appliances": TABLES["appliances"],
    "bike": TABLES["bike"],
    "flights": Declared("hflights_2011.parquet", _DELAYS, {"ArrDelay": (-60, 240)}, _delays),
    "electricity": TABLES["electricity"],
    "eeg": Declared("eeg_eye_state.parquet", _each(_ELECTRODES, (4000, 5000)), {"eyeDetection": [0, 1]}),
    "noaa": TABLES["noaa"],
    "hockey": _Hockey("hockey_goals.npz", _ON_ICE, {"homegoal": [0, 1]}),
}


@dataclass(frozen=True)
class Stream:
    """Encoded records in their order, and how they are learned: numbers by squared loss, classes by logistic loss or Brier score."""

    table: str
    score: str
    rows: Rows
    encoding: Encoding

    @property
    def n(self) -> int:
        return int(self.rows.Y.shape[0])

    @property
    def loss(self) -> Loss:
        return Logistic() if self.score == "log-loss" else Squared()

    @property
    def estimator(self) -> Callable[..., Any]:
        """The class of the library that learns it."""
        import hullabaloo as hb

        return hb.LogisticRegression if self.score == "log-loss" else hb.LinearRegression

    def part(self, start: int, stop: int) -> Rows:
        return Rows(self.rows.X[start:stop], self.rows.Y[start:stop])


def scores(table: str) -> tuple[str, ...]:
    """By what a table is learned."""
    return ("log-loss", "Brier score") if STREAMS[table].is_classification else ("squared error",)


def stream(table: str, score: str, records: int | None = None) -> Stream:
    """The first `records` of a table, or all, densely encoded."""
    declared = STREAMS[table]
    read = declared.read()
    if records is not None:
        read = read.slice(0, records)
    domain = declared.domain(len(read))
    if score == "Brier score":
        name = next(iter(declared.target))
        _, second = declared.target[name]
        hot = np.asarray(read[name]) == second
        read = read.drop_columns([name]).append_column(name, pa.array(hot.astype(float)))
        domain = Declared(declared.file, declared.features, {name: (0, 1)}).domain(len(read))
    encoding = domain.encoding_for(read)
    rows = encoding.encode(read)
    X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
    return Stream(table, score, Rows(np.ascontiguousarray(X), rows.Y), encoding)
