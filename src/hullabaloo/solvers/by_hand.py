"""Coordinate updates under a penalty of somebody's own, whose prox is asked out here, of numbers that are released already."""

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import SeparableForm
from hullabaloo.privacy.answers import Descent
from hullabaloo.solvers.base import Answers

Array = npt.NDArray[np.float64]


def descend(
    curator: Answers, theta: Array, *, order: npt.NDArray[np.int64], clips: Array, steps: Array, form: SeparableForm
) -> Descent:
    """Answers to "partial", whatever the form: where compiled code does not know its prox, one answer after the other, with θ held where it is."""
    if form.own is None:
        found: Descent = curator.answer("partial", theta, order=order, clips=clips, steps=steps, form=form)
        return found
    theta, none = np.array(theta, dtype=np.float64), np.zeros(theta.size)
    mean, partials = np.zeros(theta.size), np.zeros(order.size)
    for k, j in enumerate(order.tolist()):
        held = SeparableForm(none, none, theta, theta)
        partials[k] = curator.answer(
            "partial", theta, order=order[k : k + 1], clips=clips, steps=steps, form=held
        ).partials[0]
        theta[j] = form.prox_at(j, float(theta[j] - steps[j] * partials[k]), float(steps[j]))
        mean += theta / order.size
    return Descent(theta, mean, partials)
