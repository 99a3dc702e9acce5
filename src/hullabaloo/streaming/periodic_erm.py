"""Any estimator of the library as a stream: fitted again on all records so far, every τ of them."""

import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.curation.process import Process
from hullabaloo.data import ClassTarget, Encoding, TargetScale
from hullabaloo.durable.journal import last_save
from hullabaloo.durable.sealed import SOLVERS
from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.foreign import foreign
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.shared import Around, offers
from hullabaloo.planning.named import solver_to_dict
from hullabaloo.privacy import Calibration, Schedule
from hullabaloo.release import PrivacyStatement, Release, found, label_of, one_of, whole
from hullabaloo.release.estimator import told
from hullabaloo.release.price import Price, price
from hullabaloo.streaming.base import PrivateStream
from hullabaloo.streaming.model import one_row
from hullabaloo.streaming.refits import RULES, planned, spacing

AFRESH = "expected is what the fit's share of the budget gains by itself; where it can start from the model before it, it may gain more"
UNTOLD = "models of refits tell no errors, intervals or totals unless they are asked for: inference=True of the estimator, in a shell --inference yes"


@dataclass(frozen=True, eq=False, repr=False)
class PeriodicModel:
    """A fitted estimator, as a stream released it after `position` records; reading and copying it costs nothing.

    Attributes:
        estimator: fitted; everything that it offers, such as `predict_proba`, `save` and `to_sklearn`.
        position: how many records were in.
    """

    estimator: PrivateLinearModel
    position: int

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee, of all releases up to the horizon together."""
        return self.estimator.statement_

    def __getattr__(self, name: str) -> Any:
        """What the estimator has."""
        if name.startswith("__") or name == "estimator":
            raise AttributeError(name)
        return getattr(self.estimator, name)

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """The prediction for one record: a number, or a class; unknown keys are ignored, missing ones are missing values."""
        made = self.estimator.predict(one_row(self.estimator.encoding_, x))[0]
        return made.item() if isinstance(made, np.generic) else made

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """The chance of each class, for classifiers that have chances."""
        chances = self.estimator.predict_proba(one_row(self.estimator.encoding_, x))[0]
        return dict(zip(self.estimator.classes_.tolist(), map(float, chances), strict=True))

    def __repr__(self) -> str:
        return f"PeriodicModel({type(self.estimator).__name__}, position={self.position})"


class PeriodicERM(Around, PrivateStream):
    """An estimator fitted again on all records so far, at every release; in between the last model stays.

    Mechanism PrivIncERM of Kasiviswanathan, Nissim and Jin (2017), around any estimator. All fits up to the horizon share one budget,
    the estimator's, charged once: they compose exactly, and early fits, whose records are few, get more of it (`m_k ∝ 1/√n_k`). Where records count alike and
    no errors are asked for, a record counts less in a fit the longer before its release's block it came, and pays less: so all pay the whole budget. Where the
    solver allows it a fit starts from the model before it and learns what is to be added. Fits on few occasions keep more of a
    model than running sums do, fits on many less: `hb.streaming.plan` compares them.

    Memory grows with the records, as each is needed again: so does the state file, which holds them all, encoded. PRIVATE.
    Rows that are sparse in memory are written with all of their cells, so that the file's size tells their number alone.

    Parameters:
        estimator: an estimator of the library, unfitted; with `inference=True` each fit that can tells errors and intervals, out of its own share of the
            budget (a number asks it of every fit); by default none does. Budget, domain, neighbours, solver, constraint, penalty, ledger, dataset and
            test_key are its own. With `calibration="paper"` the fits compose as the paper prints it, at
            `ε/(2√(2R ln(2/δ)))` each of R. Shares of a budget are Gaussian: a solver whose price is not (`"objective_perturbation"`) can be
            asked for with `calibration="paper"` only.
        horizon: the largest number of records that the stream may take.
        every: records between two fits, or a tuple of positions; "auto" asks `rule`.
        rule: "convex", "strongly_convex" (for a penalty with a squared part) or "width" (for a set): the paper's three spacings.
        state, key_file: the path of the state file, and of a key that it is encrypted with.

    Methods and attributes are those of every stream (`partial_fit`, `learn_one`, `predict`, `model_at`, …), and what the estimator predicts:
    `predict_proba` and `decision_function` where it has them. `model_at().estimator` is the fitted estimator itself.

    Raises:
        InvalidParameter: no estimator of the library, no horizon, or a rule that does not fit the estimator.

    Example:
        >>> import hullabaloo as hb
        >>> domain = hb.Domain(features={"age": (18, 90)}, classes={"bought": ["no", "yes"]}, indicators=False)
        >>> logistic = hb.LogisticRegression(budget=hb.Budget(1.0, 1e-6), domain=domain)
        >>> stream = hb.streaming.PeriodicERM(logistic, horizon=2_000, every=1_000)
        >>> for i in range(1_500):
        ...     stream.learn_one({"age": 18 + i % 72}, "yes" if i % 72 > 30 else "no")
        >>> stream.released_at_, stream.predict_one({"age": 20}) in ("no", "yes")
        (1000, True)
    """

    key_label: ClassVar[str] = "PeriodicERM"
    INSIDE: ClassVar[str] = "estimator"

    _every: int | tuple[int, ...] | None = None

    @told
    def __init__(
        self,
        estimator: PrivateLinearModel,
        horizon: int | None = None,
        *,
        every: int | tuple[int, ...] | str = "auto",
        rule: str = "convex",
        state: str | Path | None = None,
        key_file: str | Path | None = None,
    ) -> None:
        self.estimator = estimator
        self.horizon = horizon
        self.every = every
        self.rule = rule
        self.state = state
        self.key_file = key_file

    mechanism, window, half_life = "none", None, None

    @property
    def _inside(self) -> PeriodicModel:
        return self.model_at()  # type: ignore[no-any-return]

    @offers("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """The chance of each class for one record; empty before the first release."""
        model = self._latest()
        return {} if model is None else model.predict_proba_one(x)

    # ---- what the base asks -----------------------------------------------------------------------------------------

    def _open(self, encoding: Encoding) -> Process:
        one_of("rule", self.rule, RULES)
        if self.horizon is None:
            raise InvalidParameter(
                "PeriodicERM needs a horizon, as its fits share one budget. Pass horizon=100_000, the largest number of records; without an end use hb.streaming.IncrementalRegression."
            )
        if self.estimator.public is not None:
            raise InvalidParameter(
                "The estimator of a stream has a public table, and fits of a stream take nothing from one. Nothing was charged or read. Leave public out."
            )
        task = self.estimator._task(encoding)
        telling = self._telling or self.estimator.selection is not None  # a rule of selection reads errors
        task = replace(task, inference=task.inference if telling else False)
        stranger = foreign(task.constraint, task.penalty, task.solver)
        if self.state is not None and stranger is not None:
            raise InvalidParameter(
                f"PeriodicERM was asked for a state file and for {stranger}, which is not the library's own code. After a crash before a save "
                "it would be shown two answers of which one was paid for. Use a set, a penalty and a solver of the library, or leave the state file out."
            )
        every = self.every
        if isinstance(every, str) and every == "auto":
            every = spacing(self.rule, task, encoding, whole(self.horizon))
        schedule = Schedule.of(whole(self.horizon), whole(every))
        self._every, begun = schedule.every, last_save(self.state, self.key_file)
        process = PrefixProcess(task, planned(task, encoding, schedule))
        if begun is not None and begun.fingerprint != process.fingerprint:
            # By the plan with which the state was begun, where this version knows it: the fingerprint says whether it was that.
            solvers = begun.public.get(SOLVERS, ())
            for version in range(-1, 10):  # -1 is this one; from 4 on every record counts once in each fit
                with suppress(HullabalooError):  # of other settings than these
                    asked = replace(task, earlier=version + (version < 4))
                    about = asked, encoding, schedule, solvers if version < 9 else ()
                    before = PrefixProcess(task, planned(*about, even=version > 3))
                    process = before if before.fingerprint == begun.fingerprint else process
        return process

    def _priced(self, process: Any, encoding: Encoding, step: int, known: Mapping[str, float]) -> Price:
        told = price(process.refits.fits[step - 1], known)
        notes = (*[AFRESH] * (step > 1), *[UNTOLD] * (not told.errors and not self._telling), *told.notes)
        return replace(told, records=process.schedule.position(step), notes=notes)

    @property
    def _telling(self) -> bool:
        """Whether inference was asked for by a word of the user."""
        return self.estimator.inference not in ("auto", False)

    @property
    def _schedule(self) -> Schedule:
        return Schedule.of(whole(self.horizon), whole(self.every) if self._every is None else self._every)

    def _target(self) -> tuple[TargetScale, str | None]:
        return self.estimator._target()

    def _declared(self) -> Any:
        if not isinstance(self.estimator, PrivateLinearModel):
            raise InvalidParameter(
                f"PeriodicERM fits an estimator of the library again and again, but {found(self.estimator)} was given. Pass an unfitted one: hb.LogisticRegression(budget=…, domain=…)."
            )
        self.estimator._declared()
        return super()._declared()

    def _released_model(self, release: Release, position: int, encoding: Encoding) -> PeriodicModel:
        fitted = clone(self.estimator)
        fitted._finish(release, encoding, hasattr(self, "feature_names_in_"))
        return PeriodicModel(fitted, position)

    def _settings(self) -> dict[str, Any]:
        estimator = self.estimator
        return {
            "estimator": label_of(estimator),
            "solver": solver_to_dict(estimator.solver),
            "calibration": str(Calibration.parse(estimator.calibration)),
            "own": {
                name: repr(value)
                for name, value in estimator.get_params(deep=False).items()
                if name not in _COMMON and (name, value) != ("loss", None)  # as states from before it were written
            },
            "rule": self.rule,
            **({"inference": self.estimator.inference} if self._telling else {}),
            # for a selection "auto" is another solver
            **({} if estimator.selection is None else {"selection": estimator.selection}),
        }

    def _knowing_nothing(self) -> Any:
        classes = self.domain is not None and any(isinstance(target, ClassTarget) for target in self.domain.targets)
        return None if classes else super()._knowing_nothing()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_every": self._every}


_COMMON = set(inspect.signature(PrivateLinearModel).parameters)
"""Parameters that every estimator has; what of them is public configuration is named by the stream itself."""

for _name in _COMMON:
    setattr(PeriodicERM, _name, property(attrgetter(f"estimator.{_name}")))  # what every stream has is the estimator's
