"""The room with the data: declared domains, readers of tables, and the encoded rows for the curator."""

from hullabaloo.data.declarations import Categorical, Numeric
from hullabaloo.data.domain import Domain
from hullabaloo.data.encoding import Encoding
from hullabaloo.data.files import domain_template
from hullabaloo.data.readers.opening import Table, TableSchema, describe_table, open_table
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.data.targets import BoundedTarget, ClassTarget, TargetScale

__all__ = [
    "BoundedTarget", "Categorical", "ClassTarget", "Domain", "Encoding", "Numeric", "RowFacts", "Rows", "Table",
    "TableSchema", "TargetScale", "describe_table", "domain_template", "open_table",
]  # fmt: skip
