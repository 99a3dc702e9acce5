"""Private evaluation: how good a model is on sensitive records, with intervals, for one charge."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any, ClassVar

from hullabaloo.codec import arguments
from hullabaloo.curation.scoring import score_noise
from hullabaloo.data import Domain, Encoding, Format, Saved
from hullabaloo.data.schema import check_roles
from hullabaloo.errors import DomainError, InvalidParameter, as_whole, is_whole
from hullabaloo.inference.fitted import FittedModel
from hullabaloo.inference.intervals import check_confidence
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model import PrivateLinearModel, PrivatePipeline
from hullabaloo.model_selection import catalogue
from hullabaloo.model_selection.area import window
from hullabaloo.model_selection.metrics import Bin, Measured, ResidualBin, ScoreAnswer
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.release import PrivacyStatement, ReleaseRequest, check_types, found, positive, terms_of
from hullabaloo.release.expected_errors import ExpectedError
from hullabaloo.release.price import spent
from hullabaloo.release.run import buy_queries, run_question
from hullabaloo.streaming.base import PrivateStream
from hullabaloo.streaming.model import StreamModel
from hullabaloo.streaming.periodic_erm import PeriodicModel
from hullabaloo.tables import Printed, text_table, wrapped


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Saved, Printed):
    """How good a model is on sensitive records; prints as text, shows as HTML in a notebook.

    Attributes:
        model: the kind of model, by name.
        values: each metric by its name.
        calibration, residuals: the rows of these tables, each of a bin or of neighbouring ones; empty where they were not asked for.
        confidence: of all intervals.
        statement: the guarantee.
        notes: what intervals mean.
    """

    model: str
    values: Mapping[str, Measured]
    calibration: tuple[Bin, ...]
    confidence: float
    statement: PrivacyStatement
    notes: tuple[str, ...]
    residuals: tuple[ResidualBin, ...] = ()

    FORMAT: ClassVar[Format] = Format("hullabaloo evaluation", "evaluation", "Evaluation.save(path)")

    @property
    def _percent(self) -> str:
        return f"{100 * self.confidence:g}% interval"

    def _metrics(self) -> tuple[list[str], list[list[str]]]:
        body = [
            [name, _number(one.value), _interval(one), _error(one.privacy_error), _error(one.sampling_error)]
            for name, one in self.values.items()
        ]
        return ["metric", "value", self._percent, "privacy s.e.", "sampling s.e."], body

    def _bins(self, rows: Sequence[Bin | ResidualBin], what: str) -> tuple[list[str], list[list[str]]]:
        several = len({row.target for row in rows}) > 1
        head = ["predicted", "records", "mean prediction", f"mean {what}", self._percent]
        body = [
            [
                *([row.target] if several else []),
                f"{_number(row.low)} to {_number(row.high)}",
                f"{row.count:.0f} ± {row.count_error:.2g}",
                _number(row.prediction),
                _number(getattr(row, what).value),
                _interval(getattr(row, what)),
            ]
            for row in rows
        ]
        return [*(["target"] if several else []), *head], body

    def tables(self) -> list[tuple[list[str], list[list[str]]]]:
        """Heads and bodies, as text: of the metrics, the calibration table and that of residuals."""
        tables = self._metrics(), self._bins(self.calibration, "outcome"), self._bins(self.residuals, "residual")
        return [table for table in tables if table[1]]

    def __str__(self) -> str:
        lines = [f"Private evaluation of {self.model}", ""]
        for table in self.tables():
            lines += [*text_table([table[0], *table[1]], right=True, ruled=True), ""]
        return "\n".join([*lines, *wrapped((" ".join(f"{note}." for note in self.notes), str(self.statement)))])

    def card_entry(self) -> dict[str, Any]:
        """What a card shows of it: a title, sentences, one table."""
        *further, (head, body) = self.tables()
        told = [", ".join(map(" ".join, zip(names, row, strict=True))) for names, rows in further for row in rows]
        table = {"head": head, "body": body}
        return {"title": f"Private evaluation of {self.model}", "lines": [*self.notes, *told], "table": table}

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; what is infinite is None."""
        return {**self.FORMAT.head, **arguments(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Evaluation":
        """Read what `to_dict` wrote.

        Raises:
            InvalidParameter: it is no evaluation, or of another version.
        """
        cls.FORMAT.check(data)
        made = cls(
            model=str(data["model"]),
            values={name: Measured.from_dict(one) for name, one in data["values"].items()},
            calibration=tuple(Bin.from_dict(row) for row in data["calibration"]),
            confidence=float(data["confidence"]),
            statement=PrivacyStatement.from_dict(data["statement"]),
            notes=tuple(map(str, data["notes"])),
            residuals=tuple(ResidualBin.from_dict(row) for row in data.get("residuals", ())),
        )
        str(made), made.card_entry()  # what cannot be shown was changed
        return made


def _error(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else "drowned"


def _interval(one: Measured) -> str:
    return f"[{_number(one.low)}, {_number(one.high)}]"


def _number(value: float) -> str:
    return f"{float(f'{value:.4g}'):.10g}"


JOINED = (
    "Bins of which noise hides whether they hold records are joined with the next ones, or left out where it shows none"
)
LEAST = "Predictions below {:.4g} count as that in {}; a lower probability_floor takes more noise"
WIDER = "Sampling noise in a bin of the calibration table is bounded by what any mean in its range can have"
TIED = "Records that are predicted nearly alike count as tied in roc_auc; what that may have taken from it is part of its sampling error"
UNLIKE = "Records that do not count alike (weights, missing targets, several records of one person) are allowed for by the most that they can add to the sampling noise"
NARROWER = "the error of r2 goes by how far targets spread within their bounds, that of roc_auc by how rare the rarer class is; where it is publicly known, known=… (in a shell --known) narrows it: the target's standard deviation, of a class of share s √(s(1 − s))"
IN_BIN = "errors of tables are those of a bin that holds one in {} records; of fewer they are as many times larger"
MOST = 2**53 - 1
"""Records up to which a float counts them."""


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    budget: Budget,
    metrics: str | Iterable[str] | None = None,
    sample_weight: Any = None,
    records: int | None = None,
    neighbours: str | Neighbours | None = None,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    confidence: float = 0.95,
    largest_error: catalogue.LargestError = None,
    probability_floor: float | None = None,
    bins: int = catalogue.BINS,
    test_key: TestKey | bytes | None = None,
) -> Evaluation:
    """How good a fitted model is on held-out sensitive records: all metrics from one private answer, charged once.

    Predictions are cut off at the target's declared bounds, so that one record can move each metric only so far. Pass records that the
    model was not fitted on: on its own it looks better than it is, and their budget is spent a second time.

    Args:
        model: a fitted estimator, a pipeline of `hb.private_pipeline`, a stream or its model, or what `hb.load` gives.
        X, y: records, as in `fit`.
        budget: `hb.Budget(epsilon, delta)`, what the evaluation may spend.
        metrics: some of "squared_error", "absolute_error", "r2", for quantiles "pinball_loss", for counts "poisson_deviance"; of classes
            "log_loss", "accuracy", "brier_score", of two with chances "roc_auc"; of all that give numbers or chances "calibration" and "residuals" (mean outcome, and mean
            residual, by bins of the prediction). None for what the model was fitted to be good at. J metrics take about √J times the noise of one. Of several targets each has its own.
        sample_weight: nonnegative weights, (n,); the domain must declare their maximum.
        records: about how many records the table has, where their number is private: a public guess, not counted from the table.
        neighbours: the relation; None for the one that the model was fitted under.
        ledger, dataset: where it is charged, as for estimators. Records of another table than the training one's have a name of their own.
        confidence: of the intervals.
        largest_error: squared and absolute errors, those of R² and residuals beyond this count as this, in the target's units: a public number, by
            which noise grows (by its square for squares). None for hi − lo, beyond which there are none; of several targets a
            number for each by its name. An error that is a tenth of that at most takes a hundredth of the noise of squared errors.
        probability_floor: chances are held within [floor, 1 − floor] by the log-loss, predicted means above floor · hi by the deviance. None for the largest
            that takes no more of calibrated predictions than a standard deviation of the noise, which grows by its logarithm.
        bins: equal bins of the tables of calibration and residuals; where noise hides whether some hold records, rows are fewer.
        test_key: for tests; the evaluation is marked *not private*.

    Raises:
        InvalidParameter: an argument or the table's declared schema does not fit the model; nothing was spent.
        LedgerError: the ledger refuses; nothing was read or spent.

    Example:
        >>> import numpy as np, hullabaloo as hb
        >>> X = np.linspace(0.0, 10.0, 20_000)[:, None]
        >>> y = 3.0 * X[:, 0] + 1.0
        >>> domain = hb.Domain(features={"a": (0, 10)}, target=(0, 40), indicators=False)
        >>> model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-8), domain=domain).fit(X[::2], y[::2])
        >>> found = hb.evaluate(model, X[1::2], y[1::2], budget=hb.Budget(1.0, 1e-8), metrics=["r2", "absolute_error"])
        >>> found.values["r2"].value > 0.8
        True
    """
    z = NormalDist().inv_cdf(0.5 + check_confidence(confidence) / 2.0)
    public, table = released(model, X)
    terms = _terms(public, neighbours, records, budget=budget, ledger=ledger, dataset=dataset, test_key=test_key)
    length = _check_schema(public.encoding, table, y, sample_weight)
    about: dict[str, Any] = {"names": metrics, "bins": bins, "largest_error": largest_error}
    chosen, buy = _chosen(public, terms, length if terms.count_is_public else None, probability_floor, **about)
    names = [metric.name for metric in chosen.metrics] + list(dict.fromkeys(table.name for table in chosen.tables))
    ask, detail = methodcaller("answer", "score", public.release.theta), {"model": public.name, "metrics": names}
    asked = run_question(terms, public.encoding, buy, ask, table, y, sample_weight, detail=detail)
    answer = ScoreAnswer.split(asked.found, chosen.tallies, score_noise(asked.queries[0]))
    rows = [row for table in chosen.tables for row in table.measure(answer, z)]
    return Evaluation(
        model=public.name,
        values={metric.name: metric.measure(answer, z) for metric in chosen.metrics},
        calibration=tuple(row for row in rows if isinstance(row, Bin)),
        residuals=tuple(row for row in rows if isinstance(row, ResidualBin)),
        confidence=float(confidence),
        statement=asked.statement,
        notes=_notes(chosen, public),
    )


@dataclass(frozen=True, slots=True, repr=False)
class EvaluationPrice(Printed):
    """What an evaluation costs, and the privacy errors that it can be expected to have; prints as text.

    Attributes:
        epsilon, delta, mu: what it costs, as of a fit's price.
        records: how many there are.
        errors: of each metric and table by its name, standard errors in the user's units: a range where they depend on the target's spread or on the share of a class.
        notes: what they are of.
    """

    epsilon: float
    delta: float
    mu: float | None
    records: int
    errors: Mapping[str, ExpectedError]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        spend = f"spend: epsilon = {self.epsilon:.4g} at delta = {self.delta:.3g}, for {self.records} records"
        lines = text_table([(name, one.range) for name, one in self.errors.items()], marks=["  "] * len(self.errors))
        return "\n".join([spend, "expected privacy errors:", *lines, *(f"note:  {one}" for one in self.notes)])

    to_dict = arguments


def price_evaluation(
    model: Any,
    n: int,
    *,
    budget: Budget,
    metrics: str | Iterable[str] | None = None,
    known: float | None = None,
    neighbours: str | Neighbours | None = None,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    largest_error: catalogue.LargestError = None,
    probability_floor: float | None = None,
    bins: int = catalogue.BINS,
) -> EvaluationPrice:
    """The privacy error (a standard error, in the user's units) to expect of each metric on n records; reads and charges nothing.

    Those of "r2" go by the target's standard deviation, those of "roc_auc" by the rarer class's share s: `known` is the deviation, of classes √(s(1 − s)), where it is publicly known.
    Those of the tables of calibration and residuals are for a bin that holds its share of the records; all others hold whatever the records are. `evaluate` has the other parameters.

    Raises:
        InvalidParameter: as `evaluate` does; or `known` is no positive number, or above ½ of classes.
    """
    public, _ = released(model, None)
    given = {"budget": budget, "ledger": ledger, "dataset": dataset, "test_key": None}
    terms = _terms(public, neighbours, n, priced=True, **given)
    said = "The price of an evaluation was asked for n={!r} records. Pass a whole number of them, such as n=1000."
    n = as_whole(n, said, 1, MOST)
    chosen, buy = _chosen(public, terms, n, probability_floor, names=metrics, bins=bins, largest_error=largest_error)
    if known is not None:
        most = (0.5 if chosen.reading.reads.classes else max(chosen.reading.span)) * (1.0 + 1e-9)
        positive("known", known, "the target's standard deviation, of a class of share s √(s(1 − s))", most)
    asked = buy_queries(terms, public.encoding, buy, n)
    noise = score_noise(asked.queries[0])
    found = {metric.name: metric.foreseen(noise, known) for metric in chosen.metrics}
    for table in chosen.tables:
        found[table.name] = (max(found.get(table.name, (0.0,))[0], table.foreseen(noise)),) * 3
    errors = {name: ExpectedError(name, "", *one) for name, one in found.items()}
    notes = [NARROWER] * any(one.low < one.high for one in errors.values())
    notes += [IN_BIN.format(bins)] * bool(chosen.tables)
    return EvaluationPrice(**spent(budget, asked.event), records=n, errors=errors, notes=tuple(notes))


def _chosen(
    public: FittedModel, terms: ReleaseRequest, n: int | None, floor: float | None, **about: Any
) -> tuple[catalogue.Chosen, Any]:
    """What is measured, and how it is bought; where no floor is asked for, that of the noise, which no floor changes."""
    reading, least = catalogue.reading_of(public.encoding, public.loss), catalogue.FLOOR if floor is None else floor
    chosen = catalogue.choose(reading, public.loss, floor=least, window=window(public), **about)

    def buy(prices: Any, allowance: Any) -> list[Any]:
        query = prices.price("score", mu=allowance.mu, **chosen.question)
        query.question(public.release.theta)  # refused before the charge, where the model was edited
        return [query]

    if floor is not None:
        return chosen, buy
    noise = score_noise(buy_queries(terms, public.encoding, buy, n).queries[0])
    return _chosen(public, terms, n, catalogue.floor_of(noise), **about)


def _terms(public: FittedModel, neighbours: Any, records: Any, *, priced: bool = False, **given: Any) -> ReleaseRequest:
    """The terms, of a domain for so many records; what else is `given` has the types that estimators take."""
    asked = SimpleNamespace(**given)
    check_types(asked, given)
    relation = public.release.statement.neighbours if neighbours is None else neighbours
    domain = public.encoding.domain
    terms = ReleaseRequest(**terms_of(asked, domain, relation) | {"what": f"evaluation of {public.name}"})
    terms.check()
    if terms.count_is_public:
        if records is not None and not priced:
            raise InvalidParameter(
                f"records={records!r} was given, but the number of records is public here and is that of the table. Leave records out."
            )
        return terms
    if not is_whole(records, 1, MOST):
        raise DomainError(
            f"The number of records to evaluate on is private here (neighbours {str(terms.neighbours)!r}, unit {terms.unit!r}), and "
            f"records={records!r} was given. Noise cannot depend on the table's length, and what the domain declares is the number of the "
            "training table's: pass records=…, a number that you know without looking at the table."
        )
    return replace(terms, domain=Domain.from_dict({**domain.to_dict(), "records": int(records)}))


def _notes(chosen: catalogue.Chosen, public: FittedModel) -> tuple[str, ...]:
    notes = [
        "Intervals hold privacy and sampling noise, and are of this model on the population of which the records are a sample; on records that it was fitted on it looks better"
    ]
    if chosen.cut:
        notes.append(f"Errors beyond the largest error that was asked for count as it, in {', '.join(chosen.cut)}")
    for name, score in ((one.name, getattr(one, "score", None)) for one in chosen.metrics):
        notes += [LEAST.format(getattr(score, "floor", 0) * getattr(score, "top", 1), name)] * hasattr(score, "floor")
    notes += [WIDER] * any(table.name == catalogue.CALIBRATION for table in chosen.tables)
    notes += [TIED] * any(metric.name == catalogue.AREA for metric in chosen.metrics)
    notes += [JOINED] * bool(chosen.tables) + [UNLIKE] * (not public.encoding.facts.alike)
    return tuple(notes)


def released(model: Any, table: Any) -> tuple[FittedModel, Any]:
    """The model's public parts, and the table as it sees it: a pipeline's row-wise steps come first.

    Raises:
        InvalidParameter: it is no private model, or none that was fitted.
    """
    if not isinstance(model, type) and hasattr(model, "best_estimator_"):  # a search, private or not
        return released(model.best_estimator_, table)
    made, table = inside(model, "A private evaluation", table)
    if not hasattr(made, "release_"):
        raise InvalidParameter(
            f"This {type(made).__name__} was not fitted, so there are no coefficients to evaluate. Nothing was read or charged. Fit it first, on other records than those it is to be evaluated on."
        )
    return made._fitted(), table


def inside(model: Any, what: str, table: Any = None) -> tuple[Any, Any]:
    """The estimator, or the model of a stream, in a pipeline or a stream, and a table as it sees it; `what` is asked of it.

    Raises:
        InvalidParameter: there is none in it.
    """
    if isinstance(model, PrivatePipeline):
        return inside(model.model, what, None if table is None else model._rows(table))
    if isinstance(model, PrivateStream):
        return inside(model.model_at(), what, table)
    if isinstance(model, PeriodicModel):
        return inside(model.estimator, what, table)
    if not isinstance(model, PrivateLinearModel | StreamModel):
        raise InvalidParameter(
            f"{what} was asked of {found(model)}, which is no estimator of hullabaloo. It is made of released coefficients and a declared domain: pass "
            "a fitted estimator (of a search, its best_estimator_), a pipeline of hb.private_pipeline, the model of a stream, or what hb.load or hb.streaming.load gives."
        )
    return model, table


def _check_schema(encoding: Encoding, table: Any, target: Any, weight: Any) -> int | None:
    """Refuse a table that `encoding.encode` would refuse, and tell its length, as far as it is known; reads no value."""
    domain = encoding.domain
    source = domain.open(table, parts=True)
    encoding.places(source, target)
    check_roles(domain, source, target, weight, None)
    return source.n_rows
