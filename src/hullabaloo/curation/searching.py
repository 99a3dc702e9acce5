"""What a search is, before anything is charged or read: its candidates, every one of them planned, and what they cost together."""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hullabaloo.curation.scoring import Read
from hullabaloo.data import Encoding
from hullabaloo.errors import BudgetError
from hullabaloo.privacy import TAIL_MASS, Event, NotPrivateEvent, Repeats, TunedEvent
from hullabaloo.release import PlannedFit, ReleaseRequest
from hullabaloo.release.request import refuse_overspent

FORMAT = 3
"""Version of what a saved search means."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedCandidate:
    """One candidate, planned: its fit on the training part, and its score on the rest.

    Attributes:
        params: its setting.
        fit: planned.
        query: what its score costs.
        read: from a noisy answer to the score; larger is better.
        metric: the score's name.
        higher_is_better: whether more of the metric itself is.
        error: expected privacy error of its score.
    """

    params: Mapping[str, Any]
    fit: PlannedFit
    query: Any
    read: Read
    metric: str
    higher_is_better: bool
    error: float

    @property
    def encoding(self) -> Encoding:
        """How it reads records."""
        return self.fit.encoding

    @property
    def reads(self) -> tuple[Any, ...]:
        """What its encoding depends on: candidates that agree in it read the same rows."""
        return self.encoding.fit_intercept, self.encoding.scale

    @property
    def numbers(self) -> int:
        """At most so many numbers are in its release: each is a function of the longest answer or as long as θ."""
        lengths = (getattr(query, "length", 1) for query in self.fit.bought.queries)
        longest = max((length for length in lengths if type(length) is int), default=1)  # of a choice it is a norm
        asked = sum(query.count for query in self.fit.bought.queries)
        return 8 * len(self.encoding.facts.targets) * (longest + self.encoding.facts.width) + asked


@dataclass(frozen=True, slots=True, eq=False)
class SearchPlan:
    """Everything that is fixed before data is read.

    Attributes:
        terms: budget, relation, ledger.
        candidates: the candidates, every one of them planned.
        repeats: the law of the number of runs.
        mu: what one run may cost; ∞ without privacy.
        holdout: the share of records that are held out.
        records: the public number of records.
        event: what the release costs, however many runs and candidates there are.
    """

    terms: ReleaseRequest
    candidates: tuple[PlannedCandidate, ...]
    repeats: Repeats
    mu: float
    holdout: float
    records: int
    event: Event

    @property
    def public(self) -> dict[str, Any]:
        """JSON-ready facts by which two searches are told apart."""
        names = [re.sub(r" at 0x[0-9a-f]+", "", repr(dict(one.params))) for one in self.candidates]
        return {
            "format": FORMAT,
            **self.terms.facts,
            "event": self.event.to_dict(),
            "records": self.records,
            "holdout": self.holdout,
            "candidates": names,
            "metric": self.candidates[0].metric,
            "plans": [
                [{**query.to_dict(), "name": query.key_label} for query in (*one.fit.bought.queries, one.query)]
                for one in self.candidates
            ],
        }

    @property
    def room(self) -> int:
        """The bytes that the end of a search is written in, whichever it is: a power of two above what any candidate's release needs.

        From public facts alone: the text of all plans, and 32 characters a number. (A release that were longer would show its own length.)
        """
        text = max(len(json.dumps(one.fit.plan.to_dict(), default=str)) for one in self.candidates)
        most = max(one.numbers for one in self.candidates)
        return 1 << (2 * text + 32 * most + (1 << 14)).bit_length()

    @property
    def fingerprint(self) -> str:
        """Of the public facts."""
        text = json.dumps(self.public, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def detail(self) -> dict[str, Any]:
        """For a ledger's readers."""
        solvers = sorted({one.fit.plan.solver for one in self.candidates})
        return {"candidates": len(self.candidates), "expected_runs": self.repeats.expected, "solvers": solvers}


def priced(terms: ReleaseRequest, candidates: Sequence[PlannedCandidate], repeats: Repeats, mu: float) -> Event:
    """What the release costs.

    **Guarantee.** Claim: the event bounds the release of the best run. Proof: each candidate's fit and score have a Gaussian-DP parameter of
    at most μ (checked here), so a run is μ-GDP (`parts.held_out`), its candidate drawn uniformly included; its draws are counted; `TunedEvent`.

    Raises:
        BudgetError: a plan costs more than it was given; a fault of a solver.
    """
    if math.isinf(mu):
        return NotPrivateEvent()
    draws = 0
    for one in candidates:
        for event in (one.fit.bought.event, one.query.event):
            cost = event.gdp_mu()
            if cost is None or not cost <= mu:
                raise BudgetError(
                    f"A run with {dict(one.params)!r} has the Gaussian-DP parameter {cost}, and {mu:.6g} is what one run may cost. A search "
                    "prices runs by that parameter; take a solver whose noise is Gaussian or a selection. Nothing was charged or read."
                )
        draws = max(draws, math.ceil((one.fit.bought.event.delta0 + one.query.event.delta0) / TAIL_MASS))
    event = TunedEvent(mu, repeats.expected, repeats.shape, draws)
    refuse_overspent("The search", terms.budget, terms.allowance().takes(event))
    return event
