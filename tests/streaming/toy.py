"""A stream without private sums behind it: running means of the target, for tests of what every stream shares."""

import hashlib
from typing import Any

import numpy as np

import hullabaloo as hb
from hullabaloo.curation.process import Process
from hullabaloo.data import Encoding
from hullabaloo.data.source import Rows
from hullabaloo.durable.sealed import Snapshot
from hullabaloo.privacy import Event, GaussianEvent, Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.release import PrivacyStatement, Release
from hullabaloo.streaming.regression import StreamRegressor

DOMAIN = hb.Domain(
    features={"a": (0, 10), "b": (-1, 1), "c": hb.Categorical(["x", "y"], baseline="x")}, target={"t": (-5, 5)}
)


class ToyProcess(Process):
    """Releases the running mean of the target plus a number that is drawn once for each step."""

    def __init__(self, schedule: Schedule, encoding: Encoding) -> None:
        self.schedule, self.encoding = schedule, encoding
        self.rows = np.zeros((0, encoding.facts.width))
        self.targets = np.zeros((0, len(encoding.facts.targets)))
        self.drawn: dict[int, int] = {}  # by step, how often
        self.fail_at: int | None = None

    event: Event = GaussianEvent(noise_multiplier=6.0, samples=1)  # type: ignore[assignment]

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(repr(self.schedule).encode()).hexdigest()

    @property
    def position(self) -> int:
        return len(self.rows)

    def take(self, rows: Rows) -> None:
        before = self.schedule.completed(self.position)
        dense = rows.X.toarray() if hasattr(rows.X, "toarray") else rows.X
        self.rows, self.targets = np.vstack([self.rows, dense]), np.vstack([self.targets, rows.Y])
        if self.fail_at is not None and self.position >= self.fail_at:
            raise MemoryError
        for step in range(before + 1, self.schedule.completed(self.position) + 1):
            self.drawn[step] = self.drawn.get(step, 0) + 1

    def released(self) -> Release | None:
        step = self.schedule.completed(self.position)
        if step == 0:
            return None
        theta = np.zeros((self.encoding.facts.width, self.targets.shape[1]))
        theta[-1] = self.targets[: self.schedule.position(step)].mean(axis=0)
        statement = PrivacyStatement(
            event=self.event, budget=hb.Budget(1.0, 1e-6), neighbours=Neighbours.REPLACE_ONE, unit="record",
            records_per_unit=1, records=self.schedule.horizon or self.position,
        )  # fmt: skip
        return Release(theta, statement, {"solver": "toy", "queries": []})

    def snapshot(self) -> Snapshot:
        return Snapshot({}, {"rows": self.rows, "targets": self.targets})

    def restore(self, snapshot: Snapshot) -> None:
        self.rows, self.targets = snapshot.arrays["rows"], snapshot.arrays["targets"]


class ToyStream(StreamRegressor):
    """A stream of running means. See `PrivateStream`."""

    def _open(self, encoding: Encoding) -> Process:
        self._toy = ToyProcess(self._schedule, encoding)
        return self._toy

    def _settings(self) -> dict[str, Any]:
        return {}


def toy(**more: Any) -> ToyStream:
    """A stream of at most 100 records with a release after every 10."""
    return ToyStream(**{"budget": hb.Budget(1.0, 1e-6), "domain": DOMAIN, "horizon": 100, "every": 10, **more})


def records(count: int, seed: int = 0) -> list[tuple[dict[str, Any], float]]:
    """So many records, from a fixed seed."""
    rng = np.random.default_rng(seed)
    return [
        ({"a": rng.uniform(-1, 11), "b": rng.uniform(-1, 1), "c": "xyz"[rng.integers(3)]}, rng.normal(1, 2))
        for _ in range(count)
    ]
