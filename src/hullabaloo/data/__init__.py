"""The room with the data: declared domains, readers of tables, and the encoded rows for the curator."""

from hullabaloo.data.declarations import Categorical, Numeric
from hullabaloo.data.documents import Format, Saved
from hullabaloo.data.domain import Domain
from hullabaloo.data.encoding import INTERCEPT, Encoding
from hullabaloo.data.files import domain_template
from hullabaloo.data.given import names_of, path_of
from hullabaloo.data.grid import Grid
from hullabaloo.data.labels import LevelIndex
from hullabaloo.data.parts import PartedRows
from hullabaloo.data.readers.opening import Table, TableSchema, describe_table, open_table
from hullabaloo.data.records import table_of
from hullabaloo.data.reference import columns_of
from hullabaloo.data.saving import write_whole
from hullabaloo.data.source import MOST_PER_UNIT, RowFacts, Rows
from hullabaloo.data.targets import UNNAMED, BoundedTarget, ClassTarget, TargetScale
from hullabaloo.data.threads import cores

__all__ = [
    "INTERCEPT", "MOST_PER_UNIT", "UNNAMED", "BoundedTarget", "Categorical", "ClassTarget", "Domain", "Encoding",
    "Format", "Grid", "LevelIndex", "Numeric", "PartedRows", "RowFacts", "Rows", "Saved", "Table", "TableSchema", "TargetScale",
    "columns_of", "cores", "describe_table", "domain_template", "names_of", "open_table", "path_of", "table_of", "write_whole",
]  # fmt: skip
