"""Where records come from: files, growing files, standard input and Redis Streams, as batches in their order.

from hullabaloo.streaming.sources import CsvSource

for batch in CsvSource("events.csv").batches():
    stream.partial_fit(batch.table)
"""

from hullabaloo.streaming.sources.base import Batch, Mark, SourceChanged, StreamSource
from hullabaloo.streaming.sources.csv_lines import CsvSource
from hullabaloo.streaming.sources.json_lines import JsonLinesSource
from hullabaloo.streaming.sources.parquet import ParquetSource
from hullabaloo.streaming.sources.redis_stream import RedisSource

__all__ = [
    "Batch",
    "CsvSource",
    "JsonLinesSource",
    "Mark",
    "ParquetSource",
    "RedisSource",
    "SourceChanged",
    "StreamSource",
]
