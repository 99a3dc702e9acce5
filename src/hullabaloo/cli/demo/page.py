"""The demo's page, which stands on its own: what was found, with its errors, what it guarantees, and what privacy cost."""

from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli.demo import survey
from hullabaloo.data import write_whole
from hullabaloo.report.drawing import BLUE, INK, MUTED, ORANGE, PALE, dots, frame, inline_svg, line, new_figure, note
from hullabaloo.report.page import environment
from hullabaloo.report.plots import draw_coefficients
from hullabaloo.report.released import rows_of
from hullabaloo.report.words import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hullabaloo.linear_model.base import PrivateLinearModel

Effects = list[dict[str, Any]]


def write_page(path: Path, model: "PrivateLinearModel", curve: survey.Curve, remaining: str, refusal: str) -> None:
    """Write the page; everything on it but the curve is post-processing of the release."""
    page = resources("hullabaloo.cli.demo").joinpath("page.html.j2").read_text(encoding="utf-8")
    effects, summary = effects_of(model), model.summary()
    drawn = draw_coefficients(effects, survey.TARGET, summary.confidence)
    about = {
        "survey": survey,
        "curve": curve,
        "effects": effects,
        "strongest": strongest(effects),
        "note": summary.note,
    }
    after = {"statement": model.statement_, "remaining": remaining, "refusal": refusal}
    pictures = {
        "effects": inline_svg(drawn, "effects", "Released effects with their intervals"),
        "curve": inline_svg(picture(curve), "curve", f"R² against epsilon; {survey.WARNING}"),
    }
    write_whole(path, environment().from_string(page).render(**about, **after, pictures=pictures))


def picture(curve: survey.Curve) -> "Figure":
    """Accuracy against ε beside the fit without privacy; the warning is part of the picture."""
    figure, axes = new_figure(3.6)
    epsilons, means = list(survey.EPSILONS), [curve.mean(e) for e in survey.EPSILONS]
    for e in epsilons:
        dots(axes, [e] * survey.DRAWS, curve.draws[e], PALE, 4, 1, mew=0)
    line(axes, epsilons, means, BLUE, 2.2, 2)
    dots(axes, epsilons, means, BLUE, 5, 3)
    axes.set(xscale="log", xlim=(epsilons[0] / 1.15, epsilons[-1] * 1.15))
    for level, text, colour, side in (
        (curve.without_privacy, f"without privacy: {shown(curve.without_privacy, 3)}", INK, "bottom"),
        (0.0, "predicting the mean", MUTED, "top"),
    ):
        axes.axhline(level, color=colour, lw=1.1, ls=(0, (5, 3)), zorder=0)
        at: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "va": side}
        note(axes, text, (1.0, level), (-2, 3 if side == "bottom" else -3), colour=colour, **at)
    value = curve.mean(survey.EPSILON)
    dots(axes, [survey.EPSILON], [value], ORANGE, 8, 4)
    text = f"ε = {survey.EPSILON:g}: {shown(value, 3)}"
    note(axes, text, (survey.EPSILON, value), (8, -8), colour=ORANGE, strong=True, va="top")
    axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    axes.minorticks_off()
    axes.margins(y=0.12)
    title = f"What privacy costs ({survey.DRAWS} draws at each ε)"
    x = "ε of one private release (smaller protects better)"
    frame(axes, title, survey.WARNING, x=x, y="R² on the table", grid="y", colour=ORANGE)
    return figure


def effects_of(model: "PrivateLinearModel") -> Effects:
    """The rows of a card, of features alone; a coefficient times its "span" is the change over the whole answer scale, so that effects can be compared."""
    return [row for row in rows_of(model, model.summary()) if row["span"] is not None]


def strongest(effects: Effects) -> str:
    """A sentence on the effects that the release can tell from zero."""
    clear = [row for row in effects if row["low"] is not None and row["low"] * row["high"] > 0.0]
    changes = {survey.LABELS[row["name"]]: 100.0 * row["estimate"] * row["span"] for row in clear}
    if not clear:
        return "No single effect is told apart from the noise of sampling and privacy together."
    parts = [
        f"{said}: {changes[said]:+.0f} points" for said in sorted(changes, key=lambda said: -abs(changes[said]))[:3]
    ]
    most = "; with ".join(parts).replace("-", "−")
    return f"From one end of the answer scale to the other, other answers equal, the probability of an affair is estimated to change most with {most}."
