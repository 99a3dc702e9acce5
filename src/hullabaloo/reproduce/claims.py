"""What a paper claims, what was measured, and the verdict; and everything else that a reproduction of a paper shows, as files."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hullabaloo.codec import arguments, plain
from hullabaloo.data.saving import write_whole
from hullabaloo.errors import InvalidParameter
from hullabaloo.report.drawing import BLUE, INK, MUTED, ORANGE, dots, frame, inline_svg, line, new_figure
from hullabaloo.report.page import environment
from hullabaloo.solvers.base import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOLDS, FAILS, UNTOLD = "holds", "does not hold", "cannot be told at this size"
ERRORS = 2.0
"""Standard errors to either side of a measured number that a verdict allows for."""
COLOURS = (BLUE, ORANGE, INK, MUTED)
PLAIN = ("bound", "theory")
"""Beginnings of the names of lines without points."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A number that a paper says something about.

    Attributes:
        item: the paper's label of what claims it, such as "Theorem 3.2".
        says: the claim in words, with where the ends of the expected range come from.
        measured: the number.
        error: its standard error; 0 of a number that is exact.
        low, high: the range that is expected.
    """

    item: str
    says: str
    measured: float
    error: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def agrees(cls, item: str, says: str, ratio: float) -> Self:
        """A number of the library's agrees with the paper's: their ratio is 1 to 6 digits."""
        says = f"{says}: the library's number over the printed formula, to 6 digits"
        return cls(item, says, ratio, 0.0, 1 - 5e-7, 1 + 5e-7)

    @property
    def verdict(self) -> str:
        """With I the measured number and 2 standard errors to either side: it holds where I lies in the range, does not
        hold where no part of I does, and cannot be told otherwise, or where a number is none.
        """
        reach = ERRORS * self.error
        if not math.isfinite(self.measured) or not math.isfinite(reach) or reach < 0.0:
            return UNTOLD
        if self.low <= self.measured - reach and self.measured + reach <= self.high:
            return HOLDS
        return FAILS if self.measured + reach < self.low or self.measured - reach > self.high else UNTOLD

    @property
    def expected(self) -> str:
        """The range in words."""
        if math.isinf(self.low):
            return f"at most {self.high:.4g}"
        if math.isinf(self.high):
            return f"at least {self.low:.4g}"
        digits = 8 if self.high - self.low < 1e-5 else 4
        return f"{self.low:.{digits}g} to {self.high:.{digits}g}"

    @property
    def found(self) -> str:
        """The measured number, with its standard error."""
        return f"{self.measured:.4g} ± {self.error:.2g}" if self.error else f"{self.measured:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; ends that are open are None."""
        return {**arguments(self), "expected": self.expected, "found": self.found, "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Picture:
    """Lines over x on logarithmic axes, by name; those whose name begins with "bound" or "theory" are drawn without points.

    Attributes:
        title, below: the heading, and a line under it.
        x, y: names of the axes.
        lines: the points of each line.
    """

    title: str
    below: str
    x: str
    y: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What was found about one paper. Printing it shows the verdicts, `save` writes everything.

    Attributes:
        claims: with their verdicts.
        tables: rows by the name of a table.
        pictures: by name.
        notes: what was left out, and why.
        paper, title: which paper.
        quick: whether tables were small.
        recorded: an earlier run: its "commit", "date" and "claims"; empty where there is none.
    """

    claims: tuple[Claim, ...]
    tables: Mapping[str, list[dict[str, Any]]]
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    paper: str = ""
    title: str = ""
    quick: bool = False
    recorded: Mapping[str, Any] = field(default_factory=dict)

    def beside(self, claim: Claim) -> str:
        """What was recorded of a claim: number and verdict; a dash where nothing was."""
        for one in self.recorded.get("claims", ()):
            if (one["item"], one["says"]) == (claim.item, claim.says):
                return f"{one['found']}, {one['verdict']}"
        return "–"

    def to_dict(self) -> dict[str, Any]:
        """Paper and claims, JSON-ready."""
        return {name: plain(getattr(self, name)) for name in ("paper", "title", "quick", "claims", "notes")}

    def save(self, folder: str | Path) -> list[Path]:
        """Write index.html, claims.json, and each table and picture as CSV, PNG and SVG; the files written.

        Raises:
            InvalidParameter: the folder is a file, or holds something: nothing is ever overwritten.
        """
        where = Path(folder)
        check_folder(where)
        where.mkdir(parents=True, exist_ok=True)
        pictures, made = {}, {"claims.json": json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"}
        for name, picture in self.pictures.items():
            figure = draw(picture)
            for end in ("svg", "png"):
                image = io.BytesIO()
                figure.savefig(image, format=end, dpi=160)
                write_whole(where / f"{name}.{end}", image.getvalue())
            pictures[name] = inline_svg(draw(picture), name, picture.title)
        for name, rows in self.tables.items():
            text = io.StringIO()
            columns = list(dict.fromkeys(key for row in rows for key in row))
            writer = csv.DictWriter(text, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            made[f"{name}.csv"] = text.getvalue()
        template = resources("hullabaloo.reproduce").joinpath("page.html.j2").read_text(encoding="utf-8")
        made["index.html"] = environment().from_string(template).render(found=self, pictures=pictures)
        for name, content in made.items():
            write_whole(where / name, content)
        return sorted(where.iterdir())

    def __str__(self) -> str:
        lines = [
            f"{one.verdict.upper()}: {one.item}: {one.says}: {one.found} (expected {one.expected}; recorded {self.beside(one)})"
            for one in self.claims
        ]
        return "\n".join((f"{self.paper}: {self.title}", *lines, *self.notes))


def mean_rows(name: str, x: Sequence[float], runs: Mapping[str, Sequence[Sequence[float]]]) -> list[dict[str, Any]]:
    """A row for each x, with the mean of each kind of run there."""
    means = {key: np.mean(found, axis=0) for key, found in runs.items()}
    return [{name: one, **{key: float(mean[at]) for key, mean in means.items()}} for at, one in enumerate(x)]


def lines_of(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[list[float], list[float]]]:
    """Every column of a table as a line over the first."""
    return {key: ([row[name] for row in rows], [row[key] for row in rows]) for key in rows[0] if key != name}


def slope(x: Sequence[float], y: Sequence[float] | Array) -> float:
    """Of log y against log x, by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def slopes(x: Sequence[float], runs: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Mean and standard error of the slope over repetitions of the whole experiment."""
    return mean_error([slope(x, run) for run in runs])


def mean_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error; NaN is the error of a single value."""
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), spread


def check_folder(folder: Path) -> None:
    """Refuse a place that is no empty folder."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InvalidParameter(
            f"A new folder was to be filled with files, and {folder} is a file, or holds files already, and nothing is overwritten. Name another place."
        )


def draw(picture: Picture) -> "Figure":
    """One picture, with its legend below."""
    figure, axes = new_figure(4.2, 6.4)
    for at, (name, (x, y)) in enumerate(picture.lines.items()):
        colour = COLOURS[at % len(COLOURS)]
        plain = name.startswith(PLAIN)
        line(axes, x, y, MUTED if plain else colour, 1.4, label=name, linestyle="--" if plain else "-")
        if not plain:
            dots(axes, x, y, colour, 4.0, 3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    frame(axes, picture.title, picture.below, x=picture.x, y=picture.y)
    figure.legend(loc="outside lower center", ncols=min(3, len(picture.lines)), frameon=False, fontsize=9)
    return figure
