"""The pictures of the documentation, drawn from the recorded results of the benchmarks."""

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap

from hullabaloo.report.drawing import BLUE, GRID, INK, MUTED, ORANGE, PAPER, SMALL, heading, new_figure

ROOT = Path(__file__).resolve().parents[1]
METHODS = {
    "DP-CD, true M": (BLUE, "o", "--", False),
    "DP-CD, estimated M": (BLUE, "o", "-", True),
    "DP-SGD": (ORANGE, "s", "-", True),
    "full gradient": (INK, "^", ":", False),
}
RISKS = (0.01, 0.03, 0.1, 0.3, 1.0)
STYLES = ((BLUE, "o", "-"), (ORANGE, "s", "-"), (INK, "^", "-"), (MUTED, "", ":"))


def draw() -> list[Path]:
    """Draw every picture; those of results that are not recorded are left out."""
    found = []
    for name, pictures in PICTURES.items():
        path = ROOT / "benchmarks" / "results" / f"{name}.json"
        if path.exists():
            document = json.loads(path.read_text(encoding="utf-8"))
            drawn = pictures(document["results"])
            found += [_save(figure, title, digest(document["results"])) for title, figure in drawn.items()]
    return found


def digest(results: Any) -> str:
    """Names the results that a picture shows; the picture bears it."""
    return hashlib.sha256(json.dumps(results).encode()).hexdigest()


def theory(results: dict[str, Any]) -> dict[str, Any]:
    """Rates in n, dependence on p, and Gaussian width against risk."""
    rates, columns, sets = (results[f"risk_against_{name}"] for name in ("n", "p", "width"))
    fitted = [row["slope"] for row in results["fitted_slopes"]]
    return {
        "theory-records": _lines(
            "Excess risk by number of records",
            "Worst table, ε = 1, δ = 1e-6.",
            "records n",
            [row["n"] for row in rates],
            {
                f"Frank–Wolfe, slope {fitted[0]:.2f}": [row.get("frank_wolfe", math.nan) for row in rates],
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


def theorems(results: dict[str, Any]) -> dict[str, Any]:
    """Each theorem's bound and what was measured, at the larger number of records."""
    rows = results["bounds_against_measurements"]
    last = {(row["theorem"], row["problem"]): row for row in rows}
    figure, axes = new_figure(8.2, 8.6)
    for place, row in enumerate(reversed(last.values())):
        above = row["bound"] >= row["measured"]
        axes.plot([row["measured"], row["bound"]], [place, place], color=GRID, linewidth=2.0, zorder=1)
        axes.plot(row["measured"], place, "o", color=BLUE, markersize=5, label="measured" if place == 0 else None)
        axes.plot(
            row["bound"],
            place,
            "<" if above else ">",
            color=ORANGE,
            markersize=6,
            label="bound" if place == 0 else None,
        )
    said = [f"{row['theorem']}: {row['problem']}" for row in reversed(last.values())]
    _logarithmic(axes, "excess risk")
    axes.set_yscale("linear")
    axes.minorticks_off()
    axes.set_yticks(range(len(said)), said)
    axes.tick_params(axis="y", labelsize=SMALL - 3)
    axes.legend(fontsize=SMALL - 2, frameon=False, loc="upper left")
    heading(axes, "Bounds and measurements", "ε = 1; n = 100 000, of streams 131 072.")
    return {"theory-bounds": figure}


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


def structured_sparsity(results: dict[str, Any]) -> dict[str, Any]:
    """Patterns planted and found, weeks of two real tables, and risk by ε."""
    patterns = results["patterns"]
    return {
        "structured-patterns": _patterns(patterns["planted"]),
        "structured-weeks": _weeks(patterns["weeks"]),
        "structured-risk": _risks(results["planted"]),
    }


def _patterns(rows: Sequence[dict[str, Any]]) -> Any:
    """A row for each pattern: the truth, what l1 found and what the structured norm found."""
    figure, first = new_figure(7.2, 8.6)
    first.remove()
    panels = figure.subplots(len(rows), 3, height_ratios=[1.0, 1.0, 1.15, 1.5])
    for line, row in zip(panels, rows, strict=True):
        found = [("true", row["truth"]), *row["found"].items()]
        limit = max(abs(value) for value in row["truth"])
        for axes, (name, theta) in zip(line, found, strict=True):
            draw = _stems if row["shape"][0] == 1 else _top if row["pattern"] == "tree" else _cells
            draw(axes, theta, limit, row["shape"], [value != 0.0 for value in row["truth"]])
            axes.set_title(f"{row['pattern']}: {name}", fontsize=SMALL, loc="left", color=INK)
    heading(
        panels[0][0],
        "What l1 and a structured norm find at ε = 1",
        "12 000 records (24 000 of the rectangle), δ = 1/n², penalties as strong as the noise. Sticks and dots: blue in\n"
        "the planted support, orange outside. Pixels: blue above 0, orange below; framed: the planted rectangle.",
    )
    return figure


def _stems(axes: Any, theta: Sequence[float], limit: float, shape: Sequence[int], true: Sequence[bool]) -> None:
    """Coefficients in their order, as sticks."""
    _plain(axes)
    axes.set_yticks([])
    axes.axhline(0.0, color=MUTED, linewidth=0.6)
    for colour, side in ((BLUE, True), (ORANGE, False)):
        at = [j for j, value in enumerate(theta) if value != 0.0 and true[j] is side]
        axes.vlines(at, 0.0, [theta[j] for j in at], color=colour, linewidth=1.5)
    axes.set_xlim(-1.0, len(theta))
    axes.set_ylim(-1.25 * limit, 1.25 * limit)
    axes.set_xticks([0, len(theta) // 2, len(theta)])
    axes.tick_params(labelsize=SMALL - 3)


def _top(axes: Any, theta: Sequence[float], limit: float, shape: Sequence[int], true: Sequence[bool]) -> None:
    """A binary tree, root above; the diameter says how large a coefficient is."""
    axes.axis("off")
    depth = [(j + 1).bit_length() - 1 for j in range(len(theta))]
    across = [(j + 1.5 - 2 ** depth[j]) / 2 ** depth[j] for j in range(len(theta))]
    edges = [(j, (j - 1) // 2) for j in range(1, len(theta))]
    x = [place for j, up in edges for place in (across[up], across[j], None)]
    y = [place for j, up in edges for place in (-depth[up], -depth[j], None)]
    axes.plot(x, y, color=GRID, linewidth=0.6, zorder=1)
    levels = [math.ceil(5.0 * min(abs(value) / limit, 1.0)) for value in theta]
    for colour, side in ((BLUE, True), (ORANGE, False)):
        for level in range(1, 6):
            at = [j for j in range(len(theta)) if levels[j] == level and true[j] is side]
            axes.plot([across[j] for j in at], [-depth[j] for j in at], "o", color=colour, markersize=level, zorder=2)


def _cells(axes: Any, theta: Sequence[float], limit: float, shape: Sequence[int], true: Sequence[bool]) -> None:
    """Pixels; a frame around the planted patch."""
    rows, columns = shape
    _image(axes, theta, limit, shape, "equal")
    inside = [divmod(j, columns) for j in range(rows * columns) if true[j]]
    low, left = min(i for i, _ in inside), min(j for _, j in inside)
    high, right = max(i for i, _ in inside) + 1, max(j for _, j in inside) + 1
    axes.plot(
        [left - 0.5, right - 0.5, right - 0.5, left - 0.5, left - 0.5],
        [low - 0.5, low - 0.5, high - 0.5, high - 0.5, low - 0.5],
        color=INK,
        linewidth=1.0,
    )


def _image(axes: Any, theta: Sequence[float], limit: float, shape: Sequence[int], aspect: str) -> None:
    """Blue above 0, orange below, paper at 0."""
    rows, columns = shape
    shades = LinearSegmentedColormap.from_list("signed", [ORANGE, PAPER, BLUE])
    table = [theta[i * columns : (i + 1) * columns] for i in range(rows)]
    axes.imshow(table, cmap=shades, vmin=-limit, vmax=limit, aspect=aspect, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color(GRID)


def _weeks(rows: Sequence[dict[str, Any]]) -> Any:
    """The coefficients of the cells of a week: without privacy, by l1, by windows."""
    figure, first = new_figure(3.9, 8.6)
    first.remove()
    panels = figure.subplots(len(rows), 3)
    for line, row in zip(panels, rows, strict=True):
        limit = max(abs(value) for value in row["truth"])
        for axes, (name, theta) in zip(line, [("non-private", row["truth"]), *row["found"].items()], strict=True):
            _image(axes, theta, limit, row["shape"], "auto")
            axes.set_title(f"{row['table']}: {name}", fontsize=SMALL - 1, loc="left", color=INK)
            axes.set_xlabel("hour", fontsize=SMALL - 2, color=MUTED)
        line[0].set_ylabel("day", fontsize=SMALL - 2, color=MUTED)
    heading(
        panels[0][0],
        "Two real weeks at ε = 0.5",
        "A coefficient for each day and time of day. Blue: above the mean; orange: below.",
    )
    return figure


def stream_risk(results: dict[str, Any]) -> dict[str, Any]:
    """A panel for each stream: the risk of what has been released by then."""
    figure, first = new_figure(6.6, 8.6)
    first.remove()
    panels = figure.subplots(3, 2).ravel()
    styles = {
        "least squares": ("least squares, not private", INK, "-", 1.2),
        "river": ("river's linear regression, not private", MUTED, "-", 1.0),
        "constant": ("best constant", MUTED, ":", 1.2),
        "auto": ("running sums, buffered", BLUE, "-", 1.8),
        "tree": ("running sums, tree", BLUE, ":", 1.5),
        "fit again": ("fitted again, 20 times", ORANGE, "-", 1.8),
    }
    for axes, row in zip(panels, results["tables"], strict=False):
        _plain(axes)
        drawn = row["over time"]
        for name, (label, colour, style, width) in styles.items():
            axes.plot(drawn["records"], drawn[name], color=colour, linestyle=style, linewidth=width, label=label)
        calm = [drawn[name] for name in ("least squares", "constant")]
        axes.set_ylim(0.9 * min(map(min, calm)), 1.35 * max(map(max, calm)))
        axes.set_title(f"{row['table']}: {row['score']}", fontsize=SMALL, loc="left", color=INK)
        axes.tick_params(labelsize=SMALL - 3)
        axes.grid(color=GRID, linewidth=0.6)
    for axes in panels[3:5]:
        axes.set_xlabel("records", fontsize=SMALL - 1, color=INK)
    panels[-1].axis("off")
    lines, labels = panels[0].get_legend_handles_labels()
    panels[-1].legend(lines, labels, loc="center left", fontsize=SMALL - 1, frameon=False)
    heading(
        panels[0],
        "Risk over time at ε = 1",
        f"Mean over the records so far, the target scaled to [−1, 1]; median of {results['draws']} draws. δ = 1/n², replace-one.",
    )
    return {"streams-risk": figure}


def stream_bounds(results: dict[str, Any]) -> dict[str, Any]:
    """What is lost, and what the theorems allow."""
    rows = results["few_columns"]
    figure, axes = new_figure(4.4)
    styles = {
        "sums, buffered": (BLUE, "o", "-"),
        "sums, tree": (BLUE, "s", ":"),
        "16 fits": (ORANGE, "^", "-"),
        "Theorem 4.2, buffered": (INK, "o", "-"),
        "Theorem 4.2, tree": (INK, "s", ":"),
        "Theorem 3.1": (MUTED, "^", "-"),
    }
    for name, (colour, marker, style) in styles.items():
        x, y = [row["records"] for row in rows], [row[name] for row in rows]
        axes.plot(x, y, color=colour, marker=marker, linestyle=style, markersize=4, linewidth=1.5, label=name)
    _logarithmic(axes, "records")
    axes.legend(fontsize=SMALL - 2.5, frameon=False, ncols=2, loc="lower left")
    axes.set_ylim(bottom=min(row[name] for row in rows for name in styles) / 30.0)
    heading(
        axes,
        "Excess risk a record, and its bounds",
        "One simulated stream, ten columns, l2 ball, ε = 1.\nBounds hold for every stream.",
    )
    return {"streams-bounds": figure}


def sketch(results: dict[str, Any]) -> dict[str, Any]:
    """Share kept by number of columns, sketched and full."""
    figure, axes = new_figure(3.6)
    for epsilon, style in ((3.0, "-"), (1.0, ":")):
        for name, colour, marker in (("full", INK, "s"), ("sketched", BLUE, "o")):
            part = [row for row in results["simulated"] if (row["epsilon"], row["model"]) == (epsilon, name)]
            axes.plot(
                [row["p"] for row in part],
                [row["kept"] for row in part],
                color=colour,
                marker=marker,
                linestyle=style,
                markersize=4,
                linewidth=1.5,
                label=f"{name}, ε = {epsilon:g}",
            )
    axes.set_xscale("log")
    axes.set_xticks([300, 1000, 2000, 5000], ["300", "1 000", "2 000", "5 000"])
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel("columns", fontsize=SMALL - 1, color=INK)
    axes.grid(color=GRID, linewidth=0.6)
    axes.tick_params(labelsize=SMALL - 2)
    axes.legend(fontsize=SMALL - 2, frameon=False)
    heading(axes, "Share of the gain kept", "20 000 sparse records, l1 ball. Sketched: of all columns up to 1 000.")
    return {"streams-sketch": figure}


def _risks(lines: Sequence[dict[str, Any]]) -> Any:
    """Risk by ε, a panel for each pattern: l1 and its first structure, by the best rule of each and by the public one."""
    figure, first = new_figure(5.4, 8.6)
    first.remove()
    names = list(dict.fromkeys(line["pattern"] for line in lines))
    panels = figure.subplots(-(-len(names) // 2), 2, sharey=True).ravel()
    for axes, name in zip(panels, names, strict=False):
        _plain(axes)
        said = next(line["structure"] for line in lines if line["pattern"] == name)
        for rule, style in (("best rule", "-"), ("noise × 1", ":")):
            part = [line for line in lines if (line["pattern"], line["structure"], line["rule"]) == (name, said, rule)]
            x = [line["epsilon"] for line in part]
            for label, key, colour, marker in (("l1", "l1 risk", ORANGE, "s"), (said, "risk", BLUE, "o")):
                axes.plot(
                    x,
                    [line[key] for line in part],
                    color=colour,
                    marker=marker,
                    linestyle=style,
                    markersize=4,
                    linewidth=1.5,
                    label=label if style == "-" else None,
                )
        _logarithmic(axes, "ε")
        axes.set_xticks(x, [f"{one:g}" for one in x])
        axes.set_yticks(RISKS, [f"{one:g}" for one in RISKS])
        axes.minorticks_off()
        axes.legend(fontsize=SMALL - 2, frameon=False)
        axes.set_title(name, fontsize=SMALL, loc="left", color=INK)
    heading(
        panels[0],
        "Excess risk by ε",
        "Of the null model's. Solid: each norm by the best of four rules, in hindsight.\nDotted: penalties as strong as the noise, a public rule.",
    )
    return figure


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


def _save(figure: Any, name: str, results: str) -> Path:
    """The same bytes for the same results and the same matplotlib; the digest says of which results."""
    path = ROOT / "docs" / f"{name}.svg"
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(
            path, format="svg", metadata={"Date": None, "Creator": None, "Description": f"results {results}"}
        )
    return path


PICTURES = {
    "theory": theory,
    "theorems": theorems,
    "coordinate_descent_paper": coordinate_descent_paper,
    "structured_sparsity": structured_sparsity,
    "stream_risk": stream_risk,
    "stream_bounds": stream_bounds,
    "sketch": sketch,
}


if __name__ == "__main__":
    for path in draw():
        print(path.relative_to(ROOT))
