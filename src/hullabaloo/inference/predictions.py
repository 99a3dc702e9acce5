"""Intervals of predictions: of the mean response to a row, or of one more observation of it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import InvalidParameter, NotReleased
from hullabaloo.inference.fitted import FittedModel
from hullabaloo.inference.intervals import check_confidence, inference, tell
from hullabaloo.losses import Logistic, Poisson
from hullabaloo.release.parameters import one_of

Array = npt.NDArray[np.float64]


def predict_interval(model: FittedModel, X: Any, *, confidence: float, kind: str, method: str) -> Array:
    """See `PrivateLinearModel.predict_interval`."""
    level, asked = check_confidence(confidence), one_of("kind", kind, ("mean", "observation"))
    known = inference(model, method)
    if not known.told:
        raise NotReleased(f"Intervals of predictions were asked of a {model.name}. {known.reason}")
    if asked == "observation" and any(np.isnan(told.residual_variance) for told in known.told):
        raise InvalidParameter(
            f"Intervals of single observations were asked of a {model.name}, and they are told for squared losses alone: a class or "
            "a count is no normal residual away from its mean. Ask for kind='mean'."
        )
    rows = model.encoding.features(X)
    functions = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
    found = [
        tell(model, told, functions, level, own=told.residual_variance if asked == "observation" else 0.0)
        for told in known.told
    ]
    ends = np.stack([np.stack([one.low, one.high], axis=1) for one in found], axis=1)
    encoding = model.encoding
    ends = ends * encoding.target_scale[None, :, None] + encoding.prediction_offset[None, :, None]
    ends = _through_link(model, ends)
    return ends[:, 0].copy() if ends.shape[1] == 1 else ends


def _through_link(model: FittedModel, ends: Array) -> Array:
    loss = model.loss
    if isinstance(loss, Logistic):
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(-ends)), dtype=np.float64)
    if isinstance(loss, Poisson):
        return np.exp(np.minimum(ends, 700.0))
    return ends
