"""What there is to gain: by how much the best model beats a constant on a table of weak signal, and what a plan loses of it."""

from hullabaloo.losses import KernelCode
from hullabaloo.release.planned import PlannedFit, tried_out
from hullabaloo.solvers import Problem

# The table that gains are quoted for where the loss is the squared one: features spread evenly and independently over their
# declared ranges, a target whose standard deviation is a quarter of its declared range, of whose variance the best model
# explains a tenth.
TARGET_VARIANCE = 0.25
EXPLAINED = 0.1
_CLASSES = (KernelCode.LOGISTIC, KernelCode.SMOOTHED_HINGE, KernelCode.MULTINOMIAL)


def prospect(prepared: PlannedFit, predicted: float) -> tuple[float, float]:
    """(risk, gain) in the loss's own units: the plan's excess risk, and the constant's.

    For the squared loss both are formulas of the reference table. For the others the plan is rehearsed on the planner's
    synthetic table of weak signal; where that would take long, the formula of the risk stands beside the squared loss's gain.
    """
    gain = 0.5 * TARGET_VARIANCE * EXPLAINED
    if prepared.problem.loss.kernel_code == KernelCode.SQUARED:
        return predicted, gain
    for one in tried_out(prepared):
        return one.risk, max(one.constant, 1e-12)
    return predicted, gain


def about(problem: Problem) -> str:
    """The table of weak signal, in words."""
    code = problem.loss.kernel_code
    if code in _CLASSES:
        return "a table in which the features hold a tenth of what decides the class"
    if code == KernelCode.POISSON:
        return "a table in which expected counts vary with the features by about a third up or down"
    return "a table whose features explain a tenth of a well spread target"


def rival(problem: Problem) -> str:
    """What a model has to beat, in words."""
    code = problem.loss.kernel_code
    if code in _CLASSES:
        return "the shares of the classes alone"
    if code == KernelCode.PINBALL:
        return "the quantile of all records"
    return "the mean"
