"""Faults that audits have to find, each put into the library for one test."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.curator import GradientQuery, coordinate_gradient
from hullabaloo.curator.stream import StreamSumQuery
from hullabaloo.data import encode
from hullabaloo.noise import TestKey

Bug = Callable[[pytest.MonkeyPatch], None]


def halved(owner: Any, name: str) -> Bug:
    """The factor of the relation, or the bound of a record, forgotten."""

    def bug(monkeypatch: pytest.MonkeyPatch) -> None:
        member = getattr(owner, name)
        stated = member.fget if isinstance(member, property) else member.func
        monkeypatch.setattr(owner, name, property(lambda query: 0.5 * stated(query)))

    return bug


def quieter(module: Any, part: float = 0.7) -> Bug:
    """A part of the noise."""

    def bug(monkeypatch: pytest.MonkeyPatch) -> None:
        stated = module.gaussian
        monkeypatch.setattr(module, "gaussian", lambda x, sigma, **rest: stated(x, part * sigma, **rest))

    return bug


def no_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = GradientQuery.partial
    monkeypatch.setattr(GradientQuery, "partial", lambda q, rows, theta: stated(replace(q, clip=1e3), rows, theta))


def noise_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    """All answers of a run share their noise."""
    derive = TestKey.derive
    monkeypatch.setattr(TestKey, "derive", lambda key, index: key if isinstance(index, str) else derive(key, index))


def one_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round's updates share one draw of noise."""
    stated = coordinate_gradient.gaussian
    monkeypatch.setattr(
        coordinate_gradient, "gaussian", lambda x, sigma, **rest: np.full(x.size, stated(x[:1], sigma, **rest)[0])
    )


def whole_units(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = encode.within_share
    monkeypatch.setattr(encode, "within_share", lambda rows, units, share: stated(rows, units, share + 1))


def column_norm_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a record adds to one encoded vector is counted, and not all that it touches."""
    stated = StreamSumQuery.sensitivity.fget
    monkeypatch.setattr(StreamSumQuery, "sensitivity", property(lambda q: stated(q) / q.strategy.column_norm))
