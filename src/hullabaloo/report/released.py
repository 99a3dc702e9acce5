"""What a card shows of a released model: its coefficients and the noise in them. One without privacy has none of its numbers on a card."""

from typing import TYPE_CHECKING, Any, cast

from hullabaloo.errors import InvalidParameter
from hullabaloo.release.parameters import found as named
from hullabaloo.report.declared import spans
from hullabaloo.report.guarantee import finite

if TYPE_CHECKING:
    from hullabaloo.inference.summary import Summary
    from hullabaloo.linear_model.base import PrivateLinearModel

INTERCEPT = "(intercept)"
WITHHELD = (
    "The coefficients are left out of this card, because nothing protects the records that they were computed from."
)


def coefficients(model: "PrivateLinearModel") -> dict[str, Any] | None:
    """The coefficients of a private release with the known noise in them; None for a release that is not private.

    Everything here is computed from private answers and from public facts.
    """
    if not model.statement_.private:
        return None
    summary = model.summary()
    return {"confidence": summary.confidence, "note": summary.note, "rows": rows_of(model, summary)}


def rows_of(model: "PrivateLinearModel", summary: "Summary") -> list[dict[str, Any]]:
    """A summary's rows as JSON values, with how far each column can go."""
    lengths = {} if model.domain is None else spans(model.domain)
    return [
        {
            "target": row.target,
            "measures": model._axis(row.target),
            "name": row.name,
            "coefficient": float(row.coefficient),
            "estimate": finite(row.estimate),
            "privacy_std": finite(row.privacy_error),
            "sampling_std": finite(row.sampling_error),
            "low": finite(row.low),
            "high": finite(row.high),
            "span": None if row.name == INTERCEPT else lengths.get(row.name, 1.0),
        }
        for row in summary.rows
    ]


def estimator_of(model: Any) -> "PrivateLinearModel":
    """The estimator inside a pipeline, or the estimator itself."""
    from hullabaloo.linear_model.base import PrivateLinearModel
    from hullabaloo.streaming.base import PrivateStream
    from hullabaloo.streaming.model import StreamModel
    from hullabaloo.streaming.periodic_erm import PeriodicModel

    if isinstance(model, PrivateStream):
        return estimator_of(model.model_at())
    if isinstance(model, StreamModel):
        return cast("PrivateLinearModel", model)
    if isinstance(model, PeriodicModel):
        return model.estimator
    inner = getattr(model, "model_", getattr(model, "model", model))
    for one in (model, inner):
        if isinstance(one, PrivateLinearModel):
            return one
    raise InvalidParameter(
        f"A card was asked for {named(model)}, which is no estimator of hullabaloo and carries no privacy statement. "
        "Pass the fitted estimator (of a search, its best_estimator_), or hb.load(path) of a saved one; other releases go into entries=[…]."
    )
