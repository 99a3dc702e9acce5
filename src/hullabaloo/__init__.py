"""Hullabaloo: linear models learned from sensitive records, under differential privacy.

Everything public is imported on first use (PEP 562), so that `import hullabaloo` takes a fraction of a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hullabaloo._version import __version__ as __version__

if TYPE_CHECKING:
    from hullabaloo import model_selection as model_selection
    from hullabaloo import report as report
    from hullabaloo import streaming as streaming
    from hullabaloo.audit import audit as audit
    from hullabaloo.bounds import PrivateBounds as PrivateBounds
    from hullabaloo.bounds import private_bounds as private_bounds
    from hullabaloo.data import Categorical as Categorical
    from hullabaloo.data import Domain as Domain
    from hullabaloo.data import Numeric as Numeric
    from hullabaloo.geometry import BoundedCardinality as BoundedCardinality
    from hullabaloo.geometry import Box as Box
    from hullabaloo.geometry import Cardinality as Cardinality
    from hullabaloo.geometry import ConcaveCardinality as ConcaveCardinality
    from hullabaloo.geometry import CustomSetFunction as CustomSetFunction
    from hullabaloo.geometry import ElasticBall as ElasticBall
    from hullabaloo.geometry import ElasticNetPenalty as ElasticNetPenalty
    from hullabaloo.geometry import GroupBall as GroupBall
    from hullabaloo.geometry import GroupCover as GroupCover
    from hullabaloo.geometry import GroupPenalty as GroupPenalty
    from hullabaloo.geometry import Intervals as Intervals
    from hullabaloo.geometry import L1Ball as L1Ball
    from hullabaloo.geometry import L1Penalty as L1Penalty
    from hullabaloo.geometry import L2Ball as L2Ball
    from hullabaloo.geometry import LpBall as LpBall
    from hullabaloo.geometry import NoPenalty as NoPenalty
    from hullabaloo.geometry import NuclearBall as NuclearBall
    from hullabaloo.geometry import NuclearPenalty as NuclearPenalty
    from hullabaloo.geometry import Polytope as Polytope
    from hullabaloo.geometry import SetFunction as SetFunction
    from hullabaloo.geometry import Simplex as Simplex
    from hullabaloo.geometry import SquaredL2Penalty as SquaredL2Penalty
    from hullabaloo.geometry import SubmodularBall as SubmodularBall
    from hullabaloo.geometry import SubmodularPenalty as SubmodularPenalty
    from hullabaloo.geometry import TreeCover as TreeCover
    from hullabaloo.ledger import Ledger as Ledger
    from hullabaloo.linear_model import ElasticNet as ElasticNet
    from hullabaloo.linear_model import FeatureGrid as FeatureGrid
    from hullabaloo.linear_model import FeatureTree as FeatureTree
    from hullabaloo.linear_model import GroupLasso as GroupLasso
    from hullabaloo.linear_model import HuberRegressor as HuberRegressor
    from hullabaloo.linear_model import Lasso as Lasso
    from hullabaloo.linear_model import LinearRegression as LinearRegression
    from hullabaloo.linear_model import LinearSVC as LinearSVC
    from hullabaloo.linear_model import LogisticRegression as LogisticRegression
    from hullabaloo.linear_model import MultiTaskRegression as MultiTaskRegression
    from hullabaloo.linear_model import PoissonRegressor as PoissonRegressor
    from hullabaloo.linear_model import QuantileRegressor as QuantileRegressor
    from hullabaloo.linear_model import Ridge as Ridge
    from hullabaloo.linear_model import StructuredSparseClassifier as StructuredSparseClassifier
    from hullabaloo.linear_model import StructuredSparseRegression as StructuredSparseRegression
    from hullabaloo.linear_model import compare as compare
    from hullabaloo.linear_model import load as load
    from hullabaloo.linear_model import private_pipeline as private_pipeline
    from hullabaloo.losses import Huber as Huber
    from hullabaloo.losses import Logistic as Logistic
    from hullabaloo.losses import MultinomialLogistic as MultinomialLogistic
    from hullabaloo.losses import Pinball as Pinball
    from hullabaloo.losses import Poisson as Poisson
    from hullabaloo.losses import SmoothedHinge as SmoothedHinge
    from hullabaloo.losses import Squared as Squared
    from hullabaloo.losses import SquaredTargets as SquaredTargets
    from hullabaloo.model_selection import Evaluation as Evaluation
    from hullabaloo.model_selection import PrivateSearchCV as PrivateSearchCV
    from hullabaloo.model_selection import evaluate as evaluate
    from hullabaloo.privacy import Budget as Budget
    from hullabaloo.release.planner import plan as plan
    from hullabaloo.solvers import CoordinateDescentSolver as CoordinateDescentSolver
    from hullabaloo.solvers import DualFrankWolfeSolver as DualFrankWolfeSolver
    from hullabaloo.solvers import GreedyCoordinateDescentSolver as GreedyCoordinateDescentSolver
    from hullabaloo.solvers import GreedySelectionSolver as GreedySelectionSolver
    from hullabaloo.solvers import PreconditionedGradientSolver as PreconditionedGradientSolver
    from hullabaloo.solvers import WithMoments as WithMoments
    from hullabaloo.solvers.mirror.oracle import mirror_descent as mirror_descent

_PUBLIC = {
    "": "model_selection report streaming",
    "audit": "audit",
    "bounds": "PrivateBounds private_bounds",
    "data": "Categorical Domain Numeric",
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
        "StructuredSparseClassifier StructuredSparseRegression compare load private_pipeline"
    ),
    "losses": "Huber Logistic MultinomialLogistic Pinball Poisson SmoothedHinge Squared SquaredTargets",
    "model_selection": "Evaluation PrivateSearchCV evaluate",
    "privacy": "Budget",
    "release.planner": "plan",
    "solvers": (
        "CoordinateDescentSolver DualFrankWolfeSolver GreedyCoordinateDescentSolver "
        "GreedySelectionSolver PreconditionedGradientSolver WithMoments"
    ),
    "solvers.mirror.oracle": "mirror_descent",
}
"""The public names by the rooms that hold them, as type checkers read them above; under "" the rooms that are public themselves."""

_EXPORTS = {name: room for room, names in _PUBLIC.items() for name in names.split()}
__all__ = [*sorted(("__version__", *_EXPORTS))]  # noqa: PLE0604 - of the table


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'hullabaloo' has no attribute {name!r}; public names are {', '.join(__all__)}")
    room = _EXPORTS[name]
    value = getattr(import_module(f"hullabaloo.{room}"), name) if room else import_module(f"hullabaloo.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
