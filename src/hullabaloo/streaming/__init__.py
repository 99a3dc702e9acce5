"""Streams: models that are current and private while records arrive. Everything is imported on first use (PEP 562)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "CsvSource": "sources",
    "IncrementalRegression": "incremental_regression",
    "JsonLinesSource": "sources",
    "ParquetSource": "sources",
    "PeriodicERM": "periodic_erm",
    "PrivateStream": "base",
    "RedisSource": "sources",
    "RiverRegressor": "for_river",
    "Sketch": "sketch",
    "SketchedRegression": "sketched_regression",
    "StreamModel": "model",
    "StreamSource": "sources",
    "load": "model",
    "new_key_file": "private_files",
    "plan": "planner",
}

__all__ = [
    "CsvSource",
    "IncrementalRegression",
    "JsonLinesSource",
    "ParquetSource",
    "PeriodicERM",
    "PrivateStream",
    "RedisSource",
    "RiverRegressor",
    "Sketch",
    "SketchedRegression",
    "StreamModel",
    "StreamSource",
    "load",
    "new_key_file",
    "plan",
]

if TYPE_CHECKING:
    from hullabaloo.streaming.base import PrivateStream
    from hullabaloo.streaming.for_river import RiverRegressor
    from hullabaloo.streaming.incremental_regression import IncrementalRegression
    from hullabaloo.streaming.model import StreamModel, load
    from hullabaloo.streaming.periodic_erm import PeriodicERM
    from hullabaloo.streaming.planner import plan
    from hullabaloo.streaming.private_files import new_key_file
    from hullabaloo.streaming.sketch import Sketch
    from hullabaloo.streaming.sketched_regression import SketchedRegression
    from hullabaloo.streaming.sources import CsvSource, JsonLinesSource, ParquetSource, RedisSource, StreamSource


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(
            f"module 'hullabaloo.streaming' has no attribute {name!r}; public names are {', '.join(__all__)}"
        )
    value = getattr(import_module(f"hullabaloo.streaming.{_EXPORTS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
