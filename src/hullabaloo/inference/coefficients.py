"""What every released model tells of its coefficients and predictions, as methods: one place for estimators and for models of streams."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.hypotheses import Hypothesis
from hullabaloo.inference.intervals import predict_interval
from hullabaloo.inference.summary import Summary, contrast, summarise
from hullabaloo.inference.wald import WaldTests, column_tests, linear_test


class CoefficientInference(ABC):
    """Summaries, contrasts, tests and intervals of a released model: post-processing, so they cost nothing and may be asked any number of times."""

    @abstractmethod
    def _fitted(self) -> FittedModel:
        """What inference is told of this model."""

    def _axis(self, target: str) -> str:
        """What a coefficient of an encoded target changes, in a few words."""
        return target

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

    def predict_interval(self, X: Any, *, confidence: float = 0.95, kind: str = "mean") -> Array:
        """Lower and upper ends of each row's mean response, or of a further observation; (n, 2), of several targets (n, k, 2).

        Args:
            X: rows, as for `predict`.
            confidence: the level of the intervals.
            kind: "mean", for the expected target, of classifiers the probability of each target's class; or "observation", for one more
                record's target (squared losses), by its residual variance, taken as normal.

        Ends are held to a number's declared bounds, as targets are counted: of a prediction beyond a bound it is the interval of `predict(X, clip=True)`. NaN where noise leaves an interval
        without an end: where a row asks for a level that is not identified (`summary` says which, and why). A number that is not identified takes part by its coefficient as released: intervals
        hold near its usual values.

        Raises:
            NotReleased: the release tells no intervals; the message says what would.
        """
        return predict_interval(self._fitted(), X, confidence=confidence, kind=kind)
