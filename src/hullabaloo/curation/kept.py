"""`Kept`: what is left of a search on disk and in a ledger: its beginning and its end, and nothing of what is in between."""

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self
from uuid import uuid4

from hullabaloo.curation.searching import SearchPlan
from hullabaloo.durable.journal import confirm, found_or_begun, pay
from hullabaloo.durable.sealed import UNLIKE, Snapshot, State, damaged
from hullabaloo.durable.state import StateFile
from hullabaloo.errors import bare
from hullabaloo.ledger import Charge
from hullabaloo.noise import Key, ReleaseKey
from hullabaloo.release import Release


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The end of a search: number, score (larger is better) and release of the best run."""

    number: int
    score: float
    release: Release


@dataclass(eq=False, repr=False)
class Kept:
    """The key of a search, its charge and its end; with a state file, a ledger, both or neither. `begin` once, `end` once, `close`.

    **Guarantee.** Precondition: as of `Journal`, the ledger keeps what it has acknowledged. Claims. (1) A search is charged once. (2) The state
    file is written twice and the ledger twice, each time in one transaction and with bytes whose number is public: at the beginning the secret
    of all draws and the charge; at the end the release or the failure, in `SearchPlan.room` bytes, and its confirmation. So neither the number of
    runs nor anything else that is drawn shows in a size, a count of writes or of transactions, a row or a time that is kept. (3) With a file and a
    ledger, of all that is ever carried out under one charge, from copies, in other processes, on other tables, one end is shown.
    Proof. (1) The file is written under a fresh name before the charge; the ledger makes one charge a name. (2) `begin` and `end` are all that writes, and
    neither knows the number of runs; the row's time is that of the charge (`Ledger.advance` at the same position). (3) An end is shown
    after the ledger has accepted its token in place of the beginning's, which it does for one token (`Ledger.advance`); from then on a file
    that holds the beginning, or another end, is refused.

    The end does not hold the secret: from it nobody can tell the number of runs, or who was held out.
    """

    _plan: SearchPlan
    key: Key
    _file: StateFile | None
    _state: State | None
    charge: Charge | None
    ended: bool = False
    best: Best | None = None

    @classmethod
    def begin(cls, plan: SearchPlan, path: Any, key_file: str | os.PathLike[str] | None) -> Self:
        """Charge a search, or find it where it stands.

        Raises:
            StateError: the file is in use, damaged, foreign, outdated, of an older version, or cannot be used.
            LedgerError: the ledger refuses or cannot be reached.
        """
        terms = plan.terms
        drawn = ReleaseKey.fresh()
        if path is None:
            charge = terms.charge(plan.event, terms.budget, plan.detail)
            return cls(plan, terms.key or drawn, None, None, charge)
        file = StateFile(path, key_file, "search")
        try:
            dataset = None if terms.ledger is None else terms.dataset
            found, fresh = found_or_begun(file, plan.fingerprint, plan.public, dataset, _snapshot(drawn))
            secret, end = _held(file, found, plan)
            charge = None if terms.ledger is None else _paid(file, found, plan, fresh=fresh, ended=end[0])
            return cls(plan, terms.key or secret, file, found, charge, *end)
        except BaseException:
            file.close()
            raise

    def end(self, best: Best | None) -> None:
        """Keep the end, None that of a run that failed, and confirm it in the ledger. Only when this returns may it be shown.

        Raises:
            StateError: the file could not be written, or was replaced.
            StreamMoved: this search has ended elsewhere.
            LedgerError: the ledger cannot be reached or does not know the search.
        """
        if self._file is None or self._state is None:
            return
        end, last = _snapshot(None, best), self._state.token
        state = replace(self._state, snapshot=end, token=uuid4().hex, previous=last, room=self._plan.room)
        self._file.write(state)
        confirm(state, self._plan.terms.ledger)

    def close(self) -> None:
        """Unlock the state file."""
        if self._file is not None:
            self._file.close()


_NO_SECRET = "0" * 64


def _snapshot(secret: ReleaseKey | None, best: Best | None = None) -> Snapshot:
    """A beginning, which has a secret, or an end; without a best run, that of a run that failed."""
    kept = None if best is None else [best.number, best.score, best.release.to_dict()]
    sealed = _NO_SECRET if secret is None else secret.sealed().hex()
    return Snapshot({"secret": sealed, "ended": secret is None, "best": kept})


def _held(file: StateFile, found: State, plan: SearchPlan) -> tuple[Key, tuple[bool, Best | None]]:
    """The secret, whether the search has ended, and its end, of a file that holds these of a search like this."""
    try:
        numbers = found.snapshot.numbers  # type: ignore[union-attr]  # written with one
        secret, ended, best = ReleaseKey.reopened(bytes.fromhex(numbers["secret"])), numbers["ended"], numbers["best"]
        if ended is not (numbers["secret"] == _NO_SECRET):
            raise ValueError("an end of no search")
        if best is None:
            return secret, (ended, None)
        number, score, release = best
        width = dict(enumerate(plan.candidates))[number].encoding.facts.width
        return secret, (ended, Best(int(number), float(score), Release.from_dict(release).of_width(width)))
    except UNLIKE:
        bare(damaged(file.path, "its content is of no search like this"))


def _paid(file: StateFile, found: State, plan: SearchPlan, *, fresh: bool, ended: bool) -> Charge:
    """The search's one charge, made now or before; the ledger must stand at this save, or at the one before it."""
    terms = plan.terms
    assert terms.ledger is not None
    charge = partial(terms.open_stream, event=plan.event, detail=plan.detail)
    made, row = pay(file, found, terms.ledger, charge, fresh=fresh, known=ended)
    if row.token != found.token:
        confirm(found, terms.ledger)
    return made
