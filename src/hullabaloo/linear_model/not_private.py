"""The warning of every plain score: it is computed from records, and no guarantee covers it."""

import warnings

from hullabaloo.errors import NotPrivateWarning


def warn_of_score() -> None:
    """Say that the score about to be given is not private; once a call, whatever the records are."""
    warnings.warn(
        "score compares predictions with the records and adds no noise, so the number is not private: neither is what cross_val_score or "
        "a grid search makes of it. hb.evaluate(model, X, y, budget=...) gives the same under differential privacy, with intervals.",
        NotPrivateWarning,
        stacklevel=3,
    )
