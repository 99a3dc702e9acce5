"""How good a model is, privately: evaluation on sensitive records, and search whose cost is counted."""

from hullabaloo.model_selection.evaluation import Evaluation, evaluate, price_evaluation
from hullabaloo.model_selection.fraction import Measured
from hullabaloo.model_selection.search import PrivateSearchCV
from hullabaloo.model_selection.search_price import SearchPrice

__all__ = ["Evaluation", "Measured", "PrivateSearchCV", "SearchPrice", "evaluate", "price_evaluation"]
