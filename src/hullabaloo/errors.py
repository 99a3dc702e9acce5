"""Everything that Hullabaloo raises on purpose: one small tree, every message a full sentence.

An error says what was asked, what was found, why it matters and what to do. No message ever holds a value of a
record or anything computed from records: what is raised after the data has been read must not depend on it.
"""


class HullabalooError(Exception):
    """Base of every error raised on purpose by this library."""


class InvalidParameter(HullabalooError, ValueError):
    """A public argument is outside its domain."""


class DomainError(InvalidParameter):
    """A declared domain is incomplete or contradicts itself."""


class SchemaError(InvalidParameter):
    """A table's declared schema (column names, declared types, shape) does not match the domain."""


class BudgetError(InvalidParameter):
    """A privacy budget is malformed, or cannot pay for what is asked."""


class CalibrationError(InvalidParameter):
    """No noise level can be certified for what is asked."""


class CapabilityError(HullabalooError, TypeError):
    """A solver was asked to work with a set, penalty or loss that lacks what it needs."""


class NotPaidFor(HullabalooError, RuntimeError):
    """The curator was asked for an answer that the plan did not pay for."""


class NotReleased(HullabalooError, RuntimeError):
    """Something was asked of a release that this release does not contain."""


class LedgerError(HullabalooError, RuntimeError):
    """Base of what a ledger refuses; nothing was read when it is raised."""


class LedgerUnreachable(LedgerError):
    """The ledger's database cannot be opened, read or written."""


class UnknownDataset(LedgerError):
    """The ledger holds no dataset of that name."""


class RelationRefused(LedgerError):
    """A charge was made under another neighbouring relation or unit than the dataset's."""


class EventRefused(LedgerError):
    """The dataset's filter cannot price this event."""


class BudgetExhausted(LedgerError):
    """The charge does not fit into what remains of the dataset's budget."""


class UnknownStream(LedgerError):
    """The ledger's dataset holds no stream of that name."""


class StreamMoved(LedgerError):
    """The stream went on from another save than the one at hand: an outdated copy, or a second process."""


class TestKeyRefused(LedgerError):
    """A release under a test key is not private and cannot be recorded as if it were."""

    __test__ = False


class StateError(HullabalooError, RuntimeError):
    """A stream's state file cannot be used: in use, damaged, foreign, outdated, readable by others, or not written."""


class NotPrivateWarning(UserWarning):
    """A number was computed from records without noise: it is the caller's to look at, and not to be released."""
