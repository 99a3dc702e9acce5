"""Tables with structure: planted supports of known shape, and real ones whose columns have an order, a grid or groups.

Planted: columns uniform in [−1, 1], so that the declared bounds are tight; coefficients of equal size and random sign on the
support, 0 elsewhere; noise as large as the signal; the target declared within three standard deviations.

Real: the rows of Bike Sharing and of Electricity are put into the cells of a week, days by hours, so that the model is a picture
of the week; Adult has a group for each of its features, the levels of a category together.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.share_kept import baselines
from benchmarks.share_tables import DATA, TABLES
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import GroupCover, Intervals, SetFunction
from hullabaloo.losses import Logistic, Loss, Squared

Array = np.ndarray
WINDOW = 6


@dataclass(frozen=True)
class Structured:
    """Training rows, what was declared, and how a model is judged; `truth` are the slopes that made a planted table."""

    loss: Loss
    facts: RowFacts
    rows: Rows
    held: Rows
    truth: Array | None = None

    @property
    def records(self) -> int:
        """n."""
        return int(self.rows.Y.shape[0])

    @property
    def slopes(self) -> int:
        """Columns but for the intercept's."""
        return self.facts.width - self.facts.intercept

    def held_loss(self, theta: Array) -> float:
        """Mean held-out loss: squared error of the unit target (half of it), or log-loss."""
        return float(np.mean(self.loss.value(self.held.X @ theta, self.held.Y[:, 0])))


@dataclass(frozen=True)
class Design:
    """A planted pattern, what is said of it, and the shape in which it is drawn."""

    name: str
    support: Array
    structures: dict[str, SetFunction]
    shape: tuple[int, int]
    records: int = 12_000

    def table(self, seed: int, held: int = 2_000) -> Structured:
        """A training table; signs and rows are drawn afresh."""
        rng, p, n = np.random.default_rng(seed), self.support.size, self.records
        truth = self.support * rng.choice([-1.0, 1.0], p)
        X = rng.uniform(-1.0, 1.0, (n + held, p))
        spread = math.sqrt(self.support.sum() / 3.0)
        wide = 3.0 * math.sqrt(2.0) * spread
        y = np.clip((X @ truth + spread * rng.standard_normal(n + held)) / wide, -1.0, 1.0)
        facts = _facts(p, float(p), math.sqrt(p), False)
        return Structured(Squared(), facts, _rows(X[:n], y[:n]), _rows(X[n:], y[n:]), truth / wide)


def designs() -> list[Design]:
    """A block of a line, whole groups, the top of a tree, a rectangle of pixels."""
    line, place = np.arange(100), np.arange(127)
    windows = GroupCover.grid(1, 100, WINDOW)
    groups = GroupCover([list(range(j, j + 10)) for j in range(0, 100, 10)])
    tree = GroupCover.tree([-1, *((place[1:] - 1) // 2).tolist()])
    pixels = np.zeros((12, 12), dtype=bool)
    pixels[3:10, 2:10] = True
    return [
        Design("groups", np.isin(line // 10, (2, 5, 6)), {"groups of 10": groups}, (1, 100)),
        Design(
            "block",
            (line >= 35) & (line < 65),
            {f"windows of {WINDOW}": windows, "intervals": Intervals(100)},
            (1, 100),
        ),
        Design("tree", (place < 19) | ((place >= 31) & (place < 39)), {"tree": tree}, (7, 64)),
        Design(
            "rectangle",
            pixels.ravel(),
            {"windows of 2×2": GroupCover.grid(12, 12, 2), "rectangles": GroupCover.grid(12, 12)},
            (12, 12),
            24_000,
        ),
    ]


@dataclass(frozen=True)
class Real:
    """A real table, its structure, and the shape in which its coefficients are drawn, if any."""

    name: str
    structure: str
    read: Callable[[], tuple[Structured, SetFunction, Array]]
    shape: tuple[int, int] | None = None


def bike() -> tuple[Structured, SetFunction, Array]:
    """Bicycles rented in an hour, declared in 0 to 1000, by day of the week and hour."""
    table = pq.read_table(DATA / "bike_sharing_hour.parquet")
    day, hour, count = (np.asarray(table[name], dtype=np.int64) for name in ("weekday", "hr", "cnt"))
    return _week(day, hour, 24, 2.0 * np.clip(count / 1000.0, 0.0, 1.0) - 1.0)


def electricity() -> tuple[Structured, SetFunction, Array]:
    """Demand for electricity in New South Wales on the scale 0 to 1, by day of the week and half-hour."""
    table = pq.read_table(DATA / "electricity_elec2.parquet")
    day = np.asarray(table["day"], dtype=np.int64) - 1
    half = np.rint(47.0 * np.asarray(table["period"])).astype(np.int64)
    return _week(day, half, 48, 2.0 * np.clip(np.asarray(table["nswdemand"]), 0.0, 1.0) - 1.0)


def adult() -> tuple[Structured, SetFunction, Array]:
    """Income above 50 000 dollars; the levels of a category are a group, weighed by what noise alone puts into it: about
    `0.8 |G|`, give or take `0.6 √|G|`, in l1 norm."""
    declared = TABLES["adult"]
    read = declared.read()
    order = np.random.default_rng(7).permutation(len(read))
    cut = len(read) // 5
    part, rest = read.take(order[cut:]), read.take(order[:cut])
    encoding = declared.domain(len(part)).encoding_for(part)
    rows, held = (_dense(encoding.encode(one)) for one in (part, rest))
    table = Structured(Logistic(), encoding.facts, rows, held)
    owners = [str(name).split("=")[0] for name in encoding.feature_names_out]
    groups = [[j for j, owner in enumerate(owners) if owner == one] for one in dict.fromkeys(owners)]
    weights = [len(one) + 2.0 * math.sqrt(len(one)) for one in groups]
    return table, GroupCover(groups, weights), baselines(rows.X, rows.Y[:, 0], True)[1]


REAL = [
    Real("bike sharing", "windows of 2×2", bike, (7, 24)),
    Real("electricity", "windows of 2×2", electricity, (7, 48)),
    Real("adult", "levels of a category", adult),
]


def _week(day: Array, hour: Array, hours: int, y: Array) -> tuple[Structured, SetFunction, Array]:
    """A column for each cell of the week, and the intercept's."""
    X = np.zeros((y.size, 7 * hours + 1))
    X[np.arange(y.size), day * hours + hour] = 1.0
    X[:, -1] = 1.0
    order = np.random.default_rng(7).permutation(y.size)
    cut = y.size // 5
    held, kept = order[:cut], order[cut:]
    facts = _facts(7 * hours, 1.0, 1.0, True)
    table = Structured(Squared(), facts, _rows(X[kept], y[kept]), _rows(X[held], y[held]))
    best = np.zeros(7 * hours + 1)
    best[-1] = y[kept].mean()
    cells = X[kept, :-1]
    best[:-1] = cells.T @ (y[kept] - best[-1]) / np.maximum(cells.sum(axis=0), 1.0)
    return table, GroupCover.grid(7, hours, 2), best


def _facts(p: int, norm_l1: float, norm_l2: float, intercept: bool) -> RowFacts:
    columns = tuple(f"x{j}" for j in range(p)) + ("1",) * intercept
    return RowFacts(columns, intercept, norm_l1 + intercept, math.sqrt(norm_l2**2 + intercept), 1.0, ("y",))


def _rows(X: Any, y: Array) -> Rows:
    return Rows(np.ascontiguousarray(X), np.ascontiguousarray(y[:, None]))


def _dense(rows: Rows) -> Rows:
    return Rows(rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray(), rows.Y)
