"""Bounds at which most values lie, or count as if they did: as far as released means tell it, at no price.

A value counts as u ∈ [−1, 1]. Of mean m it is `E(1 − u) = 1 − m`, so that by Markov's inequality a share of at most (1 − m)/t is below 1 − t: at least half are not where m ≥ 1 − t/2.
Fewer values beyond a bound do not show: their mean is that of a table that has none. (Of 299 numeric columns and targets of the 31 tables of `benchmarks/inference_tables.py` 2 are named under the
expert's bounds, 14 where bounds are the smallest and largest value, all of them lower ones; nothing was chosen on them.)
"""

from collections.abc import Iterator

from hullabaloo.data import BoundedTarget
from hullabaloo.inference.fit_quality import adds_up, means
from hullabaloo.inference.fitted import FittedModel
from hullabaloo.losses import Squared

LAST = 0.4
"""t: a fifth of the range."""
SURE = 2.0
"""Standard deviations of a mean's noise that are reckoned with."""


def crowded(model: FittedModel) -> dict[str, str]:
    """Numbers of which at least half lie in the last fifth of their range, or beyond it: "upper" or "lower" by name. A lower bound of 0 is left out, where amounts and counts begin."""
    found = {}
    for name, mean, error, low in _means(model):
        if abs(mean) - SURE * error >= 1.0 - LAST / 2.0 and (mean > 0.0 or low != 0.0):
            found[name] = "upper" if mean > 0.0 else "lower"
    return found


def _means(model: FittedModel) -> Iterator[tuple[str, float, float, float]]:
    """Name, mean on the unit domain with its noise, and lower bound, of records that add up."""
    release, encoding, held = model.release, model.encoding, model.release.moments
    held = held if held is not None and len(held.gram) == encoding.facts.width else None
    if encoding.layout is None or not adds_up(model) or not (held or release.scores):
        return
    centre, noise = (held.gram[:, -1], held.gram_noise) if held else (release.scores[0].centre, model.mean_noise)
    # where the number of records that count is private, moments are over the declared one: at most so much of it counts
    w = 1.0 if held is None or held.counted else max(float(held.gram[-1, -1]), 0.0) + SURE * held.gram_noise
    for one in encoding.layout.numeric:
        yield encoding.facts.columns[one.column], float(centre[one.column]) / w, noise / w, one.bounds[0]
    for place, target in enumerate(encoding.targets if isinstance(model.loss, Squared) else ()):
        if isinstance(target, BoundedTarget):
            if held is not None:
                mean, error = float(held.cross[-1, place]) / w, held.cross_noise / w
            else:
                _, mean, error = means(model, place)
                mean -= float(encoding.target_offset[place] / encoding.target_scale[place])
            yield encoding.facts.targets[place], mean, error, target.lo
