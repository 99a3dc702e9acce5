"""Where records come from: files, growing files, standard input and Redis Streams, as batches in their order.

from hullabaloo.data.sources import CsvSource

for batch in CsvSource("events.csv").batches():
    stream.partial_fit(batch.table)
"""

from hullabaloo.data.sources.base import Batch, Mark, SourceChanged, SourceLost, StreamSource
from hullabaloo.data.sources.csv_lines import CsvSource
from hullabaloo.data.sources.json_lines import JsonLinesSource
from hullabaloo.data.sources.parquet import ParquetSource
from hullabaloo.data.sources.redis_stream import RedisSource

__all__ = [
    "Batch",
    "CsvSource",
    "JsonLinesSource",
    "Mark",
    "ParquetSource",
    "RedisSource",
    "SourceChanged",
    "SourceLost",
    "StreamSource",
]
