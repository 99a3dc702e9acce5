"""What every released model tells of its coefficients, as methods: one place for estimators and for models of streams."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from hullabaloo.inference.fitted import FittedModel
from hullabaloo.inference.hypotheses import Hypothesis
from hullabaloo.inference.summary import Summary, contrast, summarise
from hullabaloo.inference.wald import WaldTests, column_tests, linear_test


class CoefficientInference(ABC):
    """Summaries, contrasts and tests of a released model: post-processing, so they cost nothing and may be asked any number of times."""

    @abstractmethod
    def _fitted(self) -> FittedModel:
        """What inference is told of this model."""

    def summary(self, *, confidence: float = 0.95, exponentiate: bool = False, adjust: str | None = None) -> Summary:
        """The coefficients that predict beside unpenalised estimates with standard errors (sampling and privacy noise), z, p and intervals.

        Args:
            confidence: the level of the intervals.
            exponentiate: show odds ratios (logistic) or rate ratios (Poisson).
            adjust: p-values for the comparisons of all columns but the intercept: "holm", "bh" or "bonferroni"; None for each its own.
        """
        return summarise(self._fitted(), confidence, exponentiate, adjust)

    def tidy(self, *, confidence: float = 0.95, exponentiate: bool = False, adjust: str | None = None) -> Any:
        """The summary as a dataframe under broom's names: term, estimate, std_error, statistic, p_value, conf_low, conf_high and more."""
        return self.summary(confidence=confidence, exponentiate=exponentiate, adjust=adjust).tidy()

    def contrast(
        self, weights: Mapping[str, float], *, confidence: float = 0.95, exponentiate: bool = False
    ) -> Summary:
        """One linear combination of coefficients in the user's units, with error, test and interval.

        Args:
            weights: by the summary's names, `{"job=nurse": 1, "job=cook": -1}`; "(intercept)" is one of them.
            confidence, exponentiate: as for `summary`.

        Raises:
            InvalidParameter: an unknown name, or weights that are no finite numbers or all 0.
            NotReleased: the release tells no errors; the message says why.
        """
        return contrast(self._fitted(), weights, confidence, exponentiate)

    def test(self, hypothesis: Hypothesis, *, value: Any = 0.0) -> WaldTests:
        """Wald's joint test of linear hypotheses about the unpenalised coefficients in the user's units (`inference/wald.py`).

        Args:
            hypothesis: equations, "age = 0", "x1 = x2, x1 + x2 = 1" or a list of such texts; mappings of weights by name, each of which is
                `value`; or a matrix, (m, q), with a column for each row of the summary.
            value: what mappings or rows of a matrix equal; a number, or (m,).

        Raises:
            InvalidParameter: an unknown name, a text that is no equation, a wrong shape, or equations that contradict each other.
            NotReleased: the release tells no errors; the message says why.
        """
        return linear_test(self._fitted(), hypothesis, value)

    def joint_tests(self, *, adjust: str | None = None) -> WaldTests:
        """Whether each declared column has an effect, all levels of a category together, and at the end whether any has (the model's F test).

        Args:
            adjust: p-values of the columns for their number: "holm", "bh" or "bonferroni"; None for each its own.

        Raises:
            NotReleased: the release tells no errors; the message says why.
        """
        return column_tests(self._fitted(), adjust)
