"""What bounds cost that nobody declared: a seventh of the budget for private quantiles, beside declared bounds and none.

The bounds of real tables (`share_tables.py`) are taken for unknown: every numeric column gets an outer range 10 or 1000 times as wide,
the declared range anywhere inside (a lower end of 0 stays, as amounts and counts are known not to be negative). `bought`: 15 % of ε
and δ buy bounds, 85 % the model; `declared` and `outer`: all of it buys the model. Shares are those of `share_kept.py`: of the non-private
model's gain over a constant, on a held-out fifth, δ = 1/n², replace-one, at most `ROWS` rows.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import hullabaloo as hb
from benchmarks import share_kept, small
from benchmarks.share_tables import TABLES, Declared
from hullabaloo.errors import BudgetError

NAMES = ("california", "diamonds", "power_plant", "wine", "adult", "covertype", "law_school", "noaa")
EPSILONS, FACTORS = (0.5, 1.0, 3.0), (10.0, 1000.0)
PART, DRAWS, ROWS = 0.15, 3, 20_000
GOLDEN = 0.6180339887498949
Array = np.ndarray


def fingerprint() -> dict[str, Any]:
    """Bounds that are bought of a small table at each width, a fit within the outer ranges, and one within the declared."""
    X, y, _ = small.table()
    rows = pd.DataFrame(X, columns=[f"x{j}" for j in range(small.COLUMNS)]).assign(y=y)
    features = dict.fromkeys(rows.columns[:-1], (-1, 1))
    declared = hb.Domain(features=features, indicators=False, records=len(y), target={"y": (-1, 1)})
    about: dict[str, Any] = {"budget": small.BUDGET, "test_key": small.KEY}
    found: dict[str, Any] = {"declared": small.seen(small.fitted())}
    for factor in FACTORS:
        bought = hb.private_bounds(rows, outer=widened(declared, factor), **about)
        found[f"{factor:g}"] = [bought.bounds, bought.typical_error]
    model = hb.LinearRegression(domain=widened(declared, FACTORS[0]), **about).fit(rows)
    return {**found, "outer": small.seen(model)}


def run(names: tuple[str, ...] = NAMES, draws: int = DRAWS, rows: int = ROWS) -> dict[str, Any]:
    """Lines of every table, budget and width; medians over tables; and the time of one column of a million values."""
    found = [line for name in names for line in measure(TABLES[name], name, draws, rows)]
    return {
        "draws": draws,
        "part for bounds": PART,
        "rows at most": rows,
        "tables": found,
        "summary": summary(found),
        "seconds per column": timing(),
    }


def quick(names: tuple[str, ...] = ("power_plant", "adult")) -> dict[str, Any]:
    """Two tables, one draw: for a look."""
    return run(names, draws=1, rows=10_000)


def measure(table: Declared, name: str, draws: int, rows: int) -> Iterator[dict[str, Any]]:
    """One line for each ε: the shares kept with declared bounds, and with outer and bought ones at each width."""
    split = share_kept.split(table, 0, rows)
    train, test = parts(table, rows)
    for epsilon in EPSILONS:
        delta = 1.0 / split.n**2
        line: dict[str, Any] = {"table": name, "records": split.n, "epsilon": epsilon}
        declared = table.domain(split.n)
        line["declared"] = _mean(share(split, fitted(declared, train, epsilon, delta), test) for _ in range(draws))
        for factor in FACTORS:
            outer, width = widened(declared, factor), f"{factor:g}"
            line[f"outer {width}"] = _mean(
                share(split, fitted(outer, train, epsilon, delta), test) for _ in range(draws)
            )
            line |= {
                f"{key} {width}": value
                for key, value in _bought(split, outer, train, test, epsilon, delta, draws).items()
            }
        yield line


def _bought(
    split: share_kept.Split, outer: hb.Domain, train: Any, test: Any, epsilon: float, delta: float, draws: int
) -> dict[str, Any]:
    budget = hb.Budget(PART * epsilon, PART * delta)
    shares, cut, found = [], [], None
    for _ in range(draws):
        try:
            found = hb.private_bounds(train, outer=outer, budget=budget)
        except BudgetError:
            return {"bought": None, "columns": len(hb_columns(outer))}
        shares.append(share(split, fitted(found.domain(), train, (1 - PART) * epsilon, (1 - PART) * delta), test))
        cut += list(cut_shares(train, found.bounds))
    assert found is not None
    cuts = np.array(cut)
    return {
        "bought": float(np.mean(shares)),
        "columns": len(found.bounds),
        "aimed": found.cut[0],
        "typical error": found.typical_error / split.n,
        "usual error": found.usual_error / split.n,
        "cut": float(cuts.mean()),
        "cut most": float(cuts.max()),
    }


def hb_columns(domain: hb.Domain) -> list[str]:
    """The numeric columns."""
    return [name for name, one in domain.features if isinstance(one, hb.Numeric)]


def parts(table: Declared, rows: int) -> tuple[Any, Any]:
    """The training and test rows of `share_kept.split`, as tables."""
    read = table.read()
    if len(read) > rows:
        read = read.take(np.random.default_rng(0).permutation(len(read))[:rows])
    order = np.random.default_rng(1000).permutation(len(read))
    return read.take(order[len(read) // 5 :]), read.take(order[: len(read) // 5])


def fitted(domain: hb.Domain, train: Any, epsilon: float, delta: float) -> Any:
    """A model with every default."""
    kind = hb.LogisticRegression if hasattr(domain.targets[0], "classes") else hb.LinearRegression
    return kind(budget=hb.Budget(epsilon, delta), domain=domain).fit(train)


def share(split: share_kept.Split, model: Any, test: Any) -> float:
    """The share kept: predictions on the scale of the declared domain's target."""
    if split.classes:
        z = model.decision_function(test)
    else:
        z = (model.predict(test) - split.encoding.target_offset[0]) / split.encoding.target_scale[0]
    return (split.constant - share_kept.loss(z, split.y, split.classes)) / (split.constant - split.non_private)


def cut_shares(train: Any, bounds: dict[str, tuple[float, float]]) -> Iterator[float]:
    """The shares of the records beyond each end."""
    for name, (low, high) in bounds.items():
        values = np.asarray(train[name], dtype=float)
        yield float((values < low).mean())
        yield float((values > high).mean())


def widened(domain: hb.Domain, factor: float) -> hb.Domain:
    """The domain with outer ranges in place of its bounds, the declared range at places that differ from column to column."""
    declared, place = domain.to_dict(), 0.0
    for name, one in domain.features:
        if isinstance(one, hb.Numeric):
            place = (place + GOLDEN) % 1.0
            lo, hi = _wide(one.lo, one.hi, factor, place, one.transform != "identity")
            declared["features"][name] |= {"lo": lo, "hi": hi}
    for name, (lo, hi) in dict(declared.get("target", {})).items():
        declared["target"][name] = _wide(lo, hi, factor, GOLDEN, False)
    return hb.Domain(**declared)


def _wide(lo: float, hi: float, factor: float, place: float, logarithm: bool) -> tuple[float, float]:
    if lo == 0.0 or hi == 0.0:
        return lo * factor, hi * factor
    if logarithm:
        return lo / factor, hi * factor
    more = (factor - 1.0) * (hi - lo)
    return lo - place * more, hi + (1.0 - place) * more


def summary(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over tables for each ε; a refused purchase counts as the outer range's share."""
    found = []
    for epsilon in EPSILONS:
        rows = [line for line in lines if line["epsilon"] == epsilon]
        medians = {"epsilon": epsilon, "declared": float(np.median([row["declared"] for row in rows]))}
        for width in (f"{factor:g}" for factor in FACTORS):
            kept = [row[f"bought {width}"] for row in rows]
            medians[f"outer {width}"] = float(np.median([row[f"outer {width}"] for row in rows]))
            filled = [row[f"outer {width}"] if one is None else one for row, one in zip(rows, kept, strict=True)]
            medians[f"bought {width}"] = float(np.median(filled))
            medians[f"refused {width}"] = sum(one is None for one in kept)
        found.append(medians)
    return found


def timing(rows: int = 1_000_000, columns: int = 4) -> float:
    """Seconds per column of normal values, encoding included."""
    X = np.random.default_rng(0).normal(50.0, 10.0, (rows, columns))
    outer = hb.Domain(features={f"x{j}": (-1e6, 1e6) for j in range(columns)})
    start = time.perf_counter()
    hb.private_bounds(X, outer=outer, budget=hb.Budget(1.0, 1e-9))
    start = time.perf_counter()
    hb.private_bounds(X, outer=outer, budget=hb.Budget(1.0, 1e-9))
    return (time.perf_counter() - start) / columns


def _mean(values: Iterator[float]) -> float:
    return float(np.mean(list(values)))
