"""`hullabaloo reproduce`: a paper's claims measured, with verdicts."""

from pathlib import Path

from hullabaloo.cli import build
from hullabaloo.cli.options import command
from hullabaloo.cli.output import Output, facts, table


@command
def reproduce(
    paper: str, *, quick: bool = False, out: Path | None = None, data: Path | None = None, json_: bool = False
) -> None:
    """Measure what one of the five papers behind the library claims, on synthetic or public tables: not private, and free.

    000 and 002: Talwar, Thakurta and Zhang; 001: Kumar and Deisenroth; 003: Kasiviswanathan, Nissim and Jin; 004: Mangold, Bellet, Salmon
    and Tommasi. Writes a page, tables and pictures, and prints a verdict on each claim beside the recorded one.

    Args:
        paper PAPER: 000, 001, 002, 003 or 004.
        quick: Small tables, a minute or less; else some minutes.
        out DIR: The folder to make, new or empty; else reproduce-PAPER.
        data DIR: 004: the folder of california_housing and electricity_elec2, .parquet or .csv; else synthetic tables.
    """
    build.places(out, data)
    from hullabaloo.reproduce.claims import check_folder
    from hullabaloo.reproduce.papers import reproduce as run

    folder = out or Path(f"reproduce-{Path(paper).name}")
    check_folder(folder)
    output = Output("reproduce", json_)
    with output.working("Measuring"):
        found = run(paper, quick=quick, data=data)
    written = found.save(folder)
    rows = [(one.item, one.says, one.found, one.expected, one.verdict, found.beside(one)) for one in found.claims]
    when = f"recorded {found.recorded['date']}" if found.recorded else "recorded"
    shown = table(("item", "claim", "measured", "expected", "verdict", when), rows, left=6)
    told = {**found.to_dict(), "files": [str(path) for path in written]}
    page = facts({"page": str(folder / "index.html"), "files": f"{len(written)} in {folder}"})
    output.result(told, found.title, shown, *found.notes, page)
