"""Where records come from: files, growing files, standard input and Redis Streams, as batches in their order.

from hullabaloo.data.sources import CsvSource

for batch in CsvSource("events.csv").batches():
    stream.partial_fit(batch.table)
"""

from hullabaloo.data.sources.base import Batch as Batch
from hullabaloo.data.sources.base import Mark as Mark
from hullabaloo.data.sources.base import SourceChanged as SourceChanged
from hullabaloo.data.sources.base import SourceLost as SourceLost
from hullabaloo.data.sources.base import StreamSource as StreamSource
from hullabaloo.data.sources.csv_lines import CsvSource as CsvSource
from hullabaloo.data.sources.json_lines import JsonLinesSource as JsonLinesSource
from hullabaloo.data.sources.parquet import ParquetSource as ParquetSource
from hullabaloo.data.sources.redis_stream import RedisSource as RedisSource
