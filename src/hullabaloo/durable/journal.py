"""`Journal`: what a stream does before it shows anything: save, then confirm the save in the ledger."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Self
from uuid import uuid4

from hullabaloo._version import __version__
from hullabaloo.durable.sealed import SETTINGS, SOLVERS, Snapshot, State
from hullabaloo.durable.state import StateFile
from hullabaloo.errors import HullabalooError, LedgerUnreachable, StateError
from hullabaloo.ledger import Charge, Ledger, Stream

PLANNED = frozenset({SETTINGS, SOLVERS, "plans", "mu", "samples"})
"""Facts, and fields of an event, that a version works out from settings, or that sum them up."""
HELD = (
    "settings of the same names differ in what they hold, such as the slopes of a custom loss or the vertices of a set"
)


class Journal:
    """The saves of one stream: `begin` once, `commit` before every showing, `close` at the end.

    **Guarantee** (with a state file and a ledger). Precondition: nothing that depends on noise drawn since the last `commit` is shown
    before the next one returns; a snapshot holds all noise drawn so far; the ledger keeps what it has acknowledged (it is not put back
    to an older backup). Claim: under kills at any instant, copies of the file taken at any instant and any number of processes, (1) the
    stream is charged once; (2) everything that is ever shown is a function of *one* sequence of noises: no step is shown with two.
    Proof. (1) The file is written with a fresh stream name before the charge; the ledger makes one charge per name and gives it again
    when asked again. (2) Call a save confirmed once the ledger has accepted its token. The ledger accepts token τ' after τ only if the
    save τ' says that it continues τ, and accepts one such τ' (`Ledger.advance`). So the confirmed saves σ₀, σ₁, … are one chain, in
    which each continues the one before it in memory and therefore holds all its noise. `commit` returns after the confirmation, so
    what is shown after it is a function of the noise in some σᵢ, hence of the noise of the chain. A continuation of σᵢ that is not
    σᵢ₊₁ (from a copy, in a second process, drawn again after a kill) is refused by the ledger before it is shown. `begin` goes on only
    from the last confirmed save, or from one that continues it, which it confirms first: killed between save and confirmation, nothing
    of that save had been shown, and it becomes σᵢ₊₁ or never; killed after the confirmation, the same noise is read back and the same
    release follows. A save whose confirmation failed is confirmed before another is written, so that no unconfirmed save is continued.

    Without a ledger, (2) holds for one file on one machine: its lock keeps a second process away, and nobody notices a copy. Without a
    file nothing outlives the process; the charge stands.
    """

    def __init__(
        self, file: StateFile | None, state: State | None, ledger: Ledger | None, charge: Charge | None
    ) -> None:
        self._file = file
        self._state = state
        self._ledger = ledger
        self.charge = charge  # which pays for the whole stream; None without a ledger
        self._confirmed: str | None = None

    @classmethod
    def begin(
        cls,
        *,
        state: str | os.PathLike[str] | None,
        key_file: str | os.PathLike[str] | None,
        fingerprint: str,
        public: Mapping[str, Any],
        ledger: Ledger | None,
        dataset: str | None,
        charge: Callable[[str], Charge],
    ) -> tuple[Self, Snapshot | None]:
        """Begin a stream, or go on from its last save; the snapshot is None when there is none yet.

        Parameters:
            state, key_file: of the state file; None keeps nothing.
            fingerprint, public: of the public configuration, and the JSON-ready facts that say what differs from another one.
            ledger, dataset: where the stream is charged; None charges nothing (`charge` is not called).
            charge: makes the charge under a stream name through `Ledger.open_stream`.

        Raises:
            StateError: the file is in use, damaged, foreign, outdated, or cannot be used.
            LedgerError: the ledger refuses or cannot be reached.
        """
        if state is None:
            return cls(None, None, ledger, None if ledger is None else charge(_fresh())), None
        file = StateFile(state, key_file)
        try:
            found, fresh = found_or_begun(file, fingerprint, public, None if ledger is None else dataset)
            paid = None
            if ledger is not None:
                paid, _ = pay(file, found, ledger, charge, fresh=fresh, known=found.charge is not None)
                if found.charge is None:
                    found = replace(found, charge=paid.number)
                    file.write(found)
            journal = cls(file, found, ledger, paid)
            journal._confirm()
        except BaseException:
            file.close()
            raise
        return journal, found.snapshot

    @property
    def source(self) -> Mapping[str, Any] | None:
        """Where the source stood at the last save; None where nobody said."""
        return None if self._state is None else self._state.source

    def commit(self, snapshot: Callable[[], Snapshot], position: int, source: Mapping[str, Any] | None = None) -> None:
        """Save, and confirm the save in the ledger. Only when this returns may what the snapshot holds be shown.

        `source` says where the source stands; None keeps what was said before.

        Without a state file nothing is done and `snapshot` is not called. When it raises, nothing may be shown, and the same snapshot
        (or a later one) can be committed again.

        Raises:
            StateError: the file could not be written, or was closed or replaced.
            StreamMoved: another process went on from the same state; this one cannot.
            LedgerError: the ledger cannot be reached or does not know the stream.
        """
        if self._file is None or self._state is None:
            return
        self._confirm()
        last, made = self._state, snapshot()
        source = source or last.source
        after = replace(last, snapshot=made, position=position, token=_fresh(), previous=last.token, source=source)
        self._file.write(after)
        self._state = after
        self._confirm()

    def close(self) -> None:
        """Unlock the state file; further commits are refused. Saves nothing."""
        if self._file is not None:
            self._file.close()

    def _confirm(self) -> None:
        """Have the ledger accept the last save; it agrees when it has done so already."""
        last = self._state
        if last is not None and last.token != self._confirmed:
            confirm(last, self._ledger)
            self._confirmed = last.token


def _fresh() -> str:
    return uuid4().hex


def confirm(save: State, ledger: Ledger | None) -> None:
    """Have the ledger, if there is one, accept a save."""
    if ledger is not None and save.dataset is not None:
        ledger.advance(save.dataset, save.stream, position=save.position, token=save.token, previous=save.previous)


def last_save(path: str | os.PathLike[str] | None, key_file: str | os.PathLike[str] | None) -> State | None:
    """What a stream's state file holds, for a plan that goes on as it was begun; None where there is none. Whether it may be gone on from, `Journal.begin` says."""
    if path is None:
        return None
    with closing(StateFile(path, key_file)) as file:
        return file.open()


def found_or_begun(
    file: StateFile, fingerprint: str, public: Mapping[str, Any], dataset: str | None, snapshot: Snapshot | None = None
) -> tuple[State, bool]:
    """The last save, of this very stream or search; or, and then it is True, the first one of a new one, under a fresh name."""
    if (found := file.open()) is not None:
        require_own(file, found, fingerprint, public, dataset)
        return found, False
    name = _fresh()
    made = State(fingerprint, public, name, 0, name, name, dataset, snapshot=snapshot)
    file.write(made)
    return made, True


def pay(
    file: StateFile, found: State, ledger: Ledger, charge: Callable[[str], Charge], *, fresh: bool, known: bool
) -> tuple[Charge, Stream]:
    """The one charge of a stream or search, made now or before, and where the ledger stands; the file must be the newest save that the ledger knows, or continue it.

    `known`: it was charged before, so that a ledger that does not know it must not charge it again.
    """
    dataset = found.dataset or ""
    if known:
        ledger.stream(dataset, found.stream)
    try:
        made = charge(found.stream)
    except LedgerUnreachable:
        raise  # the charge may have been made: the stream keeps its name
    except HullabalooError:
        if fresh:
            file.remove()
        raise
    row = ledger.stream(dataset, found.stream)
    if (row.token, row.position) != (found.token, found.position) and row.token != found.previous:
        raise StateError(outdated(file, found, row, ledger))
    return made, row


def outdated(file: StateFile, found: State, row: Stream, ledger: Ledger) -> str:
    """The sentence for a file that the ledger does not know as the newest one."""
    if found.position < row.position:
        what = "it is an outdated copy"
    elif found.position == row.position:
        what = "another process went on from the same state, or this is a copy from before the last save"
    else:
        what = "it does not continue the save that the ledger knows, so another process went on, or the ledger was put back to an older backup"
    return (
        f"The state file {file.path} stands at position {found.position} of {file.kind} {found.stream}, and the ledger {ledger.address} at "
        f"position {row.position}, at another save: {what}. Going on from it would release records a second time with other noise, which "
        f"nobody has paid for. Nothing was read or released. Use the newest state file; where it is lost, the {file.kind} has ended."
    )


def require_own(
    file: StateFile, found: State, fingerprint: str, public: Mapping[str, Any], dataset: str | None
) -> None:
    """Refuse the state of another stream or search, saying what differs."""
    if (found.fingerprint, found.dataset, found.public.get("format")) == (fingerprint, dataset, public.get("format")):
        return
    both = {**public, "ledger's dataset": dataset}, {**found.public, "ledger's dataset": found.dataset}
    # Of an event its fields, some of which are the user's.
    here, there = ({**one, **one.get("event", {}), "event": None} for one in json.loads(json.dumps(both)))
    differ = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    named = [f"{one} is {there.get(one)!r} there and {here.get(one)!r} here" for one in differ if one not in PLANNED]
    what, known = "; ".join(named), SETTINGS in there
    other = found.library != __version__ or (SETTINGS not in differ if known else bool(differ))
    if "format" in differ or (other and not what):
        raise StateError(
            f"The state file {file.path} was begun with hullabaloo {found.library}, of a version that under these settings asks other questions, with other noise, or keeps other things (such as every run of a search) than "
            f"this one{'' if known else f' (or {HELD})'}. What it has paid for are its own. Nothing was read or charged. End it under the version that began "
            f"it, or name a file that does not exist: that is a new {file.kind}, and another charge."
        )
    raise StateError(
        f"The state file {file.path} belongs to another {file.kind}: {what or HELD}. What it holds and its "
        "guarantee are those of the settings with which it was begun. Nothing was read or charged. Use those, or name a file that does "
        f"not exist to begin a new {file.kind}."
    )
