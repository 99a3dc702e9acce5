"""How a model's linear predictions are read: from its encoding and its loss, both public."""

from hullabaloo.data import ClassTarget, Encoding, TargetScale
from hullabaloo.data.targets import BoundedTarget
from hullabaloo.losses import AnyLoss, Logistic, MultinomialLogistic
from hullabaloo.losses.readings import Reading, Reads


def reading_of(encoding: Encoding, loss: AnyLoss) -> Reading:
    """Numbers for bounded targets, means for counts; classes with chances where the loss is a likelihood, else decisions."""
    first = encoding.targets[0]
    if isinstance(first, ClassTarget):
        reads = Reads.DECISIONS
        if isinstance(loss, MultinomialLogistic):
            reads = Reads.TOGETHER
        elif isinstance(loss, Logistic):
            reads = Reads.APART
        return Reading(reads, names=(first.column or "target",), classes=len(first.classes))
    targets = [target for target in encoding.targets if isinstance(target, BoundedTarget)]
    scales = [target.scale(encoding.fit_intercept, encoding.scale) for target in targets]
    return Reading(
        Reads.COUNTS if encoding.scale is TargetScale.NONNEGATIVE else Reads.NUMBERS,
        low=tuple((target.lo - mid) / half for target, (mid, half) in zip(targets, scales, strict=True)),
        high=tuple((target.hi - mid) / half for target, (mid, half) in zip(targets, scales, strict=True)),
        names=tuple(target.names[0] for target in targets),
        span=tuple(target.hi - target.lo for target in targets),
        origin=tuple(target.lo for target in targets),
    )
