"""The released coefficients and the noise in them. A model without privacy has none of its numbers on a card."""

from typing import TYPE_CHECKING, Any

from hullabaloo.report.declared import spans
from hullabaloo.report.guarantee import finite

if TYPE_CHECKING:
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
    lengths = {} if model.domain is None else spans(model.domain)
    rows = [
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
    return {"confidence": summary.confidence, "note": summary.note, "rows": rows}
