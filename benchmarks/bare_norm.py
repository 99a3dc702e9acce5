"""The papers' setting: prepared rows in an l2 ball, no intercept, nothing declared by feature, on the tables of `share_kept.py`.

Each table's encoded rows, the constant column among them, are divided by the bound of their l2 norm, and `Domain(row_norm=1.0)` is all that is
declared of them. Splits, baselines and shares are those of `share_kept.py`: the difference of the two records is what declarations by
feature are worth. Constants may be chosen on `TUNING`, every other table by name; `REPORTED` holds the others.
"""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import share_kept, small
from benchmarks.share_kept import EPSILONS, Split
from benchmarks.share_tables import TABLES
from hullabaloo import Domain, LinearRegression, LogisticRegression
from hullabaloo.privacy import Neighbours

SPLITS, DRAWS, ROWS = 2, 2, 20_000
TUNING, REPORTED = tuple(sorted(TABLES)[::2]), tuple(sorted(TABLES)[1::2])


def fingerprint() -> dict[str, Any]:
    """What is released for small tables in the unit ball."""
    X, y, c = small.table()
    ball = X / np.sqrt(X.shape[1])
    about: dict[str, Any] = {"budget": small.BUDGET, "test_key": small.KEY, "fit_intercept": False, "inference": False}
    numbers = LinearRegression(domain=Domain(row_norm=1.0, target=(-1, 1)), **about).fit(ball, y)
    classes = LogisticRegression(domain=Domain(row_norm=1.0, classes=[0, 1]), **about).fit(ball, c)
    return {"numbers": small.seen(numbers), "classes": small.seen(classes)}


def run(
    names: list[str] | None = None,
    solvers: tuple[str, ...] = ("auto",),
    splits: int = SPLITS,
    draws: int = DRAWS,
    rows: int = ROWS,
) -> dict[str, Any]:
    """Shares with standard errors for every table, epsilon, relation and method; their medians over either half and over all."""
    asked = [(name, solvers, splits, draws, rows) for name in names or TABLES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(_measure, asked) for line in lines]
    return {"rows at most": rows, "splits": splits, "draws": draws, "tables": found, "summary": summary(found)}


def measure(name: str, solvers: tuple[str, ...], splits: int, draws: int, rows: int) -> Iterator[dict[str, Any]]:
    """The lines of one table."""
    kept = [bare(share_kept.split(TABLES[name], number, rows)) for number in range(splits)]
    yield from share_kept.lines(name, kept, solvers, draws)


def bare(one: Split) -> Split:
    """The same records in the unit ball, of which nothing else is declared."""
    norm, X = one.encoding.facts.norm_l2, one.rows.X
    target: dict[str, Any] = {"classes": [-1, 1]} if one.classes else {"target": (-1, 1)}
    declared = Domain(row_norm=1.0, records=one.n, **target)
    encoding = declared.encoding(n_features=X.shape[1], fit_intercept=False)
    return replace(one, rows=replace(one.rows, X=X / norm), encoding=encoding, X=one.X / norm)


def summary(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians, the lowest share and its table, and the greatest loss over the constant's, by half, relation and method."""
    found = []
    for half, tables in (("tuning", TUNING), ("reported", REPORTED), ("all", tuple(TABLES))):
        for neighbours in map(str, Neighbours):
            for asked in dict.fromkeys(line["asked"] for line in lines):
                about = {"tables": half, "neighbours": neighbours, "asked": asked}
                part = [
                    line
                    for line in lines
                    if line["table"] in tables and (line["neighbours"], line["asked"]) == (neighbours, asked)
                ]
                if not part:
                    continue
                by = [[line for line in part if line["epsilon"] == epsilon] for epsilon in EPSILONS]
                found.append(
                    about
                    | {
                        "median share": [float(np.median([line["share"] for line in one])) for one in by],
                        "lowest share": [min(line["share"] for line in one) for one in by],
                        "of": [min(one, key=lambda line: line["share"])["table"] for one in by],
                        "greatest loss over the constant's": [
                            max(line["loss"] / line["constant"] for line in one) for one in by
                        ],
                    }
                )
    return found


def _measure(asked: tuple[Any, ...]) -> list[dict[str, Any]]:
    return list(measure(*asked))


if __name__ == "__main__":
    result = run(solvers=tuple(sys.argv[1:]) or ("auto",))
    for line in result["tables"]:
        print(
            f"{line['table']:14s} {line['epsilon']:4g} {line['neighbours']:13s} {line['asked']:22s} {line['solver']:22s} "
            f"{100 * line['share']:7.1f} ± {100 * line['standard_error']:5.1f}  {line['seconds per fit']:.2f} s"
        )
    for line in result["summary"]:
        print(line)
