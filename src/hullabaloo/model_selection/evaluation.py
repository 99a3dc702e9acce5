"""Private evaluation: how good a model is on sensitive records, with intervals, for one charge."""

import math
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral, Real
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

from hullabaloo.curation.scoring import score_noise
from hullabaloo.data import Domain
from hullabaloo.errors import DomainError, InvalidParameter
from hullabaloo.ledger import Ledger
from hullabaloo.model_selection.catalogue import BINS, CALIBRATION, FLOOR, Chosen, LargestError, choose
from hullabaloo.model_selection.evaluated import Evaluation
from hullabaloo.model_selection.metrics import ScoreAnswer
from hullabaloo.model_selection.released import Released, released
from hullabaloo.model_selection.scoring import reading_of
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.release.parameters import check_types
from hullabaloo.release.request import ReleaseRequest
from hullabaloo.release.run import Buy, buy_queries, run_question

__all__ = ["Evaluation", "evaluate", "price_evaluation"]


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
    largest_error: LargestError = None,
    probability_floor: float = FLOOR,
    bins: int = BINS,
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
            "log_loss", "accuracy", "brier_score"; of all that give numbers or chances "calibration". None for what the model was
            fitted to be good at. J metrics take about √J times the noise of one. Of several targets each has its own.
        sample_weight: nonnegative weights, (n,); the domain must declare their maximum.
        records: about how many records the table has, where their number is private: a public guess, not counted from the table.
        neighbours: the relation; None for the one that the model was fitted under.
        ledger, dataset: where it is charged, as for estimators. Records of another table than the training one's have a name of their own.
        confidence: of the intervals.
        largest_error: squared and absolute errors and those of R² beyond this count as this, in the target's units: a public number, by
            which noise grows (by its square for squares). None for hi − lo, beyond which there are none; of several targets a
            number for each by its name. An error that is a tenth of that at most takes a hundredth of the noise of squared errors.
        probability_floor: chances are held within [floor, 1 − floor] by the log-loss, predicted means above floor · hi by the deviance.
        bins: rows of the calibration table.
        test_key: for tests; the evaluation is marked *not private*.

    Raises:
        InvalidParameter: an argument or the table's declared schema does not fit the model; nothing was spent.
        LedgerError: the ledger refuses; nothing was read or spent.

    Example:
        >>> import numpy as np, hullabaloo as hb
        >>> X = np.linspace(0.0, 10.0, 6000)[:, None]
        >>> y = 3.0 * X[:, 0] + 1.0
        >>> domain = hb.Domain(features={"a": (0, 10)}, target=(0, 40), indicators=False)
        >>> model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-8), domain=domain).fit(X[::2], y[::2])
        >>> found = hb.evaluate(model, X[1::2], y[1::2], budget=hb.Budget(1.0, 1e-8), metrics=["r2", "absolute_error"])
        >>> found.values["r2"].value > 0.8
        True
    """
    z = _quantile(confidence)
    public, table = released(model, X)
    chosen, buy = _chosen(public, metrics, probability_floor, bins, largest_error)
    terms = _terms(public, budget, neighbours, records, ledger, dataset, test_key)
    public.check_schema(table, y, sample_weight)
    asked = run_question(
        terms,
        public.encoding,
        buy,
        lambda curator: curator.answer("score", public.theta),
        table,
        y,
        sample_weight,
        detail={"model": public.what, "metrics": _names(chosen)},
    )
    answer = ScoreAnswer.split(asked.found, chosen.tallies, score_noise(asked.queries[0]))
    return Evaluation(
        model=public.what,
        values={metric.name: metric.measure(answer, z) for metric in chosen.metrics},
        calibration=tuple(row for table in chosen.calibration for row in table.measure(answer, z)),
        confidence=float(confidence),
        statement=asked.statement,
        notes=_notes(chosen, public),
    )


def price_evaluation(
    model: Any,
    n: int,
    *,
    budget: Budget,
    metrics: str | Iterable[str] | None = None,
    neighbours: str | Neighbours | None = None,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    largest_error: LargestError = None,
    probability_floor: float = FLOOR,
    bins: int = BINS,
) -> dict[str, float]:
    """The privacy error (a standard error, in the user's units) to expect of each metric on n records; reads and charges nothing.

    R²'s is for a target spread evenly over its bounds and R² = ½, that of the calibration table for a bin that holds its share of
    the records; all others hold whatever the records are.
    """
    public, _ = released(model, None)
    chosen, buy = _chosen(public, metrics, probability_floor, bins, largest_error)
    terms = _terms(public, budget, neighbours, n, ledger, dataset, None, priced=True)
    if isinstance(n, bool) or not isinstance(n, Integral) or not 1 <= int(n) < 2**53:
        raise InvalidParameter(
            f"The price of an evaluation was asked for n={n!r} records. Pass a whole number of them, such as n=1000."
        )
    noise = score_noise(buy_queries(terms, public.encoding, buy, n).queries[0])
    found = {metric.name: metric.foreseen(noise) for metric in chosen.metrics}
    if chosen.calibration:
        found[CALIBRATION] = max(table.foreseen(noise) for table in chosen.calibration)
    return found


def _chosen(
    public: Released, metrics: str | Iterable[str] | None, floor: float, bins: int, largest: LargestError
) -> tuple[Chosen, Buy]:
    """What is measured, and how it is bought."""
    reading = reading_of(public.encoding, public.loss)
    chosen = choose(reading, public.loss, metrics, floor=floor, bins=bins, largest_error=largest)
    return chosen, lambda menu, allowance: [menu.price("score", mu=allowance.mu, **chosen.question)]


def _quantile(confidence: object) -> float:
    number: Any = math.nan if isinstance(confidence, bool) or not isinstance(confidence, Real) else confidence
    if not 0 < number < 1:  # exact, however large
        raise InvalidParameter(
            f"A confidence level lies strictly between 0 and 1, but {confidence!r} was asked, e.g. 0.95."
        )
    return NormalDist().inv_cdf(0.5 + float(number) / 2.0)


def _terms(
    public: Released,
    budget: Any,
    neighbours: Any,
    records: Any,
    ledger: Any,
    dataset: Any,
    key: Any,
    *,
    priced: bool = False,
) -> ReleaseRequest:
    given = {"budget": budget, "ledger": ledger, "dataset": dataset, "test_key": key}
    check_types(SimpleNamespace(**given), given)  # as estimators check theirs
    relation = public.neighbours if neighbours is None else Neighbours.parse(neighbours)
    terms = ReleaseRequest(
        what=f"evaluation of {public.what}",
        domain=public.domain,
        budget=budget,
        neighbours=relation,
        ledger=Ledger(ledger) if isinstance(ledger, str) else ledger,
        dataset=dataset,
        key=TestKey(key) if isinstance(key, bytes) else key,
    )
    terms.check()
    if terms.count_is_public:
        if records is not None and not priced:
            raise InvalidParameter(
                f"records={records!r} was given, but the number of records is public here and is that of the table. Leave records out."
            )
        return terms
    if isinstance(records, bool) or not isinstance(records, Integral) or not 1 <= int(records) < 2**53:
        raise DomainError(
            f"The number of records to evaluate on is private here (neighbours {str(relation)!r}, unit {terms.unit!r}), and "
            f"records={records!r} was given. Noise cannot depend on the table's length, and what the domain declares is the number of the "
            "training table's: pass records=…, a number that you know without looking at the table."
        )
    return replace(terms, domain=Domain.from_dict({**public.domain.to_dict(), "records": int(records)}))


def _names(chosen: Chosen) -> list[str]:
    return [metric.name for metric in chosen.metrics] + ([CALIBRATION] if chosen.calibration else [])


def _notes(chosen: Chosen, public: Released) -> tuple[str, ...]:
    facts = public.encoding.facts
    notes = [
        "Intervals hold the value that this very model has on the population that the records are a sample of, with both noises: the "
        "privacy noise, whose size is known, and the sampling noise, from mean squares that were released with the means"
    ]
    if chosen.cut:
        notes.append(f"Errors beyond the largest error that was asked for count as it, in {', '.join(chosen.cut)}")
    if chosen.calibration:
        notes.append(
            "Sampling noise in a bin of the calibration table is bounded by what any mean in its range can have"
        )
    if not facts.alike:
        notes.append(
            "Weights and several records of one person are allowed for by the most that they can add to the sampling noise"
        )
    return tuple(notes)
