"""Streams among river's models: an adapter that is a true `river.base.Regressor`."""

from collections.abc import Iterator
from typing import Any, Self

try:
    from river.base import Regressor
except ModuleNotFoundError as error:  # pragma: no cover - river is installed where the tests run
    raise ModuleNotFoundError(
        "hullabaloo.streaming.RiverRegressor needs river, which is not installed. Run pip install river, or use the stream's own learn_one and predict_one."
    ) from error

from sklearn.base import clone

from hullabaloo.data import ClassTarget, Domain
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Budget
from hullabaloo.release.parameters import found
from hullabaloo.streaming.base import PrivateStream


class RiverRegressor(Regressor):
    """A private stream as a regressor of river: for its pipelines, metrics and `evaluate.progressive_val_score`.

    Learning and predicting are the stream's: unknown features are ignored, missing ones are missing values of the domain, and before
    the first release the prediction is the middle of the target's declared bounds. A clone is fresh; a copy or pickle predicts what
    was released and does not learn (a copy of a model that has taken no record does, it is fresh too). Transformers
    of river that learn from records (scalers and the like) are not private, and their outputs follow the records: leave scaling to
    the domain's declared bounds.

    Args:
        model: a stream of one target, such as `hb.streaming.IncrementalRegression(...)`.

    Example:
        >>> import hullabaloo as hb
        >>> domain = hb.Domain(features={"a": (0, 1)}, target=(0, 1))
        >>> stream = hb.streaming.IncrementalRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, horizon=1_000)
        >>> model = hb.streaming.RiverRegressor(stream)
        >>> model.predict_one({"a": 0.3})
        0.5
    """

    def __init__(self, model: PrivateStream) -> None:
        if not isinstance(model, PrivateStream):
            raise InvalidParameter(
                f"RiverRegressor wraps a stream, such as hb.streaming.IncrementalRegression(...), but {found(model)} was given."
            )
        domain = getattr(model, "domain", None)
        if isinstance(domain, Domain) and any(isinstance(target, ClassTarget) for target in domain.targets):
            raise InvalidParameter(
                "RiverRegressor is for numbers, and this stream learns classes. Declare target={'column': (0, 1)}, or use the stream's own predict_proba_one."
            )
        self.model = model

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Take one record."""
        self.model.learn_one(x, y)

    def predict_one(self, x: dict[Any, Any]) -> Any:
        """The prediction of the last release."""
        return self.model.predict_one(x)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A fresh model with the same parameters."""
        return type(self)((new_params or {}).get("model", clone(self.model)))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from hullabaloo.streaming.regression import IncrementalRegression

        domain = Domain(features={"a": (0, 1)}, target=(0, 1))
        yield {"model": IncrementalRegression(budget=Budget(1.0, 1e-6), domain=domain, horizon=100)}
