"""A fitted model as a table: coefficients, standard errors split into sampling and privacy noise, intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from hullabaloo.codec import arguments
from hullabaloo.data import Encoding
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.intervals import Inference, check_confidence, inference, tell
from hullabaloo.losses import Squared
from hullabaloo.tables import Printed, html_paragraphs, html_table, text_table, wrapped


def dataframe(rows: Sequence[Any]) -> Any:
    """A pandas dataframe with a row for each record, a column for each of its slots."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "A dataframe was asked for, but the library pandas is not installed; str(...) shows the same table without it. "
            "Install it with: pip install pandas",
            name=error.name,
        ) from None
    return pd.DataFrame([{name: getattr(row, name) for name in type(row).__slots__} for row in rows])


@dataclass(frozen=True, slots=True)
class Row:
    """One coefficient, in the user's units; what the release cannot tell is NaN.

    Attributes:
        coefficient: the released one, by which the model predicts.
        estimate: the debiased one, that errors and interval belong to.
        sampling_error, privacy_error: its standard errors.
        low, high: the ends of the interval.
    """

    target: str
    name: str
    coefficient: float
    estimate: float
    sampling_error: float
    privacy_error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Printed):
    """The table, and the statement that belongs to it; prints as text, shows as HTML in a notebook.

    Intervals are those of debiased estimates (`inference/debiased.py`): `estimate ± z √(sampling² + privacy²)` where noise is small,
    wider and not symmetric where it is not, not available where it may have made all. The note says what they are about.
    They are post-processing of the release and cost nothing.
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
        rows = [arguments(row) for row in self.rows]
        return {"confidence": self.confidence, "note": self.note, "rows": rows}

    @property
    def moved(self) -> bool:
        """Whether an estimate differs from its coefficient as it is printed."""
        return any(f"{row.estimate:.4g}" not in (f"{row.coefficient:.4g}", "nan") for row in self.rows)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        def number(value: float, digits: int) -> str:
            return "n/a" if math.isnan(value) else f"{value:.{digits}g}"

        head = ["target", "", "coefficient", "debiased", "sampling s.e.", "privacy s.e."]
        head.append(f"{100 * self.confidence:g}% interval")
        body = []
        for row in self.rows:
            errors = [number(row.sampling_error, 3), number(row.privacy_error, 3)]
            interval = "not available" if math.isnan(row.low) else f"[{row.low:.4g}, {row.high:.4g}]"
            body.append([row.target, row.name, f"{row.coefficient:.4g}", number(row.estimate, 4), *errors, interval])
        shown = [len({row.target for row in self.rows}) > 1, True, True, self.moved, True, True, True]
        return list(compress(head, shown)), [list(compress(line, shown)) for line in body]

    def __str__(self) -> str:
        head, body = self._cells()
        table = text_table([head, *body], right=True, ruled=True)
        return "\n".join([*table, "", *wrapped((self.note, self.statement))])

    def _repr_html_(self) -> str:
        return html_table(*self._cells()) + html_paragraphs((self.note, self.statement))


def summarise(model: FittedModel, confidence: float, method: str = "auto") -> Summary:
    """Build the table from the release alone."""
    level = check_confidence(confidence)
    known = inference(model, method)
    rows = rows_of(model, known, level)
    note = " ".join(part for part in (model.meaning, _zeros(model), _words(model, known, rows)) if part)
    return Summary(tuple(rows), level, str(model.release.statement), note)


def rows_of(model: FittedModel, known: Inference, confidence: float) -> list[Row]:
    """The table's rows."""
    encoding = model.encoding
    coefficients, intercepts = encoding.coefficients_to_user(model.release.theta)
    names = [*encoding.feature_names_out, *(["(intercept)"] if encoding.facts.intercept else [])]
    rows = []
    for k, target in enumerate(encoding.facts.targets):
        values = np.append(coefficients[k], intercepts[k])[: len(names)]
        numbers = _numbers(model, known, k, values, confidence)
        rows += [Row(target, name, *map(float, line)) for name, line in zip(names, numbers.T, strict=True)]
    return rows


def _numbers(model: FittedModel, known: Inference, k: int, values: Array, confidence: float) -> Array:
    """Coefficient, estimate, errors and ends of target k's coefficients in the user's units, (6, q)."""
    encoding, covariance = model.encoding, model.release.privacy_covariance
    if not known.told:
        nothing, errors = np.full(values.size, np.nan), standard_errors(encoding, covariance, k)
        return np.stack([values, nothing, nothing, errors[: values.size], nothing, nothing])
    matrix = encoding.user_matrix(k)[: values.size]
    found = tell(model, known.told[k], matrix, confidence)
    offset = np.zeros(values.size)
    if encoding.facts.intercept:
        offset[-1] = encoding.target_offset[k]
    placed = [part + offset for part in (found.estimate, found.low, found.high)]
    return np.stack([values, placed[0], found.sampling_error, found.privacy_error, *placed[1:]])


def standard_errors(encoding: Encoding, covariance: Array | None, k: int) -> Array:
    """Of target k's coefficients in the user's units, then the intercept; NaN where the release does not tell them."""
    if covariance is None:
        return np.full(len(encoding.feature_names_out) + 1, np.nan)
    matrix = encoding.user_matrix(k)
    variance = np.einsum("ij,jl,il->i", matrix, covariance[k], matrix)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)), dtype=np.float64)


def _zeros(model: FittedModel) -> str:
    if any(query["name"] == "select" for query in model.release.plan["queries"]):
        return "A coefficient of 0 says little about its column: it was not chosen, or a penalty took it out."
    return ""


def _words(model: FittedModel, known: Inference, rows: list[Row]) -> str:
    """What the intervals are about, and what is not known."""
    if not known.told:
        return known.reason
    noisy = model.release.moments is None or model.release.moments.sigma > 0.0
    found = [f"Intervals are for {known.about}"]
    if noisy and known.method == "debiased":
        found.append(
            "they come from estimates that are not shrunk, whatever noise, a set or a penalty made of the coefficients, and both errors are "
            "theirs; sampling errors are those of residuals alike for all records"
        )
    words = "; ".join(found) + "."
    if any(math.isnan(row.low) for row in rows):
        words += " Where noise leaves an interval without an end it is not available"
        if isinstance(model.loss, Squared) and known.method == "debiased":
            words += (
                ": fewer columns, model.refit(features=[…]), or a ridge, model.refit(penalty=hb.SquaredL2Penalty(…)), ask less of the same "
                "release, at no further cost"
            )
        words += "."
    return words
