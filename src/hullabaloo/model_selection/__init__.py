"""How good a model is, privately: evaluation on sensitive records, and search whose cost is counted."""

from hullabaloo.model_selection.evaluation import Evaluation, evaluate, price_evaluation
from hullabaloo.model_selection.metrics import Measured
from hullabaloo.model_selection.search import PrivateSearchCV, SearchPrice

__all__ = ["Evaluation", "Measured", "PrivateSearchCV", "SearchPrice", "evaluate", "price_evaluation"]
