"""A search from its plan to its result: every run is a fit on one part of the records and a score on the other."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from hullabaloo.data import Domain, Encoding, Rows
from hullabaloo.errors import BudgetError, CalibrationError, HullabalooError, InvalidParameter, StateError
from hullabaloo.fit import Prepared, answer, prepare
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.model_selection.hinge import lottery, score_noise, score_of, score_quote
from hullabaloo.model_selection.parts import held_out, part, sizes
from hullabaloo.model_selection.scoring import Yardstick
from hullabaloo.privacy import TAIL_MASS, Event, NotPrivateEvent, Repeats, TunedEvent
from hullabaloo.release import Release
from hullabaloo.streaming.process import Snapshot
from hullabaloo.terms import Terms

FORMAT = 2
"""Version of what a saved search means."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """One candidate, planned: its fit on the training part, and its score on the rest."""

    params: Mapping[str, Any]
    fit: Prepared
    yardstick: Yardstick
    quote: Any

    @property
    def encoding(self) -> Encoding:
        """How it reads records."""
        return self.fit.encoding

    @property
    def error(self) -> float:
        """Expected privacy error of its score."""
        return self.yardstick.error(score_noise(self.quote))


@final
@dataclass(frozen=True, slots=True, eq=False)
class SearchPlan:
    """Everything that is fixed before data is read.

    Attributes:
        terms: budget, relation, ledger.
        contenders: the candidates, every one of them planned.
        repeats: the law of the number of runs.
        mu: what one run may cost; ∞ without privacy.
        holdout: the share of records that are held out.
        records: the public number of records.
        event: what the release costs, however many runs and candidates there are.
    """

    terms: Terms
    contenders: tuple[Contender, ...]
    repeats: Repeats
    mu: float
    holdout: float
    records: int
    event: Event

    @property
    def noise(self) -> tuple[Mapping[str, Any], ...]:
        """Queries of one run of the first candidate, for the plan's readers."""
        return tuple(quote.to_dict() for quote in (*self.contenders[0].fit.plan.quotes, self.contenders[0].quote))

    @property
    def public(self) -> dict[str, Any]:
        """JSON-ready facts by which two searches are told apart."""
        names = [re.sub(r" at 0x[0-9a-f]+", "", repr(dict(one.params))) for one in self.contenders]
        return {
            "format": FORMAT,
            "what": self.terms.what,
            "budget": self.terms.budget.to_dict(),
            "event": self.event.to_dict(),
            "neighbours": str(self.terms.neighbours),
            "domain": self.terms.domain.to_dict(),
            "records": self.records,
            "holdout": self.holdout,
            "test_key": self.terms.key is not None,
            "candidates": names,
            "metric": self.contenders[0].yardstick.name,
            "plans": [[quote.to_dict() for quote in (*one.fit.plan.quotes, one.quote)] for one in self.contenders],
        }

    @property
    def fingerprint(self) -> str:
        """Of the public facts."""
        text = json.dumps(self.public, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def detail(self) -> dict[str, Any]:
        """For a ledger's readers."""
        solvers = sorted({one.fit.plan.solver for one in self.contenders})
        return {"candidates": len(self.contenders), "expected_runs": self.repeats.expected, "solvers": solvers}


ENDED = (
    "The search has ended with this: that a run failed is what its charge has paid for, so that it gives no release, and is not gone on with from "
    "its state file."
)
FAILED = (
    "This search has ended without a release: a run of it failed, in a callable of yours or in a solver. That it failed is what its charge has "
    "paid for; run again it would show more than was paid for. Nothing was read. Correct the callable, and search again with a new state file: "
    "that is another charge."
)
GAUSSIAN = " Every run of a search has a budget in Gaussian differential privacy, however that of the whole is stated: take this candidate out."


def contend(
    models: Sequence[PrivateLinearModel],
    encodings: Sequence[Encoding],
    candidates: Sequence[Mapping[str, Any]],
    terms: Terms,
    metric: str | None,
    holdout: float,
    rows: int | None,
) -> tuple[Contender, ...]:
    """Plan every candidate, so that each refusal comes before the charge; reads and draws nothing.

    Raises:
        HullabalooError: what a candidate's own fit would raise, with the candidate's number before it.
    """
    records = terms.records(rows)
    trained, held = sizes(records, holdout)
    if not (trained and held):
        raise InvalidParameter(
            f"holdout={holdout!r} of {records} record{'s' * (records > 1)} leaves {trained} to train on and {held} to compare by. "
            "Both parts need records: pass more, or another share."
        )
    found = []
    for number, (model, encoding, params) in enumerate(zip(models, encodings, candidates, strict=True), start=1):
        try:
            task = model._task(encoding)
            if not terms.count_is_public:
                task = replace(task, domain=Domain.from_dict({**task.domain.to_dict(), "records": trained}))
            fit = prepare(task, encoding, trained if terms.count_is_public else None)
            yardstick = Yardstick.of(encoding, task.loss, metric)
            mu = fit.allowance.mu
            quote = score_quote(encoding, yardstick, mu=mu, neighbours=terms.neighbours, records=held)
        except HullabalooError as error:
            more = GAUSSIAN if isinstance(error, CalibrationError) else ""
            raise type(error)(f"Candidate {number} of {len(models)}, {dict(params)!r}: {error}{more}") from error
        found.append(Contender(params, fit, yardstick, quote))
    if len({one.yardstick.name for one in found}) > 1:
        raise InvalidParameter(
            f"The candidates are measured by {sorted({one.yardstick.name for one in found})}, which cannot be compared. Name one metric for "
            "all of them: metric='accuracy', for example."
        )
    return tuple(found)


def priced(terms: Terms, contenders: Sequence[Contender], repeats: Repeats, mu: float) -> Event:
    """What the release costs.

    **Guarantee.** Claim: the event bounds the release of the best run. Proof: each contender's fit and score have a Gaussian-DP parameter of
    at most μ (checked here), so a run is μ-GDP (`parts.held_out`), its candidate drawn uniformly included; its draws are counted; `TunedEvent`.

    Raises:
        BudgetError: a plan costs more than it was given; a fault of a solver.
    """
    if math.isinf(mu):
        return NotPrivateEvent()
    draws = 0
    for one in contenders:
        for event in (one.fit.plan.event, one.quote.event):
            cost = event.gdp_mu()
            if cost is None or not cost <= mu:
                raise BudgetError(
                    f"A run with {dict(one.params)!r} has the Gaussian-DP parameter {cost}, and {mu:.6g} is what one run may cost. A search "
                    "prices runs by that parameter; take a solver whose noise is Gaussian or a selection. Nothing was charged or read."
                )
        draws = max(draws, math.ceil((one.fit.plan.event.delta0 + one.quote.event.delta0) / TAIL_MASS))
    event = TunedEvent(mu, repeats.expected, repeats.shape, draws)
    if not terms.allowance().takes(event):
        raise BudgetError(
            f"The search costs more than the budget {terms.budget.describe()} allows. Nothing was charged or read. This is a fault of the "
            "planner; please report it."
        )
    return event


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Progress:
    """Where a search stands; PRIVATE until it has ended, when only the best is left of it.

    Attributes:
        runs: K; 0 once it has ended.
        secret: decides who is held out; empty once it has ended.
        done: runs that have ended.
        best: candidate, score (larger is better) and release of the best of them; None of a search that a failed run has ended.
    """

    runs: int
    secret: bytes
    done: int = 0
    best: tuple[int, float, Release] | None = None

    def __repr__(self) -> str:
        return "Progress(<private>)"

    def snapshot(self) -> Snapshot:
        """Everything needed to go on."""
        best = None if self.best is None else [*self.best[:2], self.best[2].to_dict()]
        return Snapshot(
            {"format": FORMAT, "runs": self.runs, "secret": self.secret.hex(), "done": self.done, "best": best}
        )

    @classmethod
    def restored(cls, snapshot: Snapshot) -> "Progress":
        """Read what `snapshot` gave."""
        saved = snapshot.numbers
        best = saved["best"]
        kept = None if best is None else (int(best[0]), float(best[1]), Release.from_dict(best[2]))
        return cls(int(saved["runs"]), bytes.fromhex(saved["secret"]), int(saved["done"]), kept)


def search(
    plan: SearchPlan,
    source: Any,
    target: Any,
    weight: Any,
    found: Progress | None,
    keep: Callable[[Progress], None],
) -> tuple[int, float, Release]:
    """Run a search that has been charged, from where it stands, to its end: number, score and release of the best.

    `keep` makes a state durable before anything goes on from it: K and the parts before the first run, then every run that has ended.

    **Guarantee.** Claim: what leaves, an error and its words included, is at most the best of K runs, whichever runs are cut short or raise.
    Proof: a run whose end was kept is never run again. One that the machine cuts short (killed, interrupted, out of memory, a state file
    that cannot be written) has shown nothing, and whether a machine fails is no function of its draws: drawn again it has the same law.
    One that raises anything else (a callable of the user's that fails, where is a function of noisy answers) is not drawn again: the search
    has ended. That is the best of K runs when a failure counts as the best score, with its words as that run's release; of several the first.

    Raises:
        StateError: the search has ended in such a failure before.
    """
    if found is not None and not found.runs and found.best is None:
        raise StateError(FAILED)
    key = plan.terms.key
    lots = lottery(key)
    count, alone = len(plan.contenders), math.isinf(plan.mu)
    if found is None:
        found = Progress(count if alone else lots.runs(plan.repeats), lots.secret())
        keep(found)
    records: dict[Any, tuple[Rows, Rows]] = {}
    held = None
    while found.done < found.runs:
        run = found.done
        number = run if alone else lots.candidate(count, run)
        one = plan.contenders[number]
        encoding = one.encoding
        reads = (encoding.fit_intercept, encoding.scale)
        if reads not in records:
            if held is None:
                held = held_out(plan.terms, source, plan.holdout, found.secret)
            rows = encoding.encode(source, target, weight=weight)
            records[reads] = part(rows, ~held), part(rows, held)
        train, rest = records[reads]
        keyed = [None if key is None else key.derive(f"{what}/{run}") for what in ("fit", "score")]
        try:
            release = answer(replace(one.fit, task=replace(one.fit.task, key=keyed[0])), train, None)
            score = score_of(one.yardstick, one.quote, release.theta, rest, keyed[1])
        except Exception as error:
            if not isinstance(error, MemoryError):
                keep(Progress(0, b""))
                error.add_note(ENDED)
            raise
        if math.isnan(score):  # the order of outputs is total, whatever a metric makes of its noise
            score = -math.inf
        best = found.best
        if (
            best is None or score > best[1]
        ):  # of equal ones the first: as good as one of them at random, runs being alike
            best = (number, score, release)
        found = replace(found, done=run + 1, best=best)
        if found.done == found.runs:  # nothing but the release is needed any more, so nothing else is kept
            found = Progress(0, b"", 0, best)
        keep(found)
    assert found.best is not None
    return found.best
