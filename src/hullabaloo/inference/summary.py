"""A fitted model as statisticians print it: coefficients that predict, estimates with errors, tests and intervals, and what is not identified."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from hullabaloo.codec import arguments
from hullabaloo.data import INTERCEPT, BoundedTarget, ClassTarget
from hullabaloo.data.reference import undetermined
from hullabaloo.errors import InvalidParameter
from hullabaloo.inference import identified, intervals
from hullabaloo.inference.crowded import crowded
from hullabaloo.inference.fit_quality import quality
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.hypotheses import combination, written
from hullabaloo.inference.intervals import Inference, check_confidence, inference
from hullabaloo.inference.significance import adjusted, p_values, z_against
from hullabaloo.inference.wald import slopes
from hullabaloo.losses import Logistic, Poisson
from hullabaloo.privacy import Neighbours
from hullabaloo.release.parameters import found, yes_or_no
from hullabaloo.solvers.score.with_inference import STEPPED
from hullabaloo.tables import PrintedRows, html_paragraphs, html_table, probability, text_table, wrapped

WIDEST, LONGEST = 100, 200
"""Characters of a line of the block above the table, and rows that are printed."""
ADJUSTED = "P is adjusted for the comparisons of all columns; intervals are each coefficient's own."
HELD_UP = "The private constant holds the model up: after the solver a second look at the records decided how much of the way from it to the solver's own model is kept. To have that model whatever it is, pass the solver's class as solver=."
FIRST = " (moments, asked for first, were not enough)", ", asked for first, and enough: no step was taken"
ALONG = tuple(f" (two gradients along moments, asked for first, were {one}enough)" for one in ("not ", ""))
UNCHOSEN = "A coefficient of 0 says little about its column: it was not chosen, or a penalty took it out."
TOO_FAR = "the coefficients are too far from their estimates"
ALONE = "only differences between levels are determined: a level alone has no z or P"
NUMBERS = ("estimate", "std_error", "sampling_error", "privacy_error", "statistic", "p_value", "low", "high")
TIDY = {"name": "term", "low": "conf_low", "high": "conf_high"}


@dataclass(frozen=True, slots=True)
class Row:
    """One coefficient, or combination of them, in the user's units; what the release cannot tell is NaN.

    Attributes:
        coefficient: the released one, by which the model predicts.
        estimate: the unpenalised one, that everything below belongs to.
        std_error: `√(sampling_error² + privacy_error²)`.
        statistic, p_value: of the hypothesis that it is 0: z, with the variance that noise has there, and `P(|T| > |z|)`, at which an end of the interval is 0.
        low, high: the ends of the interval.
        reason: why it is not identified, or has no z and P; "" where it has.
    """

    target: str
    name: str
    coefficient: float
    estimate: float
    std_error: float
    sampling_error: float
    privacy_error: float
    statistic: float
    p_value: float
    low: float
    high: float
    reason: str = ""

    @property
    def identified(self) -> bool:
        """False where the release was asked and does not tell it."""
        return not self.reason or not math.isnan(self.low)

    @property
    def digits(self) -> int:
        """So many that both ends of the interval differ in two of them, and four at least."""
        width, size = self.high - self.low, abs(self.estimate)
        # Ends may be so far apart that the ratio is 0 or, as exponentials of both, no number: four then.
        return 2 + math.ceil(math.log10(min(max(100.0, size / width), 1e10))) if width > 0.0 else 4


@dataclass(frozen=True, slots=True, repr=False)
class Summary(PrintedRows):
    """The table, and the statement that belongs to it; prints as text, shows as HTML in a notebook.

    Intervals are those of unpenalised estimates (`inference/debiased.py`): `estimate ± z √(sampling² + privacy²)` where noise is small, wider and not
    symmetric where it is not, none where it may have made all. Tests agree with them (`inference/significance.py`). The note says what they are about.
    All of it is post-processing of the release and costs nothing.

    Attributes:
        header: names and values of the block above the table.
        exponentiated: whether the rows are odds or rate ratios.
        adjust: for how many comparisons p-values are adjusted, and how; else None.
    """

    rows: tuple[Row, ...]
    confidence: float
    statement: str
    note: str
    header: tuple[tuple[str, str], ...] = ()
    exponentiated: bool = False
    adjust: str | None = None

    def tidy(self) -> Any:
        """The same dataframe under the names of R's broom: term, estimate, std_error, statistic, p_value, conf_low, conf_high, and what else is known."""
        return self.to_dataframe().rename(columns=TIDY)

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON-ready values; what cannot be told is None."""
        said = {"confidence": self.confidence, "note": self.note, "header": dict(self.header)}
        rows = [*map(arguments, self.rows)]
        return {**said, "exponentiated": self.exponentiated, "adjust": self.adjust, "rows": rows}

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows that are printed: of more than `LONGEST` the first that are not just 0, and the last."""
        if len(self.rows) <= LONGEST:
            return self.rows
        some = [row for row in self.rows if row.coefficient != 0.0 or not math.isnan(row.low)]
        return tuple(some if len(some) <= LONGEST else [*some[: LONGEST - 1], some[-1]])

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Head and body of the printed table; without any error, estimates and tests are left out."""
        told = any(row.reason or not math.isnan(row.low) for row in self.rows)
        coef = ("exp(coef)", "exp(estimate)") if self.exponentiated else ("coef", "estimate")
        tail = 0.5 - self.confidence / 2.0
        ends = [f"[{tail:.4g}", f"{1.0 - tail:.4g}]"]
        p = "P>|z|" + (f" ({self.adjust})" if self.adjust else "")
        head = ["target", "", *coef, "std err", "z", p, *ends, "privacy s.e."]
        body = []
        for row in self.shown:
            estimate, low, high = (f"{one:.{row.digits}g}" for one in (row.estimate, row.low, row.high))
            test = ["", ""] if math.isnan(row.statistic) else [f"{row.statistic:.2f}", probability(row.p_value)]
            numbers = [estimate, f"{row.std_error:.3g}", *test]
            found = [*numbers, low, high] if row.identified else ["not identified", *[""] * 5]
            bare = "" if math.isnan(row.privacy_error) else f"{row.privacy_error:.3g}"
            body.append([row.target, row.name, f"{row.coefficient:.4g}", *found, bare])
        several = len({row.target for row in self.rows}) > 1
        alone = not told and not all(math.isnan(row.privacy_error) for row in self.rows)
        shown = [several, True, True, *[told] * 6, alone]
        return list(compress(head, shown)), [list(compress(line, shown)) for line in body]

    def __str__(self) -> str:
        head, body = self.cells()
        table = text_table([head, *body], right=True, ruled=True)
        return "\n".join([*_block(self.header), *table, "", *wrapped((self.note, self.statement))])

    def _repr_html_(self) -> str:
        top = html_table(("", ""), self.header) if self.header else ""
        return top + html_table(*self.cells()) + html_paragraphs((self.note, self.statement))


def _block(header: tuple[tuple[str, str], ...]) -> list[str]:
    """Names and values in two columns where they fit, and a blank line."""
    pairs = [(f"{name}:", value) for name, value in header]
    half = (len(pairs) + 1) // 2
    right = [*pairs[half:], ("", "")][:half]
    lines = text_table([(*a, *b) for a, b in zip(pairs[:half], right, strict=True)]) if pairs else []
    if max(map(len, lines), default=0) > WIDEST:
        lines = text_table(pairs)
    return [*lines, ""] if lines else []


def summarise(model: FittedModel, confidence: float, exponentiate: bool = False, adjust: str | None = None) -> Summary:
    """See `CoefficientInference.summary`."""
    level, known, ratio = check_confidence(confidence), inference(model), _ratio(model, exponentiate)
    rows = rows_of(model, known, level)
    single = [row.name != INTERCEPT for row in rows]
    p = adjusted(np.array([row.p_value for row in compress(rows, single)]), adjust)
    if adjust is not None:
        left = iter(map(float, p))
        rows = [replace(row, p_value=next(left)) if one else row for row, one in zip(rows, single, strict=True)]
    zeros = UNCHOSEN * any(query["name"] == "select" for query in model.release.plan["queries"])
    words = [model.meaning, ratio, zeros, _levels(model, bool(known.told)), *_words(model, known, rows)]
    words.append(ADJUSTED * (adjust is not None))
    words += [HELD_UP for line in model.release.trace if "held up" in line]
    rows, note = [_exponential(row) for row in rows] if exponentiate else rows, " ".join(filter(None, words))
    header = tuple(_header(model, known, list(compress(rows, single))))
    made = Summary(tuple(rows), level, model.release.statement.short(), note, header, exponentiate, adjust)
    unseen = len(rows) - len(made.shown)
    told = f"Of {len(rows):,} rows {unseen:,} are not printed, those that are 0 before others: to_dataframe() has them."
    return replace(made, note=f"{told} {note}") if unseen else made


def contrast(
    model: FittedModel, weights: Mapping[str, float], confidence: float, exponentiate: bool = False
) -> Summary:
    """See `CoefficientInference.contrast`."""
    level, ratio = check_confidence(confidence), _ratio(model, exponentiate)
    if not isinstance(weights, Mapping):
        raise InvalidParameter(
            f"The weights of a contrast are a mapping from column to number, {{'x1': 1, 'x2': -1}}, and {found(weights)} was given."
        )
    row = combination(weights, model.names)
    if not row.any():
        raise InvalidParameter(
            "The contrast gives every column the weight 0, so nothing is asked. Name the columns that it is of."
        )
    known = intervals.told_of(model, "A contrast was")
    rows = rows_of(model, known, level, {written(row, model.names): row})
    rows = [_exponential(one) for one in rows] if exponentiate else rows
    note = " ".join(filter(None, (ratio, *_words(model, known, rows))))
    return Summary(tuple(rows), level, model.release.statement.short(), note, (), exponentiate)


def rows_of(
    model: FittedModel, known: Inference, confidence: float, combinations: Mapping[str, Array] | None = None
) -> list[Row]:
    """The table's rows: of each coefficient, or of combinations of them, (q,) weights by name."""
    names = model.names if combinations is None else list(combinations)
    coefficients, intercepts = model.encoding.coefficients_to_user(model.release.theta)
    weights = None if combinations is None else np.array(list(combinations.values()))
    rows: list[Row] = []
    alone = [] if weights is None else rows_of(model, known, confidence)
    for k, target in enumerate(model.encoding.facts.targets):
        reasons = [identified.UNKNOWN] * len(names)
        if combinations is None and known.told:
            reasons = identified.reasons(model, known.told[k].estimator)
        elif weights is not None:  # of one alone of its coefficients that is not told
            own = [row.reason * (not row.identified) for row in alone if row.target == target]
            blamed = [[why for why, part in zip(own, one, strict=True) if part and why] for one in weights]
            reasons = [one[0] if len(one) == 1 else identified.UNKNOWN for one in blamed]
        values = np.append(coefficients[k], intercepts[k])[: len(model.names)]
        numbers = _numbers(model, known, k, confidence, weights)
        values = values if weights is None else weights @ values
        far = known.told[k].reason and TOO_FAR if known.told else ""
        for name, value, line, why in zip(names, values, numbers.T, reasons, strict=True):
            ended = ALONE if np.isfinite(line[-2:]).all() else identified.ENDLESS
            hidden = far or why if math.isnan(line[-1]) else ended * math.isnan(line[5])
            about = dict(zip(NUMBERS, map(float, line), strict=True))
            rows.append(Row(target, name, float(value), **about, reason=hidden if known.told else ""))
    return rows


def _numbers(model: FittedModel, known: Inference, k: int, confidence: float, weights: Array | None) -> Array:
    """What `Row` holds of target k from its estimate to the ends, in the user's units, (8, m)."""
    private = model.release.statement.budget.is_private
    if not known.told:
        numbers = np.full((8, len(model.names)), np.nan)
        numbers[3] = _known_noise(model) * np.linalg.norm(model.encoding.user_matrix(k), axis=1)[: len(model.names)]
        return numbers
    matrix, shift = model.user_map(k)
    if weights is not None:
        matrix, shift = weights @ matrix, weights @ shift
    told = known.told[k]
    one = intervals.tell(model, told, matrix, confidence)
    z = z_against(one, intervals.quantile(model, told, confidence), -shift)
    sampling = np.where((one.sampling_error == 0.0) & private, np.nan, one.sampling_error)  # noise hid it: it is not 0
    errors = [np.hypot(one.sampling_error, one.privacy_error), sampling, one.privacy_error]
    tests = [z, p_values(z, intervals.freedom(model, told))]
    numbers = np.stack([one.estimate + shift, *errors, *tests, one.low + shift, one.high + shift])
    numbers[:, ~(np.isfinite(one.low) | np.isfinite(one.high))] = np.nan
    outside = matrix - matrix @ told.basis @ told.basis.T  # of a level's own coefficient there is no hypothesis to test
    numbers[4:6, np.linalg.norm(outside, axis=1) > 1e-6 * np.linalg.norm(matrix, axis=1)] = np.nan
    return numbers


def _known_noise(model: FittedModel) -> float:
    """Standard deviation of the privacy noise in each unit coefficient of a release that tells no other error; NaN where it is not that of output perturbation alone."""
    settings = model.release.plan.get("settings", {})
    own = model.release.plan["solver"] == "output_perturbation" and model.constraint is None and "floor" not in settings
    return float(settings.get("sigma", math.nan)) if own else math.nan


def _ratio(model: FittedModel, asked: bool) -> str:
    """What an exponentiated coefficient is, where they were asked for.

    Raises:
        InvalidParameter: the loss has no logarithm in its link, or what was asked is neither yes nor no.
    """
    if not yes_or_no("exponentiate", asked):
        return ""
    what = "odds" if isinstance(model.loss, Logistic) else "expected count"
    if not isinstance(model.loss, Logistic | Poisson):
        raise InvalidParameter(
            f"Exponentials were asked of a {model.name} with the loss {model.loss.name}, and they mean something where the logarithm of odds or of an expected count is linear: of a logistic or Poisson regression, of several classes one-vs-rest. Leave them out."
        )
    return f"Rows are exponentials, the factor of the {what} for one unit of the column; std err is by the delta method, z and P are of the coefficient itself."


def _exponential(row: Row) -> Row:
    with np.errstate(over="ignore"):
        size = {name: float(np.exp(getattr(row, name))) for name in ("coefficient", "estimate", "low", "high")}
    errors = {name: getattr(row, name) * size["estimate"] for name in ("std_error", "sampling_error", "privacy_error")}
    return replace(row, **(size | errors))


def _header(model: FittedModel, known: Inference, slopes_: list[Row]) -> Iterator[tuple[str, str]]:
    """What was fitted, on how much, for what price, and how well it fits as far as that is released; an F test where some slope is told, of those that are."""
    release, encoding, single = model.release, model.encoding, len(model.encoding.facts.targets) == 1
    statement, target = release.statement, encoding.targets[0]
    yield "Model", model.name
    if isinstance(target, ClassTarget) and single:
        yield "Target", f"{encoding.facts.targets[0]} = {target.ordered[1]!r}, against {target.ordered[0]!r}"
    elif single:
        yield "Target", encoding.facts.targets[0]
    yield "Loss", model.loss.name
    if model.constraint is not None:
        yield "Set", str(model.constraint)
    held = [f" ({line['held up']:.0%} kept; held up by the constant)" for line in release.trace if "held up" in line]
    told = [line for line in release.trace if "moments enough" in line]
    held += [(ALONG if "steps enough" in line else FIRST)[any(line.values())] for line in told]
    held += [f", {STEPPED}"] * (release.plan.get("solver") == "constant" and bool(np.any(release.theta[:-1])))
    yield "Solver", "".join([str(release.plan.get("solver", "")), *held])
    # how many records of a stream are in is public
    hidden = statement.neighbours is Neighbours.ADD_OR_REMOVE and statement.horizon is None
    if intervals.released_records(model) is None:
        yield "Records", f"{intervals.records_of(model):,.0f}" + " (declared; their number is hidden)" * hidden
    else:
        yield "Records", f"about {intervals.records_of(model):,.0f} (released; declared: {statement.records:,})"
    yield "Budget", statement.budget.describe() if statement.private else "NOT PRIVATE"
    if known.told:
        yield "Covariance type", known.errors + ", with privacy noise" * statement.budget.is_private
    yield from quality(model)
    if known.told and single:
        test = slopes(model, known.told[0], encoding.facts.targets[0])
        if not test.reason and any(math.isfinite(row.low) for row in slopes_):
            tested = f"F({test.df}, {test.df_residual:,.0f}) = {test.statistic:.4g}, P {probability(test.p_value)}"
            yield "F test", tested + ", of what is identified" * (not all(row.identified for row in slopes_))


def _levels(model: FittedModel, told: bool) -> str:
    """What coefficients of levels mean where each level has a column."""
    names = undetermined(model.encoding)
    if not names:
        return ""
    shown = ", ".join(names[:5]) + " and others" * (len(names) > 5)
    least = " (estimates are those of least norm)" * told
    return f"Of {shown} only differences between levels are determined{least}: a level alone has no z or P. With a baseline declared rows are differences."


def _words(model: FittedModel, known: Inference, rows: list[Row]) -> Iterator[str]:
    """What the numbers are about, and what is not known."""
    if not known.told:
        yield known.reason
        return
    yield f"coef predicts. Intervals are for {known.about}, as is all beside coef, whatever noise, a set or a penalty made of coef."
    if model.release.statement.budget.is_private:
        yield "Errors hold sampling and privacy noise; z takes the noise that a coefficient of 0 would have, so that P agrees with the interval."
    near = [f"the {side} bound of {name}" for name, side in crowded(model).items()]
    if near:
        yield f"Half or more of the values lie within a fifth of the range of {', '.join(near)}, or beyond it and count as the bound: bounds closer around the values help."
    elif any(isinstance(target, BoundedTarget) for target in model.encoding.targets):
        yield "Values beyond their bounds count as the bound; how many do does not show."
    if model.release.statement.horizon is not None:
        yield "Each release's intervals are its own: of all releases together, or of one chosen by what it shows, more miss than they say."
    score, facts = model.release.score, model.encoding.facts
    left = (model.release.plan.get("refit") or {}).get("errors of all columns")
    if left is not None:
        yield f"Errors are {known.errors}, from second moments: the {left} ones of the release are of a model of all its columns, and these are some of them."
    if score is not None and facts.records_per_unit > 1 and score.errors in ("robust", "homoskedastic"):
        yield f"Errors take the records of one {model.encoding.domain.unit} as independent: where they are alike, these errors are too small, and errors='unit' has them right."
    if score is not None:
        yield "Very influential records were shortened, and are assumed to be as few as noise lets see, and not all to pull one way."
    yield known.reason
    if endless := [row.name for row in rows if row.reason == identified.ENDLESS]:
        yield f"Of {', '.join(endless[:5])}{' and others' * (len(endless) > 5)} {identified.ENDLESS}: join such levels with others."
    several = len(facts.targets) > 1
    untold = [row for row in rows if not row.identified and row.reason != TOO_FAR]
    yield identified.named([(f"{row.name} of {row.target}" if several else row.name, row.reason) for row in untold])
    if any(row.reason == identified.GUESS for row in untold):
        yield "What is told of others takes what noise so hides for little, and holds less often than it says where it is more."
    if any(row.reason.startswith(identified.HIDDEN) for row in untold):
        yield "A row whose column goes with one that varies too little, unseen for noise, may be that of a regression without it; the intercept is that beside its coefficient as released."
