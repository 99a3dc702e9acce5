"""The room with the data: declared domains, readers of tables, and the encoded rows for the curator."""

from hullabaloo.data.declarations import Categorical, Numeric
from hullabaloo.data.domain import Domain
from hullabaloo.data.source import RowFacts, Rows

__all__ = ["Categorical", "Domain", "Numeric", "RowFacts", "Rows"]
