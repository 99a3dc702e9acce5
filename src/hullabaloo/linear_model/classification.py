"""What private classifiers share: declared classes, decisions, labels in the user's own type."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from hullabaloo.data import ClassTarget, Encoding, TargetScale
from hullabaloo.errors import DomainError
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.not_private import PlainScore
from hullabaloo.release.parameters import declared

Array = npt.NDArray[np.float64]


class PrivateClassifier(PlainScore, ClassifierMixin, PrivateLinearModel, ABC):  # type: ignore[misc]  # untyped base
    """A private model of classes that the domain declares; a class that no record has is no error."""

    @abstractmethod
    def _unit(self) -> str:
        """What a decision is measured in."""

    def decision_function(self, X: Any) -> Array:
        """`⟨x, θ⟩`, rows encoded by the domain: (n,) for two classes, positive for the second; else (n, k)."""
        values = self._linear(X)
        return values[:, 0].copy() if values.shape[1] == 1 else values

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of the largest decision, as it was declared; (n,)."""
        values = self._linear(X)
        places = (values[:, 0] > 0.0).astype(np.intp) if values.shape[1] == 1 else np.argmax(values, axis=1)
        return np.asarray(self.classes_[places])

    def _target(self) -> tuple[TargetScale, str | None]:
        """The scale of bounded targets plays no part.

        Raises:
            DomainError: the domain declares bounds of a number.
        """
        classes_of(self)
        return TargetScale.SYMMETRIC, None

    def _publish(self, coef: Array, intercept: Array) -> None:
        self.classes_ = labels(classes_of(self).ordered)
        self.coef_ = coef
        self.intercept_ = intercept

    def _meaning(self) -> str:
        classes = classes_of(self).ordered
        if len(classes) == 2:
            return f"A coefficient is the change of {self._unit()} of {classes[1]!r} for one unit of its column."
        return f"A coefficient is the change of {self._unit()} of the class for one unit of its column."

    def _axis(self, target: str) -> str:
        classes = classes_of(self).ordered
        return f"{self._unit()} of {f'{target}={classes[1]}' if len(classes) == 2 else target}"

    def _columns(self, encoding: Encoding) -> int:
        """Encoded target columns: 1 for two classes, else one a class."""
        return len(encoding.facts.targets)


def classes_of(model: PrivateLinearModel) -> ClassTarget:
    """The declared classes.

    Raises:
        DomainError: the domain declares none.
    """
    targets = declared(model).targets
    if len(targets) == 1 and isinstance(targets[0], ClassTarget):
        return targets[0]
    found = "declares no target" if not targets else "bounds the target as a number"
    raise DomainError(
        f"{type(model).__name__} learns classes, and the domain {found}. Which classes occur would be read from the records "
        "otherwise, and reveal the only record of a rare one: declare them, classes=['no', 'yes'], or "
        "classes={'column': ['no', 'yes']} where the table holds the column."
    )


def labels(classes: tuple[Any, ...]) -> npt.NDArray[Any]:
    """The classes as an array of their own type; of objects where texts, numbers and bools are mixed."""
    kinds = {type(level) for level in classes}
    if len(kinds) == 1 or kinds == {int, float}:
        return np.asarray(classes)
    mixed = np.empty(len(classes), dtype=object)
    mixed[:] = classes
    return mixed
