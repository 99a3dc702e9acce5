"""Streams: models that are current and private while records arrive. Everything is imported on first use (PEP 562)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "CsvSource": "data.sources",
    "IncrementalRegression": "streaming.incremental_regression",
    "JsonLinesSource": "data.sources",
    "ParquetSource": "data.sources",
    "PeriodicERM": "streaming.periodic_erm",
    "PrivateStream": "streaming.base",
    "RedisSource": "data.sources",
    "RiverRegressor": "streaming.for_river",
    "Sketch": "curation.sketch",
    "SketchedRegression": "streaming.sketched_regression",
    "StreamModel": "streaming.model",
    "StreamSource": "data.sources",
    "load": "streaming.model",
    "new_key_file": "durable.state",
    "plan": "streaming.planner",
}

__all__ = list(_EXPORTS)

if TYPE_CHECKING:
    from hullabaloo.curation.sketch import Sketch as Sketch
    from hullabaloo.data.sources import CsvSource as CsvSource
    from hullabaloo.data.sources import JsonLinesSource as JsonLinesSource
    from hullabaloo.data.sources import ParquetSource as ParquetSource
    from hullabaloo.data.sources import RedisSource as RedisSource
    from hullabaloo.data.sources import StreamSource as StreamSource
    from hullabaloo.durable.state import new_key_file as new_key_file
    from hullabaloo.streaming.base import PrivateStream as PrivateStream
    from hullabaloo.streaming.for_river import RiverRegressor as RiverRegressor
    from hullabaloo.streaming.incremental_regression import IncrementalRegression as IncrementalRegression
    from hullabaloo.streaming.model import StreamModel as StreamModel
    from hullabaloo.streaming.model import load as load
    from hullabaloo.streaming.periodic_erm import PeriodicERM as PeriodicERM
    from hullabaloo.streaming.planner import plan as plan
    from hullabaloo.streaming.sketched_regression import SketchedRegression as SketchedRegression


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(
            f"module 'hullabaloo.streaming' has no attribute {name!r}; public names are {', '.join(__all__)}"
        )
    value = getattr(import_module(f"hullabaloo.{_EXPORTS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
