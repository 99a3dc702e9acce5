"""What is audited: anything that releases from one of two neighbouring tables and claims a price for it."""

from collections.abc import Sequence
from typing import Protocol

from hullabaloo.audit.heard import Array, Heard
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Event, Neighbours


class Subject(Protocol):
    """An estimator, or a stream, on the pair of tables that it suffers most from: planned once, run any number of times."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def solver(self) -> str: ...  # noqa: D102
    @property
    def neighbours(self) -> Neighbours: ...  # noqa: D102
    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def records(self) -> int: ...  # noqa: D102
    @property
    def words(self) -> str:
        """How the two tables differ."""

    @property
    def claim(self) -> Event:
        """What a release is said to cost."""

    @property
    def parts(self) -> Event:
        """What its answers cost, put together here."""

    @property
    def budget(self) -> Budget:
        """What it was allowed."""

    @property
    def opaque(self) -> bool:
        """Whether the law of an answer is not known, so that the release is judged as a black box."""

    def log(self, truth: int, key: TestKey | None) -> Sequence[Heard]:
        """What all answers of one run on table number `truth` tell."""

    def released(self, truth: int, key: TestKey | None) -> Array:
        """What one run releases, as one vector."""
