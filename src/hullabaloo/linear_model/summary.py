"""A fitted model as a table: coefficients, standard errors split into sampling and privacy noise, intervals."""

import html
import math
import textwrap
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ElasticNetPenalty, L1Penalty, NoPenalty, Penalty
from hullabaloo.linear_model.frames import dataframe
from hullabaloo.linear_model.regularisation import chosen
from hullabaloo.losses import Squared

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One coefficient, in the user's units; an error or bound that the release cannot tell is NaN."""

    target: str
    name: str
    coefficient: float
    sampling_error: float
    privacy_error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, repr=False)
class Summary:
    """The table, and the statement that belongs to it; prints as text, shows as HTML in a notebook.

    Intervals are `coefficient ± z √(sampling² + privacy²)`: normal, first order in both noises, for the coefficient that
    the (regularised) fit estimates. They are post-processing of the release and cost nothing.
    """

    rows: tuple[Row, ...]
    confidence: float
    statement: str
    note: str

    def to_dataframe(self) -> Any:
        """The rows as a pandas dataframe, a row per coefficient."""
        return dataframe(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON-ready values; what cannot be told is None."""

        def plain(value: Any) -> Any:
            return None if isinstance(value, float) and not math.isfinite(value) else value

        rows = [{name: plain(getattr(row, name)) for name in Row.__slots__} for row in self.rows]
        return {"confidence": self.confidence, "note": self.note, "rows": rows}

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        percent = f"{100 * self.confidence:g}%"
        several = len({row.target for row in self.rows}) > 1
        head = [
            *(["target"] if several else []),
            "",
            "coefficient",
            "sampling s.e.",
            "privacy s.e.",
            percent + " interval",
        ]
        body = []
        for row in self.rows:
            interval = "not available" if math.isnan(row.low) else f"[{row.low:.4g}, {row.high:.4g}]"
            errors = ["n/a" if math.isnan(e) else f"{e:.3g}" for e in (row.sampling_error, row.privacy_error)]
            body.append([*([row.target] if several else []), row.name, f"{row.coefficient:.4g}", *errors, interval])
        return head, body

    def __str__(self) -> str:
        head, body = self._cells()
        widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]

        def fill(line: list[str]) -> str:
            cells = [
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            ]
            return "  ".join(cells).rstrip()

        rest = [textwrap.fill(text, 100, break_on_hyphens=False) for text in (self.note, self.statement)]
        return "\n".join([fill(head), "  ".join("-" * w for w in widths), *map(fill, body), "", *rest])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, body = self._cells()
        top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
        return (
            f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{html.escape(self.note)}</p><p>{html.escape(self.statement)}</p>"
        )


def summarise(model: "PrivateLinearModel", confidence: float) -> Summary:
    """Build the table from the release alone."""
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0.0 < confidence < 1.0:
        raise InvalidParameter(
            f"A confidence level lies strictly between 0 and 1, but {confidence!r} was asked, e.g. 0.95."
        )
    release, encoding = model.release_, model.encoding_
    z = float(ndtri(0.5 + confidence / 2.0))
    coefficients, intercepts = encoding.coefficients_to_user(release.theta)
    rows = []
    for k, target in enumerate(encoding.facts.targets):
        values = np.append(coefficients[k], intercepts[k])
        sampling = standard_errors(encoding, release.sampling_covariance, k)
        privacy = standard_errors(encoding, release.privacy_covariance, k)
        half = z * np.sqrt(sampling**2 + privacy**2)
        names = [*encoding.feature_names_out, *(["(intercept)"] if encoding.facts.intercept else [])]
        for j, name in enumerate(names):
            numbers = (values[j], sampling[j], privacy[j], values[j] - half[j], values[j] + half[j])
            rows.append(Row(target, name, *(float(number) for number in numbers)))
    return Summary(tuple(rows), confidence, str(release.statement), _note(model))


def standard_errors(encoding: Encoding, covariance: Array | None, k: int) -> Array:
    """Of target k's coefficients in the user's units, then the intercept; NaN where the release does not tell them."""
    if covariance is None:
        return np.full(len(encoding.feature_names_out) + 1, np.nan)
    matrix = encoding.user_matrix(k)
    variance = np.einsum("ij,jl,il->i", matrix, covariance[k], matrix)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)), dtype=np.float64)


def _note(model: "PrivateLinearModel") -> str:
    chosen = any(query["name"] == "select" for query in model.release_.plan["queries"])
    zeros = (
        "A coefficient of 0 says little about its column: it was not chosen, or a penalty took it out."
        if chosen
        else ""
    )
    return " ".join(part for part in (model._meaning(), zeros, _intervals(model)) if part)


def _intervals(model: "PrivateLinearModel") -> str:
    release = model.release_
    if release.moments is None and not isinstance(model._loss(model.encoding_), Squared):
        return "Sampling errors and intervals cannot be told from this release without another charge."
    if release.moments is None:
        return (
            "This release does not contain second moments, so sampling errors and intervals cannot be told from it "
            "without another charge; fit with solver='moments' to have them."
        )
    constraint, penalty = chosen(model, model.encoding_)
    if release.sampling_covariance is None:
        return (
            f"{_penalty(penalty) if constraint is None else 'A set that holds coefficients back'} makes errors that are not "
            "normal, so no intervals are shown. The same release gives those of the unrestricted model, at no further cost: "
            "model.refit(penalty=hb.NoPenalty()).summary()."
        )
    asked = constraint is not None or not isinstance(penalty, NoPenalty)
    target = "the optimum of the penalty or set that was asked for" if asked else "the least-squares coefficients"
    if release.moments is None or release.moments.sigma == 0.0:
        return f"Intervals are for {target}."
    return (
        f"Coefficients are shrunk from the known noise level. Intervals are for {target}: they are widened by what "
        "shrinking moved."
    )


def _penalty(penalty: Penalty) -> str:
    return "An l1 penalty" if isinstance(penalty, L1Penalty | ElasticNetPenalty) else "A penalty with corners"
