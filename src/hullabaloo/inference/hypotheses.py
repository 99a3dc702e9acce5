"""Linear hypotheses about named coefficients, from texts, weights by name, or a matrix."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.inference.fitted import Array
from hullabaloo.release.parameters import found as kind_of
from hullabaloo.release.parameters import shown

Hypothesis = str | Mapping[str, float] | Sequence[Any] | Array
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
LARGEST = 1e100
_TERM = re.compile(rf"([+-]?)(?:({_NUMBER})\*)?(?:\x00(\d+)\x00|({_NUMBER}))(?:\*({_NUMBER}))?")


def linear_hypotheses(hypothesis: Hypothesis, value: Any, names: Sequence[str]) -> tuple[Array, Array]:
    """R (m, q) and r (m,) of `R (coefficients) = r` in the user's units, the names' order.

    Raises:
        InvalidParameter: an unknown name, a text that is no equation, another shape, or hypotheses that contradict each other.
    """
    if isinstance(hypothesis, str | Mapping):
        hypothesis = [hypothesis]
    if isinstance(hypothesis, list | tuple) and any(isinstance(one, str | Mapping) for one in hypothesis):
        pairs = [pair for one in hypothesis for pair in _rows(one, names)]
        matrix, stated = np.array([row for row, _ in pairs]), np.array([at for _, at in pairs])
    else:
        matrix, stated = _numbers(hypothesis, "hypothesis"), np.zeros(1)
        matrix = matrix[None, :] if matrix.ndim == 1 else matrix
    given, q = _numbers(value, "value"), len(names)
    values = given + stated if given.size in (1, len(stated)) or len(stated) == 1 else given
    if not np.all(np.abs(np.append(matrix.ravel(), values)) < LARGEST):
        raise InvalidParameter(
            f"The hypothesis holds a number of {LARGEST:g} or more, which no coefficient is told to. Write it with smaller numbers."
        )
    rows = len(matrix) if matrix.ndim == 2 and matrix.shape[1] == q else 0
    if not rows or values.ndim > 1 or values.size not in (1, rows):
        raise InvalidParameter(
            f"The hypothesis has the shape {matrix.shape} and its values {values.shape}. A hypothesis has a row for each equation and one number for "
            f"each of the {q} coefficients, in the summary's order, and a value for each equation. Name the columns instead: 'a = b'."
        )
    values = np.broadcast_to(values, len(matrix)).astype(np.float64)
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    empty, scaled = not np.all(largest > 0.0), matrix / np.where(largest > 0.0, largest, 1.0)
    right = values[:, None] / np.where(largest > 0.0, largest, 1.0)
    both = np.column_stack([scaled, right / max(float(np.abs(right).max()), 1.0)])
    if empty or np.linalg.matrix_rank(both) > np.linalg.matrix_rank(scaled):
        what = "names no coefficient that does not cancel" if empty else "holds equations that contradict each other"
        raise InvalidParameter(f"The hypothesis {what}, so there is nothing to test. Leave that equation out.")
    return matrix, values


def _numbers(given: Any, what: str) -> Array:
    try:
        found = np.asarray(given, dtype=np.float64)
        sound = bool(np.isfinite(found).all())
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise InvalidParameter(
            f"The {what} of a test was given as {kind_of(given)}. Pass texts such as 'age = 0' or 'x1 + x2 = 1', mappings such as {{'x1': 1, 'x2': -1}}, or finite numbers, a row for each equation."
        )
    return found


def combination(weights: Mapping[str, float], names: Sequence[str]) -> Array:
    """One row of R from weights by name.

    Raises:
        InvalidParameter: an unknown name, or a weight that is no finite number.
    """
    row = np.zeros(len(names))
    for name, weight in weights.items():
        if name not in names:
            raise InvalidParameter(_unknown(name, names))
        number = _numbers(weight, f"weight of {name!r}")
        if number.shape != () or abs(float(number)) >= LARGEST:
            raise InvalidParameter(
                f"The weight of {name!r} was given as {shown(weight)}; it is one number below {LARGEST:g}."
            )
        row[names.index(name)] = float(number)
    return row


def _rows(one: Any, names: Sequence[str]) -> list[tuple[Array, float]]:
    """The equations of a text, separated by commas, or of one mapping."""
    if isinstance(one, Mapping):
        return [(combination(one, names), 0.0)]
    if not isinstance(one, str):
        raise InvalidParameter(
            f"A hypothesis was given as {kind_of(one)} among texts. Pass texts such as 'age = 0' or mappings alone."
        )
    places = {name: place for place, name in enumerate(names) if not re.fullmatch(_NUMBER, name)}
    words = [*(rf"(?<![^\W\d]){re.escape(name)}(?!\w)" for name in sorted(places, key=len, reverse=True)), _NUMBER]
    coded = re.sub(
        "|".join(words), lambda found: f"\x00{places[found[0]]}\x00" if found[0] in places else found[0], one
    )
    return [_equation("".join(part.split()), one, names) for part in coded.split(",")]


def _equation(coded: str, text: str, names: Sequence[str]) -> tuple[Array, float]:
    """One equation, its names replaced by their places; without "=" the combination is 0."""
    row, value = np.zeros(len(names)), 0.0
    left, equals, right = coded.partition("=")
    for side, part in ((1.0, left), (-1.0, right)) if equals else ((1.0, left),):
        terms = list(_TERM.finditer(part))
        if not part or "".join(term[0] for term in terms) != part or any(not term[1] for term in terms[1:]):
            wanted = "Write equations of sums of columns and numbers, separated by commas: 'age = 0', 'x1 = x2', '2*x1 - x2 = 0.5'."
            if strange := re.search(r"[^\W\d][\w.]*", re.sub(r"\x00\d+\x00", " ", part)):
                wanted = _unknown(strange[0], names)
            raise InvalidParameter(f"The hypothesis {text!r} cannot be read. {wanted}")
        for sign, before, place, number, after in (term.groups() for term in terms):
            size = side * (-1.0 if sign == "-" else 1.0) * float(before or 1.0) * float(after or 1.0)
            if place:
                row[int(place)] += size
            else:
                value -= size * float(number)
    return row, value


def _unknown(name: object, names: Sequence[str]) -> str:
    return f"The model has no coefficient {str(name)!r}; it has {', '.join(names[:20])}{' and more' * (len(names) > 20)}.{' A baseline has none: its level is 0.' * any('=' in one for one in names)}"


def written(row: Array, names: Sequence[str], value: float | None = None) -> str:
    """A combination in words, with its value where one is given."""
    text = ""
    for place in map(int, np.flatnonzero(row)):
        weight, sign = abs(row[place]), "-" if row[place] < 0.0 else "+"
        lead = f" {sign} " if text else sign.replace("+", "")
        text += lead + ("" if weight == 1.0 else f"{weight:.6g}*") + names[place]
    return text if value is None else f"{text} = {value:.6g}"
