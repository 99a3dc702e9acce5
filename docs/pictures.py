"""The pictures of the documentation, drawn from the recorded results of the benchmarks."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from hullabaloo.report.drawing import BLUE, GRID, INK, MUTED, ORANGE, SMALL, heading, new_figure

ROOT = Path(__file__).resolve().parents[1]
METHODS = {
    "DP-CD, true M": (BLUE, "o", "--", False),
    "DP-CD, estimated M": (BLUE, "o", "-", True),
    "DP-SGD": (ORANGE, "s", "-", True),
    "full gradient": (INK, "^", ":", False),
}
STYLES = ((BLUE, "o", "-"), (ORANGE, "s", "-"), (INK, "^", "-"), (MUTED, "", ":"))


def draw() -> list[Path]:
    """Draw every picture; those of results that are not recorded are left out."""
    found = []
    for name, pictures in PICTURES.items():
        path = ROOT / "benchmarks" / "results" / f"{name}.json"
        if path.exists():
            document = json.loads(path.read_text(encoding="utf-8"))
            drawn = pictures(document["results"])
            found += [_save(figure, title, document["source_hash"]) for title, figure in drawn.items()]
    return found


def theory(results: dict[str, Any]) -> dict[str, Any]:
    """Rates in n, dependence on p, and Gaussian width against risk."""
    rates, columns, sets = (results[f"risk_against_{name}"] for name in ("n", "p", "width"))
    fitted = list(results["fitted_slopes"].values())
    return {
        "theory-records": _lines(
            "Excess risk by number of records",
            "Worst table, ε = 1, δ = 1e-6.",
            "records n",
            [row["n"] for row in rates],
            {
                f"Frank–Wolfe, slope {fitted[0]:.2f}": [row["frank_wolfe"] for row in rates],
                f"mirror descent, slope {fitted[1]:.2f}": [row["mirror_descent"] for row in rates],
                f"with a ridge, slope {fitted[2]:.2f}": [row["mirror_descent_ridge"] for row in rates],
                "two-table lower bound": [row["lower_bound_two_tables"] for row in rates],
            },
        ),
        "theory-columns": _lines(
            "Excess risk by number of columns",
            "Worst table, n = 10 000.",
            "columns p",
            [row["p"] for row in columns],
            {"l2 ball": [row["l2_ball"] for row in columns], "l1 ball": [row["l1_ball"] for row in columns]},
        ),
        "theory-width": _points(sets),
    }


def coordinate_descent_paper(results: dict[str, Any]) -> dict[str, Any]:
    """Relative error against passes over the data, a panel for each problem; bands from the first to the ninth decile."""
    figure, first = new_figure(8.6, 6.6)
    first.remove()
    names = [row["problem"] for row in results["problems"]]
    panels = figure.subplots(-(-len(names) // 2), 2).ravel()
    for axes, name in zip(panels, names, strict=True):
        _plain(axes)
        for method, (colour, marker, style, filled) in METHODS.items():
            rows = [row for row in results["curves"] if (row["problem"], row["method"]) == (name, method)]
            x = [row["passes"] for row in rows]
            axes.fill_between(
                x,
                [row["lowest_tenth"] for row in rows],
                [row["highest_tenth"] for row in rows],
                color=colour,
                alpha=0.12,
                linewidth=0.0,
            )
            axes.plot(
                x,
                [row["mean"] for row in rows],
                color=colour,
                marker=marker,
                linestyle=style,
                linewidth=1.4,
                markersize=4.5,
                markerfacecolor=colour if filled else "white",
                label=method,
            )
        rule = next(row for row in results["public_rule_nothing_tuned"] if row["problem"] == name)
        axes.plot(
            rule["passes"], rule["mean"], "*", color=BLUE, markersize=9, linestyle="", label="public rule, untuned"
        )
        _logarithmic(axes, "")
        axes.set_xticks(x, [str(passes) for passes in x])
        axes.minorticks_off()
        axes.set_title(name, fontsize=SMALL, loc="left", color=INK)
    for axes in panels[-2:]:
        axes.set_xlabel("passes over the data", fontsize=SMALL - 1, color=INK)
    for axes in panels[::2]:
        axes.set_ylabel("relative error", fontsize=SMALL - 1, color=INK)
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=3, fontsize=SMALL - 1.5, frameon=False)
    seeds = results["grid"]["reported seeds"]
    heading(
        panels[0],
        "Coordinate descent against DP-SGD",
        f"(F(w) − F*)/F*: mean of {seeds} seeds, first to ninth decile shaded.\n"
        "ε = 1 (sparse lasso 10), δ = 1/n², add-or-remove. Each point is tuned.",
    )
    return {"coordinate-descent": figure}


def _plain(axes: Any) -> None:
    axes.set_facecolor("none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)
    axes.tick_params(colors=MUTED, length=3, labelcolor=INK)


def _lines(title: str, below: str, across: str, x: Sequence[float], lines: dict[str, Sequence[float]]) -> Any:
    figure, axes = new_figure(3.6)
    for (name, y), (colour, marker, style) in zip(lines.items(), STYLES, strict=False):
        axes.plot(x, y, color=colour, marker=marker, linestyle=style, markersize=4, linewidth=1.5, label=name)
    _logarithmic(axes, across)
    axes.legend(fontsize=SMALL - 1.5, frameon=False)
    heading(axes, title, below)
    return figure


def _points(sets: Sequence[dict[str, Any]]) -> Any:
    figure, axes = new_figure(3.6)
    for row in sets:
        own = row["potential"] == "own"
        axes.plot(
            row["width"],
            row["risk"],
            marker="o" if own else "s",
            color=BLUE if own else ORANGE,
            linestyle="",
            markersize=5,
        )
        axes.annotate(
            row["set"].split(",")[0],
            (row["width"], row["risk"]),
            xytext=(4, -9 if row["set"] == "l1 ball" else 3),
            textcoords="offset points",
            fontsize=SMALL - 3,
        )
    _logarithmic(axes, "Gaussian width")
    axes.set_xlim(0.9, 30.0)
    heading(
        axes,
        "Excess risk by Gaussian width",
        "Worst table, n = 10 000, p = 1024.\nCircles: the set's own potential; squares: ½‖θ‖².",
    )
    return figure


def _logarithmic(axes: Any, across: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(across, fontsize=SMALL - 1, color=INK)
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(labelsize=SMALL - 2)


def _save(figure: Any, name: str, source_hash: str) -> Path:
    """The same bytes for the same results and the same matplotlib; the hash says which results."""
    path = ROOT / "docs" / f"{name}.svg"
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(
            path, format="svg", metadata={"Date": None, "Creator": None, "Description": f"sources {source_hash}"}
        )
    return path


PICTURES = {"theory": theory, "coordinate_descent_paper": coordinate_descent_paper}


if __name__ == "__main__":
    for path in draw():
        print(path.relative_to(ROOT))
