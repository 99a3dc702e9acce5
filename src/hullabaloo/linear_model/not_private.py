"""What goes with every plain score: it is computed from records, no guarantee covers it, and a warning says so."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

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
