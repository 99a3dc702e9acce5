"""Streams: models that are current and private while records arrive. Everything is imported on first use (PEP 562)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hullabaloo.curation.sketch import Sketch
    from hullabaloo.data.sources import CsvSource, JsonLinesSource, ParquetSource, RedisSource, StreamSource
    from hullabaloo.durable.state import new_key_file
    from hullabaloo.streaming.base import PrivateStream
    from hullabaloo.streaming.for_river import RiverRegressor
    from hullabaloo.streaming.model import StreamModel, load
    from hullabaloo.streaming.periodic_erm import PeriodicERM
    from hullabaloo.streaming.planner import plan
    from hullabaloo.streaming.private_gradient import PrivateGradient
    from hullabaloo.streaming.regression import IncrementalRegression, SketchedRegression

__all__ = [
    "CsvSource", "IncrementalRegression", "JsonLinesSource", "ParquetSource", "PeriodicERM", "PrivateGradient",
    "PrivateStream", "RedisSource", "RiverRegressor", "Sketch", "SketchedRegression", "StreamModel", "StreamSource", "load", "new_key_file", "plan",
]  # fmt: skip

_PUBLIC = {
    "curation.sketch": "Sketch",
    "data.sources": "CsvSource JsonLinesSource ParquetSource RedisSource StreamSource",
    "durable.state": "new_key_file",
    "streaming.base": "PrivateStream",
    "streaming.for_river": "RiverRegressor",
    "streaming.regression": "IncrementalRegression SketchedRegression",
    "streaming.model": "StreamModel load",
    "streaming.periodic_erm": "PeriodicERM",
    "streaming.planner": "plan",
    "streaming.private_gradient": "PrivateGradient",
}
_EXPORTS = {name: module for module, names in _PUBLIC.items() for name in names.split()}


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
