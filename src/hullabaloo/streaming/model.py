"""What a stream has released so far, frozen: predictions, statement and position, and no records."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo._version import __version__
from hullabaloo.data import BoundedTarget, Domain, Encoding, Format, Saved, table_of
from hullabaloo.data.encode import NORM_CODES, scaling_of
from hullabaloo.data.kernels import clip_dense, scale_numeric
from hullabaloo.data.labels import MISSING, LevelIndex
from hullabaloo.data.layout import Layout
from hullabaloo.data.numbers import number_of
from hullabaloo.errors import NotReleased
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.inference.coefficients import CoefficientInference
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.refit import refit
from hullabaloo.linear_model.shared import chosen
from hullabaloo.losses import Squared
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.release import PrivacyStatement, Release
from hullabaloo.release.parameters import yes_or_no
from hullabaloo.streaming.private_gradient import PrivateGradient
from hullabaloo.structure.structure_files import penalty_in_file, set_in_file, shape_to_dict


@dataclass(frozen=True, eq=False, repr=False)
class StreamModel(Saved, CoefficientInference):
    """The model that a stream of numbers released after `position` records; reading, copying and keeping it costs nothing.

    Predictions are cut off at the declared bounds of the target: every target was clipped to them before it was learned from, so that a
    prediction outside is further from all of them than the bound. Where the target is 0 or 1, predictions are chances.

    Attributes:
        estimator: the class whose stream released it.
        domain: the declaration that rows are read by.
        encoding_: the public map from rows to the unit domain.
        release_: everything released, on the unit domain.
        position: how many records were in at the release.
        schedule: the positions of all releases up to the horizon.
        constraint, penalty: what the coefficients were fitted with.
        settings: public settings of the stream.
        named: whether the first table had names.
    """

    estimator: str
    domain: Domain
    encoding_: Encoding
    release_: Release
    position: int
    schedule: Schedule
    constraint: ConvexSet | None
    penalty: Penalty | None
    settings: Mapping[str, Any]
    named: bool

    FORMAT: ClassVar[Format] = Format(
        "hullabaloo stream model", "saved model of a stream", "stream.model_at().save(path)"
    )

    def __getstate__(self) -> dict[str, Any]:
        """What is released, without what is remembered for speed."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee, of all releases up to the horizon together."""
        return self.release_.statement

    statement_ = statement
    ledger = None

    @cached_property
    def _user(self) -> tuple[Array, Any]:
        theta = self.release_.theta
        return self.encoding_.coefficients_to_user(theta[:, 0] if theta.shape[1] == 1 else theta)

    @property
    def coef_(self) -> Array:
        """Coefficients in the user's units, (p,), or (k, p) of several targets; named `feature_names_out_`."""
        return self._user[0]

    @property
    def intercept_(self) -> Any:
        """The intercept in the user's units, a float or (k,)."""
        return self._user[1]

    @property
    def feature_names_out_(self) -> Any:
        """Names of the encoded columns that coefficients belong to."""
        return np.asarray(self.encoding_.feature_names_out, dtype=object)

    @cached_property
    def _units(self) -> tuple[Array, Array, Array, Array]:
        """Of each target: scale and offset of the unit domain, lower and upper bound."""
        low, high = np.array([(t.lo, t.hi) for t in self.encoding_.targets if isinstance(t, BoundedTarget)]).T
        return self.encoding_.target_scale, self.encoding_.prediction_offset, low, high

    @cached_property
    def _encoded(self) -> Callable[[Mapping[str, Any]], Array]:
        return encoder_of(self.encoding_)

    def _cut(self, unit: Array, clip: bool = True) -> Array:
        scale, offset, low, high = self._units
        values = unit * scale + offset
        return np.asarray(np.minimum(np.maximum(values, low), high) if clip else values, dtype=np.float64)

    def predict(self, X: Any, *, clip: bool = True) -> Array:
        """Predictions in the target's units, with `clip` held to its declared bounds, as totals should not be; (n,) or (n, k)."""
        values = self._cut(self.encoding_.predictions(X, self.release_.theta), yes_or_no("clip", clip))
        return values[:, 0].copy() if values.shape[1] == 1 else values

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """The prediction for one record: a float, or one by target's name; unknown keys are ignored, missing ones are missing values."""
        values = self._cut((self._encoded(x) @ self.release_.theta)[0])
        if values.size == 1:
            return float(values[0])
        return dict(zip(self.encoding_.facts.targets, map(float, values), strict=True))

    @property
    def gradient(self) -> PrivateGradient:
        """g_t, the released gradient of the mean squared loss as a function of the encoded coefficients, and its error α."""
        if self.release_.moments is None:
            raise NotReleased("This release does not contain the noisy moments that a gradient is computed from.")
        return PrivateGradient(self.release_.moments)

    def refit(
        self, *, features: list[str] | None = None, constraint: ConvexSet | None = None, penalty: Penalty | None = None
    ) -> "StreamModel":
        """The model of the same release on other columns or under another constraint or penalty; post-processing, at no further cost."""
        if self.release_.moments is None:
            raise NotReleased(
                "This release does not contain the noisy moments that other models are computed from, so it cannot be fitted again."
            )
        sibling = replace(self, constraint=constraint, penalty=penalty)
        return replace(sibling, release_=refit(sibling._fitted(), features))

    def __str__(self) -> str:
        horizon = "an unknown horizon" if self.schedule.horizon is None else f"a horizon of {self.schedule.horizon:,}"
        return f"{self.estimator} after {self.position:,} records, of a stream with {horizon}\n{self.summary()}"

    def __repr__(self) -> str:
        return f"StreamModel({self.estimator}, position={self.position}, horizon={self.schedule.horizon})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.summary()._repr_html_()}"

    # ---- what summaries and cards ask of a model ------------------------------------------------------------------

    def _fitted(self) -> FittedModel:
        shape, pulled = chosen(self, self.encoding_)
        return FittedModel(self.release_, self.encoding_, Squared(), shape, pulled, self.estimator)

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return None, NoPenalty()

    # ---- files ----------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values."""
        encoding = self.encoding_
        return {
            **self.FORMAT.head,
            "library_version": __version__,
            "estimator": self.estimator,
            "domain": self.domain.to_dict(),
            "fit_intercept": encoding.fit_intercept,
            "columns": encoding.columns_to_dict(self.named),
            "constraint": shape_to_dict(self.constraint, encoding),
            "penalty": shape_to_dict(self.penalty, encoding),
            "position": self.position,
            "schedule": self.schedule.to_dict(),
            "settings": dict(self.settings),
            "release": self.release_.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "StreamModel":
        """Read what `to_dict` gave."""
        domain, columns, schedule = Domain.from_dict(data["domain"]), data["columns"], data["schedule"]
        encoding = domain.encoding(columns["names"], columns["n_features"], fit_intercept=data["fit_intercept"])
        bounded = [isinstance(one, BoundedTarget) for one in encoding.targets]
        if type(data["fit_intercept"]) is not bool or not bounded or not all(bounded):
            raise ValueError("intercept or targets")  # the model would fail when it predicts
        release = Release.from_dict(data["release"], domain.weight is not None).of_width(encoding.facts.width)
        return cls(
            estimator=str(data["estimator"]),
            domain=domain,
            encoding_=encoding,
            release_=release,
            position=int(data["position"]),
            schedule=Schedule.of(schedule["horizon"], schedule["every"]),
            constraint=set_in_file(data["constraint"]),
            penalty=penalty_in_file(data["penalty"]),
            settings=dict(data["settings"]),
            named=bool(columns["named"]),
        )


load = StreamModel.load


def one_row(encoding: Encoding, x: Mapping[str, Any]) -> Any:
    """The table of one record: unknown keys are ignored, a missing key is a missing value."""
    names = encoding.feature_names_in or ()
    return table_of([tuple(map(x.get, names))], names, len(names))


def encoder_of(encoding: Encoding) -> Callable[[Mapping[str, Any]], Array]:
    """What encodes one record, by the very operations of `Encoding.features` on a table of one row; what has no fast way goes through it."""
    layout = encoding.layout
    return _Row(encoding, layout) if layout is not None else lambda x: encoding.features(one_row(encoding, x))


class _Row:
    """The encoded row of a record; `data/encode.py` for one record, its tables made once."""

    def __init__(self, encoding: Encoding, layout: Layout) -> None:
        self._features = tuple(c.feature for c in layout.numeric)
        self._scaling, self._factors = scaling_of(layout)
        self._levels = []
        for block in layout.onehot:  # an unknown level and the baseline have no column
            columns = dict(zip((*block.levels, MISSING), (*block.columns, block.missing), strict=True))
            self._levels.append((block.feature, LevelIndex(block.all_levels).place, columns))
        products = [zip(block.columns, block.factors, strict=True) for block in layout.products]
        self._products = [(column, a, b) for block in products for column, (a, b) in block]
        self._clip = encoding.domain.row_norm
        self._intercept = encoding.fit_intercept
        self._width = len(layout.names)

    def __call__(self, x: Mapping[str, Any]) -> Array:
        row = np.zeros((1, self._width + self._intercept))
        filled = np.empty((1, len(self._factors)))
        if self._features:
            cells = map(x.get, self._features)
            values = np.array([[cell if type(cell) is float else number_of(cell) for cell in cells]])
            scale_numeric(values, *self._scaling, row, filled)
        for feature, place, columns in self._levels:
            column = columns.get(place(x.get(feature)), -1)
            if column >= 0:
                row[0, column] = 1.0
        for column, a, b in self._products:
            row[0, column] = self._factor(row, filled, a) * self._factor(row, filled, b) + 0.0
        if self._clip is not None:
            body = row[:, : self._width]
            clip_dense(body, NORM_CODES[self._clip[0]], self._clip[1], 1.0, body)
        if self._intercept:
            row[0, self._width] = 1.0
        return row

    def _factor(self, row: Array, filled: Array, column: int) -> float:
        place = self._factors.get(column)
        return float(row[0, column] if place is None else filled[0, place])
