"""Private linear models with scikit-learn's interface."""

from hullabaloo.inference.summary import Summary as Summary
from hullabaloo.linear_model.base import PrivateLinearModel as PrivateLinearModel
from hullabaloo.linear_model.comparison import Comparison as Comparison
from hullabaloo.linear_model.comparison import compare as compare
from hullabaloo.linear_model.group_lasso import GroupLasso as GroupLasso
from hullabaloo.linear_model.huber_regressor import HuberRegressor as HuberRegressor
from hullabaloo.linear_model.least_squares import ElasticNet as ElasticNet
from hullabaloo.linear_model.least_squares import Lasso as Lasso
from hullabaloo.linear_model.least_squares import LinearRegression as LinearRegression
from hullabaloo.linear_model.least_squares import Ridge as Ridge
from hullabaloo.linear_model.linear_svc import LinearSVC as LinearSVC
from hullabaloo.linear_model.logistic_regression import LogisticRegression as LogisticRegression
from hullabaloo.linear_model.multi_task_regression import MultiTaskRegression as MultiTaskRegression
from hullabaloo.linear_model.pipeline import PrivatePipeline as PrivatePipeline
from hullabaloo.linear_model.pipeline import private_pipeline as private_pipeline
from hullabaloo.linear_model.poisson_regressor import PoissonRegressor as PoissonRegressor
from hullabaloo.linear_model.quantile_regressor import QuantileRegressor as QuantileRegressor
from hullabaloo.linear_model.saved import KINDS
from hullabaloo.linear_model.saved import load as load
from hullabaloo.linear_model.structured_sparse_classifier import (
    StructuredSparseClassifier as StructuredSparseClassifier,
)
from hullabaloo.linear_model.structured_sparse_regression import (
    StructuredSparseRegression as StructuredSparseRegression,
)
from hullabaloo.release.price import Price as Price
from hullabaloo.structure.features import FeatureGrid as FeatureGrid
from hullabaloo.structure.features import FeatureTree as FeatureTree
from hullabaloo.structure.structure import shape_of as shape_of

KINDS.update({one.key_label: one for one in list(globals().values()) if "key_label" in getattr(one, "__dict__", ())})
ESTIMATORS = tuple(sorted(kind.__name__ for kind in KINDS.values()))
