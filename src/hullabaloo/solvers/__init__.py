"""One algorithm a file, over one shared loop; solvers see public facts and private answers only."""

from hullabaloo.solvers.adaptive_gradient import AdaptiveGradientSolver
from hullabaloo.solvers.base import Answers, Menu, Plan, Problem, Quote, Solution, Solver
from hullabaloo.solvers.coordinate_descent import CoordinateDescentSolver
from hullabaloo.solvers.dual_frank_wolfe import DualFrankWolfeSolver
from hullabaloo.solvers.explained import Explained, explained
from hullabaloo.solvers.frank_wolfe import FrankWolfeSolver
from hullabaloo.solvers.gradient import GradientSolver
from hullabaloo.solvers.greedy_coordinate_descent import GreedyCoordinateDescentSolver
from hullabaloo.solvers.greedy_selection import GreedySelectionSolver
from hullabaloo.solvers.mirror_descent import MirrorDescentSolver
from hullabaloo.solvers.moments import MomentsSolver, solve_moments
from hullabaloo.solvers.objective_perturbation import ObjectivePerturbationSolver
from hullabaloo.solvers.output_perturbation import OutputPerturbationSolver
from hullabaloo.solvers.preconditioned import PreconditionedGradientSolver
from hullabaloo.solvers.separate_targets import SeparateTargetsSolver, separate
from hullabaloo.solvers.with_moments import WithMoments

__all__ = [
    "AdaptiveGradientSolver",
    "Answers",
    "CoordinateDescentSolver",
    "DualFrankWolfeSolver",
    "Explained",
    "FrankWolfeSolver",
    "GradientSolver",
    "GreedyCoordinateDescentSolver",
    "GreedySelectionSolver",
    "Menu",
    "MirrorDescentSolver",
    "MomentsSolver",
    "ObjectivePerturbationSolver",
    "OutputPerturbationSolver",
    "Plan",
    "PreconditionedGradientSolver",
    "Problem",
    "Quote",
    "SeparateTargetsSolver",
    "Solution",
    "Solver",
    "WithMoments",
    "explained",
    "separate",
    "solve_moments",
]
