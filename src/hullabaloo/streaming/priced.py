"""Streams that say before they begin what their models can be expected to gain."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter, is_whole
from hullabaloo.privacy import epsilon_of
from hullabaloo.release import large_delta, whole
from hullabaloo.release.price import NOTHING, Price
from hullabaloo.streaming.base import PrivateStream


class PricedStream(PrivateStream, ABC):
    """A stream with a price; see a concrete one for what it learns."""

    @abstractmethod
    def _priced(self, process: Any, encoding: Encoding, step: int, known: Mapping[str, float]) -> Price:
        """The price of the model of one release, whose spend is left to `price`."""

    def price(
        self,
        position: int | None = None,
        *,
        known: Mapping[str, float] = NOTHING,
        n_features: int | None = None,
        feature_names: list[str] | None = None,
    ) -> Price:
        """What the stream costs, and what its model can be expected to gain once `position` records are in; reads no record and charges nothing.

        Running sums: their models are solved from noisy moments like one of a table, only that the noise is `sigma · ‖e_tᵀB‖`; so expected are the gain
        and the errors of a fit on as many records under the μ that gives the same noise. `PeriodicERM`: those of a fit by itself, at its share of the budget.

        Args:
            position: how many records are in; the horizon where it is left out.
            known: standard deviations that are publicly known, by name; they narrow the errors to expect.
            n_features, feature_names: the columns of a prepared matrix, where the domain is a `row_norm` only.

        Raises:
            InvalidParameter: a position before the first release or beyond the horizon, or what the stream itself refuses.
        """
        encoding = self._encoding(feature_names, n_features)
        stream = clone(self).set_params(state=None, key_file=None)  # no file is opened, and another may hold it
        process = stream._open(encoding)
        schedule, budget = process.schedule, stream.budget
        at = whole(position) if position is not None else schedule.horizon
        step = schedule.completed(at) if is_whole(at, 0, schedule.position(schedule.steps)) else 0
        if step == 0:
            raise InvalidParameter(
                f"What a model can be expected to gain depends on how many records are in, and position={position!r} was asked: pass position=..., a "
                f"whole number from {schedule.position(1):,}, where the first model is released, up to the horizon."
            )
        told, released = self._priced(process, encoding, step, known), schedule.position(step)
        delta = budget.delta if budget.kind == "dp" and budget.delta > 0.0 else 1e-6
        late = large_delta(budget, schedule.horizon or at)
        span = f"the spend is that of all releases together; gain and noise are those of the model that is released after {released:,} records"
        return replace(
            told,
            epsilon=epsilon_of(process.event, delta) if budget.is_private else math.inf,
            delta=delta,
            mu=process.event.gdp_mu() if budget.is_private else math.inf,
            records=released,
            notes=(span, *told.notes, *([late] if late else [])),
        )
