"""Coordinate updates under any penalty, and the sizes that they take.

The prox of a penalty of somebody's own is asked out here, of numbers that are released already. Problems of unusual sizes are refused before
the charge; what noise makes of clips and steps is cut.
"""

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import SeparableForm
from hullabaloo.privacy.answers import Descent
from hullabaloo.solvers.base import Answers, Array, Problem


def descend(
    curator: Answers, theta: Array, *, order: npt.NDArray[np.int64], clips: Array, steps: Array, form: SeparableForm
) -> Descent:
    """Answers to "coordinate_gradient", whatever the form: where compiled code does not know its prox, one answer after the other, with θ held where it is."""
    if form.own is None:
        return curator.answer("coordinate_gradient", theta, order=order, clips=clips, steps=steps, form=form)  # type: ignore[no-any-return]
    theta, none = np.array(theta, dtype=np.float64), np.zeros(theta.size)
    mean, partials = np.zeros(theta.size), np.zeros(order.size)
    for k, j in enumerate(order.tolist()):
        held = SeparableForm(none, none, theta, theta)
        partials[k] = curator.answer(
            "coordinate_gradient", theta, order=order[k : k + 1], clips=clips, steps=steps, form=held
        ).partials[0]
        theta[j] = form.prox_at(j, float(theta[j] - steps[j] * partials[k]), float(steps[j]))
        mean += theta / order.size
    return Descent(theta, mean, partials)


USUAL = 2.0**100
"""Clips and steps must be within the square of this, and of its reciprocal; what they are made of, within this."""


def within_reach(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Clips or steps as updates take them, within 2^±200: noise beyond all measure, once released, must not end a fit that is charged."""
    return np.asarray(np.clip(numbers, USUAL**-2, USUAL**2), dtype=np.float64)


def check_curvature(problem: Problem, smoothness: float, who: str) -> None:
    """Refuse a problem in which a step of one over the curvature along a coordinate is no number of usual size.

    Raises:
        CapabilityError: `β W m b²`, of which M_j is a part, lies outside of 2^±100.
    """
    if smoothness == 0.0:
        raise CapabilityError(
            f"{who} steps by one over the curvature, and where it begins, at the prediction zero, the loss {problem.loss.name!r} has none. Nothing was "
            "charged or read. Use solver='gradient' or 'adaptive_gradient', or a loss that bends there."
        )
    curvature = smoothness * problem.max_weight * problem.records_per_unit * problem.norm_linf**2
    if not 1.0 / USUAL <= curvature <= USUAL:
        raise CapabilityError(
            f"{who} steps by one over a curvature of up to {curvature:.3g} here, a product of the loss's ({smoothness:.3g}), the largest "
            f"weight ({problem.max_weight:.3g}) and the square of a cell's bound ({problem.norm_linf:.3g}), but updates take curvatures "
            "between 2^-100 and 2^100. Declare weights, bounds and smoothing in units of ordinary size, or use solver='gradient'."
        )


def check_clip(clip: float | None, who: str) -> None:
    """Refuse a clip that is no number of usual size.

    Raises:
        InvalidParameter: it lies outside of 2^±100.
    """
    if clip is not None and not 1.0 / USUAL <= clip <= USUAL:
        raise InvalidParameter(
            f"{who} was asked with clip={clip!r}, but updates take clips between 2^-100 and 2^100. Pass a number of the size of a derivative, or None for the public rule."
        )
