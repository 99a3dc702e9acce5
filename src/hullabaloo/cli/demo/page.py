"""The demo's report: one self-contained page that a person would want to look at."""

import math
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli.demo import survey
from hullabaloo.data import INTERCEPT, write_whole
from hullabaloo.report.drawing import BLUE, INK, MUTED, ORANGE, PALE, dots, frame, inline_svg, line, new_figure, note
from hullabaloo.report.page import environment
from hullabaloo.report.plots import draw_coefficients
from hullabaloo.report.released import rows_of, spans
from hullabaloo.report.words import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hullabaloo.inference.summary import Row
    from hullabaloo.linear_model.base import PrivateLinearModel

Effects = list[tuple[str, "Row"]]


def write_report(path: Path, model: "PrivateLinearModel", curve: survey.Curve, remaining: str, refusal: str) -> None:
    """Write the page; everything on it but the curve is post-processing of the release."""
    page = resources("hullabaloo.cli.demo").joinpath("report.html.j2").read_text(encoding="utf-8")
    effects, statement = scaled(model), model.statement_
    told = any(not math.isnan(row.low) for _, row in effects)
    summary = model.summary()
    drawn = draw_coefficients(rows_of(model, summary), summary.rows[0].target, summary.confidence)
    text = (
        environment()
        .from_string(page)
        .render(
            survey=survey,
            curve=curve,
            statement=statement,
            signed=signed,
            note=summary.note,
            told=told,
            strongest=strongest(effects),
            effects=effects,
            coefficient_picture=inline_svg(drawn, "effects", "Released effects" + " with intervals" * told),
            curve_picture=inline_svg(picture(curve), "curve", f"R² against epsilon; {survey.WARNING}"),
            guarantee=[f"{line[:1].upper()}{line[1:]}." for line in statement.lines()],
            remaining=remaining,
            refusal=refusal,
        )
    )
    write_whole(path, text)


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


def scaled(model: "PrivateLinearModel") -> Effects:
    """What each feature is called, and its coefficient as the change over the whole declared answer scale, so that they can be compared."""
    assert model.domain is not None
    numbers = ("coefficient", "estimate", "std_error", "low", "high")
    found, lengths = [], spans(model.domain)
    for row in model.summary().rows:
        width = lengths.get(row.name, 1.0)
        wide = replace(row, **{name: getattr(row, name) * width for name in numbers})
        found += [] if row.name == INTERCEPT else [(survey.LABELS.get(row.name, row.name), wide)]
    return found


def strongest(effects: Effects) -> str:
    """A sentence on the effects that the release can tell from zero."""
    clear = [(said, row) for said, row in effects if row.low * row.high > 0.0]
    clear.sort(key=lambda pair: -abs(pair[1].estimate))
    if all(math.isnan(row.low) for _, row in effects):
        return "This release holds no intervals of single effects, so it does not tell which of them stand out from the noise."
    if not clear:
        return "No single effect stands out from the noise of sampling and privacy together."
    parts = [f"{said}: {signed(100 * row.estimate, 0)} points" for said, row in clear[:3]]
    return f"From one end of the answer scale to the other, other answers equal, the probability of an affair is estimated to change most with {'; with '.join(parts)}."


def signed(number: float, digits: int = 3) -> str:
    """A change with its sign, in the typographer's minus."""
    return f"{number:+.{digits}f}".replace("-", "−")
