"""A reproduction as files: a page, the claims, tables and pictures."""

import csv
import io
import json
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING

from hullabaloo.data.saving import write_whole
from hullabaloo.errors import InvalidParameter
from hullabaloo.report.drawing import BLUE, INK, MUTED, ORANGE, dots, frame, inline_svg, line, new_figure
from hullabaloo.report.page import environment
from hullabaloo.reproduce.claims import Picture, Reproduction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, INK, MUTED)
PLAIN = ("bound", "theory")
"""Beginnings of the names of lines without points."""


def check_folder(folder: Path) -> None:
    """Refuse a place that is no empty folder."""
    if folder.exists() and not folder.is_dir():
        raise InvalidParameter(f"A reproduction is written into a folder, and {folder} is a file. Name another place.")
    if folder.is_dir() and any(folder.iterdir()):
        raise InvalidParameter(
            f"A reproduction was to be written into {folder}, which holds files already, and nothing is overwritten. Name another folder, or empty this one."
        )


def write(found: Reproduction, folder: Path) -> list[Path]:
    """Write index.html, claims.json, and each table and picture as CSV, PNG and SVG."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures, made = {}, {"claims.json": json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n"}
    for name, picture in found.pictures.items():
        figure = draw(picture)
        for end in ("svg", "png"):
            image = io.BytesIO()
            figure.savefig(image, format=end, dpi=160)
            write_whole(folder / f"{name}.{end}", image.getvalue())
        pictures[name] = inline_svg(draw(picture), name, picture.title)
    for name, rows in found.tables.items():
        text = io.StringIO()
        columns = list(dict.fromkeys(key for row in rows for key in row))
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        made[f"{name}.csv"] = text.getvalue()
    template = resources("hullabaloo.reproduce").joinpath("page.html.j2").read_text(encoding="utf-8")
    made["index.html"] = environment().from_string(template).render(found=found, pictures=pictures)
    for name, content in made.items():
        write_whole(folder / name, content)
    return sorted(folder.iterdir())


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
