"""What every private linear model shares: parameters, fitting, refitting, saving."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from hullabaloo.data import Domain, Encoding, TargetScale, path_of
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.inference.coefficients import CoefficientInference
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.refit import refit
from hullabaloo.inference.selection_rule import SelectionRule, in_words, is_l1, selected, telling_solver
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model import saved
from hullabaloo.linear_model.own import refuse_missing
from hullabaloo.linear_model.shared import DomainEstimator, chosen
from hullabaloo.losses import AnyLoss
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.release import PrivacyStatement, Release, terms_of, warn_of_column
from hullabaloo.release.parameters import check_types, declared, inference_share, one_of, positive, shown
from hullabaloo.release.planned import Task, fit, prepare, quiet
from hullabaloo.release.price import DEFAULTED, UNSELECTED, Price, price
from hullabaloo.release.public_table import public_table, refuse_itself
from hullabaloo.solvers import Solver
from hullabaloo.solvers.score.spread import ERRORS


class DomainEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Rows to the unit domain by a declared encoding: a function of one row at a time, nothing is learned."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> "DomainEncoder":
        """Nothing to learn."""
        return self

    def transform(self, X: Any) -> Any:
        """Encoded rows without the intercept column; an exposure's logarithm is a column of its own, the last."""
        encoding = self.encoding
        rows = encoding.features(X)
        rows = rows[:, :-1] if encoding.facts.intercept else rows
        if encoding.offset is None or encoding.offset.exposure is None:
            return rows
        return np.column_stack([rows, encoding.predictions(X, np.zeros((encoding.facts.width, 1)))])


def to_sklearn(encoding: Encoding, theta: Array, linear: Callable[[Array, Array], Any]) -> Any:
    """A fitted pipeline with the predictions of θ, (p, k); its parameters are the released numbers and nothing else.

    `linear` makes a fitted scikit-learn estimator of encoded rows from coefficients, (k, q), and intercepts, (k,).
    """
    from sklearn.pipeline import Pipeline

    weights, shift = (theta * encoding.target_scale).T, encoding.prediction_offset
    coef = weights[:, :-1] if encoding.facts.intercept else weights
    intercept = shift + (weights[:, -1] if encoding.facts.intercept else 0.0)
    if encoding.offset is not None and encoding.offset.exposure is None:
        intercept = intercept - encoding.offset.centre
    elif encoding.offset is not None:
        coef = np.column_stack([coef, np.ones(len(coef))])
    plain = linear(np.ascontiguousarray(coef), np.asarray(intercept, dtype=np.float64))
    plain.n_features_in_ = coef.shape[1]
    return Pipeline([("domain", DomainEncoder(encoding)), ("model", plain)])


class PrivateLinearModel(CoefficientInference, DomainEstimator, ABC):
    """Abstract base of the private linear models; see a concrete estimator for what it minimises.

    Parameters (all keyword-only, the same for every estimator, stored untouched):
        budget: `hb.Budget(epsilon, delta)`, what the fit may spend; no default.
        domain: `hb.Domain(...)`, what is declared about the rows without looking at them; no default.
        constraint: a convex set on the unit domain, such as `hb.L1Ball(1.0)`.
        penalty: a convex penalty on the unit domain, such as `hb.L1Penalty(0.01)`. Both may be given: a squared l2 penalty with every set, a
            penalty of single coefficients with a Box, a norm with an L2Ball, the l1 norm with an L1Ball; solvers that cannot say so.
        solver: "auto", which chooses from public facts before any data is read; or "moments" (squared loss), "gradient",
            "adaptive_gradient", "preconditioned_gradient", "coordinate_descent" and "greedy_coordinate_descent" (penalties and boxes),
            "greedy_selection" (few of many columns), "subspace_descent" (many that all matter a little), "mirror_descent" and "frank_wolfe" (sets only), "dual_frank_wolfe" (structured
            penalties), "objective_perturbation", "output_perturbation", "constant" (the intercept alone); or a solver with options of your own, such as `hb.GreedySelectionSolver(selected=8)`.
        neighbours: "replace-one" (default; the number of rows is public) or "add-or-remove" (it is hidden).
        fit_intercept: whether a constant column is added; the intercept is never penalised.
        ledger: `hb.Ledger(url)` or its URL; None leaves the fit unrecorded, and the statement says so first.
        dataset: the ledger's name of the table.
        selection: which coefficients over an l1 set or with an l1 penalty are kept, the others being 0: "fdr" (of those kept at most the share
            `selection_level` is 0 in the population, in expectation), "bound" (any is with at most that chance), or None (what the solver
            leaves: for predictions). The release has to tell errors, as it does with inference.
        selection_level: the share or chance of false selections.
        inference: "auto" (a share of the budget buys errors and intervals of the unpenalised coefficients, wherever something valid is known: the
            squared, logistic, Huber or Poisson loss, each target and each class against the rest by its own score, and noise that leaves something to be told), True (the same, or a refusal before
            the charge), False, or the share, such as 0.3, and 0.8 at most.
        errors: how records vary around the model: "robust" (whatever it is, each record for itself), "unit" (likewise, records of the domain's unit may be
            alike: clustered errors), "homoskedastic" (errors alike for all records; of logistic and Poisson models those of the model itself), or "auto":
            "unit" where the domain keeps several records of a unit, else "robust", and from `solver="moments"` "homoskedastic".
        public: a table of the same kind that nobody has to protect (another year, another state, a published sample), as `fit` takes one with the target's
            column in it, or a pair (X, y). A model of it is where the steps of "adaptive_gradient" and "preconditioned_gradient" start, as far as a few noisy answers
            confirm it; nothing else is taken from it, and nothing by other solvers: "auto" may take one of these two in the place of such a solver. No guarantee rests on
            it; the statement names it. It is neither saved nor asked for again.
        calibration: "exact" (the least noise that the budget allows), or "paper" (the noise that the solver's paper prints;
            the statement says what it really guarantees).
        test_key: a `TestKey`, or its 32 bytes: deterministic noise for tests; the release is marked *not private*.

    Attributes after `fit`:
        coef_: coefficients in the user's units, one for each of `feature_names_out_`; (p,) or (k, p). A classifier's are
            always (k, p), k = 1 for two classes, as scikit-learn's are.
        intercept_: the intercept in the user's units; a float or (k,).
        statement_: the privacy statement.
        release_: everything released, on the unit domain.
        feature_names_out_: names of the encoded columns that coefficients belong to.
        selected_: those of them whose coefficient is not 0.
        n_features_in_, feature_names_in_: as in scikit-learn.
        classes_: a classifier's declared classes, in their natural order.

    `score`, scikit-learn's R² or accuracy, compares predictions with records and adds no noise: what it gives is not
    covered by the guarantee, as an `hb.errors.NotPrivateWarning` says each time, and neither is what `cross_val_score` gives, whose
    every fit is a release of its own besides. `hb.evaluate` measures a model privately, with intervals.
    """

    budget: Budget | None = None
    domain: Domain | None = None
    constraint: ConvexSet | None = None
    penalty: Penalty | None = None
    solver: str | Solver = "auto"
    neighbours: str | Neighbours = "replace-one"
    fit_intercept: bool = True
    selection: str | None = None
    selection_level: float = 0.1
    ledger: Ledger | str | None = None
    dataset: str | None = None
    calibration: str | Calibration = "exact"
    test_key: TestKey | bytes | None = None
    inference: bool | float | str = "auto"
    errors: str = "auto"
    public: Any = None

    # ---- what a concrete estimator says of itself -----------------------------------------------------------------

    @abstractmethod
    def _loss(self, encoding: Encoding) -> AnyLoss:
        """The loss of one record; refuses parameters that make none."""

    @abstractmethod
    def _target(self) -> tuple[TargetScale, str | None]:
        """How the target is scaled, and the column that is a known exposure."""

    @abstractmethod
    def _publish(self, coef: Array, intercept: Array) -> None:
        """Set `coef_` and `intercept_` from (k, q) and (k,) in the user's units."""

    @abstractmethod
    def _plain(self, coef: Array, intercept: Array) -> Any:
        """A fitted scikit-learn estimator of encoded rows with these coefficients, (k, q) and (k,)."""

    def _meaning(self) -> str:
        """A sentence on what a coefficient is, after the summary's table; "" where it is the plain change of the target."""
        return ""

    @property
    def selected_(self) -> npt.NDArray[np.object_]:
        """Names of the encoded columns whose coefficient is not 0, for one class or target at least; of `feature_names_out_`.

        Post-processing of the release. Where no rule of `selection` applied, the gradient methods that "auto" often takes average noisy
        iterates and leave few coefficients at exactly 0; with "moments" and "objective_perturbation" zeros are exact.
        """
        check_is_fitted(self, "release_")
        slopes = self.release_.theta[: len(self.feature_names_out_)]
        return self.feature_names_out_[np.any(slopes != 0.0, axis=1)]

    # ---- the same for all -----------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, callback: Callable[..., object] | None = None
    ) -> Self:
        """Fit privately: validate, plan, charge, read, draw noise, post-process, release.

        Args:
            X: rows: an array, a sparse matrix, a dataframe, or the path of a Parquet or CSV file.
            y: targets, (n,) or (n, k); None when X has the columns that the domain names as targets.
            sample_weight: nonnegative weights, (n,); the domain must declare their maximum.
            callback: a function of (step, coef, intercept), called for each iterate in turn: each point at which the solver asked for a noisy
                gradient, a round of coordinate updates or a private choice, and each noisy minimiser; coefficients in the user's units, shaped as
                `coef_` and `intercept_`. The points are part of what the budget pays for. It is called once the model is fitted and the records are out
                of reach, so nothing that it does or raises can cost the release: an exception becomes a `RuntimeWarning` and ends the calls.
                `solver="moments"` has no iterates. No parameter: it is neither cloned nor saved.

        Raises:
            InvalidParameter: an argument or the table's declared schema does not fit the domain; nothing was spent.
            LedgerError: the ledger refuses; nothing was read or spent.
        """
        if callback is not None and not callable(callback):
            raise InvalidParameter(
                f"The callback was given as {callback!r}, which cannot be called. Nothing was charged or read. Pass a function of (step, coef, intercept), or leave it out."
            )
        points: list[Array] | None = None if callback is None else []
        domain, _, _ = self._declared()
        refuse_itself(self.public, X)
        warn_of_column(len(domain.targets), y, stacklevel=3)
        source = domain.open(X, parts=True)
        encoding = self._encoding_for(source, y, sample_weight)
        with quiet():
            release = fit(self._task(encoding), encoding, source, y, sample_weight, points)
            self._finish(release, encoding, source.schema.names is not None)
        if callback is not None:
            self._tell(callback, points or [])
        return self

    @quiet()
    def price(
        self, n: int | None = None, *, n_features: int | None = None, known: Mapping[str, float] | None = None
    ) -> Price:
        """What a fit on n records costs and what it can be expected to gain; reads and charges nothing.

        Args:
            n: the number of records; left out where it is private (then the domain declares `records`).
            n_features: how many columns a prepared matrix has, where the domain is a `row_norm` only.
            known: standard deviations that are publicly known, by name: of columns, as they have coefficients (of a 0/1 column of share s, √(s(1 − s))), and by
                the target's name of what a model leaves of it (of a class its √(s(1 − s)), of counts the root of their mean). "mean of y" is the mean of a target y: of a class its share (of two, of that of which log-odds are told), which tells the deviation as well.
                They narrow the expected errors and totals, and those of a class or of counts the share of the gain that is kept.
        """
        encoding = self._encoding(None, n_features)
        if isinstance(n, int) and n >= 2**63:
            positive("n", n, "a number of records", highest=2.0**63)
        task = self._task(encoding)
        told = price(prepare(task, encoding, n), {} if known is None else known)
        notes = [UNSELECTED] * (self.selection is not None)
        if self.constraint is None is self.penalty and (held := task.constraint or task.penalty) != NoPenalty():
            notes.append(DEFAULTED.format(shown(held)))
        return replace(told, notes=(*notes, *told.notes))

    def refit(
        self,
        *,
        features: list[str] | None = None,
        constraint: ConvexSet | None = None,
        penalty: Penalty | None = None,
        selection: str | None = None,
    ) -> Self:
        """Another model from the same noisy moments: other columns, constraint or penalty, at no further cost.

        Everything computed from a private release is covered by its guarantee (post-processing), so any number of
        sub-models and penalties may be looked at. Only a release that contains moments can be refitted. With `selection` the model's own rule
        is another.
        """
        check_is_fitted(self, "release_")
        sibling: Self = clone(self)
        if constraint is not None or penalty is not None:
            sibling.set_params(constraint=constraint, penalty=penalty)
        if selection is not None:
            sibling.set_params(selection=selection)
        SelectionRule.of(sibling.selection, sibling.selection_level)
        held, pulled = chosen(sibling, self.encoding_)
        refuse_missing(held, pulled)
        release = refit(replace(self._fitted(), constraint=held, penalty=pulled), features)
        sibling._finish(release, self.encoding_, hasattr(self, "feature_names_in_"))
        return sibling

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn pipeline that predicts the same: the domain's encoding, then a plain linear model."""
        check_is_fitted(self, "release_")
        return to_sklearn(self.encoding_, self.release_.theta, self._plain)

    def save(self, path: str | Path) -> None:
        """Write the fitted model as versioned JSON: parameters, release and statement, no records."""
        check_is_fitted(self, "release_")
        saved.save(self, path_of(path))

    @classmethod
    def load(cls, path: str | Path, *, known: Iterable[type] = ()) -> "PrivateLinearModel":
        """Read a saved model; gives the estimator class that wrote it. `known`: see `hb.load`."""
        return saved.load(path_of(path), None if cls is PrivateLinearModel else cls, known=known)  # type: ignore[no-any-return]

    def _declared(self) -> tuple[Domain, TargetScale, str | None]:
        domain = declared(self)
        check_types(self)
        return domain, *self._target()

    def _task(self, encoding: Encoding) -> Task:
        constraint, penalty = chosen(self, encoding)
        refuse_missing(constraint, penalty, self.solver)
        loss = self._loss(encoding)
        SelectionRule.of(self.selection, self.selection_level)
        share, errors = inference_share(self.inference), one_of("errors", self.errors, ERRORS)
        if errors == "unit" and encoding.domain.unit is None:
            raise InvalidParameter(
                "errors='unit' was asked, and the domain declares no unit whose records may be alike. Nothing was charged or read. Declare Domain(unit='patient_id', records_per_unit=...), or leave errors out."
            )
        return Task(
            **terms_of(self, encoding.domain, self.neighbours),
            loss=loss,
            constraint=constraint,
            penalty=penalty,
            fit_intercept=encoding.fit_intercept,
            solver=telling_solver(self, encoding, (constraint, penalty), loss),
            calibration=Calibration.parse(self.calibration),
            scale=encoding.scale,
            exposure=self._target()[1],
            inference=True if self.selection is not None and share == "auto" else share,
            errors=errors,
            public=None if self.public is None else public_table(self.public, encoding, loss),
        )

    def _fitted(self) -> FittedModel:
        check_is_fitted(self, "release_")
        (held, pulled), encoding = chosen(self, self.encoding_), self.encoding_
        loss, name = self._loss(encoding), type(self).__name__
        known = FittedModel(self.release_, encoding, loss, held, pulled, name, self._meaning(), self._again)
        return replace(known, meaning=f"{known.meaning} {in_words(known)}".strip())

    def _again(self) -> Task:
        """The public arguments of the fit, without ledger, key and public table."""
        twin: Self = clone(self).set_params(ledger=None, dataset=None, test_key=None, public=None)
        return twin._task(self.encoding_)

    def _finish(self, release: Release, encoding: Encoding, named: bool) -> None:
        """Adopt a fresh release, coefficients outside the rule of selection at 0."""
        self._adopt(release, encoding, named)
        rule, model = SelectionRule.of(self.selection, self.selection_level), self._fitted()
        if rule is not None and is_l1(model.constraint, model.penalty):
            self._adopt(selected(model, rule), encoding, named)

    def _adopt(self, release: Release, encoding: Encoding, named: bool) -> None:
        self.release_ = release
        self.encoding_ = encoding
        self.statement_: PrivacyStatement = release.statement
        self._publish(*encoding.coefficients_to_user(release.theta))
        self.feature_names_out_ = np.asarray(encoding.feature_names_out, dtype=object)
        self._name_columns(encoding, named)

    def _tell(self, callback: Callable[..., object], points: list[Array]) -> None:
        """Show each iterate, in the user's units."""
        shown = copy(self)
        for step, theta in enumerate(points, 1):
            shown._publish(*self.encoding_.coefficients_to_user(theta))
            try:
                callback(step, shown.coef_, shown.intercept_)
            except Exception as error:  # reason: it may raise anything, and the release was paid for
                warnings.warn(
                    f"The callback raised {type(error).__name__} at step {step} of {len(points)} ({error}). It was not called again; the fit and its release are whole.",
                    RuntimeWarning,
                    stacklevel=3,
                )
                return

    def _linear(self, X: Any) -> Array:
        """(n, k) predictions on the link's scale, in the user's units."""
        check_is_fitted(self, "release_")
        encoding: Encoding = self.encoding_
        return encoding.predictions(X, self.release_.theta) * encoding.target_scale + encoding.prediction_offset
