"""Hullabaloo: linear models learned from sensitive records, under differential privacy.

Everything public is imported on first use (PEP 562), so that `import hullabaloo` takes a fraction of a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hullabaloo._version import __version__

# fmt: off
# isort: off
if TYPE_CHECKING:
    from hullabaloo import model_selection, report, streaming, theory
    from hullabaloo.audit import audit
    from hullabaloo.bounds import PrivateBounds, private_bounds
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
        ObjectivePerturbationSolver, OutputPerturbationSolver, PreconditionedGradientSolver,
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
    "SubmodularBall", "SubmodularPenalty", "TreeCover", "__version__", "audit", "compare", "custom_loss", "evaluate", "load",
    "mirror_descent", "model_selection", "plan", "predict", "private_bounds", "private_pipeline", "report", "reproduce", "scan",
    "streaming", "theory",
]
# fmt: on

_PUBLIC = {
    "": "model_selection report streaming theory",
    "audit": "audit",
    "bounds": "PrivateBounds private_bounds",
    "data": "Categorical Domain Numeric",
    "data.scan": "scan",
    "geometry": (
        "BoundedCardinality Box Cardinality ConcaveCardinality CustomSetFunction ElasticBall "
        "ElasticNetPenalty GroupBall GroupCover GroupPenalty Intervals L1Ball L1Penalty L2Ball LpBall "
        "NoPenalty NuclearBall NuclearPenalty Polytope SetFunction Simplex SquaredL2Penalty "
        "SubmodularBall SubmodularPenalty TreeCover"
    ),
    "ledger": "Ledger",
    "linear_model": (
        "ElasticNet FeatureGrid FeatureTree GroupLasso HuberRegressor Lasso LinearRegression LinearSVC "
        "LogisticRegression MultiTaskRegression PoissonRegressor QuantileRegressor Ridge "
        "StructuredSparseClassifier StructuredSparseRegression compare load predict private_pipeline"
    ),
    "losses": (
        "Huber Logistic MarginLoss MultinomialLogistic Pinball Poisson ResidualLoss SmoothedHinge Squared "
        "SquaredTargets custom_loss"
    ),
    "model_selection": "Evaluation PrivateSearchCV evaluate",
    "privacy": "Budget",
    "release.planner": "plan",
    "reproduce": "reproduce",
    "solvers": (
        "AdaptiveGradientSolver ConstantSolver CoordinateDescentSolver DualFrankWolfeSolver FrankWolfeSolver "
        "GradientSolver GreedyCoordinateDescentSolver GreedySelectionSolver MirrorDescentSolver "
        "MomentsSolver ObjectivePerturbationSolver OutputPerturbationSolver "
        "PreconditionedGradientSolver"
    ),
    "solvers.mirror.oracle": "mirror_descent",
}
"""The public names by the rooms that hold them, as type checkers read them above; under "" the rooms that are public themselves."""

_EXPORTS = {name: room for room, names in _PUBLIC.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'hullabaloo' has no attribute {name!r}; public names are {', '.join(__all__)}")
    room = _EXPORTS[name]
    value = getattr(import_module(f"hullabaloo.{room}"), name) if room else import_module(f"hullabaloo.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
