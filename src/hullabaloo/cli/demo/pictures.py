"""The two pictures of the demo's report, as SVG text that needs nothing else."""

import io
from typing import TYPE_CHECKING, Any

from hullabaloo.cli.demo.curve import WARNING, Curve
from hullabaloo.cli.demo.survey import EPSILON

if TYPE_CHECKING:
    from hullabaloo.linear_model.summary import Row

INK, PRIVACY, SAMPLING, PLAIN = "#22303c", "#c2410c", "#94a3b8", "#475569"


def error_against_epsilon(curve: Curve) -> str:
    """R² on the table against ε, beside the fit without privacy, with the warning in the picture itself."""
    figure, axes = _figure(7.2, 4.2)
    epsilons = [point.epsilon for point in curve.points]
    axes.axhline(curve.without_privacy, color=PLAIN, linestyle="--", linewidth=1.5)
    axes.text(epsilons[0], curve.without_privacy, "without privacy", va="bottom", color=PLAIN)
    axes.fill_between(
        epsilons, [p.low for p in curve.points], [p.high for p in curve.points], color=PRIVACY, alpha=0.15, linewidth=0
    )
    axes.plot(epsilons, [p.mean for p in curve.points], color=PRIVACY, marker="o", linewidth=2)
    axes.plot([EPSILON], [curve.release], marker="*", markersize=15, color=INK, linestyle="none", zorder=3)
    axes.annotate(
        "this release",
        (EPSILON, curve.release),
        xytext=(10, -22),
        textcoords="offset points",
        color=INK,
    )
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_ylim(min(-0.01, min(p.low for p in curve.points) - 0.01), curve.without_privacy * 1.18)
    axes.set_xlabel("ε (less privacy →)")
    axes.set_ylabel("R² on the table")
    figure.text(0.5, 0.015, WARNING, ha="center", color=PRIVACY, fontsize=9, weight="bold")
    figure.subplots_adjust(bottom=0.2, left=0.1, right=0.98, top=0.97)
    return _svg(figure)


def coefficients(rows: "list[Row]", labels: list[str]) -> str:
    """Each coefficient with its interval, and within it the part that is due to privacy."""
    figure, axes = _figure(7.2, 0.34 * len(rows) + 1.0)
    for place, row in enumerate(reversed(rows)):
        clear = row.low * row.high > 0.0
        axes.plot([row.low, row.high], [place, place], color=SAMPLING, linewidth=5, solid_capstyle="butt")
        half = 1.96 * row.privacy_error
        axes.plot([row.coefficient - half, row.coefficient + half], [place, place], color=PRIVACY, linewidth=1.8)
        axes.plot(
            [row.coefficient], [place], marker="o", color=INK if clear else "white", markeredgecolor=INK, markersize=6
        )
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(rows)), list(reversed(labels)))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel("change of the probability of an affair, over the whole answer scale")
    figure.tight_layout()
    return _svg(figure)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    axes = figure.add_subplot()
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="both", color="#e2e8f0", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _svg(figure: Any) -> str:
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "hullabaloo"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
