"""The room with the data: declared domains, readers of tables, and the encoded rows for the curator."""

from hullabaloo.data.declarations import Categorical, Numeric
from hullabaloo.data.documents import Format
from hullabaloo.data.domain import Domain
from hullabaloo.data.encoding import INTERCEPT, Encoding
from hullabaloo.data.files import domain_template
from hullabaloo.data.given import path_of
from hullabaloo.data.labels import LevelIndex
from hullabaloo.data.parts import PartedRows
from hullabaloo.data.readers.opening import Table, TableSchema, describe_table, open_table
from hullabaloo.data.records import table_of
from hullabaloo.data.reference import columns_of
from hullabaloo.data.saving import write_whole
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.data.targets import BoundedTarget, ClassTarget, TargetScale
from hullabaloo.data.threads import cores

__all__ = [
    "INTERCEPT", "BoundedTarget", "Categorical", "ClassTarget", "Domain", "Encoding", "Format", "LevelIndex", "Numeric",
    "PartedRows", "RowFacts", "Rows", "Table", "TableSchema", "TargetScale", "columns_of", "cores", "describe_table",
    "domain_template", "open_table", "path_of", "table_of", "write_whole",
]  # fmt: skip
