"""Joint tests of linear hypotheses about the coefficients of a released model: post-processing, at no further cost.

**Wald's statistic under noise in the matrix.** For `Rθ = r` of rank m let `d = Rθ̃ − r`, `M = RCRᵀ`, C the covariance at θ̃. Wald's statistic `W = dᵀM⁻¹d` is the
largest z² of one combination of the rows, that of `a = RᵀM⁻¹d`. Noise in the equations' matrix makes the covariance depend on θ, and the
value of aᵀθ under the hypothesis is W below its estimate; the estimate restricted to that one value, `θ̃ − (W/aᵀCa) Ca = θ̃ − CRᵀM⁻¹d`, is the one
restricted to all of `Rθ = r`. So `z(a)²` of `significance.py` is W with the variance at the hypothesis in place of that at θ̃ (Anderson and Rubin 1949, as for
intervals; at most their statistic, by Cauchy and Schwarz). It is W itself without such noise, and z² for a single coefficient, so that tests, z and intervals
agree; it depends on the set `Rθ = r` alone. `F = z(a)²/m` is compared with Fisher's law of (m, n − r) degrees. Its size at 5 %, with noise from a tenth of a
direction's signal to nearly all of it: 4.7 to 5.7 % for m = 1 and 3, 3 000 draws each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import fdtrc

from hullabaloo.codec import arguments
from hullabaloo.data import Encoding
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.hypotheses import Hypothesis, linear_hypotheses, written
from hullabaloo.inference.intervals import Inference, TargetInference, freedom, quantile, tell, told_of
from hullabaloo.inference.significance import adjusted, z_against
from hullabaloo.release.planned import quiet
from hullabaloo.tables import PrintedRows, probability, text_table, wrapped

LEVEL = 0.95
"""What is tested has to have ends at this level: the summary's own."""
HIDDEN = "not identified; the summary names the columns and says why"
ALL = "all columns"
JOINTLY = "Each hypothesis: the column has no effect, at any of its levels; df counts what is identified of it."


@dataclass(frozen=True, slots=True)
class WaldTest:
    """One joint hypothesis about a target's coefficients; numbers are NaN where `reason` says why it is not told.

    Attributes:
        statistic: F, with `df` and `df_residual` degrees of freedom; `df` hypotheses, z² of a single one.
    """

    target: str
    hypothesis: str
    df: int
    df_residual: float
    statistic: float
    p_value: float
    reason: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class WaldTests(PrintedRows):
    """Tests, a row each; prints as text, shows as HTML in a notebook. Post-processing of the release."""

    rows: tuple[WaldTest, ...]
    adjust: str | None
    note: str

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON-ready values; what cannot be told is None."""
        return {"adjust": self.adjust, "note": self.note, "rows": [arguments(row) for row in self.rows]}

    def cells(self) -> list[list[str]]:
        """The table's cells, the head first."""
        several = len({row.target for row in self.rows}) > 1
        lines = [["", "target", "df", "F", "P>F" + (f" ({self.adjust})" if self.adjust else "")]]
        for row in self.rows:
            told = [str(row.df), f"{row.statistic:.4g}", probability(row.p_value)]
            lines.append([row.hypothesis, row.target, *(["", "", "not identified"] if row.reason else told)])
        return lines if several else [[line[0], *line[2:]] for line in lines]

    def __str__(self) -> str:
        return "\n".join([*text_table(self.cells(), right=True, ruled=True), "", *wrapped([self.note])])


def linear_test(model: FittedModel, hypothesis: Hypothesis, value: Any) -> WaldTests:
    """See `CoefficientInference.test`."""
    matrix, values = linear_hypotheses(hypothesis, value, model.names)
    known, rows = told_of(model, "A test was"), []
    text = ", ".join(written(row, model.names, at) for row, at in zip(matrix, values, strict=True))
    for k, target in enumerate(model.encoding.facts.targets):
        A, shift = model.user_map(k)
        rows.append(wald(model, known.told[k], matrix @ A, values - matrix @ shift, (target, text)))
    return WaldTests(tuple(rows), None, _note(known, rows))


def column_tests(model: FittedModel, adjust: str | None) -> WaldTests:
    """See `CoefficientInference.joint_tests`."""
    known, rows = told_of(model, "A test was"), []
    sources = sources_of(model.encoding)
    for k, target in enumerate(model.encoding.facts.targets):
        A, _ = model.user_map(k)
        seen, functions = identified(model, known.told[k], A)
        for name, places in (*sources, (ALL, range(len(model.encoding.feature_names_out)))):
            asked = functions[[place for place in places if seen[place]]]
            rows.append(wald(model, known.told[k], asked, np.zeros(len(asked)), (target, name)))
    single = [i for i, row in enumerate(rows) if row.hypothesis != ALL]
    new = dict(zip(single, adjusted(np.array([rows[i].p_value for i in single]), adjust), strict=True))
    made = [replace(row, p_value=float(new.get(i, row.p_value))) for i, row in enumerate(rows)]
    return WaldTests(tuple(made), adjust, f"{JOINTLY} {_note(known, made)}")


def slopes(model: FittedModel, told: TargetInference, target: str) -> WaldTest:
    """The F test of the model: no column has an effect."""
    A, _ = model.user_map(model.encoding.facts.targets.index(target))
    seen, functions = identified(model, told, A)
    asked = functions[np.flatnonzero(seen[: len(model.encoding.feature_names_out)])]
    return wald(model, told, asked, np.zeros(len(asked)), (target, ALL))


def sources_of(encoding: Encoding) -> list[tuple[str, tuple[int, ...]]]:
    """The columns that a user declared, and interactions, each with the places of its coefficients."""
    layout = encoding.layout
    if layout is None:
        return [(name, (place,)) for place, name in enumerate(encoding.feature_names_out)]
    blocks = [(one.feature, one.places) for one in layout.features]
    blocks += [("*".join(one.features), one.columns) for one in layout.products]
    return sorted((block for block in blocks if block[1]), key=lambda block: block[1])


def identified(model: FittedModel, told: TargetInference, A: Array) -> tuple[Any, Array]:
    """Which coefficients, rows of A (q, p), a joint test can be about, (q,), and as what, (q, p): those with an interval that ends on both sides as they are, and of a category the differences of levels from one of them, from that where most have such an interval.

    All levels of a category beside the constant are determined up to a common shift: an empty one takes the intervals of all, and their differences remain. Likewise no level has both ends where noise may hide that their baseline has no event, or nothing but events.
    """
    found, functions = tell(model, told, A, LEVEL), A.copy()
    outside = A - A @ told.basis @ told.basis.T
    shared = (outside**2).sum(axis=1) > 1e-18 * (A**2).sum(axis=1)
    seen = np.isfinite(found.low) & np.isfinite(found.high) & ~shared
    loose = shared & ~A[:, _absent(told)].any(axis=1) | np.isinf(found.low) | np.isinf(found.high)
    for _, places in sources_of(model.encoding):
        group = [place for place in places if loose[place]]
        if len(group) > 1:
            apart = [(one, tell(model, told, A[group] - A[one], LEVEL)) for one in group]
            ended = [np.not_equal(group, one) & np.isfinite(of.low) & np.isfinite(of.high) for one, of in apart]
            most = int(np.argmax(np.sum(ended, axis=1)))
            seen[group], functions[group] = ended[most], A[group] - A[group[most]]
    return seen, functions


def _absent(told: TargetInference) -> Any:
    """Which coefficients are out of the question, (p,)."""
    return (told.basis**2).sum(axis=1) < 1e-12


@quiet()
def wald(
    model: FittedModel, told: TargetInference, functions: Array, values: Array, about: tuple[str, str]
) -> WaldTest:
    """The test that `functions @ θ`, (m, p), are `values`, (m,), on the unit domain; `about` names target and hypothesis."""
    left, at = freedom(model, told), quantile(model, told, LEVEL)
    untold = WaldTest(*about, 0, left, np.nan, np.nan, HIDDEN)
    size = np.linalg.norm(functions, axis=1)
    absent = _absent(told)
    if not np.all(size > 0.0) or not size.size or functions[:, absent].any():
        return untold
    functions, values = functions / size[:, None], values / size
    apart, sizes, rows = np.linalg.svd(functions @ told.basis, full_matrices=False)
    rank = int(np.sum(sizes > 1e-10 * sizes[0]))
    off = apart.T[:rank] @ (functions @ told.estimator.theta - values) / sizes[:rank]
    along = rows[:rank] @ told.basis.T
    along[(np.abs(along) < 1e-12) | absent] = 0.0  # rounding asks for no column
    inverse = np.linalg.pinv(along @ told.estimator.covariance @ along.T, rcond=1e-14, hermitian=True)
    direction, distance = off @ inverse @ along, float(off @ inverse @ off)
    if distance > 0.0:
        length = float(np.linalg.norm(direction))
        found = tell(model, told, direction[None, :] / length, LEVEL)
        value = (direction @ told.estimator.theta - distance) / length
        square = float(z_against(found, at, np.array([value]))[0]) ** 2
    else:
        square = np.inf if off.any() else 0.0
    if np.isnan(square):
        return untold
    return WaldTest(*about, rank, left, square / rank, float(fdtrc(rank, left, square / rank)))


def _note(known: Inference, rows: Sequence[WaldTest]) -> str:
    why = f" {HIDDEN.capitalize()}." * any(row.reason for row in rows)
    return f"Tests are of {known.about}, not of the coefficients that predict; sampling errors are {known.errors}.{why}"
