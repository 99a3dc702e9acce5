"""What a search chooses among: a public list of settings of one estimator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from hullabaloo.curation.parts import sizes
from hullabaloo.curation.scoring import Noise, score_noise, score_quote
from hullabaloo.curation.searching import PlannedCandidate
from hullabaloo.data import Domain, Encoding
from hullabaloo.errors import CalibrationError, HullabalooError, InvalidParameter
from hullabaloo.foreign import foreign
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.losses import AnyLoss
from hullabaloo.model_selection.catalogue import TABLES, Chosen, choose, reading_of
from hullabaloo.model_selection.metrics import Mean, Metric, ScoreAnswer
from hullabaloo.privacy import Budget
from hullabaloo.release import ReleaseRequest, found, positive, prepare
from hullabaloo.release.parameters import inference_share

MOST = 1_000
UNTOLD = "A search buys no errors: another fit with the settings that it chose, a charge of its own, tells them."
_FIXED = {
    "budget": "the search has one budget for all its runs; pass it to the search",
    "inference": "a search releases the best model alone; fit it again for errors",
    "errors": "a search releases the best model alone; fit it again for errors",
    "public": "the runs of a search take nothing from a public table; fit the best settings with it",
    "domain": "records are declared once, before the search",
    "neighbours": "all runs have one guarantee",
    "ledger": "the search makes one charge; pass it to the search",
    "dataset": "the search makes one charge; pass it to the search",
    "calibration": "what a paper prints is not what the price of a choice rests on",
    "test_key": "pass it to the search",
    "quantile": "models of different quantiles answer different questions, and none of them is the better one",
    "exposure": "models of different exposures answer different questions, and none of them is the better one",
}


def listed(candidates: Any) -> tuple[dict[str, Any], ...]:
    """The candidates one by one: of a dictionary every combination of its lists, of a list each dictionary as it is.

    Raises:
        InvalidParameter: neither of the two, an empty one, or too many.
    """
    if isinstance(candidates, Mapping):
        for name, values in candidates.items():
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
                raise InvalidParameter(
                    f"The candidates' {name!r} is {values!r}, which is no list. A dictionary of candidates gives a list of values for each "
                    "parameter, all combinations of which are tried: {'solver': ['moments', 'gradient']}."
                )
        found = [dict(zip(candidates, values, strict=True)) for values in product(*candidates.values())]
    elif isinstance(candidates, Sequence) and all(isinstance(one, Mapping) for one in candidates):
        found = [dict(one) for one in candidates]
    else:
        raise InvalidParameter(
            f"candidates={candidates!r} was given. Pass a dictionary with a list of values for each parameter, such as {{'penalty': "
            "[hb.SquaredL2Penalty(s) for s in (0.001, 0.01, 0.1)]}, or a list of dictionaries, each one candidate."
        )
    if not 1 <= len(found) <= MOST:
        raise InvalidParameter(f"A search among {len(found)} candidates was asked; it takes 1 to {MOST}.")
    return tuple(found)


def models_of(
    estimator: Any, candidates: Sequence[Mapping[str, Any]], budget: Budget
) -> tuple[PrivateLinearModel, ...]:
    """An unfitted estimator for each candidate, with what one run may spend.

    Raises:
        InvalidParameter: no estimator of the library, one that has a budget or ledger of its own, a parameter that no search chooses, or
            code that is not the library's own.
    """
    if not isinstance(estimator, PrivateLinearModel):
        raise InvalidParameter(
            f"A search of {found(estimator)} was asked. It fits estimators of hullabaloo, whose every run has a known price: pass one that is not fitted, such as hb.Ridge(domain=domain)."
        )
    for name in ("budget", "ledger", "dataset", "test_key", "public", "inference"):
        own = getattr(estimator, name)
        if own is not None and (name != "inference" or inference_share(own) not in ("auto", False)):
            raise InvalidParameter(
                f"The estimator of a search has {name}= of its own, and {_FIXED[name]}. Nothing was charged or read. Leave it out there."
            )
    own_code(estimator, "The estimator of a search")
    known = estimator.get_params(deep=False)
    models = []
    for number, candidate in enumerate(candidates, start=1):
        for name in candidate:
            if name in _FIXED:
                raise InvalidParameter(f"Candidate {number} sets {name!r}, which no search chooses: {_FIXED[name]}.")
            if name not in known:
                raise InvalidParameter(
                    f"Candidate {number} sets {name!r}, and {type(estimator).__name__} has no such parameter. It has {', '.join(sorted(set(known) - set(_FIXED)))}."
                )
        own_code(candidate, f"Candidate {number}")
        model = clone(estimator)
        if {"constraint", "penalty"} & candidate.keys():  # a candidate names all that holds it
            model.set_params(constraint=None, penalty=None)
        models.append(model.set_params(**candidate, budget=budget))
    return tuple(models)


def own_code(asked: object, what: str) -> None:
    """Refuse what would run code that is not the library's own: in a search it would be called as often as there are runs.

    Raises:
        InvalidParameter: a set, penalty, set function, solver, loss or callable of the user's, or a subclass of the library's.
    """
    found = foreign(asked)
    if found is not None:
        raise InvalidParameter(
            f"{what} holds {found!r}, which is code of yours or of another library. Every run of a search would call it, with numbers that are not "
            "released, and how often it is called tells how many runs there were, which the price of a search rests on hiding. Nothing was "
            "charged or read. Search among the library's own sets, penalties, structures and solvers, or fit with yours outside of a search, "
            "where everything that it is shown is released: model.fit(...), then hb.evaluate(model, ...)."
        )


def expected_runs(asked: Any, count: int) -> float:
    """The expected number of runs: as asked, or about four for each candidate, up to 30.

    With the geometric law a given candidate is tried at all with probability ``m/(m + c − 1)``, hence 4/5 for ``m = 4(c − 1)``.
    """
    if isinstance(asked, str) and asked == "auto":
        return float(max(1, min(4 * (count - 1), 30)))
    return positive("expected_candidates", asked, "the number of runs to be expected, from 1 on, or 'auto'")


@dataclass(frozen=True, slots=True)
class SearchMetric:
    """The one metric by which candidates are compared, made from public facts: an evaluation's query, its answer read without an interval.

    Attributes:
        chosen: the metric; of several targets one each, whose mean counts.
    """

    chosen: Chosen

    @classmethod
    def of(cls, encoding: Encoding, loss: AnyLoss, metric: str | None = None) -> "SearchMetric":
        """The metric of that name, None for what such a model is fitted to be good at.

        Raises:
            InvalidParameter: there is no such metric for these models, or it is no single number.
        """
        if metric in TABLES:
            raise InvalidParameter(
                f"A search compares candidates by one number, and {metric} is a table. Name another metric, such as 'log_loss' or 'squared_error'."
            )
        return cls(choose(reading_of(encoding, loss), loss, metric))

    @property
    def name(self) -> str:
        """Of the metric."""
        return self.chosen.metrics[0].name.partition("[")[0]

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the metric itself is better; `oriented` numbers always are."""
        return self.chosen.metrics[0].higher_is_better

    def _unit(self, metric: Metric) -> float:
        return metric.size if len(self.chosen.metrics) > 1 else 1.0

    def oriented(self, answer: npt.NDArray[np.float64], noise: Noise) -> float:
        """The metric in the user's units, of several targets the mean in units of their ranges, with the sign by which larger is better.

        Not cut off at the metric's range, which noise may leave: cut-off numbers of several candidates would be equal.
        """
        found = ScoreAnswer.split(answer, self.chosen.tallies, noise)
        mean = float(np.mean([_plain(metric, found) / self._unit(metric) for metric in self.chosen.metrics]))
        return mean if self.higher_is_better else -mean

    def error(self, noise: Noise) -> float:
        """The privacy error of such a number, as far as public facts tell it."""
        errors = [metric.foreseen(noise)[1] / self._unit(metric) for metric in self.chosen.metrics]
        return float(np.hypot.reduce(errors)) / len(errors)


def _plain(metric: Metric, answer: ScoreAnswer) -> float:
    """A mean of scores as the noisy sums give it; other metrics as they are measured."""
    if not isinstance(metric, Mean) or not answer.number > 0.0:
        return metric.measure(answer, 1.0).value
    low, high = metric.score.bounds
    centred = 2.0 * float(answer.sums[metric.tallies[0]][0]) / answer.number
    return 0.5 * (low + high) + 0.5 * (high - low) * centred


GAUSSIAN = " Every run of a search has a budget in Gaussian differential privacy, however that of the whole is stated: take this candidate out."


def contend(
    models: Sequence[PrivateLinearModel],
    encodings: Sequence[Encoding],
    candidates: Sequence[Mapping[str, Any]],
    terms: ReleaseRequest,
    metric: str | None,
    holdout: float,
    rows: int | None,
) -> tuple[PlannedCandidate, ...]:
    """Plan every candidate, so that each refusal comes before the charge; reads and draws nothing.

    Raises:
        HullabalooError: what a candidate's own fit would raise, with the candidate's number before it.
    """
    records = terms.number_of_records(rows)
    trained, held = sizes(records, holdout)
    if not (trained and held):
        raise InvalidParameter(
            f"holdout={holdout!r} of {records} record{'s' * (records > 1)} leaves {trained} to train on and {held} to compare by. "
            "Both parts need records: pass more, or another share."
        )
    found = []
    for number, (model, encoding, params) in enumerate(zip(models, encodings, candidates, strict=True), start=1):
        try:
            if model.selection is not None:
                raise InvalidParameter(
                    f"selection={model.selection!r} was asked in a search, which compares the models of all columns. Leave it out; best_estimator_.refit(selection='fdr') applies one where the best solver is 'moments'."
                )
            task = replace(model._task(encoding), key=terms.key, inference=False, held=False)
            if not terms.count_is_public:
                task = replace(task, domain=Domain.from_dict({**task.domain.to_dict(), "records": trained}))
            fit = replace(prepare(task, encoding, trained if terms.count_is_public else None), without=UNTOLD)
            score = SearchMetric.of(encoding, task.loss, metric)
            query = score_quote(encoding, terms.neighbours, held, mu=fit.allowance.mu, **score.chosen.question)
            error = score.error(score_noise(query))
        except HullabalooError as fault:
            more = GAUSSIAN if isinstance(fault, CalibrationError) else ""
            raise type(fault)(f"Candidate {number} of {len(models)}, {dict(params)!r}: {fault}{more}") from fault
        found.append(PlannedCandidate(params, fit, query, score.oriented, score.name, score.higher_is_better, error))
    if len({one.metric for one in found}) > 1:
        raise InvalidParameter(
            f"The candidates are measured by {sorted({one.metric for one in found})}, which cannot be compared. Name one metric for "
            "all of them: metric='accuracy', for example."
        )
    return tuple(found)
