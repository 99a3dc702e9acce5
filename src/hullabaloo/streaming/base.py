"""What every private stream shares: parameters, opening, taking records in tables or one by one, reading, copies."""

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Self, cast

from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hullabaloo.curation.intake import StreamBuffer, encoded
from hullabaloo.curation.process import Process
from hullabaloo.data import BoundedTarget, Domain, Encoding, TargetScale
from hullabaloo.errors import InvalidParameter, NotReleased, is_whole
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.inference.summary import Summary
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.shared import DomainEstimator
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Neighbours, Schedule
from hullabaloo.release import Release, check_types, declared, large_delta, warn_of_column, whole
from hullabaloo.release.planned import quiet
from hullabaloo.release.price import NOTHING, Price, spent
from hullabaloo.streaming.opening import EXISTS, check_stream, opened

_OPENING = threading.RLock()  # two threads that begin a stream begin one, and it is charged once
UNREHEARSED = "no gain is told of one way alone: hb.streaming.plan says what each way to learn from the stream keeps"
_COPY = (
    "This is a copy of a stream (a pickle, a deepcopy, or what a worker process got). It holds what was released and predicts; it cannot "
    "learn, because the exact sums that a stream goes on from never leave it. Go on with the original, open it from its state file, "
    "or begin a new stream with sklearn.base.clone(model)."
)


def _of_release(name: str, what: str) -> Any:
    """A property: what the model of the last release has under a name."""
    return property(lambda stream: getattr(stream.model_at(), name), doc=what)


class PrivateStream(DomainEstimator, ABC):
    """Abstract base of the private streams; see a concrete one for what it learns.

    Records are taken in order and counted by `position_`, which is public. A model is released when the records of a step are
    complete, at positions fixed beforehand; noise of a step is drawn once. The guarantee is for one record at one position
    (replaced by any other, or absent), or, where the domain declares a unit, for all records of one, and holds for all releases up to the horizon together; reading them costs nothing.

    Parameters (all keyword-only, stored untouched):
        budget: `hb.Budget(epsilon, delta)`, what all releases up to the horizon may cost together; no default.
        domain: `hb.Domain(...)`, what is declared about the records without looking at them; no default.
        horizon: the largest number of records that the stream may take; None when it is not known, which takes more noise (up to 1.8
            times as much late in the stream) and `every` as a number.
        every: a release after every so many records and after the last of the horizon, or a tuple of positions; "auto" is about 1024
            releases over the horizon.
        constraint: a convex set on the unit domain.
        penalty: a convex penalty on the unit domain; beside a set one whose prox over it is known.
        fit_intercept: whether a constant column is added.
        neighbours: "replace-one" (default) or "add-or-remove".
        mechanism: how sums are released continually: "auto", or one of the names of `hullabaloo.noise.continual`.
        window: only the latest so many records count, rounded to whole steps (records between two releases); None for all.
        half_life: a record counts half after so many later ones, by whole steps; None for no forgetting.
        ledger, dataset: where the stream is charged, once, before the first record; as for other estimators.
        state: the path of the state file, from which the stream goes on after a crash. It holds exact sums: private data. Without a
            ledger nobody can tell an older copy of it, from which the same records would be released a second time.
        key_file: the path of a key that the state file is encrypted with.
        test_key: a `TestKey`, or its 32 bytes: deterministic noise for tests; the release is marked *not private*.

    Attributes:
        position_: how many records were taken.
        released_at_: the position of the model that is read; 0 before the first release.
        coef_, intercept_: of the model of the last release, in the user's units.
        statement_: the privacy statement, of all releases up to the horizon together.
        feature_names_out_: names of the encoded columns that coefficients belong to.
        n_features_in_, feature_names_in_: as in scikit-learn.
    """

    _intake: StreamBuffer | None = field(default=None, init=False)
    _copied: Any = field(default=None, init=False)
    _is_copy = False

    budget: Budget | None = None
    domain: Domain | None = None
    horizon: int | None = None
    every: int | tuple[int, ...] | str = "auto"
    constraint: ConvexSet | None = None
    penalty: Penalty | None = None
    fit_intercept: bool = True
    neighbours: str | Neighbours = "replace-one"
    mechanism: str = "auto"
    window: int | None = None
    half_life: float | None = None
    ledger: Ledger | str | None = None
    dataset: str | None = None
    state: str | Path | None = None
    key_file: str | Path | None = None
    test_key: TestKey | bytes | None = None

    # ---- what a concrete stream says of itself ----------------------------------------------------------------------

    @abstractmethod
    def _open(self, encoding: Encoding) -> Process:
        """Plan from public facts: refuses what does not go together; reads, draws and charges nothing."""

    @abstractmethod
    def _target(self) -> tuple[TargetScale, str | None]:
        """How the target is scaled, and the column that is a known exposure; refuses targets that cannot be learned."""

    @abstractmethod
    def _released_model(self, release: Release, position: int, encoding: Encoding) -> Any:
        """The frozen model of a release: `predict`, `predict_one`, `coef_`, `intercept_`, `statement`, `summary`; picklable."""

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """JSON-ready public parameters beyond those of every stream, for the header of the state file and the released model."""

    # ---- taking records -------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Begin a new stream and take the whole table, in its order.

        Args:
            X: rows: an array, a sparse matrix, a dataframe, or the path of a Parquet or CSV file.
            y: targets, (n,) or (n, k); None when X has the columns that the domain names as targets.
            sample_weight: nonnegative weights, (n,); the domain must declare their maximum.

        Raises:
            InvalidParameter: an argument, the declared schema or the horizon does not fit; or a state file exists. Nothing was spent.
            LedgerError: the ledger refuses; nothing was read or spent.
        """
        if not self._is_copy and self.state is not None and Path(self.state).exists():
            raise InvalidParameter(EXISTS.format(self.state))
        self.close()
        self._intake = None
        return self._take_table(X, y, sample_weight, fresh=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take the records of a table, in its order; the first call opens the stream, from its state file where there is one.

        Parameters and errors are those of `fit`. A table that the horizon has no room for is refused whole.
        """
        return self._take_table(X, y, sample_weight, fresh=False)

    def learn_one(self, x: Mapping[str, Any], y: Any = None) -> None:
        """Take one record, a mapping from feature to value: unknown keys are ignored, a missing key is a missing value.

        Args:
            x: the record; where the domain declares a weight, under its name.
            y: the target's value; of several targets, a mapping from target to value or a list of values.

        Records wait until about a thousand are taken together, or until somebody reads beyond a release: what is seen is as if
        they were taken one by one. `checkpoint` and `close` take and save what waits.
        """
        (self._intake or self.begin()._live()).learn(x, y)

    def begin(self, *, feature_names: list[str] | None = None, n_features: int | None = None) -> Self:
        """Open the stream without taking a record: charge it, or restore it from its state file. Nothing where it is open.

        Args:
            feature_names, n_features: the columns of a prepared matrix, where the domain is a `row_norm` only.
        """
        if self._is_copy:
            raise NotReleased(_COPY)
        if self._intake is None:
            self._start(self._encoding(feature_names, n_features))
        return self

    def checkpoint(self) -> Self:
        """Take the records that wait and save the state, also between two releases."""
        self._live().checkpoint()
        return self

    def close(self) -> None:
        """Take what waits, save, and let the state file go; what was released can still be read. When saving fails, it stays open."""
        if self._intake is not None:
            self._intake.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- reading: post-processing of what was released ------------------------------------------------------------

    @property
    def position_(self) -> int:
        """How many records were taken, those that wait included."""
        return self._live().position

    @property
    def released_at_(self) -> int:
        """The position of the last release; 0 before the first."""
        model = self._read()
        return 0 if model is None else int(model.position)

    def model_at(self) -> Any:
        """The model of the last release, frozen: it predicts, and can be saved, copied and sent anywhere, at no cost.

        Raises:
            NotFittedError: nothing was released yet; it says at which position the first release comes.
        """
        model = self._read()
        if model is None:
            raise NotFittedError(self._not_yet())
        return model

    def predict(self, X: Any, **how: Any) -> Any:
        """Predictions of the model of the last release; of sums with `clip=False` not held to the declared bounds, for totals."""
        return self.model_at().predict(X, **how)

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """The prediction for one record; before the first release the middle of the declared bounds, which knows nothing."""
        model = self._latest()
        return self._knowing_nothing() if model is None else model.predict_one(x)

    def summary(self, *, confidence: float = 0.95) -> Summary:
        """Coefficients of the last release with standard errors, split into sampling and privacy noise, and intervals."""
        return cast(Summary, self.model_at().summary(confidence=confidence))

    def predict_interval(self, X: Any, *, confidence: float = 0.95, kind: str = "mean") -> Any:
        """Intervals of the last release's predictions: of each row's mean response, or of a further observation."""
        return self.model_at().predict_interval(X, confidence=confidence, kind=kind)

    coef_ = _of_release("coef_", "Coefficients of the last release, in the user's units.")
    intercept_ = _of_release("intercept_", "The intercept of the last release, in the user's units.")
    statement_ = _of_release("statement", "The privacy statement, of all releases up to the horizon together.")
    feature_names_out_ = _of_release("feature_names_out_", "Names of the encoded columns that coefficients belong to.")

    # ---- before the first record ------------------------------------------------------------------------------------

    @quiet()
    def price(
        self, position: int | None = None, *, known: Mapping[str, float] = NOTHING, n_features: int | None = None
    ) -> Price:
        """What the stream costs, and what its model can be expected to gain once `position` records are in; reads no record and charges nothing.

        Running sums: their models are solved from noisy moments like one of a table, only that the noise is `sigma · ‖e_tᵀB‖`; so expected are the gain
        and the errors of a fit on as many records under the μ that gives the same noise. `PeriodicERM`: those of a fit by itself, at its share of the budget.

        Args:
            position: how many records are in; the horizon where it is left out.
            known: standard deviations, and means of targets, that are publicly known, by name, as for a fit; they narrow the errors to expect, and decide what is said of the gain.
            n_features: how many columns a prepared matrix has, where the domain is a `row_norm` only.

        Raises:
            InvalidParameter: a position before the first release or beyond the horizon, or what the stream itself refuses.
        """
        return self._price_at(position, known, *self._planned(n_features))

    def _planned(self, n_features: int | None) -> tuple[Encoding, Process]:
        """The process of a stream like this that begins, planned from public facts: no file is opened, as another may hold it."""
        encoding = self._encoding(None, n_features)
        return encoding, clone(self).set_params(state=None, key_file=None)._open(encoding)

    def _price_at(self, position: Any, known: Mapping[str, float], encoding: Encoding, process: Process) -> Price:
        schedule, budget = process.schedule, cast(Budget, self.budget)
        at: Any = whole(position) if position is not None else schedule.horizon
        step = schedule.completed(at) if is_whole(at, 0, schedule.position(schedule.steps)) else 0
        if step == 0:
            raise InvalidParameter(
                f"What a model can be expected to gain depends on how many records are in, and position={position!r} was asked: pass position=..., a whole number from {schedule.position(1):,}, where the first model is released, up to the horizon."
            )
        told, released = self._priced(process, encoding, step, known), schedule.position(step)
        span = f"the spend is that of all releases together; gain and noise are those of the model that is released after {released:,} records"
        notes = (span, *told.notes, *filter(None, [large_delta(budget, schedule.horizon or at)]))
        return replace(told, **spent(budget, process.event), records=released, notes=notes)

    def _priced(self, process: Any, encoding: Encoding, step: int, known: Mapping[str, float]) -> Price:
        """The price of the model of one release, whose spend is left to `price`."""
        return Price(type(self).__name__, math.inf, 0.0, None, 0, UNREHEARSED, "")

    # ---- inside ---------------------------------------------------------------------------------------------------

    def _declared(self) -> tuple[Domain, TargetScale, str | None]:
        domain = declared(self)
        check_types(self, ("budget", "domain", "fit_intercept", "ledger", "dataset", "test_key"))
        check_stream(self)
        return domain, *self._target()

    def set_params(self, **params: Any) -> Self:
        """Set parameters of a stream that is not open: those of an open one were fixed when it was charged.

        Raises:
            InvalidParameter: the stream is open.
        """
        if params and self._intake is not None and not self._intake.closed:
            raise InvalidParameter(
                "This stream is open, with noise for the parameters that it was opened with. Close it first, or set them on sklearn.base.clone(model)."
            )
        return cast(Self, super().set_params(**params))

    @property
    def _schedule(self) -> Schedule:
        return Schedule.of(whole(self.horizon), whole(self.every))

    def _take_table(self, X: Any, y: Any, weight: Any, *, fresh: bool) -> Self:
        if self._is_copy:
            raise NotReleased(_COPY)
        domain, _, _ = self._declared()
        warn_of_column(len(domain.targets), y, stacklevel=4)
        source = domain.open(X)
        count = source.n_rows
        if fresh and count < 1:
            raise InvalidParameter("A fit needs at least one record: found 0 sample(s). Pass a table that has rows.")
        if self._intake is None:
            encoding = self._encoding_for(source, y, weight)
            self._start(encoding, room_for=count, named=source.schema.names is not None, fresh=fresh)
        intake = self._live()
        intake.take(count, lambda: encoded(intake.encoding, source, y, weight))
        return self

    def _start(self, encoding: Encoding, *, room_for: int = 0, named: bool = False, fresh: bool = False) -> None:
        with _OPENING:
            if self._intake is None:
                self._intake = opened(self, encoding, room_for=room_for, fresh=fresh)
        self._name_columns(encoding, named)

    def _live(self) -> StreamBuffer:
        if self._intake is None:
            raise NotFittedError(_COPY if self._is_copy else self._not_yet())
        return self._intake

    def _read(self) -> Any:
        """The model of the last release; None before the first."""
        return self._copied if self._is_copy else self._live().read()

    def _latest(self) -> Any:
        """The same; None before the stream is opened, too."""
        return self._read() if self._intake is not None or self._is_copy else None

    def _not_yet(self) -> str:
        name = type(self).__name__
        if self._intake is None and not self._is_copy:
            return f"This {name} instance is not fitted yet. Call 'fit' or 'partial_fit' with records before using this estimator."
        found = "it is a copy made before that" if self._is_copy else f"{self.position_} are in"
        return f"This {name} has released nothing yet, so there is no model to read: its first release comes after {self._schedule.position(1)} records, and {found}. Positions of releases are fixed before records are read; every=... sets them."

    def _knowing_nothing(self) -> Any:
        """The middle of each target's declared bounds."""
        middles = {t.names[0]: t.lo / 2 + t.hi / 2 for t in declared(self).targets if isinstance(t, BoundedTarget)}
        return next(iter(middles.values())) if len(middles) == 1 else middles

    def __sklearn_is_fitted__(self) -> bool:
        return self._latest() is not None

    def __getstate__(self) -> dict[str, Any]:
        """What may leave: parameters, the public schema, and the released model. Never sums, noise or records."""
        state: dict[str, Any] = self.get_params(deep=False)
        state |= {name: value for name, value in vars(self).items() if name in ("n_features_in_", "feature_names_in_")}
        if self._intake is not None or self._is_copy:
            state |= {"_is_copy": True, "_copied": self._read()}
        return state
