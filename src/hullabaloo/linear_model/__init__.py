"""Private linear models with scikit-learn's interface."""

# fmt: off
# isort: off
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.classification import LinearSVC, LogisticRegression
from hullabaloo.linear_model.comparison import compare
from hullabaloo.linear_model.pipeline import PrivatePipeline, private_pipeline
from hullabaloo.linear_model.predicted import predict
from hullabaloo.linear_model.regression import (
    ElasticNet, GroupLasso, HuberRegressor, Lasso, LinearRegression, MultiTaskRegression, PoissonRegressor,
    QuantileRegressor, Ridge,
)
from hullabaloo.linear_model.saved import KINDS, load
from hullabaloo.linear_model.structured_sparse import StructuredSparseClassifier, StructuredSparseRegression
from hullabaloo.structure.features import FeatureGrid, FeatureTree
from hullabaloo.structure.structure import shape_of

__all__ = [
    "ESTIMATORS", "ElasticNet", "FeatureGrid", "FeatureTree", "GroupLasso", "HuberRegressor", "Lasso", "LinearRegression",
    "LinearSVC", "LogisticRegression", "MultiTaskRegression", "PoissonRegressor", "PrivateLinearModel", "PrivatePipeline",
    "QuantileRegressor", "Ridge", "StructuredSparseClassifier", "StructuredSparseRegression", "compare", "load", "predict",
    "private_pipeline", "shape_of",
]
# fmt: on

KINDS.update({one.key_label: one for one in list(globals().values()) if "key_label" in getattr(one, "__dict__", ())})
ESTIMATORS = tuple(sorted(kind.__name__ for kind in KINDS.values()))
