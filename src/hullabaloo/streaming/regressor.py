"""What private streams of numbers share: a target with declared bounds, and the frozen linear model of each release."""

from abc import ABC

from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags

from hullabaloo.curation.moments_process import StreamTask
from hullabaloo.data import Encoding, TargetScale
from hullabaloo.data.targets import ClassTarget
from hullabaloo.errors import DomainError
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.linear_model.shared import PlainScore
from hullabaloo.privacy import Neighbours
from hullabaloo.release import Release
from hullabaloo.release.estimator import label_of
from hullabaloo.release.parameters import whole
from hullabaloo.streaming.base import PrivateStream
from hullabaloo.streaming.model import StreamModel


class StreamRegressor(PlainScore, MultiOutputMixin, RegressorMixin, PrivateStream, ABC):  # type: ignore[misc]  # untyped bases
    """A stream that learns numbers by a linear model; predictions are cut off at the target's declared bounds."""

    def _target(self) -> tuple[TargetScale, str | None]:
        if self.domain is not None and any(isinstance(target, ClassTarget) for target in self.domain.targets):
            raise DomainError(
                f"{type(self).__name__} learns numbers, and the domain declares classes. Declare target={{'column': (0, 1)}} where the "
                "column holds 0 and 1: predictions are then chances, cut off at 0 and 1."
            )
        return TargetScale.SYMMETRIC, None

    def _task(self, constraint: ConvexSet | None, penalty: Penalty) -> StreamTask:
        assert self.budget is not None
        assert self.domain is not None
        return StreamTask(
            what=label_of(self),
            domain=self.domain,
            budget=self.budget,
            neighbours=Neighbours.parse(self.neighbours),
            schedule=self._schedule,
            constraint=constraint,
            penalty=penalty,
            fit_intercept=bool(self.fit_intercept),
            mechanism=self.mechanism,
            window=whole(self.window),
            half_life=self.half_life,
            ledger=self._ledger(),
            dataset=self.dataset,
            key=self._key(),
        )

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return None, NoPenalty()

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
