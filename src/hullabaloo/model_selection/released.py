"""What an evaluation needs of a fitted model, whichever kind it is: its release, its encoding, its loss."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hullabaloo.data import Domain, Encoding
from hullabaloo.data.schema import check_roles, feature_columns, role_columns
from hullabaloo.errors import InvalidParameter
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.pipeline import PrivatePipeline
from hullabaloo.losses import AnyLoss
from hullabaloo.privacy import Neighbours
from hullabaloo.release.estimator import label_of
from hullabaloo.streaming.base import PrivateStream
from hullabaloo.streaming.model import StreamModel
from hullabaloo.streaming.periodic_erm import PeriodicModel


@final
@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """The public parts of a fitted model.

    Attributes:
        what: its kind, by name.
        theta: coefficients on the unit domain, (p, k).
        encoding: how it reads rows.
        loss: what it was fitted by.
        neighbours: the relation that it was fitted under.
    """

    what: str
    theta: npt.NDArray[np.float64]
    encoding: Encoding
    loss: AnyLoss
    neighbours: Neighbours

    @property
    def domain(self) -> Domain:
        """What was declared about rows."""
        return self.encoding.domain

    def check_schema(self, table: Any, target: Any, weight: Any) -> None:
        """Refuse a table that `encoding.encode` would refuse; reads no value."""
        source = self.domain.open(table)
        encoding, roles = self.encoding, role_columns(self.domain, target)
        feature_columns(source.schema, encoding.feature_names_in, encoding.n_features_in, roles)
        check_roles(self.domain, source, target, weight, None)


def released(model: Any, table: Any) -> tuple[Released, Any]:
    """The model's public parts, and the table as it sees it: a pipeline's row-wise steps come first.

    Raises:
        InvalidParameter: it is no private model, or none that was fitted.
    """
    if isinstance(model, PrivatePipeline):
        return released(model.model, None if table is None else model._prepared(table))
    if not isinstance(model, type) and hasattr(model, "best_estimator_"):  # a search, private or not
        return released(model.best_estimator_, table)
    if isinstance(model, PrivateStream):
        return released(model.model_at(), table)
    if isinstance(model, PeriodicModel):
        return released(model.estimator, table)
    if not isinstance(model, PrivateLinearModel | StreamModel):
        raise InvalidParameter(
            f"A private evaluation was asked of {_called(model)}. What it measures has to follow from released coefficients and a "
            "declared domain: pass a fitted estimator of hullabaloo, a pipeline of hb.private_pipeline, the model of a stream, or "
            "what hb.load or hb.streaming.load gives."
        )
    if not hasattr(model, "release_"):
        raise InvalidParameter(
            f"This {type(model).__name__} was not fitted, so there are no coefficients to evaluate. Nothing was read or charged. Fit it "
            "first, on other records than those it is to be evaluated on."
        )
    encoding, release = model.encoding_, model.release_
    what = model.estimator if isinstance(model, StreamModel) else label_of(model)
    return Released(what, release.theta, encoding, model._fitted().loss, release.statement.neighbours), table


def _called(model: object) -> str:
    return f"the class {model.__name__} itself" if isinstance(model, type) else f"an object of {type(model).__name__}"
