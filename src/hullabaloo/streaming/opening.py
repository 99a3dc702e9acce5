"""How a stream begins: check, plan, charge, restore, in this order; nothing is read before."""

from dataclasses import replace
from typing import Any

from hullabaloo.curation.intake import StreamBuffer
from hullabaloo.data import Encoding
from hullabaloo.durable.journal import Journal
from hullabaloo.durable.sealed import UNLIKE, damaged
from hullabaloo.errors import HullabalooError, InvalidParameter, bare, is_whole
from hullabaloo.linear_model.shared import check_state
from hullabaloo.privacy import Neighbours
from hullabaloo.release import Release, ReleaseRequest, found, label_of, shown, terms_of, whole
from hullabaloo.structure.structure_files import shape_to_dict

EXISTS = "A fit begins a new stream, and there is a state file at {} already, whose stream it would end. Go on from it with partial_fit, or name another file. Nothing was read or charged."


def check_stream(model: Any) -> None:
    """Refuse a parameter of the wrong type, or two that do not go together, with a sentence that says how to write it.

    Raises:
        InvalidParameter: a parameter has a type or value that it cannot have.
    """
    check_state(model)
    if not isinstance(model.mechanism, str):
        raise InvalidParameter(f"The mechanism must be the name of one, such as 'auto', not {found(model.mechanism)}.")
    horizon = model.horizon
    if horizon is not None and not is_whole(horizon, 1, 2**63 - 1):
        raise InvalidParameter(
            f"The parameter horizon (a number of records) must be a positive whole number below 2^63 or None, but {shown(horizon)} was given."
        )
    if horizon is None and isinstance(model.every, str) and model.every == "auto":
        raise InvalidParameter(
            f"{type(model).__name__} needs a horizon to know when to release models. Pass horizon=100_000, the largest number of records; without an end pass every=… alone."
        )


def opened(stream: Any, encoding: Encoding, *, room_for: int, fresh: bool) -> StreamBuffer:
    """The live half of a stream, new or gone on with.

    Args:
        stream: its parameters were checked.
        encoding: of the records.
        room_for: how many records are about to be taken; more than the horizon are refused before the charge.
        fresh: whether a state that exists is refused.
    """
    process = stream._open(encoding)
    horizon = process.schedule.horizon
    if horizon is not None and room_for > horizon:
        raise InvalidParameter(
            f"A table of {room_for} records was given to a stream with a horizon of {horizon}, for which its noise is calibrated. Nothing was read or charged. Declare a longer horizon, or pass fewer records."
        )
    terms = ReleaseRequest(**terms_of(stream, encoding.domain, stream.neighbours))
    terms.check()
    detail = {"schedule": process.schedule.to_dict(), "columns": list(encoding.facts.columns)}
    journal, snapshot = Journal.begin(
        state=stream.state,
        key_file=stream.key_file,
        fingerprint=process.fingerprint,
        public={**public_facts(stream, encoding), **process.public},
        ledger=terms.ledger,
        dataset=terms.dataset,
        charge=lambda name: terms.open_stream(name, process.event, detail),
    )
    row: dict[str, Any] = {"ledger": None if terms.ledger is None else terms.ledger.address}
    if (paid := journal.charge) is not None:
        row |= {"dataset": paid.dataset, "charge": paid.number, "database": paid.database, "head": paid.head}

    def model(release: Release, position: int) -> Any:
        statement = replace(release.statement, **row)
        return stream._released_model(replace(release, statement=statement), position, encoding)

    try:
        if fresh and snapshot is not None:
            raise InvalidParameter(EXISTS.format(stream.state))
        return StreamBuffer(encoding, process, journal, snapshot, model)
    except BaseException as error:
        journal.close()
        if snapshot is not None and isinstance(error, UNLIKE) and not isinstance(error, HullabalooError):
            bare(damaged(stream.state, "its content is of no stream like this"))
        raise


def public_facts(stream: Any, encoding: Encoding) -> dict[str, Any]:
    """The public configuration, JSON-ready: what a state file says of itself."""
    return {
        "stream": label_of(stream),
        "budget": stream.budget.to_dict(),
        "domain": stream.domain.to_dict(),
        "columns": list(encoding.facts.columns),
        **stream._schedule.to_dict(),
        "constraint": shape_to_dict(stream.constraint, encoding),
        "penalty": shape_to_dict(stream.penalty, encoding),
        "fit_intercept": bool(stream.fit_intercept),
        "neighbours": str(Neighbours.parse(stream.neighbours)),
        "mechanism": stream.mechanism,
        "window": whole(stream.window),
        "half_life": whole(stream.half_life),
        "test_key": stream.test_key is not None,
        **stream._settings(),
    }
