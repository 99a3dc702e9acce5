"""Tables that share their public facts and nothing else, and models to fit to them."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import hullabaloo as hb
from hullabaloo.errors import HullabalooError
from hullabaloo.planning.named import SOLVERS
from hullabaloo.release.planned import prepare
from tests.linear_model import examples

N = 60
RELATIONS = ("replace-one", "add-or-remove")
BUDGET = hb.Budget(12.0, 1e-6)
COLUMNS = ["age", "hours", "job", "cost", "ill", "visits"]
OPTIONS: dict[str, Any] = {
    "coordinate_descent by Laplace": hb.CoordinateDescentSolver(constants="laplace"),
    "greedy_selection of two": hb.GreedySelectionSolver(selected=2),
}
SOLVED: dict[str, Any] = {"auto": "auto", **{name: name for name in SOLVERS}, **OPTIONS}
SHAPES: tuple[dict[str, Any], ...] = (
    {},
    {"constraint": hb.L1Ball(1.0)},
    {"constraint": hb.L2Ball(1.0)},
    {"constraint": hb.Box(-1.0, 1.0)},
    {"penalty": hb.SquaredL2Penalty(0.1)},
    {"penalty": hb.SubmodularPenalty(hb.Intervals(4), 0.05)},
)


def table(seed: int = 0, n: int = N) -> pd.DataFrame:
    """Records inside their declared bounds."""
    return examples.table(n, seed)[COLUMNS]


def replaced() -> pd.DataFrame:
    """The table with another record in one place."""
    frame = table()
    frame.loc[7, COLUMNS] = [-1e9, np.inf, "nobody's", -1e300, "perhaps", np.nan]
    return frame


def dirty() -> pd.DataFrame:
    """No cell of any record is what was declared."""
    rng = np.random.default_rng(5)
    frame = table()
    for name in COLUMNS:
        junk: Any = (
            ["", "=1+1", "\x00", "é"] if frame[name].dtype.kind not in "fi" else [np.nan, np.inf, -np.inf, 1e308]
        )
        frame[name] = rng.choice(junk, N)
    return frame.astype(table().dtypes.to_dict() | {"visits": float})


def objects(frame: pd.DataFrame) -> pd.DataFrame:
    """The same cells in columns of any kind of object."""
    return frame.astype(object)


def hostile() -> pd.DataFrame:
    """Cells that are texts where numbers were declared, numbers where texts were, and neither."""
    frame, junk = objects(table()), [None, "n/a", b"\xff", 10**400, float("nan"), [1], 1j, object(), "30", True]
    for place, name in enumerate(COLUMNS):
        frame[name] = pd.Series([junk[(i + place) % len(junk)] for i in range(N)], dtype=object)
    return frame


@cache
def base() -> pd.DataFrame:
    """The table that the others are compared with."""
    return table().astype({"visits": float})


@cache
def others(relation: str) -> dict[str, pd.DataFrame]:
    """Tables with the public facts of `base`: under add-or-remove of any length, else of its own."""
    same = {"one record": replaced().astype({"visits": float}), "all records": table(9).astype({"visits": float})}
    same["no cell as declared"] = dirty()
    if relation == "replace-one":
        return same
    longer = pd.concat([base(), table(3, 200).astype({"visits": float})], ignore_index=True)
    return same | {
        "one fewer": base().iloc[:-1],
        "one record alone": base().iloc[:1],
        "none": base().iloc[:0],
        "more": longer,
    }


def model(name: str, solver: str, relation: str) -> Any:
    """An unfitted example of an estimator with a solver, in the first shape that the two take; None if there is none."""
    records = {"records": N} if relation == "add-or-remove" else {}
    domain = examples.domain_for(name, **records)
    if name == "MultiTaskRegression":
        targets = {"cost": (-20, 20), "visits": (0, 30)}
        domain = hb.Domain(features=examples.FEATURES, indicators=False, target=targets, **records)
    for shape in SHAPES:
        more: dict[str, Any] = {"budget": BUDGET, "domain": domain, "neighbours": relation, "solver": SOLVED[solver]}
        try:
            made = getattr(hb, name)(**more, **shape)
            encoding = made._encoding(None, None)
            prepare(made._task(encoding), encoding, N if relation == "replace-one" else None)
        except HullabalooError:
            continue
        return made
    return None
