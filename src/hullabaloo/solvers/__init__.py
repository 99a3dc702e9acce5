"""One algorithm a file, over one shared loop; solvers see public facts and private answers only."""

from hullabaloo.solvers.base import Answers as Answers
from hullabaloo.solvers.base import Plan as Plan
from hullabaloo.solvers.base import PricedQuery as PricedQuery
from hullabaloo.solvers.base import Problem as Problem
from hullabaloo.solvers.base import QueryPrices as QueryPrices
from hullabaloo.solvers.base import Solution as Solution
from hullabaloo.solvers.base import Solver as Solver
from hullabaloo.solvers.coordinate.coordinate_descent import CoordinateDescentSolver as CoordinateDescentSolver
from hullabaloo.solvers.coordinate.greedy_coordinate_descent import (
    GreedyCoordinateDescentSolver as GreedyCoordinateDescentSolver,
)
from hullabaloo.solvers.coordinate.greedy_selection import GreedySelectionSolver as GreedySelectionSolver
from hullabaloo.solvers.frank_wolfe.dual_frank_wolfe import DualFrankWolfeSolver as DualFrankWolfeSolver
from hullabaloo.solvers.frank_wolfe.frank_wolfe import FrankWolfeSolver as FrankWolfeSolver
from hullabaloo.solvers.gradient.gradient import GradientSolver as GradientSolver
from hullabaloo.solvers.gradient.measured_gradient import AdaptiveGradientSolver as AdaptiveGradientSolver
from hullabaloo.solvers.gradient.measured_gradient import PreconditionedGradientSolver as PreconditionedGradientSolver
from hullabaloo.solvers.mirror.mirror_descent import MirrorDescentSolver as MirrorDescentSolver
from hullabaloo.solvers.moments.moments import MomentsSolver as MomentsSolver
from hullabaloo.solvers.moments.moments import solve_moments as solve_moments
from hullabaloo.solvers.moments.uncertainty import Explained as Explained
from hullabaloo.solvers.moments.uncertainty import explained as explained
from hullabaloo.solvers.perturbation.objective_perturbation import (
    ObjectivePerturbationSolver as ObjectivePerturbationSolver,
)
from hullabaloo.solvers.perturbation.output_perturbation import OutputPerturbationSolver as OutputPerturbationSolver
from hullabaloo.solvers.score.with_inference import WithInference as WithInference
from hullabaloo.solvers.separate_targets import SeparateTargetsSolver as SeparateTargetsSolver
from hullabaloo.solvers.separate_targets import separate as separate
from hullabaloo.solvers.watched import Watched as Watched
