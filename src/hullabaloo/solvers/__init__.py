"""One algorithm a file, over one shared loop; solvers see public facts and private answers only."""

from hullabaloo.solvers.base import Answers, Menu, Plan, PricedQuery, Problem, Solution, Solver
from hullabaloo.solvers.coordinate.coordinate_descent import CoordinateDescentSolver
from hullabaloo.solvers.coordinate.greedy_coordinate_descent import GreedyCoordinateDescentSolver
from hullabaloo.solvers.coordinate.greedy_selection import GreedySelectionSolver
from hullabaloo.solvers.explained import Explained, explained
from hullabaloo.solvers.frank_wolfe.dual_frank_wolfe import DualFrankWolfeSolver
from hullabaloo.solvers.frank_wolfe.frank_wolfe import FrankWolfeSolver
from hullabaloo.solvers.gradient.adaptive_gradient import AdaptiveGradientSolver
from hullabaloo.solvers.gradient.gradient import GradientSolver
from hullabaloo.solvers.gradient.preconditioned import PreconditionedGradientSolver
from hullabaloo.solvers.mirror.mirror_descent import MirrorDescentSolver
from hullabaloo.solvers.moments.moments import MomentsSolver, solve_moments
from hullabaloo.solvers.moments.with_moments import WithMoments
from hullabaloo.solvers.perturbation.objective_perturbation import ObjectivePerturbationSolver
from hullabaloo.solvers.perturbation.output_perturbation import OutputPerturbationSolver
from hullabaloo.solvers.separate_targets import SeparateTargetsSolver, separate

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
    "PricedQuery",
    "Problem",
    "SeparateTargetsSolver",
    "Solution",
    "Solver",
    "WithMoments",
    "explained",
    "separate",
    "solve_moments",
]
