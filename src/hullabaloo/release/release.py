"""What leaves a fit: the release, and the privacy statement that travels with it."""

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np

from hullabaloo._version import __version__
from hullabaloo.codec import arguments
from hullabaloo.data.encode import HEAVIEST
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Budget, Event, Neighbours, TunedEvent, delta_of, epsilon_of, event_from_dict, group
from hullabaloo.privacy.answers import NoisyMoments, NoisyScore
from hullabaloo.privacy.schedule import FOREVER
from hullabaloo.queries import QUERIES
from hullabaloo.solvers.base import Array, Solution

NOT_RECORDED = "not recorded: repeated fits add up and nothing counts them"
NO_COPY_IS_NOTICED = "Without a ledger nobody can tell a stream's state file from an older copy of it: going on from a copy would release old records a second time, and nothing counts that"
IN_PARTS = "The table was read in parts: a record is a row of what the file or the query gave, and joins, windows, limits or de-duplication before that are not covered; that every question met the same records was checked, unless there was but one, where it cannot be"
GENERAL = ("The guarantee is computational", "It rests on tier", "Not covered")
DECLARED_PUBLIC = "A second table helped, which the user declared public and nobody checked to be: its records are not protected, and nothing that is promised of the others rests on it"
AS_PARSED = "Records of a CSV file are records as parsed: by the domain's declaration quoted cells may hold line breaks, so one that closes no quote takes those after it with it, and nothing is promised of whether it does"
NOT_PRIVATE = {
    "epsilon": "NOT PRIVATE: epsilon is infinite and no noise was drawn",
    "test_key": "NOT PRIVATE: the noise came from a test key, which anyone who knows the key can subtract",
}


def _up(loss: float) -> str:
    """A privacy loss in four digits, never understated but for what bisection leaves (0.3 found as 0.3000000000002 is 0.3)."""
    return f"{float(Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(loss * (1.0 - 1e-9))):.4g}"


def large_delta(budget: Budget, records: int) -> str:
    """A sentence when δ is not below one over the (public) number of records; else "".

    A mechanism that publishes one whole record, drawn at random, is (0, 1/n)-differentially private: at such a δ the pair
    (ε, δ) alone promises nothing to speak of.
    """
    if budget.kind != "dp" or not budget.is_private or budget.delta * records < 1.0:
        return ""
    better = 10.0 ** math.floor(-2.0 * math.log10(max(records, 10)))
    return f"delta = {budget.delta:.3g} is not below one over the {records} records, and publishing a whole record drawn at random would meet such a delta; state one well below it, such as {better:.0e}"


TIERS = {
    1: "bounded records, exact sums, noise on them, composition and the charge",
    2: "exact sums with noise, and beyond them choices, certified minimisers, scores, searches or streams",
}
"""What the proof of a release rests on, by tier."""


@dataclass(frozen=True, slots=True, repr=False)
class PrivacyStatement:
    """What a release guarantees, to whom, and what it does not.

    Attributes:
        event: the composition of everything that was drawn.
        budget: what the caller allowed.
        neighbours: the relation between tables that cannot be told apart.
        unit: what a table may differ in: a record, or all records of one person.
        records_per_unit: at most so many records of a unit are used.
        records: the public number of records (declared, under add-or-remove).
        not_private: "" for a private release, else a key of `NOT_PRIVATE`.
        ledger: where the charge is recorded, without credentials; None when it is not.
        dataset: the ledger's name of the table.
        charge: the ledger's number of the charge.
        database, head: what tells that ledger from every other, and the salted hash of that charge and all before it, by which
            `Ledger.verify` notices that charges were lost; they tell nothing of what was charged.
        query_noise: per query, its name, number of answers, sensitivity and noise.
        made: UTC time of the charge, before records are read: the time that it takes tells how many they are, or how many runs a search had.
        version: the library that made it.
        claimed: for noise calibrated as a paper prints it, the budget that the paper claims for it; else None.
        horizon: for a stream, the most records that all its releases together are accounted for; None for a table.
        parted: whether the table was read in parts (`hb.scan`).
        quoted_line_breaks: whether records of a CSV file are as parsed, by the domain's declaration; else each is one line.
        public: what is known of a table that the user declared public; None without one.
    """

    event: Event
    budget: Budget
    neighbours: Neighbours
    unit: str
    records_per_unit: int
    records: int
    not_private: str = ""
    ledger: str | None = None
    dataset: str | None = None
    charge: int | None = None
    query_noise: tuple[Mapping[str, Any], ...] = ()
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    version: str = __version__
    claimed: Budget | None = None
    horizon: int | None = None
    quoted_line_breaks: bool = False
    parted: bool = False
    database: str | None = None
    head: str | None = None
    public: str | None = None

    def __post_init__(self) -> None:
        """Fail closed: what drew no noise is marked whatever a file says, and an unknown mark is refused."""
        if self.not_private and self.not_private not in NOT_PRIVATE:
            raise InvalidParameter(
                f"A privacy statement is marked {self.not_private!r}, and this version knows {sorted(NOT_PRIVATE)} only. A mark that is not understood is not dropped: read the release with the version that wrote it."
            )
        if not self.not_private and (not self.budget.is_private or self.event.gdp_mu() == math.inf):
            object.__setattr__(self, "not_private", "epsilon")

    @property
    def private(self) -> bool:
        """Whether the release carries any guarantee at all."""
        return not self.not_private

    @property
    def mu(self) -> float | None:
        """The Gaussian-DP parameter of the release, where it has one."""
        return self.event.gdp_mu() if self.private else None

    @property
    def delta(self) -> float:
        """The δ at which ε is quoted: the budget's, or 1e-6 for budgets stated otherwise."""
        return self.budget.delta if self.budget.kind == "dp" and self.budget.delta > 0.0 else 1e-6

    def epsilon(self, delta: float | None = None, *, records: int = 1) -> float:
        """ε at δ that the release really has, for a person with `records` units in the table."""
        if not self.private:
            return math.inf
        return epsilon_of(group(self.event, records), self.delta if delta is None else delta)

    def delta_at(self, epsilon: float) -> float:
        """δ at ε that the release really has."""
        return delta_of(self.event, epsilon) if self.private else 1.0

    @property
    def tier(self) -> int:
        """Of the trusted base: that of the least simple query that was asked; 2 for streams and searches (docs/trusted-base.md)."""
        found = (QUERIES.get(str(query["name"])) for query in self.query_noise)
        above = isinstance(self.event, TunedEvent) or self.horizon is not None or self.parted
        return max((2 if kind is None else kind.tier for kind in found), default=1) if not above else 2

    def lines(self) -> list[str]:
        """The statement as sentences, most important first."""
        if not self.private:
            return [f"{NOT_PRIVATE[self.not_private]}. Do not release this model of sensitive records"]
        stream = self.horizon is not None
        lines = [] if self.ledger else [NOT_RECORDED, NO_COPY_IS_NOTICED] if stream else [NOT_RECORDED]
        gaussian = "" if self.mu is None else f", and {_up(self.mu)}-Gaussian differential privacy"
        lines.append(
            f"({_up(self.epsilon())}, {_up(self.delta)})-differential privacy{gaussian}, for {self._neighbours()}"
        )
        if stream:
            lines.append(self._stream())
        elif self.neighbours is Neighbours.ADD_OR_REMOVE:
            lines.append(f"The number of records is hidden; {self.records} is the declared nominal number")
        if late := large_delta(self.budget, self.records):
            lines.append(f"Beware: {late}; this release has epsilon {_up(self.epsilon(self.records**-2.0))} at 1/n²")
        if self.quoted_line_breaks:
            lines.append(AS_PARSED)
        if self.parted:
            lines.append(IN_PARTS)
        if self.public is not None:
            lines.append(f"{DECLARED_PUBLIC} ({self.public})")
        if isinstance(self.event, TunedEvent):
            lines.append(
                f"It is the best of a random number of runs ({self.event.expected:g} expected), each with other settings; how many there "
                "were, and what the others gave, is not released and must not become known. The time that the search took tells how many, and is "
                "not covered: who sees the release must not learn it, nor see when files were written"
            )
        if self.claimed is not None:
            lines.append(
                f"The noise is what the method's paper prints for {self.claimed.describe()}; the guarantee stated here is what that noise really gives"
            )
        groups = ", ".join(f"epsilon {_up(self.epsilon(records=k))} for k = {k}" for k in (2, 5))
        what = "records" if self.unit == "record" else f"values of {self.unit!r}"
        lines.append(f"A person with k {what} in the {'stream' if stream else 'table'} has {groups}")
        lines.append(
            "The guarantee is computational: noise bits come from AES-256 in counter mode under a fresh random key"
        )
        lines.append(f"It rests on tier {self.tier} of the trusted base: {TIERS[self.tier]}")
        if (rows := self._largest()) is not None:
            lines.append(
                f"Proved for tables of up to {rows} rows, several times the declared number: rounding adds up over rows, and of longer tables it is not proved how near to the minimum the released point was computed"
            )
        others = "outside the ledger" if self.ledger else "of the same records"
        lines.append(
            f"Not covered: elapsed time, memory traffic, the machine that holds the records, and other releases {others}"
        )
        if self.ledger:
            lines.append(f"Charged to dataset {self.dataset!r} in {self.ledger} (charge {self.charge})")
        return lines

    def _neighbours(self) -> str:
        """What cannot be told apart."""
        replaced = self.neighbours is Neighbours.REPLACE_ONE
        parsed = " as parsed" if self.quoted_line_breaks else ""
        if self.horizon is not None:
            one, its = f"one record{parsed}", "its place"
            if self.unit != "record":
                one = f"all records of one {self.unit} (of which the first {self.records_per_unit} count)"
                its = "their places"
            return f"streams that differ in {one}, {f'replaced in {its} by any other' if replaced else f'present or absent in {its}'}"
        unit = f"one record{parsed}"
        if self.unit != "record":
            unit = f"all records of one {self.unit} (at most {self.records_per_unit})"
        return f"tables that differ in {unit}, " + ("replaced by any other" if replaced else "added or removed")

    def _stream(self) -> str:
        """What a stream's guarantee spans."""
        ends = self.horizon and self.horizon < FOREVER
        span = f"of up to {self.horizon} records" if ends else "however long it grows"
        seen = "" if self.neighbours is Neighbours.REPLACE_ONE else "; the number of places in the stream is public"
        return f"It holds for all models released along the stream together, {span}, however often they are read{seen}"

    def _largest(self) -> int | None:
        """The number of rows that a proof is for, where theirs is private; None where it holds for any."""
        if self.horizon is not None or (self.neighbours is Neighbours.REPLACE_ONE and self.unit == "record"):
            return None
        return min((int(one["rows_at_most"]) for one in self.query_noise if "rows_at_most" in one), default=None)

    def short(self) -> str:
        """What is guaranteed to whom, without what every release rests on and leaves uncovered."""
        said = [f"{line}." for line in self.lines() if not line.startswith(GENERAL)]
        return " ".join([*said, *["What it rests on and does not cover: model.statement_."] * self.private])

    def __str__(self) -> str:
        return " ".join(f"{line}." for line in self.lines())

    def __repr__(self) -> str:
        return f"PrivacyStatement({str(self)!r})"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line[:1].upper() + line[1:])}.</p>" for line in self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; what only some statements say is written there alone."""
        written = arguments(self) | {"query_noise": [dict(one) for one in self.query_noise]}
        unsaid = [name for name in ("horizon", "database", "head", "public") if written[name] is None]
        return {name: value for name, value in written.items() if name not in unsaid and value is not False}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PrivacyStatement":
        """Read what `to_dict` wrote."""
        claimed = data.get("claimed")
        return cls(
            **{
                **data,
                "claimed": None if claimed is None else Budget.from_dict(claimed),
                "event": event_from_dict(data["event"]),
                "budget": Budget.from_dict(data["budget"]),
                "neighbours": Neighbours.parse(data["neighbours"]),
                "query_noise": tuple(map(_renamed, data["query_noise"])),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Everything that a fit releases, on the unit domain: all of it is post-processing of private answers.

    Attributes:
        theta: coefficients, shape (p, k), the intercept last when there is one.
        statement: the guarantee.
        plan: the public plan as a dictionary.
        moments: the noisy moments, where the release contains them.
        scores: the noisy gradient with its curvature and spread, of each target, where the release contains them.
        trace: public record of the run.
    """

    theta: Array
    statement: PrivacyStatement
    plan: Mapping[str, Any] = field(repr=False)
    moments: NoisyMoments | None = field(default=None, repr=False)
    scores: tuple[NoisyScore, ...] = field(default=(), repr=False)
    trace: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, solution: Solution, statement: PrivacyStatement, plan: Mapping[str, Any]) -> "Release":
        """What a solver found, with its guarantee and plan."""
        same = "theta", "moments", "scores", "trace"
        return cls(statement=statement, plan=plan, **{name: getattr(solution, name) for name in same})

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; floats survive a round trip exactly."""
        return arguments(self) | {
            "plan": dict(self.plan),
            "trace": [dict(one) for one in self.trace],
            "weights": HEAVIEST,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], weighted: bool = False) -> "Release":
        """Read what `to_dict` wrote, "weights" being the bound of declared ones; of records that are `weighted` without what tells errors where a version wrote it that counted weights in the user's unit."""
        other_unit = weighted and "weights" not in data
        scores = data.get("scores") or filter(None, [data.get("score")])  # files of before hold one at most
        return cls(
            theta=np.asarray(data["theta"], dtype=np.float64),
            statement=PrivacyStatement.from_dict(data["statement"]),
            plan={**data["plan"], "queries": list(map(_renamed, data["plan"]["queries"]))},
            moments=None if data["moments"] is None or other_unit else NoisyMoments.from_dict(data["moments"]),
            scores=() if other_unit else tuple(map(NoisyScore.from_dict, scores)),
            trace=tuple(data["trace"]),
        )

    @property
    def score(self) -> NoisyScore | None:
        """The first target's: what kind of errors it tells is the same for all."""
        return self.scores[0] if self.scores else None

    def of_width(self, columns: int) -> "Release":
        """This release, read from a file, when its arrays are finite and have the shapes of a model of so many columns.

        Raises:
            ValueError: they are not: the file was changed after it was written, and the model would fail when it predicts.
        """
        shapes = [(self.theta, (columns, *self.theta.shape[1:2]))]
        lines = [line for line in self.trace if isinstance(line, Mapping)]
        told = {"scores": self.theta.shape, "at": self.theta.shape, "totals off": self.theta.shape[1:]}
        points = [(line[name], told[name]) for line in lines for name in told.keys() & line.keys()]
        shapes += [(np.asarray(numbers, dtype=np.float64), shape) for numbers, shape in points]
        if self.moments is not None:
            p, k = self.moments.cross.shape
            shapes += [(self.moments.gram, (p, p)), (self.moments.cross, (p, k)), (self.moments.square, (k, k))]
        if len(self.scores) not in (0, *self.theta.shape[1:2]):
            raise ValueError("targets")
        for found in self.scores:
            p, q = columns, found.score.size
            shapes += [(found.matrix, (p, q)), (found.point, (p,)), (found.scale, (q,)), (found.score, (q,))]
            shapes += [(one, (q, q)) for one in (found.curvature, found.spread)]
            found.check(self.statement.records, self.statement.horizon is not None)
        if self.theta.ndim != 2 or any(one.shape != shape or not np.isfinite(one).all() for one, shape in shapes):
            raise ValueError("shapes")
        queries, settings = [*self.plan["queries"], *self.statement.query_noise], self.plan.get("settings", {})
        names = [self.plan["solver"], *(one["name"] for one in queries)]
        said = [getattr(self.statement, name) for name in ("ledger", "dataset", "made", "version", "public")]
        maps = [settings, self.plan, *queries, *self.trace]
        counts = "answers", "records", "held up", "constant", "ridge", "above_mean", "sigma", "noise_std_of_sum"
        noises = [*settings.get("noises", [])[:], *(settings.get(f"{of}_noise") or 0.0 for of in ("score", "tail"))]
        numbers = [self.statement.records, *noises, *(one[name] for one in maps for name in counts if name in one)]
        kinds: Any = {
            Mapping: maps,
            str: names,
            str | None: said,
            int | float: numbers,
            int | None: [self.statement.horizon],
        }
        alike = all(isinstance(one, kind) for kind, several in kinds.items() for one in several)
        if not alike or not all(one == 0.0 or 1e-30 < one < 1e30 for one in noises):
            raise ValueError("kinds")
        for query in self.statement.query_noise if self.statement.private else ():
            event_from_dict(query["event"])
        str(self.statement)  # what cannot be shown was changed
        return self


def _renamed(query: Any) -> Any:
    """A query as it was written down, by its name of today; versions before 0.1 wrote the label of its key."""
    today = {kind.key_label: name for name, kind in QUERIES.items()}
    if isinstance(query, Mapping) and query.get("name") in today:
        return {**query, "name": today[query["name"]]}
    return query
