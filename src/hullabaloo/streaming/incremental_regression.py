"""Private incremental linear regression: least squares that is current while records arrive, and what all streams of numbers share."""

import math
from abc import ABC
from dataclasses import replace
from typing import Any, ClassVar, final

from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags

from hullabaloo.curation.moments_process import MomentsProcess, StreamTask, open_moments
from hullabaloo.data import Encoding, TargetScale
from hullabaloo.data.targets import ClassTarget
from hullabaloo.errors import DomainError, InvalidParameter
from hullabaloo.geometry import Projectable, require
from hullabaloo.linear_model.shared import PlainScore, chosen, terms_of
from hullabaloo.privacy import Budget, Neighbours, epsilon_of
from hullabaloo.release import Release, large_delta
from hullabaloo.release.estimator import label_of
from hullabaloo.release.parameters import one_of, whole
from hullabaloo.release.planned import prepare
from hullabaloo.release.price import Price, price
from hullabaloo.solvers.moments.moments import solve_moments
from hullabaloo.streaming.base import PrivateStream
from hullabaloo.streaming.model import StreamModel
from hullabaloo.streaming.noisy_projected_gradient import check_bounded, noisy_projected_gradient
from hullabaloo.structure.not_in_file import refuse_unknown


class StreamRegressor(PlainScore, MultiOutputMixin, RegressorMixin, PrivateStream, ABC):  # type: ignore[misc]  # untyped bases
    """A stream that learns numbers by a linear model; predictions are cut off at the target's declared bounds."""

    def _target(self) -> tuple[TargetScale, str | None]:
        if self.domain is not None and any(isinstance(target, ClassTarget) for target in self.domain.targets):
            raise DomainError(
                f"{type(self).__name__} learns numbers, and the domain declares classes. Declare target={{'column': (0, 1)}} where the "
                "column holds 0 and 1: predictions are then chances, cut off at 0 and 1."
            )
        return TargetScale.SYMMETRIC, None

    def _task(self, encoding: Encoding) -> StreamTask:
        constraint, penalty = chosen(self, encoding)
        refuse_unknown(constraint, penalty)
        if constraint is not None:
            require(constraint, [Projectable], type(self).__name__)
        return StreamTask(
            **terms_of(self, encoding.domain, self.neighbours),
            schedule=self._schedule,
            constraint=constraint,
            penalty=penalty,
            fit_intercept=bool(self.fit_intercept),
            mechanism=self.mechanism,
            window=whole(self.window),
            half_life=self.half_life,
        )

    def _released_model(self, release: Release, position: int, encoding: Encoding) -> StreamModel:
        settings = {"mechanism": self.mechanism, "window": whole(self.window), "half_life": whole(self.half_life)}
        settings |= self._settings()
        return StreamModel(
            estimator=label_of(self),
            domain=encoding.domain,
            encoding_=encoding,
            release_=release,
            position=position,
            schedule=self._schedule,
            constraint=self.constraint,
            penalty=self.penalty,
            settings=settings,
            named=hasattr(self, "feature_names_in_"),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.domain is not None and len(self.domain.targets) > 1
        return tags


@final
class IncrementalRegression(StreamRegressor):
    """Private least squares over a stream: after every step, minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over the records so far.

    PrivIncReg1 of Kasiviswanathan, Nissim and Jin (2017): the running sums of `x xᵀ` and `x yᵀ` are released continually, as one
    stream of `a aᵀ`, `a = (x, κy)`, in place of two with half the budget each; every model is post-processing of them. Several
    targets share the release. A target of 0 and 1 makes a linear probability model.

    Parameters beyond those of every stream:
        solver: "moments" (default), which mends the noisy moments and solves to the last digits; or
            "noisy_projected_gradient", the paper's own procedure, for reference (a set is needed).

    Parameters, attributes and methods: see `PrivateStream`.

    Example:
        >>> import hullabaloo as hb
        >>> domain = hb.Domain(features={"a": (0, 10), "b": (0, 10)}, target=(-5, 5), indicators=False)
        >>> stream = hb.streaming.IncrementalRegression(
        ...     budget=hb.Budget(1.0, 1e-8), domain=domain, horizon=10_000, every=1_000
        ... )
        >>> for i in range(2_500):
        ...     stream.learn_one({"a": i % 11, "b": i % 7}, 0.3 * (i % 11) - 0.2 * (i % 7))
        >>> stream.position_, stream.released_at_, stream.coef_.shape
        (2500, 2000, (2,))
    """

    key_label: ClassVar[str] = "IncrementalRegression"
    solver: str = "moments"

    SOLVERS: ClassVar[tuple[str, ...]] = ("moments", "noisy_projected_gradient")

    def price(
        self, position: int | None = None, *, n_features: int | None = None, feature_names: list[str] | None = None
    ) -> Price:
        """What the stream costs, and what its model can be expected to gain once `position` records are in; charges nothing.

        A model of the stream is solved from noisy moments like one of a table, only that their noise is `sigma · ‖e_tᵀB‖`. So the
        expectations are those of a fit on as many records under the μ that gives the same noise.

        Args:
            position: how many records are in; the horizon where it is left out.
            n_features, feature_names: the columns of a prepared matrix, where the domain is a `row_norm` only.
        """
        encoding = self._encoding(feature_names, n_features)
        process = self._open(encoding)
        task = process.task
        at = position if position is not None else task.schedule.horizon
        if at is None or isinstance(at, bool) or not isinstance(at, int) or at > task.records:
            found = f"position={position!r} was asked" if position is not None else "none was asked"
            raise InvalidParameter(
                f"What a model can be expected to gain depends on how many records are in: pass position=..., at most the horizon ({found})."
            )
        step = task.schedule.completed(at)
        if step == 0:
            raise InvalidParameter(
                f"A stream has released nothing after {at} records: its first release comes after {task.schedule.position(1)}. Ask for the "
                "price at that position or a later one."
            )
        query = process.query
        records, noise = max(1, round(query.effective_records(step))), query.sigma * query.error(step)
        fit = replace(task, neighbours=Neighbours.REPLACE_ONE, ledger=None, dataset=None, budget=Budget(math.inf))
        if noise > 0.0:
            once = prepare(replace(fit, budget=Budget.gdp(1.0)), encoding, records)
            fit = replace(fit, budget=Budget.gdp(float(once.plan.settings["sigma"]) / noise))
        told = price(prepare(fit, encoding, records))
        private = task.budget.is_private
        delta = task.budget.delta if task.budget.kind == "dp" and task.budget.delta > 0.0 else 1e-6
        late = large_delta(task.budget, task.schedule.horizon or at)
        released = task.schedule.position(step)
        span = f"the spend is that of all releases together; gain and noise are those of the model that is released after {released:,} records"
        return replace(
            told,
            solver="continual_moments",
            epsilon=epsilon_of(process.event, delta) if private else math.inf,
            delta=delta,
            mu=process.event.gdp_mu() if private else math.inf,
            records=released,
            reason="one noisy running sum serves every model of the stream",
            notes=(span, *told.notes, *([late] if late else [])),
        )

    def _open(self, encoding: Encoding) -> MomentsProcess:
        task = self._task(encoding)
        if one_of("solver", self.solver, self.SOLVERS) == "moments":
            return open_moments(task, encoding, solve=solve_moments)
        check_bounded(task.constraint)
        return open_moments(task, encoding, solve=noisy_projected_gradient)

    def _settings(self) -> dict[str, Any]:
        return {"solver": self.solver}
