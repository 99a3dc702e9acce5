"""One function compares what a solver needs with what a set or penalty can do, and explains a mismatch."""

from collections.abc import Sequence

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry.base import HasFaces, HasGauge, HasMirrorMap, HasVertices, Projectable
from hullabaloo.geometry.penalty import HasElasticForm, Penalty
from hullabaloo.geometry.serialise import PENALTIES, SETS

_WORDS: dict[type, str] = {
    HasVertices: "a list of finitely many vertices",
    Projectable: "a Euclidean projection",
    HasFaces: "the faces of a polyhedron",
    HasGauge: "a gauge",
    HasMirrorMap: "a mirror map",
    HasElasticForm: "the form Σ a|θ_j| + (b/2)θ_j²",
}


def explain_missing(what: object, needs: Sequence[type], who: str = "This solver") -> str | None:
    """One sentence on what `what` lacks of the abstract classes in `needs`, with the remedy; None when it has all."""
    missing = [need for need in needs if not isinstance(what, need)]
    if not missing:
        return None
    lacking = " and ".join(_WORDS.get(need, need.__name__) for need in missing)
    family = PENALTIES if isinstance(what, Penalty) else SETS
    suitable = sorted(kind.__name__ for kind in family.values() if all(issubclass(kind, need) for need in needs))
    remedy = f"use {' or '.join(suitable)}, or another solver" if suitable else "use another solver"
    return f"{who} was given {what!r}, which lacks {lacking}, and its steps rely on that; {remedy}."


def require(what: object, needs: Sequence[type], who: str = "This solver") -> None:
    """Raise `CapabilityError` with the sentence of `explain_missing` when something is missing."""
    sentence = explain_missing(what, needs, who)
    if sentence is not None:
        raise CapabilityError(sentence)
