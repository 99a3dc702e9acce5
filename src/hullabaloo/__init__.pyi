# fmt: off
# isort: off
from hullabaloo._version import __version__
from hullabaloo import model_selection, report, streaming, theory
from hullabaloo.audit import audit
from hullabaloo.bounds.private import private_bounds
from hullabaloo.bounds.record import PrivateBounds
from hullabaloo.data import Categorical, Domain, Numeric
from hullabaloo.data.scan import scan
from hullabaloo.geometry import (
    BoundedCardinality, Box, Cardinality, ConcaveCardinality, CustomSetFunction, ElasticBall, ElasticNetPenalty,
    GroupBall, GroupCover, GroupPenalty, Intervals, L1Ball, L1Penalty, L2Ball, LpBall, NoPenalty, NuclearBall,
    NuclearPenalty, Polytope, SetFunction, Simplex, SquaredL2Penalty, SubmodularBall, SubmodularPenalty, TreeCover,
)
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model import (
    ElasticNet, FeatureGrid, FeatureTree, GroupLasso, HuberRegressor, Lasso, LinearRegression, LinearSVC,
    LogisticRegression, MultiTaskRegression, PoissonRegressor, QuantileRegressor, Ridge, StructuredSparseClassifier,
    StructuredSparseRegression, compare, load, predict, private_pipeline,
)
from hullabaloo.losses import (
    Huber, Logistic, MarginLoss, MultinomialLogistic, Pinball, Poisson, ResidualLoss, SmoothedHinge, Squared,
    SquaredTargets, custom_loss,
)
from hullabaloo.model_selection import Evaluation, PrivateSearchCV, evaluate
from hullabaloo.privacy import Budget
from hullabaloo.release.planner import plan
from hullabaloo.reproduce import reproduce
from hullabaloo.solvers import (
    AdaptiveGradientSolver, ConstantSolver, CoordinateDescentSolver, DualFrankWolfeSolver, FrankWolfeSolver,
    GradientSolver, GreedyCoordinateDescentSolver, GreedySelectionSolver, MirrorDescentSolver, MomentsSolver,
    ObjectivePerturbationSolver, OutputPerturbationSolver, PreconditionedGradientSolver, SubspaceDescentSolver,
)
from hullabaloo.solvers.mirror.oracle import mirror_descent

__all__ = [
    "AdaptiveGradientSolver", "BoundedCardinality", "Box", "Budget", "Cardinality", "Categorical",
    "ConcaveCardinality", "ConstantSolver", "CoordinateDescentSolver", "CustomSetFunction", "Domain", "DualFrankWolfeSolver",
    "ElasticBall", "ElasticNet", "ElasticNetPenalty", "Evaluation", "FeatureGrid", "FeatureTree",
    "FrankWolfeSolver", "GradientSolver", "GreedyCoordinateDescentSolver", "GreedySelectionSolver", "GroupBall",
    "GroupCover", "GroupLasso", "GroupPenalty", "Huber", "HuberRegressor", "Intervals", "L1Ball", "L1Penalty",
    "L2Ball", "Lasso", "Ledger", "LinearRegression", "LinearSVC", "Logistic", "LogisticRegression", "LpBall",
    "MarginLoss", "MirrorDescentSolver", "MomentsSolver", "MultiTaskRegression", "MultinomialLogistic", "NoPenalty",
    "NuclearBall", "NuclearPenalty", "Numeric", "ObjectivePerturbationSolver", "OutputPerturbationSolver",
    "Pinball", "Poisson", "PoissonRegressor", "Polytope", "PreconditionedGradientSolver", "PrivateBounds",
    "PrivateSearchCV", "QuantileRegressor", "ResidualLoss", "Ridge", "SetFunction", "Simplex", "SmoothedHinge", "Squared",
    "SquaredL2Penalty", "SquaredTargets", "StructuredSparseClassifier", "StructuredSparseRegression",
    "SubmodularBall", "SubmodularPenalty", "SubspaceDescentSolver", "TreeCover", "__version__", "audit", "compare", "custom_loss", "evaluate", "load",
    "mirror_descent", "model_selection", "plan", "predict", "private_bounds", "private_pipeline", "report", "reproduce", "scan",
    "streaming", "theory",
]
# fmt: on
