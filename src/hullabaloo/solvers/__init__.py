"""One algorithm a file, over one shared loop; solvers see public facts and private answers only."""

from hullabaloo.solvers.base import Answers, Array, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.constant import ConstantSolver
from hullabaloo.solvers.coordinate.coordinate_descent import CoordinateDescentSolver
from hullabaloo.solvers.coordinate.greedy_coordinate_descent import GreedyCoordinateDescentSolver
from hullabaloo.solvers.coordinate.greedy_selection import GreedySelectionSolver
from hullabaloo.solvers.frank_wolfe.dual_frank_wolfe import DualFrankWolfeSolver
from hullabaloo.solvers.frank_wolfe.frank_wolfe import FrankWolfeSolver
from hullabaloo.solvers.gradient.gradient import GradientSolver
from hullabaloo.solvers.gradient.measured_gradient import AdaptiveGradientSolver, PreconditionedGradientSolver
from hullabaloo.solvers.gradient.subspace_descent import SubspaceDescentSolver
from hullabaloo.solvers.mirror.mirror_descent import MirrorDescentSolver
from hullabaloo.solvers.mirror.mirror_rule import prediction_bound, slope_bound
from hullabaloo.solvers.moments.explained import Explained, explained
from hullabaloo.solvers.moments.moments import TARGET_SCALE, MomentsSolver, quadratic_weights, solve_moments
from hullabaloo.solvers.perturbation.objective_perturbation import ObjectivePerturbationSolver
from hullabaloo.solvers.perturbation.output_perturbation import OutputPerturbationSolver
from hullabaloo.solvers.public import PublicTable
from hullabaloo.solvers.reference import TARGET_VARIANCE
from hullabaloo.solvers.score.shares import LARGEST_SHARE
from hullabaloo.solvers.score.with_inference import WithInference
from hullabaloo.solvers.separate_targets import SeparateTargetsSolver, separate
from hullabaloo.solvers.watched import Watched

__all__ = [
    "LARGEST_SHARE", "TARGET_SCALE", "TARGET_VARIANCE", "AdaptiveGradientSolver", "Answers", "Array", "ConstantSolver",
    "CoordinateDescentSolver", "DualFrankWolfeSolver", "Explained", "FrankWolfeSolver", "GradientSolver",
    "GreedyCoordinateDescentSolver", "GreedySelectionSolver", "MirrorDescentSolver", "MomentsSolver",
    "ObjectivePerturbationSolver", "OutputPerturbationSolver", "Plan", "PreconditionedGradientSolver", "PricedQuery",
    "Problem", "PublicTable", "QueryPrices", "SeparateTargetsSolver", "Solution", "Solver", "SubspaceDescentSolver", "Watched",
    "WithInference", "explained", "prediction_bound", "quadratic_weights", "separate", "slope_bound", "solve_moments",
]  # fmt: skip
