"""Private linear support vector classification, with a rounded hinge."""

from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt
from sklearn.svm import LinearSVC as PlainSVC

from hullabaloo.data import Encoding
from hullabaloo.linear_model.classification import PrivateClassifier
from hullabaloo.losses import AnyLoss, SmoothedHinge
from hullabaloo.losses.base import SHARPEST
from hullabaloo.release.parameters import positive

Array = npt.NDArray[np.float64]


@final
class LinearSVC(PrivateClassifier):
    """Private linear support vector classifier: the hinge `max(0, 1 − y z)`, its corner rounded, on the unit domain.

    `φ = 0` where yz ≥ 1 + h, `1 − yz` where yz ≤ 1 − h, a parabola between. Of more than two classes: one against the
    rest for each.

    Default: no constraint and no penalty; with finite ε the solvers stabilise what noise would dominate, from public
    facts. The classes are declared, `Domain(classes=[...])`.

    One parameter more:
        smoothing: h, half the width of the rounded corner. A larger one needs less noise in objective perturbation.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "LinearSVC"
    smoothing: float = 0.5

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return SmoothedHinge(
            positive("smoothing", self.smoothing, "half the width of the rounded corner", lowest=SHARPEST)
        )

    def _unit(self) -> str:
        return "the decision in favour"

    def _plain(self, coef: Array, intercept: Array) -> Any:
        plain = PlainSVC(fit_intercept=self.encoding_.facts.intercept)
        plain.classes_, plain.coef_, plain.intercept_ = self.classes_, coef, intercept
        return plain
