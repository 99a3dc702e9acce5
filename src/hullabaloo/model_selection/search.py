"""`PrivateSearchCV`: the best of many settings, whose cost is counted."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hullabaloo.codec import arguments
from hullabaloo.curation.kept import Kept
from hullabaloo.curation.parts import sizes
from hullabaloo.curation.running import search
from hullabaloo.curation.searching import SearchPlan, priced
from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.shared import Around, check_state, offers
from hullabaloo.model_selection.candidates import contend, expected_runs, listed, models_of
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, GaussianEvent, Repeats, base_mu, epsilon_of, gdp_epsilon
from hullabaloo.release import PrivacyStatement, Purchase, check_types, label_of, positive, stated, terms_of
from hullabaloo.release.request import ReleaseRequest, machine_failures
from hullabaloo.tables import Printed


@dataclass(frozen=True, slots=True, repr=False)
class SearchPrice(Printed):
    """Spend of a search, from public facts; reads and charges nothing.

    Attributes:
        epsilon, delta: of the release, however many candidates there are.
        candidates: how many there are.
        expected_runs, shape: of the number of runs.
        chance: the probability that a given candidate is tried at all.
        run_mu, run_epsilon: of one run: its fit and its score each have all of it.
        alone_epsilon: what one fit without a search would have.
        grid_mu, grid_epsilon: what each candidate has where all are fitted and scored, everything may be shown, and the costs add up
            (Gaussian composition).
        trained, held: records to train on and to compare by.
        solvers: of each candidate.
        score_error: the privacy error of a score, as far as public facts tell it, in units of the metric.
        metric: its name.
    """

    epsilon: float
    delta: float
    candidates: int
    expected_runs: float
    shape: float | str
    chance: float
    run_mu: float
    run_epsilon: float
    alone_epsilon: float
    grid_mu: float
    grid_epsilon: float
    trained: int
    held: int
    solvers: tuple[str, ...]
    score_error: float
    metric: str

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return "spend: no privacy at all (epsilon is infinite); every candidate is tried"
        lines = [
            f"spend: epsilon = {self.epsilon:.4g} at delta = {self.delta:.3g}, once, for the best of {self.expected_runs:g} expected runs",
            f"run:   epsilon = {self.run_epsilon:.4g} (mu = {self.run_mu:.4g}) for a fit on {self.trained} records and a score on {self.held}; "
            f"a fit without a search would have {self.alone_epsilon:.4g}",
            f"grid:  epsilon = {self.grid_epsilon:.4g} (mu = {self.grid_mu:.4g}) would be left to each of all {self.candidates} candidates, were "
            "all fitted, scored and shown",
            f"score: {self.metric}, with a privacy error of about {self.score_error:.3g}"
            + (" for equal classes, more for a rare one" if self.metric == "roc_auc" else ""),
            f"luck:  a given candidate is tried at all with probability {100 * self.chance:.0f} %",
        ]
        if self.grid_mu > self.run_mu:  # so for few candidates
            lines.append(
                "note:  so few candidates are better tried all: fit and evaluate each with its share of the budget, and choose then"
            )
        return "\n".join(lines)

    to_dict = arguments


class PrivateSearchCV(Around):
    """The best of many settings of an estimator, found and fitted under one budget and one charge.

    A run draws a candidate at random, fits it on one part of the records and scores it on the other, both with noise. How many
    runs there are is random as well, and *nothing but the best run is released*: its model, its setting and its noisy score. So the cost
    does not grow with the number of candidates, and little with the number of runs.

    Each record is in one part only, so a run costs what its fit costs (`parts.held_out` has the proof); the release costs what
    `hullabaloo.privacy.TunedEvent` says, close to the least that the best of so many runs can cost.

    What is never shown: how many runs there were, their candidates, models and scores. Nothing that lasts tells it either: the ledger and the state file
    are written at the beginning and at the end alone, and code that is not the library's own (a set, a set function, a solver, a loss) is
    refused, as it would be called once or more a run, with numbers that are not released. The time that the search takes tells the
    number of runs, and is not covered: the statement says so.

    Parameters (all but the first two keyword-only):
        estimator: an estimator of hullabaloo with its domain and relation, without budget and ledger.
        candidates: a dictionary with a list of values for each constructor parameter (all combinations), or a list of
            dictionaries, each one candidate. Public: nothing of it may have been read from the records.
        budget: `hb.Budget(epsilon, delta)`, for everything.
        expected_candidates: the number of runs to be expected; "auto": four for each candidate, up to 30. With the geometric law a given one
            of c candidates is tried at all with probability m/(m + c − 1).
        shape: of the number of runs: "geometric" (default), "logarithmic", or a number between 0 and 1; see `privacy.Repeats`.
        metric: by which candidates are compared, one of `hb.evaluate`; None for what the estimator is fitted to be good at.
        holdout: the share of records that only compare; the model that is released was fitted on the others.
        ledger, dataset: where the one charge is made.
        state: a private file in which a search survives being killed: carried out again under the same charge, it draws the same noise for
            the same records, and noise of its own for others. The file holds the secret from which everything is drawn: guard it like the
            records. Once the search has ended only the release is left in it; fitted again with such a file, the search gives the same
            release again, at no cost.
        key_file: 32 bytes that seal the state file.
        test_key: deterministic noise for tests; the release is marked *not private*.

    Attributes after `fit`:
        best_estimator_: an ordinary fitted estimator, with the search's statement: `predict`, `summary`, `save`, cards, refits.
        best_params_, best_index_: its setting, and the setting's place in the list.
        best_score_: its noisy score, the metric itself, not cut off at the metric's range, which noise may leave. The best of noisy
            scores is on average better than the truth.
        best_score_error_: standard error of the score's privacy noise, as far as it is known beforehand.
        metric_: the metric's name.
        statement_: what the release guarantees.

    **Guarantee.** Precondition: candidates, metric and estimator are public. Claim: what `fit` sets satisfies the statement. Proof:
    `parts.held_out` (a run is μ-GDP), `searching.priced` and `TunedBound` (the best of K runs); everything else is post-processing.
    """

    INSIDE: ClassVar[str] = "estimator"
    estimator: PrivateLinearModel | None = field(default=None, kw_only=False)
    candidates: Any = field(default=None, kw_only=False)
    budget: Budget | None = None
    expected_candidates: float | str = "auto"
    shape: str | float = "geometric"
    metric: str | None = None
    holdout: float = 0.25
    ledger: Ledger | str | None = None
    dataset: str | None = None
    state: str | Path | None = None
    key_file: str | Path | None = None
    test_key: TestKey | bytes | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Search: plan every candidate, charge once, then run.

        Args:
            X, y, sample_weight: as in the estimator's own `fit`.

        Raises:
            InvalidParameter: an argument, a candidate or the table's declared schema does not fit; nothing was spent.
            LedgerError: the ledger refuses; nothing was read or spent.
            StateError: the state file is in use, damaged, another search's, an older version's, or that of a search in which a run failed.
        """
        models, terms, repeats = self._opened()
        source = terms.domain.open(X)
        encodings = [model._encoding_for(source, y, sample_weight) for model in models]
        plan = self._plan(models, encodings, terms, repeats, source.n_rows)
        kept = Kept.begin(plan, self.state, self.key_file)
        bought = Purchase((), plan.event, (), plan.records, terms.budget)
        begun = stated(terms, bought, kept.charge)  # not made at a time that tells how long it took
        try:
            with machine_failures():
                best = search(plan, source, y, sample_weight, kept)
        finally:
            kept.close()
        number, score, one = best.number, best.score, plan.candidates[best.number]
        noise = tuple(query.to_dict() for query in (*one.fit.bought.queries, one.query))
        self.statement_: PrivacyStatement = replace(begun, query_noise=noise)
        self.best_index_, self.best_params_ = number, dict(one.params)
        self.best_score_ = score if one.higher_is_better else -score
        self.best_score_error_, self.metric_ = one.error, one.metric
        paid = {"budget": self.budget, "ledger": terms.ledger, "dataset": terms.dataset, "test_key": self.test_key}
        model = clone(models[number]).set_params(**paid)
        model._adopt(replace(best.release, statement=self.statement_), one.encoding, source.schema.names is not None)
        self.best_estimator_: PrivateLinearModel = model
        return self

    def price(self, n: int | None = None, *, n_features: int | None = None) -> SearchPrice:
        """What the search costs, what each run has of it, and what trying everything would leave; reads and charges nothing."""
        models, terms, repeats = self._opened()
        encodings = [model._encoding(None, n_features) for model in models]
        return price_search(self._plan(models, encodings, terms, repeats, n))

    @property
    def _inside(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @offers("score")  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The best estimator's `score`, which is not private: no noise is added."""
        return float(self._inside.score(X, y, sample_weight))

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee, for cards."""
        check_is_fitted(self, "statement_")
        return self.statement_

    def summary(self, *, confidence: float = 0.95) -> Any:
        """The best estimator's coefficients."""
        return self._inside.summary(confidence=confidence)

    def save(self, path: str | Path) -> None:
        """Write the best estimator as it writes itself; `hb.load` reads it."""
        self._inside.save(path)

    def card_entry(self) -> dict[str, Any]:
        """What a card shows of the search: a title, sentences, one table. Its charge is that of the model."""
        check_is_fitted(self, "best_estimator_")
        body = [[name, str(value)] for name, value in self.best_params_.items()]
        return {
            "title": f"Search of {type(self.estimator).__name__}",
            "lines": [
                f"The best of a random number of runs among {len(listed(self.candidates))} candidates; the number, the other runs and their scores were not released",
                f"{self.metric_} = {self.best_score_:.4g} on held-out records, privacy noise ± {self.best_score_error_:.2g}; being the best of "
                "several noisy scores, it is on average too good",
            ],
            "table": {"head": ["parameter", "chosen"], "body": body},
        }

    def _opened(self) -> tuple[tuple[PrivateLinearModel, ...], ReleaseRequest, Repeats]:
        """The candidates' models with what a run may spend, the terms of the whole, and the law of the number of runs."""
        check_types(self, ("budget", "ledger", "dataset", "test_key"))
        check_state(self)
        positive("holdout", self.holdout, "the share of records to compare by, such as 0.25", 1.0)
        if not isinstance(self.metric, str | None):
            raise InvalidParameter(f"metric={self.metric!r} was given: name one metric, such as 'accuracy', or None.")
        candidates, model = listed(self.candidates), self.estimator
        assert self.budget is not None
        models_of(model, candidates, self.budget)  # says what is wrong before the ledger is opened
        assert model is not None
        domain, _, _ = clone(model).set_params(budget=self.budget)._declared()
        terms = ReleaseRequest(**terms_of(self, domain, model.neighbours) | {"what": f"search of {label_of(model)}"})
        terms.check()
        repeats = Repeats(expected_runs(self.expected_candidates, len(candidates)), self.shape)
        if repeats.eta is None:
            raise InvalidParameter(
                "shape='poisson' was given. Searches draw by it no more: 'geometric' tries a candidate as surely and costs less. Pass "
                "shape='geometric', or leave it out; a search that was begun with it is ended under the version that began it."
            )
        mu = base_mu(self.budget, repeats.expected, repeats.shape, terms.allowance().filter)
        return models_of(model, candidates, Budget(math.inf) if math.isinf(mu) else Budget.gdp(mu)), terms, repeats

    def _plan(
        self,
        models: tuple[PrivateLinearModel, ...],
        encodings: list[Encoding],
        terms: ReleaseRequest,
        repeats: Repeats,
        rows: int | None,
    ) -> SearchPlan:
        budget = models[0].budget
        mu = math.inf if budget is None or budget.mu is None else budget.mu
        rows = rows if terms.count_is_public else None
        candidates = contend(models, encodings, listed(self.candidates), terms, self.metric, self.holdout, rows)
        event = priced(terms, candidates, repeats, mu)
        return SearchPlan(terms, candidates, repeats, mu, float(self.holdout), terms.number_of_records(rows), event)


def price_search(plan: SearchPlan) -> SearchPrice:
    """Read the price off a plan."""
    budget, count = plan.terms.budget, len(plan.candidates)
    trained, held = sizes(plan.records, plan.holdout)
    delta = budget.delta if budget.kind == "dp" and budget.delta > 0.0 else 1e-6
    private = budget.is_private
    alone = Allowance(budget, plan.terms.allowance().filter).mu
    grid = alone / math.sqrt(count)
    return SearchPrice(
        epsilon=epsilon_of(plan.event, delta) if private else math.inf,
        delta=delta,
        candidates=count,
        expected_runs=plan.repeats.expected,
        shape=plan.repeats.shape,
        chance=1.0 if not private else plan.repeats.chance(count),
        run_mu=plan.mu,
        run_epsilon=gdp_epsilon(plan.mu, delta) if private else math.inf,
        alone_epsilon=gdp_epsilon(alone, delta) if private else math.inf,
        grid_mu=grid,
        grid_epsilon=epsilon_of(GaussianEvent(1.0 / grid), delta) if private else math.inf,
        trained=trained,
        held=held,
        solvers=tuple(one.fit.plan.solver for one in plan.candidates),
        score_error=max(one.error for one in plan.candidates),
        metric=plan.candidates[0].metric,
    )
