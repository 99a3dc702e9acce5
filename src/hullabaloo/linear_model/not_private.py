"""What goes with every plain score: it is computed from records, no guarantee covers it, and a warning says so."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import NotFittedError

from hullabaloo.errors import HullabalooError, InvalidParameter, NotPrivateWarning


def warn_of_score() -> None:
    """Say that the score about to be given is not private; once a call, whatever the records are."""
    warnings.warn(
        "score compares predictions with the records and adds no noise, so the number is not private: neither is what cross_val_score or "
        "a grid search makes of it. hb.evaluate(model, X, y, budget=...) gives the same under differential privacy, with intervals.",
        NotPrivateWarning,
        stacklevel=3,
    )


@contextmanager
def scoring() -> Iterator[None]:
    """Around a score: what scikit-learn says of targets that it cannot compare would quote them.

    Raises:
        InvalidParameter: the targets or the weights cannot be scored.
    """
    try:
        yield
    except (HullabalooError, NotFittedError, MemoryError):
        raise
    except Exception:  # reason: as above
        raise InvalidParameter(
            "No score can be computed of this y and sample_weight: scikit-learn refuses them, and what it says is not shown, as it "
            "may quote a record. Pass one number, or one class as it was declared, for each row, and weights that are numbers."
        ) from None


class PlainScore:
    """What goes before scikit-learn's mixin of regressors or classifiers, whose `score` it is."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions on these records, of a classifier the share of records whose class is predicted, *not private*.

        No noise is added, and a warning says so. `hb.evaluate(model, X, y, budget=...)` gives these and other metrics under
        differential privacy, with intervals; of a stream, `model` is `stream.model_at()`.
        """
        warn_of_score()
        with scoring():
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
