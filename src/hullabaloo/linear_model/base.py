"""What every private linear model shares: parameters, fitting through the hinge, prediction, refitting, saving."""

import inspect
import warnings
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from hullabaloo.data import Domain, Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.fit import Task, fit, prepare
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model import saved
from hullabaloo.linear_model.parameters import check_types
from hullabaloo.linear_model.price import Price, price
from hullabaloo.linear_model.refit import refit
from hullabaloo.linear_model.regularisation import chosen
from hullabaloo.linear_model.summary import Summary, summarise
from hullabaloo.linear_model.transfer import to_sklearn
from hullabaloo.losses import Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.release import PrivacyStatement, Release

Array = npt.NDArray[np.float64]

SEE_BELOW = "Parameters, attributes and methods: see `PrivateLinearModel`."


class PrivateLinearModel(RegressorMixin, MultiOutputMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Abstract base of the private linear regressions; see a concrete estimator for what it minimises.

    Parameters (all keyword-only, the same for every estimator, stored untouched):
        budget: `hb.Budget(epsilon, delta)`, what the fit may spend; no default.
        domain: `hb.Domain(...)`, what is declared about the rows without looking at them; no default.
        constraint: a convex set on the unit domain, such as `hb.L1Ball(1.0)`; excludes `penalty`.
        penalty: a convex penalty on the unit domain, such as `hb.L1Penalty(0.01)`; excludes `constraint`.
        solver: "auto", "moments" or "gradient"; "auto" chooses from public facts, before any data is read.
        neighbours: "replace-one" (default; the number of rows is public) or "add-or-remove" (it is hidden).
        fit_intercept: whether a constant column is added; the intercept is never penalised.
        ledger: `hb.Ledger(url)` or its URL; None leaves the fit unrecorded, and the statement says so first.
        dataset: the ledger's name of the table.
        test_key: a `TestKey`, or its 32 bytes: deterministic noise for tests; the release is marked *not private*.

    Attributes after `fit`:
        coef_: coefficients in the user's units, one for each of `feature_names_out_`; (p,) or (k, p).
        intercept_: the intercept in the user's units; a float or (k,).
        statement_: the privacy statement.
        release_: everything released, on the unit domain.
        feature_names_out_: names of the encoded columns that coefficients belong to.
        n_features_in_, feature_names_in_: as in scikit-learn.

    `score`, scikit-learn's R², compares predictions with records and adds no noise: what it gives is not covered by the
    guarantee, and neither is what `cross_val_score` gives, whose every fit is a release of its own.
    """

    loss: ClassVar[Squared] = Squared()

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Give an estimator's help() the parameters and attributes that are described here once for all."""
        super().__init_subclass__(**keywords)
        if cls.__doc__ and PrivateLinearModel.__doc__:
            shared = inspect.cleandoc(PrivateLinearModel.__doc__).partition("\n\n")[2]
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace(SEE_BELOW, shared)

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        domain: Domain | None = None,
        constraint: ConvexSet | None = None,
        penalty: Penalty | None = None,
        solver: str = "auto",
        neighbours: str | Neighbours = "replace-one",
        fit_intercept: bool = True,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        test_key: TestKey | bytes | None = None,
    ) -> None:
        self.budget = budget
        self.domain = domain
        self.constraint = constraint
        self.penalty = penalty
        self.solver = solver
        self.neighbours = neighbours
        self.fit_intercept = fit_intercept
        self.ledger = ledger
        self.dataset = dataset
        self.test_key = test_key

    default_constraint: ClassVar[ConvexSet | None]
    default_penalty: ClassVar[Penalty]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit privately: validate, plan, charge, read, draw noise, post-process, release.

        Args:
            X: rows: an array, a sparse matrix, a dataframe, or the path of a Parquet or CSV file.
            y: targets, (n,) or (n, k); None when X has the columns that the domain names as targets.
            sample_weight: nonnegative weights, (n,); the domain must declare their maximum.

        Raises:
            InvalidParameter: an argument or the table's declared schema does not fit the domain; nothing was spent.
            LedgerError: the ledger refuses; nothing was read or spent.
        """
        task = self._task()
        if len(task.domain.targets) == 1 and getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Its one column is the target.",
                DataConversionWarning,
                stacklevel=2,
            )
        fitted = fit(task, X, y, sample_weight)
        self._adopt(fitted.release, fitted.prepared.encoding, fitted.names)
        return self

    def price(
        self, n: int | None = None, *, n_features: int | None = None, feature_names: list[str] | None = None
    ) -> Price:
        """What a fit on n records costs and what it can be expected to gain; reads and charges nothing.

        Args:
            n: the number of records; left out where it is private (then the domain declares `records`).
            n_features, feature_names: the columns of a prepared matrix, where the domain is a `row_norm` only.
        """
        task = self._task()
        encoding = task.domain.encoding(feature_names, n_features, fit_intercept=task.fit_intercept)
        return price(prepare(task, encoding, n))

    def predict(self, X: Any) -> Array:
        """Predictions `⟨x, θ⟩` in the target's units, rows encoded by the domain; (n,) or (n, k)."""
        check_is_fitted(self, "release_")
        encoding: Encoding = self.encoding_
        unit = np.asarray(encoding.features(X) @ self.release_.theta, dtype=np.float64)
        values = unit * encoding.target_scale + encoding.target_offset
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values, dtype=np.float64)

    def refit(
        self,
        *,
        features: list[str] | None = None,
        constraint: ConvexSet | None = None,
        penalty: Penalty | None = None,
    ) -> Self:
        """Another model from the same noisy moments: other columns, constraint or penalty, at no further cost.

        Everything computed from a private release is covered by its guarantee (post-processing), so any number of
        sub-models and penalties may be looked at. Only a release that contains moments can be refitted.
        """
        check_is_fitted(self, "release_")
        return refit(self, features=features, constraint=constraint, penalty=penalty)

    def summary(self, *, confidence: float = 0.95) -> Summary:
        """Coefficients with standard errors, split into sampling and privacy noise, and intervals."""
        check_is_fitted(self, "release_")
        return summarise(self, confidence)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn pipeline that predicts the same: the domain's encoding, then `LinearRegression`."""
        check_is_fitted(self, "release_")
        return to_sklearn(self)

    def save(self, path: str | Path) -> None:
        """Write the fitted model as versioned JSON: parameters, release and statement, no records."""
        check_is_fitted(self, "release_")
        saved.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "PrivateLinearModel":
        """Read a saved model; gives the estimator class that wrote it."""
        return saved.load(Path(path), expected=cls)

    def _task(self) -> Task:
        if self.budget is None or self.domain is None:
            missing = "budget" if self.budget is None else "domain"
            example = "hb.Budget(1.0, 1e-6)" if missing == "budget" else "hb.Domain(features={'age': (18, 90)}, ...)"
            raise InvalidParameter(
                f"{type(self).__name__} needs a {missing}: without it no noise level is private, and Hullabaloo never "
                f"takes one from the data. Pass {missing}={example}."
            )
        check_types(self)
        constraint, penalty = chosen(self)
        return Task(
            what=type(self).__name__,
            loss=self.loss,
            domain=self.domain,
            budget=self.budget,
            neighbours=Neighbours.parse(self.neighbours),
            constraint=constraint,
            penalty=penalty,
            fit_intercept=bool(self.fit_intercept),
            solver=self.solver,
            ledger=Ledger(self.ledger) if isinstance(self.ledger, str) else self.ledger,
            dataset=self.dataset,
            key=TestKey(self.test_key) if isinstance(self.test_key, bytes) else self.test_key,
        )

    def _adopt(self, release: Release, encoding: Encoding, names: tuple[str, ...] | None) -> None:
        self.release_ = release
        self.encoding_ = encoding
        self.statement_: PrivacyStatement = release.statement
        coef, intercept = encoding.coefficients_to_user(release.theta)
        single = coef.shape[0] == 1
        self.coef_ = coef[0] if single else coef
        self.intercept_ = float(intercept[0]) if single else intercept
        self.feature_names_out_ = np.asarray(encoding.feature_names_out, dtype=object)
        self.n_features_in_ = encoding.n_features_in
        if names is not None and encoding.feature_names_in is not None:
            self.feature_names_in_ = np.asarray(encoding.feature_names_in, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = self.domain is not None and len(self.domain.targets) > 1
        return tags
