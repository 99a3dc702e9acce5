"""Linear regression on fourteen UCI tables beside published private results: one default, nothing tuned per table.

Protocol of Wang, "Revisiting differentially private linear regression" (UAI 2018): features standardised over the whole
table (not private there either, and the same for every method), rows scaled to norm 1, no intercept, target divided by its
largest absolute value, ten random folds, mean squared error, delta = 1e-6. The published noise is for add-or-remove
neighbours; replace-one, the stricter relation, is reported as well. `records` is declared as the number of training rows.
"""

import csv
import itertools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import hullabaloo as hb
from benchmarks import small

DATA = (
    Path(os.environ.get("HULLABALOO_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "uci_regression"
)
EPSILONS = (1.0, 0.1)
RELATIONS = ("add-or-remove", "replace-one")
DRAWS, FOLDS, DELTA = 20, 10, 1e-6
LARGE = 5_000
Array = np.ndarray


def fingerprint() -> dict[str, Any]:
    """The planner's choice and the moments solver on small rows of norm 1, in both relations at ε = 1."""
    X, y, _ = small.table()
    domain, found = hb.Domain(row_norm=1.0, target=(-1, 1), records=len(y)), {}
    for relation, solver in itertools.product(RELATIONS, ("auto", "moments")):
        about: dict[str, Any] = {
            "neighbours": relation,
            "fit_intercept": False,
            "solver": solver,
            "test_key": small.KEY,
        }
        model = hb.LinearRegression(budget=hb.Budget(1.0, DELTA), domain=domain, **about).fit(X / 2.0, y)
        found[f"{relation}, {solver}"] = small.seen(model)
    return found


def run(draws: int = DRAWS, names: list[str] | None = None) -> dict[str, Any]:
    """Errors with standard errors for every table, epsilon and relation, and the counts of tables won."""
    published = _published()
    rows = []
    for name in names or sorted({name for name, _ in published}):
        X, y = prepared(name)
        for epsilon in EPSILONS:
            best = published[name, epsilon]
            for relation in RELATIONS:
                rows.append({"table": name, "records": len(y), "features": X.shape[1], **best}
                            | measure(X, y, epsilon, relation, draws))  # fmt: skip
    return {"draws": draws, "folds": FOLDS, "delta": DELTA, "tables": rows, "summary": summary(rows)}


def prepared(name: str) -> tuple[Array, Array]:
    """The table as the protocol wants it."""
    table = pq.read_table(DATA / f"{name}.parquet")
    X = np.column_stack([np.asarray(table[c], dtype=float) for c in table.column_names if c != "y"])
    y = np.asarray(table["y"], dtype=float)
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    norm = np.linalg.norm(X, axis=1)
    return X / np.where(norm > 0.0, norm, 1.0)[:, None], y / np.abs(y).max()


def folds(records: int) -> Iterator[tuple[Array, Array]]:
    """Training and test rows of ten random folds, the same for every method and draw."""
    order = np.random.default_rng(0).permutation(records)
    for test in np.array_split(order, FOLDS):
        yield np.setdiff1d(order, test), test


def measure(X: Array, y: Array, epsilon: float, relation: str, draws: int) -> dict[str, Any]:
    """Mean over folds of the test error, averaged over noise draws; its standard error is over draws.

    At ε ≥ 1 and `LARGE` records the moments solver's error and the least squares' own are measured beside it.
    """
    errors, solvers, trivial = np.zeros((draws, FOLDS)), set(), []
    large = epsilon >= 1.0 and len(y) >= LARGE
    moments, best = np.full((draws, FOLDS), math.nan), []
    for f, (train, test) in enumerate(folds(len(y))):
        trivial.append(float(np.mean(y[test] ** 2)))
        exact = np.linalg.lstsq(X[train], y[train], rcond=None)[0]
        best.append(float(np.mean((X[test] @ exact - y[test]) ** 2)))
        for draw in range(draws):
            for solver in ("auto", "moments") if large else ("auto",):
                model = hb.LinearRegression(
                    budget=hb.Budget(epsilon, DELTA),
                    domain=hb.Domain(row_norm=1.0, target=(-1, 1), records=len(train)),
                    neighbours=relation,
                    fit_intercept=False,
                    solver=solver,
                ).fit(X[train], y[train])
                error = np.mean((model.predict(X[test]) - y[test]) ** 2)
                if solver == "auto":
                    errors[draw, f] = error
                    solvers.add(str(model.release_.plan["solver"]))
                else:
                    moments[draw, f] = error
    means = errors.mean(axis=1)
    compared = {
        "moments_error": float(moments.mean()),
        "excess_over_moments_excess": float((means.mean() - np.mean(best)) / (moments.mean() - np.mean(best))),
    }
    return {
        "epsilon": epsilon,
        "neighbours": relation,
        "solver": "/".join(sorted(solvers)),
        "error": float(means.mean()),
        "standard_error": float(means.std(ddof=1) / math.sqrt(draws)) if draws > 1 else math.nan,
        "predicting_zero": float(np.mean(trivial)),
        "non_private": float(np.mean(best)),
        **(compared if large else {}),
    }


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tables on which the better published method is beaten, and the worst error relative to predicting zero."""
    lines = []
    for epsilon in EPSILONS:
        for relation in RELATIONS:
            part = [row for row in rows if row["epsilon"] == epsilon and row["neighbours"] == relation]
            learned = [row for row in part if row["published_best"] < row["published_trivial"]]
            kept = [
                (row["predicting_zero"] - row["error"]) / (row["predicting_zero"] - row["published_non_private"])
                for row in part
                if row["published_non_private"] < 0.9 * row["predicting_zero"]
            ]
            lines.append(
                {
                    "epsilon": epsilon,
                    "neighbours": relation,
                    "tables": len(part),
                    "ahead": sum(row["error"] < row["published_best"] for row in part),
                    "where published beats trivial": len(learned),
                    "ahead of these": sum(row["error"] < row["published_best"] for row in learned),
                    "behind on": [row["table"] for row in part if row["error"] >= row["published_best"]],
                    "worst error / predicting zero": max(row["error"] / row["predicting_zero"] for row in part),
                    **_beside_moments(part),
                    "median share of the non-private gain": float(np.median(kept)) if kept else math.nan,
                }
            )
    return lines


def _beside_moments(part: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [row["excess_over_moments_excess"] for row in part if "excess_over_moments_excess" in row]
    if not ratios:
        return {"median excess / that of moments, large tables": "", "at most half of it on": ""}
    half = sum(ratio <= 0.5 for ratio in ratios)
    return {
        "median excess / that of moments, large tables": float(np.median(ratios)),
        "at most half of it on": f"{half} of {len(ratios)}",
    }


def _published() -> dict[tuple[str, float], dict[str, float]]:
    """Per table and epsilon: the better of AdaSSP and AdaOPS, predicting zero, and the non-private fit."""
    found: dict[tuple[str, float], dict[str, float]] = {}
    with (DATA / "published_results.csv").open() as file:
        for row in csv.DictReader(file):
            found.setdefault((row["data"], float(row["epsilon"])), {})[row["method"]] = float(row["test_mse"])
    return {
        key: {
            "published_best": min(methods["adassp"], methods["adaops"]),
            "published_trivial": methods["trivial"],
            "published_non_private": methods["non_private"],
        }
        for key, methods in found.items()
        if key[1] in EPSILONS
    }


if __name__ == "__main__":
    result = run()
    for row in result["tables"]:
        print(
            f"{row['table']:12s} {row['epsilon']:4g} {row['neighbours']:13s} {row['solver']:9s} "
            f"{row['error']:.5f} ± {row['standard_error']:.5f}  published {row['published_best']:.5f}  "
            f"zero {row['predicting_zero']:.5f}  non-private {row['published_non_private']:.5f}"
        )
    for line in result["summary"]:
        print(line)
