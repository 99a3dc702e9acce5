"""How good a model is, privately: evaluation on sensitive records, and search whose cost is counted."""

from hullabaloo.model_selection.evaluation import Evaluation, evaluate, price_evaluation
from hullabaloo.model_selection.fraction import Measured

__all__ = ["Evaluation", "Measured", "evaluate", "price_evaluation"]
