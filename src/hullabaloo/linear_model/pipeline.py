"""Pipelines that stay private: preprocessing steps that are functions of one row, and learn nothing from records."""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hullabaloo.data import Table, TableSchema
from hullabaloo.data.schema import NO_WIDTH
from hullabaloo.data.table import NUMBER
from hullabaloo.errors import HullabalooError, InvalidParameter, SchemaError
from hullabaloo.inference.fitted import Array
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.shared import Around
from hullabaloo.release.parameters import declared

# What a refused step learns from records, and what to do instead.
_LEARNS = {
    "StandardScaler": ("means and standard deviations", "the domain scales by declared bounds; leave the step out"),
    "MinMaxScaler": ("the smallest and largest values", "declare bounds in hb.Domain(features={name: (lo, hi)})"),
    "MaxAbsScaler": ("the largest values", "declare bounds in hb.Domain(features={name: (lo, hi)})"),
    "RobustScaler": ("medians and quartiles", "declare bounds in hb.Domain(features={name: (lo, hi)})"),
    "QuantileTransformer": ("quantiles", "declare a transform such as hb.Numeric(lo, hi, transform='log1p')"),
    "PowerTransformer": ("a likelihood over all records", "declare transform='log1p' or 'sqrt' in the domain"),
    "SimpleImputer": ("what stands for a missing value", "declare a fill in hb.Numeric(lo, hi, fill=...)"),
    "KNNImputer": ("other records' values", "declare a fill in hb.Numeric(lo, hi, fill=...)"),
    "OneHotEncoder": ("which levels occur", "declare levels in hb.Categorical([...])"),
    "OrdinalEncoder": ("which levels occur", "declare levels in hb.Categorical([...])"),
    "TargetEncoder": ("the targets of all records", "declare levels in hb.Categorical([...])"),
    "KBinsDiscretizer": ("bin edges", "declare levels, or a transform, in the domain"),
    "ColumnTransformer": ("what its own steps learn", "declare each column in hb.Domain(features=...)"),
    "PCA": ("directions of all records", "fit solver='moments' and work on the released moments"),
    "SelectKBest": ("scores of all records", "use hb.Lasso, whose selection is part of what is charged"),
}
# Functions of one number that FunctionTransformer may apply; anything else could look at the whole column.
_ELEMENTWISE: tuple[Callable[..., Any], ...] = (
    np.abs, np.arcsinh, np.arctan, np.cbrt, np.cos, np.exp, np.expm1, np.log, np.log1p, np.log2, np.log10, np.negative,
    np.sign, np.sin, np.sqrt, np.square, np.tanh,
)  # fmt: skip


def private_pipeline(*steps: Any) -> "PrivatePipeline":
    """A private estimator with row-wise steps before it: `hb.private_pipeline(PolynomialFeatures(2), hb.Ridge(...))`.

    Accepted steps are functions of one row: `PolynomialFeatures`, `Normalizer`, `Binarizer`, and `FunctionTransformer`
    of an elementwise NumPy function. Everything else is refused with what it learns from records and what to do instead,
    because what it learns would reach the release outside the guarantee. The domain describes the transformed columns.
    The fitted estimator, with its summary, refits and `save`, is the pipeline's `model`.

    Raises:
        InvalidParameter: a step is not known to be a function of one row, or the last is not a private estimator.
    """
    if any(isinstance(step, list | tuple) for step in steps):
        raise InvalidParameter(
            "A private pipeline takes its steps one after another and without names: hb.private_pipeline(PolynomialFeatures(2), hb.Ridge(...))."
        )
    if not steps or not isinstance(steps[-1], PrivateLinearModel):
        raise InvalidParameter(
            "The last step of a private pipeline must be an estimator of hullabaloo, such as hb.Ridge(...): only that one charges a budget and draws noise."
        )
    for step in steps[:-1]:
        _refuse_learning(step)
    return PrivatePipeline(steps=tuple(steps[:-1]), model=steps[-1])


def _refuse_learning(step: Any) -> None:
    from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures

    name = type(step).__name__
    if type(step) is FunctionTransformer:
        if any(step.func is function for function in _ELEMENTWISE):
            if step.kw_args:
                raise InvalidParameter(
                    f"FunctionTransformer({step.func.__name__}) was asked with kw_args, and nothing proves that they hold nothing of the table (a mask of its rows, an array to write to). Leave them out."
                )
            return
        function = getattr(step.func, "__name__", "the identity" if step.func is None else repr(step.func))
        names = ", ".join(f"numpy.{known.__name__}" for known in _ELEMENTWISE)
        raise InvalidParameter(
            f"FunctionTransformer({function}) was asked as a step, and nothing proves that it looks at one row at a time: "
            f"a function of the whole table would carry other records past the guarantee. Accepted are {names}; for "
            "anything else, compute the column before the table reaches hullabaloo, one row at a time."
        )
    if type(step) in {PolynomialFeatures, Normalizer, Binarizer}:  # a subclass may learn
        return
    learns, instead = _LEARNS.get(name, ("something from all records, for all one knows", "declare it in hb.Domain"))
    raise InvalidParameter(
        f"The step {name} was refused: its fit learns {learns}, which would reach the release outside the guarantee. Instead, {instead}."
    )


class PrivatePipeline(Around):
    """Row-wise steps, then a private estimator; made by `private_pipeline`. The table must be numeric.

    Cells that are missing or unparsable stay missing through the steps, and the estimator's domain says what they
    become: no step can raise because of a value.
    """

    INSIDE: ClassVar[str] = "model"
    steps: tuple[Any, ...] = field(default=(), kw_only=False)
    model: PrivateLinearModel | None = field(default=None, kw_only=False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Transform row by row and fit; order and guarantee are the estimator's."""
        for step in self.steps:
            _refuse_learning(step)
        rows = RowWise(declared(self._model()).open(X), self.steps)
        self._model().fit(rows, y, sample_weight)
        self.n_features_in_ = rows.source_width
        return self

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The estimator's score, *not private*: no noise is added, and a warning says so. `hb.evaluate` gives a private one."""
        return float(self._inside.score(self._rows(X), y, sample_weight))

    @property
    def _inside(self) -> Any:
        check_is_fitted(self, "n_features_in_")
        return self._model()

    def _rows(self, X: Any) -> Table:
        return RowWise(declared(self._model()).open(X), self.steps, getattr(self, "n_features_in_", None))

    def _model(self) -> PrivateLinearModel:
        if not isinstance(self.model, PrivateLinearModel):
            raise InvalidParameter("A private pipeline needs a private estimator; use hb.private_pipeline(...).")
        return self.model

    @property
    def statement_(self) -> Any:
        """The privacy statement of the fitted estimator."""
        return self._model().statement_


class RowWise(Table):
    """A numeric table seen through row-wise steps; nothing is computed before its numbers are asked for.

    A list of rows has ``known`` columns, those of an earlier fit; without one it is refused.
    """

    def __init__(self, source: Table, steps: tuple[Any, ...], known: int | None = None) -> None:
        self._source = source
        self.quoted_line_breaks = source.quoted_line_breaks
        self._steps = steps
        self._values: Array | None = None
        found = known if source.schema.width is None else source.schema.width
        if found is None:
            raise SchemaError(NO_WIDTH)
        self.source_width: int = found
        try:
            width = self._apply(np.zeros((1, found))).shape[1]
        except HullabalooError:
            raise
        except Exception as error:  # reason: whatever a step says of a blank row, it says of no record
            raise InvalidParameter(
                f"The steps of a private pipeline were tried on a blank row of {found} columns and failed ({type(error).__name__}: {str(error).rstrip('.')}). Nothing was read or charged. Correct their parameters."
            ) from error
        self.schema = TableSchema(None, ("float64",) * width, (NUMBER,) * width)

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # none is counted before it is asked for
        """The source's."""
        return self._source.n_rows

    def numbers(self, columns: Sequence[int]) -> Array:
        """The transformed columns; PRIVATE."""
        if self._values is None:
            self._values = self._apply(self._source.numbers(range(self.source_width)))
        return np.ascontiguousarray(self._values[:, list(columns)])

    def cells(self, column: int) -> list[Any]:
        """The transformed column as Python numbers; PRIVATE."""
        return [float(value) for value in self.numbers([column])[:, 0]]

    def _apply(self, values: Array) -> Array:
        """A blank row comes first, so that a table without rows is no special case for the steps."""
        from sklearn.preprocessing import FunctionTransformer

        values = np.concatenate([np.zeros((1, values.shape[1])), values])
        with config_context(assume_finite=True), np.errstate(all="ignore"):
            for step in self._steps:
                elementwise = type(step) is FunctionTransformer  # only the broken cells are missing then
                silent = clone(step)
                if elementwise:  # values compared with their inverse's would have a warning depend on records
                    silent.set_params(check_inverse=False)
                broken = ~np.isfinite(values)
                values = np.asarray(silent.fit_transform(np.where(broken, 0.0, values)), dtype=np.float64)
                values[broken if elementwise else broken.any(axis=1)] = np.nan
        return values[1:]
