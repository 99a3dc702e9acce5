"""The room with the data: declared domains, readers of tables, and the encoded rows for the curator."""

from hullabaloo.data.declarations import Categorical as Categorical
from hullabaloo.data.declarations import Numeric as Numeric
from hullabaloo.data.domain import Domain as Domain
from hullabaloo.data.encoding import Encoding as Encoding
from hullabaloo.data.files import domain_template as domain_template
from hullabaloo.data.readers.opening import Table as Table
from hullabaloo.data.readers.opening import TableSchema as TableSchema
from hullabaloo.data.readers.opening import describe_table as describe_table
from hullabaloo.data.readers.opening import open_table as open_table
from hullabaloo.data.source import RowFacts as RowFacts
from hullabaloo.data.source import Rows as Rows
from hullabaloo.data.targets import BoundedTarget as BoundedTarget
from hullabaloo.data.targets import ClassTarget as ClassTarget
from hullabaloo.data.targets import TargetScale as TargetScale
