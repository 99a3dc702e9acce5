"""scikit-learn's base of estimators, shown without the passwords that an address among the parameters may hold."""

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from hullabaloo.errors import without_passwords


class Estimator(BaseEstimator):  # type: ignore[misc]  # untyped base
    """An estimator whose words and pages repeat no password; its parameters stay as they were given."""

    key_label: ClassVar[str]
    """By which saved models, states' fingerprints and ledgers know the class. Frozen: under another they would not be found again."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return without_passwords(super().__repr__(N_CHAR_MAX))

    def _html_repr(self, *given: Any, **named: Any) -> str:
        return without_passwords(super()._html_repr(*given, **named))


def label_of(model: object) -> str:
    """The class's own label; of a class that somebody derived from it, the name."""
    return str(vars(type(model)).get("key_label", type(model).__name__))
