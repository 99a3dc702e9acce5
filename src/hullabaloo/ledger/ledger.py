"""`Ledger`: durable privacy budgets, by database URL."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from hullabaloo.ledger.records import Charge, Dataset, PricedQuery, Remaining, Request, Stream, Upgrade, Verification
from hullabaloo.privacy import Budget, Event, Neighbours

if TYPE_CHECKING:
    from hullabaloo.ledger.address import Address
    from hullabaloo.ledger.store import Session

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class Ledger:
    """Privacy budgets of datasets and the charges against them, kept in a database.

    The object holds a URL and nothing else: copies, clones, pickles, forked and remote workers all spend from the same
    budget. (A pickle holds the URL's password, if it has one; keep it in `~/.pgpass` or PGPASSWORD instead.)

    Parameters:
        url: `sqlite:///privacy.db` (a file; relative to the folder in which the object is made) or
            `postgresql://user@host/database` (needs `pip install "hullabaloo[postgres]"`).

    Raises:
        InvalidParameter: no database URL, SQLite in memory, or another kind of database.

    **Guarantee.** Precondition: everybody who releases something about the dataset charges this ledger first, and the
    database keeps what it has acknowledged. Claim: the charges of a dataset never exceed its budget in its filter, for
    any number of processes, any order and any adaptive choice of releases; when `charge` returns, the charge survives a
    kill or a power failure. Proof: a charge reads what was spent and writes its row in one transaction that excludes
    every other charge on the dataset (SQLite: `BEGIN IMMEDIATE`; PostgreSQL: `SELECT … FOR UPDATE`), is refused unless
    the filter admits it on top, and returns after the commit; the filter's theorem does the rest (`privacy/filters.py`).
    A release follows its charge, so a process killed at any instant leaves at worst a charge without a release.
    A charge reads no more rows however many there are: the exact sums of costs are carried from row to row (`ledger/pricing.py`).
    What it is not: a lock on the data. Whoever may write to the database can change it; `verify` tells what it finds, and with the
    models that were charged here, whether rows were put back or rewritten.

    **Add-or-remove.** Rows are public: under add-or-remove neighbours `what` and `detail` must not depend on the number
    of records. The ledger cannot check that; the caller must.

    Example:
        >>> import tempfile
        >>> from hullabaloo.ledger import Ledger
        >>> from hullabaloo.privacy import Budget
        >>> ledger = Ledger(f"sqlite:///{tempfile.mkdtemp()}/privacy.db")
        >>> terms = ledger.create("clinic-2026", Budget(1.0, 1e-6), neighbours="replace-one")
        >>> terms.filter, terms.charges
        ('basic', 0)
    """

    url: str

    def __post_init__(self) -> None:
        """Check the URL and make a relative path absolute, so that a later change of folder does not change the ledger."""
        object.__setattr__(self, "url", self._address.url.render_as_string(hide_password=False))

    def __repr__(self) -> str:
        return f"Ledger({self.address!r})"

    @property
    def address(self) -> str:
        """The URL without its password, for messages, cards and saved models."""
        return self._address.shown

    def create(
        self,
        dataset: str,
        budget: Budget,
        *,
        neighbours: Neighbours | str = "replace-one",
        unit: str = "record",
        records_per_unit: int = 1,
        filter: str = "basic",
        who: str | None = None,
    ) -> Dataset:
        """Open a dataset's budget; relation, unit and filter are fixed for ever. Makes the database's tables when missing.

        The defaults are those of the estimators and of the command line; a fit under other terms is refused.

        Raises:
            InvalidParameter: a malformed name, unit or filter, or a budget that is no `Budget`.
            BudgetError: the budget is infinite, or the filter cannot hold it.
            LedgerError: the dataset exists (even with the same terms: whoever asks again may believe it is fresh).
            LedgerUnreachable: the database cannot be opened or written.
        """
        from hullabaloo.ledger import store

        terms = store.new_terms(dataset, budget, Neighbours.parse(neighbours), unit, records_per_unit, filter, who)
        return self._run(lambda session: session.create(terms), write=True, may_create=True)

    def charge(
        self,
        dataset: str,
        event: Event,
        *,
        budget: Budget,
        neighbours: Neighbours | str,
        unit: str = "record",
        records_per_unit: int = 1,
        what: str,
        who: str | None = None,
        detail: Mapping[str, Any] | None = None,
        test_key: bool = False,
    ) -> Charge:
        """Record a release that is about to be made, or refuse it. Durable when it returns; call it before reading data.

        Parameters:
            dataset: the name given to `create`.
            event: exactly what will be released.
            budget: what the release declares it costs; the basic filter adds these up, every filter checks that it admits
                the event.
            neighbours, unit, records_per_unit: what the event's noise was calibrated for; must be the dataset's.
            what: a line for people, e.g. "Lasso, solver moments".
            who: defaults to the operating system's name of the user.
            detail: JSON values for people (public facts only).
            test_key: True when the noise comes from a test key, which is refused.

        Raises:
            UnknownDataset, RelationRefused, EventRefused, BudgetExhausted, TestKeyRefused: as their names say.
            LedgerUnreachable: the database cannot be opened or written; the charge must be taken as not made.
        """

        relation = Neighbours.parse(neighbours)
        request = Request(dataset, event, budget, relation, what, unit, records_per_unit, who, detail, test_key)
        return self._run(lambda session: session.charge(request), write=True)

    def check(self, dataset: str, event: Event, *, neighbours: Neighbours | str, **terms: Any) -> PricedQuery:
        """Price a charge without making it; parameters are those of `charge`, and it raises what `charge` would raise now."""
        request = Request(dataset, event, neighbours=Neighbours.parse(neighbours), **{"what": "a dry run", **terms})
        return self._run(lambda session: session.check(request))

    def open_stream(
        self, dataset: str, stream: str, event: Event, *, neighbours: Neighbours | str, **terms: Any
    ) -> Charge:
        """Charge all releases of a stream up to its horizon, once, and note where it stands: position 0, token `stream`.

        Asked again for the same stream name and event, it gives the charge that was made: a beginning that was killed is
        finished, not paid for twice. Parameters and errors are those of `charge`; LedgerError when the name is taken by
        a stream that was charged for something else.
        """
        from hullabaloo.ledger import streams

        request = Request(dataset, event, neighbours=Neighbours.parse(neighbours), **terms)
        return self._run(lambda session: streams.begin(session, request, stream), write=True)

    def advance(self, dataset: str, stream: str, *, position: int, token: str, previous: str) -> Stream:
        """Note that a stream's state is saved up to `position` under the name `token`, if its last save was `previous`.

        The row's time is that of the last save at a further position: a search, which stays at 0, leaves no time but that of its charge.

        **Guarantee.** Claim: of any number of processes that hold the same `previous`, at most one token is ever accepted;
        asked again for an accepted one, it agrees. Proof: the row is compared and set in one statement under the
        database's write lock (SQLite) or row lock (PostgreSQL, which compares again after waiting), and no accepted token
        is ever `previous` twice, since tokens are fresh.

        Raises:
            StreamMoved: the last save is another one: this state is an outdated copy, or another process went on from it.
            UnknownStream, UnknownDataset: there is no such stream.
            LedgerUnreachable: the position must be taken as unconfirmed: release nothing, and ask again.
        """
        from hullabaloo.ledger import streams

        return self._run(
            lambda session: streams.advance(session, dataset, stream, position, token, previous), write=True
        )

    def stream(self, dataset: str, stream: str) -> Stream:
        """Where a stream stands; raises UnknownStream."""
        from hullabaloo.ledger import streams

        return self._run(lambda session: streams.read(session, dataset, stream))

    def streams(self, dataset: str) -> tuple[Stream, ...]:
        """Every stream of a dataset, in the order of their charges."""
        from hullabaloo.ledger import streams

        return self._run(lambda session: streams.read_all(session, dataset))

    def remaining(self, dataset: str) -> Remaining:
        """What is left of a dataset's budget."""
        return self._run(lambda session: session.remaining(dataset))

    def charges(self, dataset: str) -> tuple[Charge, ...]:
        """Every charge on a dataset, oldest first."""
        from hullabaloo.ledger import store

        return store.read_charges(self._run, self._address, dataset)

    def dataset(self, name: str) -> Dataset:
        """A dataset's terms; raises UnknownDataset."""
        return self._run(lambda session: session.read_dataset(name))

    def datasets(self) -> tuple[Dataset, ...]:
        """Every dataset's terms, by name."""
        return self._run(lambda session: session.read_datasets())

    def upgrade(self) -> Upgrade:
        """Bring an older ledger's tables to this library's schema version, in one transaction. Make a backup first."""
        return self._run(lambda session: session.upgrade(), write=True)

    def verify(self, models: Iterable[object] | Mapping[str, object] = ()) -> Verification:
        """Price every row again with today's accountant, follow the chain of rows, and name releases under advisories.

        Reads only, a page of rows at a time, so that a charge waits for one page at most. Cells that cannot be understood are
        findings, not errors, and are not repeated.

        Parameters:
            models: what was charged here: fitted estimators, streams, searches, their saved models, evaluations or bounds, or
                privacy statements; by name, or numbered in their order.

        **Guarantee.** Precondition: SHA-256 is collision resistant. Claim: when no fault is found, every model given was charged to
        the row that it names, and that row and all before it are as they were when the model was charged. Proof: a statement holds
        the head of its row, which is the hash of the row and of the head before (`ledger/chain.py`); equal heads are of equal rows.
        Without models, whoever may write to the database can put back a backup or write every row anew, and nothing shows it.

        Raises:
            InvalidParameter: one of the models has no privacy statement.
        """
        from hullabaloo.ledger import claims, verify

        return verify.verify(self._run, self._address, claims.read(models))

    @property
    def _address(self) -> "Address":
        from hullabaloo.ledger.address import parse

        return parse(self.url)

    def _run(self, work: "Callable[[Session], T]", *, write: bool = False, may_create: bool = False) -> T:
        from hullabaloo.ledger.store import Session
        from hullabaloo.ledger.transact import transact

        at = self._address
        return transact(at, lambda connection: work(Session(connection, at)), write=write, may_create=may_create)
