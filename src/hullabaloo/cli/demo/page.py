"""The demo's report: one self-contained page that a person would want to look at."""

import math
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli.demo import survey
from hullabaloo.cli.demo.survey import Curve
from hullabaloo.data.saving import write_whole
from hullabaloo.report import coefficient_plot, error_against_epsilon_plot
from hullabaloo.report.drawing import inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hullabaloo.inference.summary import Row
    from hullabaloo.linear_model.base import PrivateLinearModel


def write_report(path: Path, model: "PrivateLinearModel", curve: Curve, remaining: str, refusal: str) -> None:
    """Write the page; everything on it but the curve is post-processing of the release."""
    from jinja2 import Environment, StrictUndefined

    summary, statement = model.summary(), model.statement_
    rows = [scaled(row, model) for row in summary.rows if row.name != "(intercept)"]
    labels = [survey.LABELS.get(row.name, row.name) for row in rows]
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(resources("hullabaloo.cli.demo").joinpath("report.html.j2").read_text(encoding="utf-8"))
    statement, told = model.statement_, any(not math.isnan(row.low) for row in rows)
    text = template.render(
        signed=signed,
        note=summary.note,
        epsilon=survey.EPSILON,
        delta=survey.DELTA,
        release=curve.release,
        without=curve.without_privacy,
        typical=curve.mean(survey.EPSILON),
        draws=survey.DRAWS,
        warning=survey.WARNING,
        told=told,
        strongest=strongest(rows, labels),
        effects=list(zip(labels, rows, strict=True)),
        coefficient_picture=inline_svg(
            coefficient_plot(model), "effects", "Released effects" + " with intervals" * told
        ),
        curve_picture=inline_svg(picture(curve), "curve", f"R² against epsilon; {survey.WARNING}"),
        guarantee=[f"{line[:1].upper()}{line[1:]}." for line in statement.lines()],
        remaining=remaining,
        refusal=refusal,
        made=statement.made,
        version=statement.version,
    )
    write_whole(path, text)


def picture(curve: Curve) -> "Figure":
    """Accuracy against ε beside the fit without privacy; the warning is part of the picture."""
    return error_against_epsilon_plot(
        curve.draws,
        non_private=curve.without_privacy,
        mean_only=0.0,
        chosen=survey.EPSILON,
        metric="R² on the table",
        title=f"What privacy costs ({survey.DRAWS} draws at each ε)",
    )


def scaled(row: "Row", model: "PrivateLinearModel") -> "Row":
    """A coefficient as the change over the whole declared answer scale, so that features can be compared."""
    from dataclasses import replace

    from hullabaloo.data import Numeric

    assert model.domain is not None
    declared: Any = dict(model.domain.features).get(row.name)
    width = declared.hi - declared.lo if isinstance(declared, Numeric) else 1.0
    numbers = ("coefficient", "sampling_error", "privacy_error", "low", "high")
    return replace(row, **{name: getattr(row, name) * width for name in numbers})


def strongest(rows: "list[Row]", labels: list[str]) -> str:
    """A sentence on the effects that the release can tell from zero."""
    clear = [(row, said) for row, said in zip(rows, labels, strict=True) if row.low * row.high > 0.0]
    clear.sort(key=lambda pair: -abs(pair[0].coefficient))
    if all(math.isnan(row.low) for row in rows):
        return "This release holds no intervals of single effects, so it does not tell which of them stand out from the noise."
    if not clear:
        return "No single effect stands out from the noise of sampling and privacy together."
    parts = [f"{said}: {signed(100 * row.coefficient, 0)} points" for row, said in clear[:3]]
    return (
        "From one end of the answer scale to the other, other answers equal, the predicted probability of an affair "
        f"changes most with {'; with '.join(parts)}."
    )


def signed(number: float, digits: int = 3) -> str:
    """A change with its sign, in the typographer's minus."""
    return f"{number:+.{digits}f}".replace("-", "−")
