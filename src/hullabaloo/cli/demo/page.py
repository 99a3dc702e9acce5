"""The demo's page, which stands on its own: what was found, with its errors, what it guarantees, and what privacy cost."""

from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli.demo import survey
from hullabaloo.data import write_whole
from hullabaloo.report.drawing import BLUE, INK, ORANGE, frame, inline_svg, new_figure, note
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
    """Accuracy against ε, its mean and standard deviation, beside the fit without privacy; the warning is part of the picture."""
    figure, axes = new_figure(3.6)
    means, spreads = zip(*curve.draws.values(), strict=True)
    axes.errorbar(survey.EPSILONS, means, yerr=spreads, color=BLUE, fmt="o-", lw=2.2, ms=5, elinewidth=1.2, capsize=4)
    axes.axhline(curve.without_privacy, color=INK, lw=1.1, ls=(0, (5, 3)), zorder=0)
    said, at = f"without privacy: {shown(curve.without_privacy, 3)}", (1.0, curve.without_privacy)
    note(axes, said, at, (-2, 3), colour=INK, xycoords=axes.get_yaxis_transform(), ha="right", va="bottom")
    axes.set(xscale="log")
    axes.set_xticks(survey.EPSILONS, [f"{e:g}" for e in survey.EPSILONS])
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
