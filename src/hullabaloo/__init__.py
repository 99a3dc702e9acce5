"""Hullabaloo: linear models learned from sensitive records, under differential privacy.

Everything public is imported on first use (PEP 562), so that `import hullabaloo` takes a fraction of a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hullabaloo._version import __version__

_EXPORTS = {
    "BoundedCardinality": "geometry",
    "Box": "geometry",
    "Budget": "privacy",
    "Cardinality": "geometry",
    "Categorical": "data",
    "ConcaveCardinality": "geometry",
    "CoordinateDescentSolver": "solvers",
    "DualFrankWolfeSolver": "solvers",
    "CustomSetFunction": "geometry",
    "Domain": "data",
    "ElasticBall": "geometry",
    "ElasticNet": "linear_model",
    "ElasticNetPenalty": "geometry",
    "Evaluation": "model_selection",
    "FeatureGrid": "linear_model",
    "FeatureTree": "linear_model",
    "GreedyCoordinateDescentSolver": "solvers",
    "GreedySelectionSolver": "solvers",
    "GroupBall": "geometry",
    "GroupCover": "geometry",
    "GroupLasso": "linear_model",
    "GroupPenalty": "geometry",
    "Intervals": "geometry",
    "Huber": "losses",
    "HuberRegressor": "linear_model",
    "L1Ball": "geometry",
    "L1Penalty": "geometry",
    "L2Ball": "geometry",
    "Lasso": "linear_model",
    "Ledger": "ledger",
    "LinearRegression": "linear_model",
    "LinearSVC": "linear_model",
    "Logistic": "losses",
    "LogisticRegression": "linear_model",
    "LpBall": "geometry",
    "MultiTaskRegression": "linear_model",
    "MultinomialLogistic": "losses",
    "NoPenalty": "geometry",
    "NuclearBall": "geometry",
    "NuclearPenalty": "geometry",
    "Numeric": "data",
    "Pinball": "losses",
    "Poisson": "losses",
    "PoissonRegressor": "linear_model",
    "Polytope": "geometry",
    "PreconditionedGradientSolver": "solvers",
    "PrivateSearchCV": "model_selection",
    "PrivateBounds": "bounds",
    "QuantileRegressor": "linear_model",
    "Ridge": "linear_model",
    "SetFunction": "geometry",
    "Simplex": "geometry",
    "SmoothedHinge": "losses",
    "Squared": "losses",
    "SquaredL2Penalty": "geometry",
    "SquaredTargets": "losses",
    "StructuredSparseClassifier": "linear_model",
    "StructuredSparseRegression": "linear_model",
    "SubmodularBall": "geometry",
    "SubmodularPenalty": "geometry",
    "TreeCover": "geometry",
    "WithMoments": "solvers",
    "audit": "audit",
    "compare": "linear_model",
    "evaluate": "model_selection",
    "load": "linear_model",
    "mirror_descent": "solvers.mirror.oracle",
    "plan": "release.planner",
    "private_bounds": "bounds",
    "private_pipeline": "linear_model",
}
_MODULES = ("model_selection", "report", "streaming")

__all__ = [
    "BoundedCardinality",
    "Box",
    "Budget",
    "Cardinality",
    "Categorical",
    "ConcaveCardinality",
    "CoordinateDescentSolver",
    "CustomSetFunction",
    "Domain",
    "DualFrankWolfeSolver",
    "ElasticBall",
    "ElasticNet",
    "ElasticNetPenalty",
    "Evaluation",
    "FeatureGrid",
    "FeatureTree",
    "GreedyCoordinateDescentSolver",
    "GreedySelectionSolver",
    "GroupBall",
    "GroupCover",
    "GroupLasso",
    "GroupPenalty",
    "Huber",
    "HuberRegressor",
    "Intervals",
    "L1Ball",
    "L1Penalty",
    "L2Ball",
    "Lasso",
    "Ledger",
    "LinearRegression",
    "LinearSVC",
    "Logistic",
    "LogisticRegression",
    "LpBall",
    "MultiTaskRegression",
    "MultinomialLogistic",
    "NoPenalty",
    "NuclearBall",
    "NuclearPenalty",
    "Numeric",
    "Pinball",
    "Poisson",
    "PoissonRegressor",
    "Polytope",
    "PreconditionedGradientSolver",
    "PrivateBounds",
    "PrivateSearchCV",
    "QuantileRegressor",
    "Ridge",
    "SetFunction",
    "Simplex",
    "SmoothedHinge",
    "Squared",
    "SquaredL2Penalty",
    "SquaredTargets",
    "StructuredSparseClassifier",
    "StructuredSparseRegression",
    "SubmodularBall",
    "SubmodularPenalty",
    "TreeCover",
    "WithMoments",
    "__version__",
    "audit",
    "compare",
    "evaluate",
    "load",
    "mirror_descent",
    "model_selection",
    "plan",
    "private_bounds",
    "private_pipeline",
    "report",
    "streaming",
]

if TYPE_CHECKING:
    from hullabaloo import report, streaming
    from hullabaloo.audit import audit
    from hullabaloo.bounds import PrivateBounds, private_bounds
    from hullabaloo.data import Categorical, Domain, Numeric
    from hullabaloo.geometry import (
        BoundedCardinality,
        Box,
        Cardinality,
        ConcaveCardinality,
        CustomSetFunction,
        ElasticBall,
        ElasticNetPenalty,
        GroupBall,
        GroupCover,
        GroupPenalty,
        Intervals,
        L1Ball,
        L1Penalty,
        L2Ball,
        LpBall,
        NoPenalty,
        NuclearBall,
        NuclearPenalty,
        Polytope,
        SetFunction,
        Simplex,
        SquaredL2Penalty,
        SubmodularBall,
        SubmodularPenalty,
        TreeCover,
    )
    from hullabaloo.ledger import Ledger
    from hullabaloo.linear_model import (
        ElasticNet,
        FeatureGrid,
        FeatureTree,
        GroupLasso,
        HuberRegressor,
        Lasso,
        LinearRegression,
        LinearSVC,
        LogisticRegression,
        MultiTaskRegression,
        PoissonRegressor,
        QuantileRegressor,
        Ridge,
        StructuredSparseClassifier,
        StructuredSparseRegression,
        compare,
        load,
        private_pipeline,
    )
    from hullabaloo.losses import (
        Huber,
        Logistic,
        MultinomialLogistic,
        Pinball,
        Poisson,
        SmoothedHinge,
        Squared,
        SquaredTargets,
    )
    from hullabaloo.model_selection import Evaluation, PrivateSearchCV, evaluate
    from hullabaloo.privacy import Budget
    from hullabaloo.release.planner import plan
    from hullabaloo.solvers import (
        CoordinateDescentSolver,
        DualFrankWolfeSolver,
        GreedyCoordinateDescentSolver,
        GreedySelectionSolver,
        PreconditionedGradientSolver,
        WithMoments,
    )
    from hullabaloo.solvers.mirror.oracle import mirror_descent


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        value = getattr(import_module(f"hullabaloo.{_EXPORTS[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"hullabaloo.{name}")
    else:
        raise AttributeError(f"module 'hullabaloo' has no attribute {name!r}; public names are {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
