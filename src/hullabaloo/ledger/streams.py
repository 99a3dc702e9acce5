"""Streams in the ledger: one charge each, and the last save that was confirmed. Work inside a transaction, as in store.py."""

import json
from re import fullmatch

from sqlalchemy import RowMapping, case, insert, select, update

from hullabaloo.errors import InvalidParameter, LedgerError, StreamMoved, UnknownStream
from hullabaloo.ledger import names, rows, schema, store
from hullabaloo.ledger.records import Charge, Request, Stream

_at = schema.streams.c


def begin(session: store.Session, request: Request, stream: str) -> Charge:
    """Charge and write the stream's row; the charge that was made where the row is there already."""
    names.require_line("stream", stream)
    store.require_recordable(request)
    database, dataset = session.dataset_row(request.dataset, lock=True)
    row = _row(session, dataset["name"], stream)
    if row is not None:
        store.require_same_terms(session.read_dataset(dataset["name"]), request)
        return _same(session, request, store.trusted(session.address, rows.to_stream, row), database)
    stream = names.recordable("stream", stream)
    if not fullmatch("[0-9a-f]{32}", stream):  # those that the library draws are like no other
        others = select(_at.stream).where(_at.dataset == dataset["name"])
        session.require_no_look_alike("Stream", stream, session.connection.scalars(others))
    made = session.charge(request)
    session.connection.execute(
        insert(schema.streams).values(
            dataset=made.dataset,
            stream=stream,
            charge=made.number,
            position=0,
            token=stream,
            opened_at=made.charged_at,
            advanced_at=made.charged_at,
        )
    )
    return made


def advance(session: store.Session, dataset: str, stream: str, position: int, token: str, previous: str) -> Stream:
    """Compare and set, from the save named `previous` to the one named `token`; the caller commits."""
    names.require_line("token", token)
    session.require_name("save", previous)
    name = session.read_dataset(dataset).name
    if type(position) is not int or not 0 <= position < 2**63:
        raise InvalidParameter(f"A stream's position counts records, and {position!r} was given. Pass a whole number.")
    row = _row(session, name, session.require_name("stream", stream))
    if row is None:
        return read(session, name, stream)  # which says what is missing
    mine = (_at.dataset == name) & (_at.stream == row["stream"])
    # How long a search took is not kept.
    moved = case((_at.position < position, schema.now()), else_=_at.advanced_at)
    if names.storable(previous):
        session.connection.execute(
            update(schema.streams)
            .where(mine & (_at.token == previous) & (_at.position <= position))
            .values(position=position, token=token, advanced_at=moved)
        )
    (saved,) = session.all(select(schema.streams).where(mine))
    now = store.trusted(session.address, rows.to_stream, saved)
    if (now.token, now.position) != (token, position):
        raise StreamMoved(
            f"Stream {stream} of dataset {dataset!r} was to go on to position {position}, but the ledger "
            f"{session.address.shown} says that it stands at position {now.position} after another save: this state is an outdated copy, or "
            "another process went on from the same state. Going on would release old records a second time, which nobody has "
            "paid for, so nothing is released. Go on from the newest state file, in one process."
        )
    return now


def read(session: store.Session, dataset: str, stream: str) -> Stream:
    """Where a stream stands."""
    row = _row(session, session.read_dataset(dataset).name, session.require_name("stream", stream))
    if row is None:
        raise UnknownStream(
            f"The ledger {session.address.shown} has no stream {stream!r} on dataset {dataset!r}: the stream was charged in another "
            "ledger, or this one was restored from a backup that is older than the stream. Nothing was read. Use the ledger in which the stream was charged."
        )
    return store.trusted(session.address, rows.to_stream, row)


def read_all(session: store.Session, dataset: str) -> tuple[Stream, ...]:
    """Every stream of a dataset."""
    dataset = session.read_dataset(dataset).name
    query = select(schema.streams).where(_at.dataset == dataset).order_by(_at.charge, _at.stream)
    return tuple(store.trusted(session.address, rows.to_stream, row) for row in session.all(query))


def _row(session: store.Session, dataset: str, stream: str) -> RowMapping | None:
    """A stream's row by its name as given, or as names are spelled."""
    row = None
    for spelling in filter(names.storable, dict.fromkeys((stream, names.spelled(stream)))):
        query = select(schema.streams).where((_at.dataset == dataset) & (_at.stream == spelling))
        row = row or session.first(query)
    return row


def _same(session: store.Session, request: Request, known: Stream, database: str) -> Charge:
    mine = (schema.charges.c.dataset == known.dataset) & (schema.charges.c.number == known.charge)
    row = session.first(select(schema.charges).where(mine))
    made = None if row is None else store.trusted(session.address, lambda one: rows.to_charge(one, database), row)
    if made is None or made.event != json.loads(rows.dump(request.event.to_dict())) or made.budget != request.budget:
        raise LedgerError(
            f"Stream {known.stream!r} of dataset {request.dataset!r} was opened before, and its charge (number {known.charge}) is "
            f"{'not there' if made is None else 'for other releases or another budget'}: one charge pays for one stream. Nothing "
            "was read or charged. Open a stream under a name of its own."
        )
    return made
