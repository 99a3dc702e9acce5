"""The five papers, and how one is reproduced."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from hullabaloo.errors import InvalidParameter
from hullabaloo.reproduce.claims import Picture, Reproduction

PAPERS = {
    "000": "Talwar, Thakurta and Zhang (2015). Nearly-optimal private LASSO. NIPS 28, 3025–3033.",
    "001": "Kumar and Deisenroth (2019). Differentially private empirical risk minimization with sparsity-inducing norms. arXiv:1905.04873.",
    "002": "Talwar, Thakurta and Zhang (2014). Private empirical risk minimization beyond the worst case: the effect of the constraint set geometry. arXiv:1411.5417.",
    "003": "Kasiviswanathan, Nissim and Jin (2017). Private incremental regression. PODS; arXiv:1701.01093.",
    "004": "Mangold, Bellet, Salmon and Tommasi (2022). Differentially private coordinate descent for composite empirical risk minimization. ICML (poster); arXiv:2110.11688.",
}


def reproduce(paper: str, *, quick: bool = False, data: str | Path | None = None) -> Reproduction:
    """Measure what a paper claims, and give a verdict on each claim. Not private: tables are synthetic, or public ones of `data`.

    Randomness is that of fixed public keys and seeds: the same numbers come again on the same machine.

    Args:
        paper: "000" to "004"; see `PAPERS`.
        quick: smaller tables and fewer repetitions, a minute or less; else some minutes.
        data: the folder of the tables of paper 004, `california_housing` and `electricity_elec2`, as .parquet or .csv; without it synthetic
            ones stand for them. The other papers have no tables.

    Returns:
        Claims with verdicts, tables and pictures; `save(folder)` writes a page, CSV, PNG and SVG.

    Raises:
        InvalidParameter: an unknown paper; data for a paper without tables; a folder without the tables.
    """
    if paper not in PAPERS:
        raise InvalidParameter(
            f"Paper {paper!r} was asked for. The papers are:\n"
            + "\n".join(f"  {key}  {name}" for key, name in PAPERS.items())
        )
    if data is not None and paper != "004":
        raise InvalidParameter(
            f"A folder of tables was given for paper {paper}, whose claims are about synthetic tables. Leave data out, or ask for 004."
        )
    if data is not None and not Path(data).is_dir():
        raise InvalidParameter(
            f"The tables of paper 004 were looked for in the folder {data}, and there is none. Check the path, or leave data out for synthetic tables."
        )
    found = _run(paper, quick, None if data is None else Path(data))
    kept = recorded(paper)
    pictures = {**found.pictures, **_curves(kept)}
    return replace(found, pictures=pictures, paper=paper, title=PAPERS[paper], quick=quick, recorded=kept)


def _run(paper: str, quick: bool, data: Path | None) -> Reproduction:
    from hullabaloo.reproduce import coordinates, lasso, sparsity, streams, widths

    if paper == "004":
        return coordinates.run(quick, data)
    return {"000": lasso.run, "001": sparsity.run, "002": widths.run, "003": streams.run}[paper](quick)


def _curves(kept: dict[str, Any]) -> dict[str, Picture]:
    """The curves of a recorded experiment, one picture a problem: what the paper's own tables gave, whether they are at hand or not."""
    lines: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for row in kept.get("curves", ()):
        x, y = lines.setdefault(row["problem"], {}).setdefault(row["method"], ([], []))
        x.append(row["passes"])
        y.append(row["mean"])
    return {
        f"recorded-{name.lower().replace(', ', '-').replace(' ', '-').replace('±', '')}": Picture(
            f"{name}, as recorded", "tuned; every point a fit of its own", "passes over the data", "(F − F*)/F*", one
        )
        for name, one in lines.items()
    }


def recorded(paper: str) -> dict[str, Any]:
    """What was recorded of a paper: `commit`, `date` and `claims`, and of 004 `curves`; empty where nothing was."""
    file = files("hullabaloo.reproduce") / "recorded" / f"{paper}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}
