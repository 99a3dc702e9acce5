"""Durable privacy budgets in a database: who may still spend what, and who spent it on what.

The database library is imported by the first call that needs it, not by this package.
"""

from hullabaloo.ledger.ledger import Ledger as Ledger
from hullabaloo.ledger.records import Charge as Charge
from hullabaloo.ledger.records import Dataset as Dataset
from hullabaloo.ledger.records import Finding as Finding
from hullabaloo.ledger.records import PricedQuery as PricedQuery
from hullabaloo.ledger.records import Remaining as Remaining
from hullabaloo.ledger.records import Stream as Stream
from hullabaloo.ledger.records import Upgrade as Upgrade
from hullabaloo.ledger.records import Verification as Verification
from hullabaloo.ledger.records import Versions as Versions
