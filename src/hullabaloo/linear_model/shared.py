"""What several kinds of estimators share: how they read rows, whom they charge, what holds coefficients, plain scores, a model inside."""

import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from hullabaloo.data import ClassTarget, Domain, Encoding, Table, TargetScale, path_of
from hullabaloo.errors import DomainError, HullabalooError, InvalidParameter, NotPrivateWarning, bare
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.losses.base import Array
from hullabaloo.release.estimator import Estimator, MultiOutputMixin
from hullabaloo.release.parameters import found


class DomainEstimator(Estimator, ABC):
    """An estimator that reads rows by a declared domain."""

    DEFAULT: ClassVar[tuple[ConvexSet | None, Penalty]] = (None, NoPenalty())

    @abstractmethod
    def _declared(self) -> tuple[Domain, TargetScale, str | None]:
        """The domain, how the target is scaled, and the column that is a known exposure; every parameter's type is checked first."""

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        """What is taken where neither constraint nor penalty is given: public."""
        return self.DEFAULT

    def _encoding(self, feature_names: list[str] | None, n_features: int | None) -> Encoding:
        """How rows of these columns are read."""
        domain, scale, exposure = self._declared()
        intercept = bool(self.fit_intercept)
        return domain.encoding(feature_names, n_features, fit_intercept=intercept, scale=scale, exposure=exposure)

    def _encoding_for(self, source: Table, y: Any, weight: Any) -> Encoding:
        """How the rows of a table are read, from its declared schema."""
        domain, scale, exposure = self._declared()
        intercept = bool(self.fit_intercept)
        return domain.encoding_for(source, y, weight=weight, fit_intercept=intercept, scale=scale, exposure=exposure)

    def _name_columns(self, encoding: Encoding, named: bool) -> None:
        """Set scikit-learn's attributes of the columns that were seen."""
        self.n_features_in_ = encoding.n_features_in
        if named and encoding.feature_names_in is not None:
            self.feature_names_in_ = np.asarray(encoding.feature_names_in, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def chosen(model: Any, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
    """The set and penalty that a model is fitted with: those that were given, one or both, or the public default where none was.

    Raises:
        InvalidParameter: something that is neither set nor penalty.
    """
    constraint, penalty = model.constraint, model.penalty
    if not isinstance(constraint, ConvexSet | None):
        hint = " A penalty is passed as penalty=...." if isinstance(constraint, Penalty) else ""
        raise InvalidParameter(
            f"The constraint must be a convex set, such as hb.L1Ball(1.0), hb.L2Ball(1.0), hb.Box(-1.0, 1.0) or hb.Simplex(), but {found(constraint)} was given.{hint}"
        )
    if not isinstance(penalty, Penalty | None):
        hint = " A set is passed as constraint=...." if isinstance(penalty, ConvexSet) else ""
        raise InvalidParameter(
            f"The penalty must be an object such as hb.L1Penalty(0.01), hb.SquaredL2Penalty(0.01) or hb.ElasticNetPenalty(0.01, 0.5), but {found(penalty)} was given.{hint}"
        )
    if constraint is None and penalty is None:
        return model._default(encoding)  # type: ignore[no-any-return]
    return constraint, penalty if penalty is not None else NoPenalty()


class PlainScore:
    """What goes before scikit-learn's mixin of regressors or classifiers, whose `score` it is."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R² of the predictions on these records, of a classifier the share of records whose class is predicted, *not private*.

        No noise is added, and a warning says so. `hb.evaluate(model, X, y, budget=...)` gives these and other metrics under
        differential privacy, with intervals; of a stream, `model` is `stream.model_at()`.
        """
        warnings.warn(
            "score compares predictions with the records and adds no noise, so the number is not private: neither is what cross_val_score or "
            "a grid search makes of it. hb.evaluate(model, X, y, budget=...) gives the same under differential privacy, with intervals.",
            NotPrivateWarning,
            stacklevel=2,
        )
        try:
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
        except (HullabalooError, NotFittedError, MemoryError):
            raise
        except Exception:  # reason: what scikit-learn says of targets that it cannot compare would quote them
            bare(
                InvalidParameter(
                    "No score can be computed of this y and sample_weight, and why is not shown, as that may quote a record. "
                    "Pass as y, also where the domain names a column of the table as the target, one number, or one declared class, for each row, and weights that are numbers."
                )
            )


class NumberTargets(MultiOutputMixin):
    """What goes before a model of numbers, of one target or of several, whose domain declares no classes."""

    def _target(self) -> tuple[TargetScale, str | None]:
        if any(isinstance(target, ClassTarget) for target in self.domain.targets):
            raise DomainError(
                f"{type(self).__name__} learns numbers, and the domain declares classes. Use hb.LogisticRegression or hb.LinearSVC, of a "
                "stream inside hb.streaming.PeriodicERM (in a shell --method periodic); or declare target={'column': (0, 1)} where the column holds 0 and 1: "
                "predictions are then chances."
            )
        return TargetScale.SYMMETRIC, None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.domain is not None and len(self.domain.targets) > 1
        return tags


def offers(method: str) -> Any:
    """A method that is there where the class of the estimator inside has it, as scikit-learn's pipelines and searches ask."""
    return available_if(lambda around: hasattr(type(getattr(around, around.INSIDE)), method))


class Around(Estimator, ABC):
    """What a pipeline, a search or a stream gives on from the estimator that it is around."""

    INSIDE: ClassVar[str]
    """The parameter that holds the estimator."""

    @property
    @abstractmethod
    def _inside(self) -> Any:
        """The fitted model; raises where there is none."""

    def _rows(self, X: Any) -> Any:
        """Rows as the fitted model takes them."""
        return X

    def predict(self, X: Any, **how: Any) -> Any:
        """Predictions of the fitted model: numbers in the target's units, with `clip=True` held to its bounds; or classes."""
        return self._inside.predict(self._rows(X), **how)

    @offers("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Chances of the classes, (n, k), by the fitted model."""
        return self._inside.predict_proba(self._rows(X))

    @offers("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Decisions of the fitted model, (n,) or (n, k)."""
        return self._inside.decision_function(self._rows(X))

    @property
    def classes_(self) -> Any:
        """A classifier's declared classes."""
        return self._inside.classes_

    def __sklearn_tags__(self) -> Tags:
        """Those of the estimator: what is around a classifier is a classifier."""
        estimator = getattr(self, self.INSIDE)
        return get_tags(estimator) if isinstance(estimator, DomainEstimator) else super().__sklearn_tags__()


def check_state(model: Any) -> None:
    """Refuse a state file or the key that seals it where they are no paths, and a key of no file.

    Raises:
        InvalidParameter: as above.
    """
    for name in ("state", "key_file"):
        value = getattr(model, name)
        if not isinstance(value, str | Path | None):
            raise InvalidParameter(f"The {name} must be a path or None, but {found(value)} was given.")
        if value is not None:
            path_of(value)
    if model.key_file is not None and model.state is None:
        raise InvalidParameter(
            "A key_file was given without a state file that it could encrypt. Pass state='stream.state' too, or leave it out."
        )


def probabilities_apart(values: Array) -> Array:
    """(n, k) probabilities of k ≥ 2 classes from decisions, (n, 1) for two; of more, each against the rest, brought to sum 1.

    With `p_k = 1/(1 + exp(−z_k))` they are `q_k = 1/(1 + exp(−z_k − s))` at the s of each record at which they add up to 1: the least of
    `Σ q_k log(q_k/p_k) + (1 − q_k) log((1 − q_k)/(1 − p_k))`. So of no record, whatever its class is, the sum of the k log-losses of class against
    rest becomes larger (Bregman's projection; Csiszár 1975), chances that add up to 1 stay, and so does the order of the classes. Totals of the classes would move: the more, the
    less the p_k of single records add up to 1. So the fit shifts the intercepts that predict, by one more private answer, until the totals of the q_k are the records' (`solvers/class_totals.py`).
    """
    if values.shape[1] == 1:
        return np.column_stack([expit(-values[:, 0]), expit(values[:, 0])])
    from hullabaloo.losses.reading_kernels import chances_apart

    return np.asarray(chances_apart(np.ascontiguousarray(values)), dtype=np.float64)
