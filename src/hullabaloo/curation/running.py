"""A search that has been charged: every run is a fit on one part of the records and a score on the other, and the best is the end."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hullabaloo.curation.kept import Best, Kept
from hullabaloo.curation.loaded import load_all
from hullabaloo.curation.parts import held_out, part
from hullabaloo.curation.scoring import SearchRandomness, answer, score_of
from hullabaloo.curation.searching import SearchPlan
from hullabaloo.data import Rows
from hullabaloo.data.table import sealed
from hullabaloo.errors import StateError
from hullabaloo.release.planned import quiet

Parts = dict[Any, tuple[Rows, Rows]]

ENDED = "The search has ended with this: that a run failed is what its charge has paid for, so that it gives no release, and is not gone on with from its state file."
FAILED = (
    "This search has ended without a release: a run of it failed. That it failed is what its charge has paid for; run again it would show "
    "more than was paid for. Nothing was read. It is a fault of this library, as nothing else is asked in a run: please report it. To search again, name a "
    "new state file: that is another charge."
)


@sealed
def search(plan: SearchPlan, source: Any, target: Any, weight: Any, kept: Kept) -> Best:
    """Carry a search out from its secret to its end, or give the end that it has come to.

    **Guarantee.** Claim: what leaves (an error and its words included) is at most the best of K runs, however often the search is killed and carried out again,
    and if the table is changed in between. Proof. Between the charge and the end nothing is written and nobody is asked: code that is not the library's
    own was refused (`candidates.own_code`), records are read before the first draw, in every way that some candidate reads them, code that is compiled and
    kept is so for every candidate (`load_all`), and what a run computes reaches no warning and no handler (`_quiet`). So one that is killed has shown nothing but that it was killed, when; when a machine fails
    is no function of what it draws, beyond the time that has passed. Carried out again it is the search of the records that it then reads, its
    draws fresh or those of before (`SearchRandomness`), in either case with the law of one search of these records. Its end is kept before it is shown, and
    an end is never followed by another (`Kept`). A run that raises ends the search as the best of its runs would: that is the best of K runs when
    a failure counts as the best score, with its words as that run's release; of several the first.

    Raises:
        StateError: the search has ended in a failure before.
    """
    if kept.ended:
        if kept.best is None:
            raise StateError(FAILED)
        return kept.best
    parts, lots = _read(plan, source, target, weight, SearchRandomness(kept.key))
    with _quiet():
        load_all(plan, {reads: train for reads, (train, _) in parts.items()})
    try:
        with _quiet():
            best = _best(plan, parts, lots)
    except MemoryError:
        raise
    except Exception as error:
        kept.end(None)
        error.add_note(ENDED)
        raise
    kept.end(best)
    return best


def _read(
    plan: SearchPlan, source: Any, target: Any, weight: Any, lots: SearchRandomness
) -> tuple[Parts, SearchRandomness]:
    """The two parts of the records, for each way in which a candidate reads them; nothing is drawn before all of it is read."""
    encodings = {one.reads: one.encoding for one in plan.candidates}
    rows = {reads: encoding.encode(source, target, weight=weight) for reads, encoding in encodings.items()}
    lots = lots.about(rows.values())
    held = held_out(plan.terms, source, plan.holdout, lots.secret())
    return {reads: (part(one, ~held), part(one, held)) for reads, one in rows.items()}, lots.about((), held)


def _best(plan: SearchPlan, parts: Parts, lots: SearchRandomness) -> Best:
    count, alone = len(plan.candidates), math.isinf(plan.mu)
    runs = count if alone else lots.runs(plan.repeats)
    best: Best | None = None
    for run in range(runs):
        number = run if alone else lots.candidate(count, run)
        one = plan.candidates[number]
        train, rest = parts[one.reads]
        release = answer(one.fit, train, lots.noise("fit", run))
        score = score_of(one.read, one.query, release.theta, rest, lots.noise("score", run))
        if math.isnan(score):  # the order of outputs is total, whatever a metric makes of its noise
            score = -math.inf
        if best is None or score > best.score:  # of equal ones the first: as good as one at random, runs being alike
            untold = replace(release.statement, made="")  # when this run was tells how many there were
            best = Best(number, score, replace(release, statement=untold))
    assert best is not None
    return best


@contextmanager
def _quiet() -> Iterator[None]:
    """Around what is computed from numbers that are not released: it warns nobody and calls nobody's handler of floating-point errors."""
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        yield
