# fmt: off
# isort: off
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
]
# fmt: on
