"""Durable privacy budgets in a database: who may still spend what, and who spent it on what.

The database library is imported by the first call that needs it, not by this package.
"""

# fmt: off
# isort: off
from hullabaloo.ledger.ledger import Ledger
from hullabaloo.ledger.records import (
    Charge, Dataset, Finding, PricedQuery, Remaining, Stream, Upgrade, Verification, Versions,
)

__all__ = [
    "Charge", "Dataset", "Finding", "Ledger", "PricedQuery", "Remaining", "Stream", "Upgrade", "Verification",
    "Versions",
]
# fmt: on
