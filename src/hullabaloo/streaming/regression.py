"""Private streams of numbers: least squares that is current while records arrive, of all columns or of a sketch of many."""

import math
from abc import ABC
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curation.moments_process import MomentsProcess, StreamTask, open_moments
from hullabaloo.curation.sketch import Sketch
from hullabaloo.data import Domain, Encoding, RowFacts
from hullabaloo.errors import InvalidParameter, is_whole
from hullabaloo.geometry import ConvexSet, NoPenalty, Projectable, require, require_within
from hullabaloo.linear_model.own import refuse_missing
from hullabaloo.linear_model.shared import NumberTargets, PlainScore, chosen
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.release import PlannedFit, RegressorMixin, Release, label_of, one_of, prepare, terms_of, whole
from hullabaloo.release.price import Price, price
from hullabaloo.solvers.moments.moments import solve_moments
from hullabaloo.streaming.base import PrivateStream
from hullabaloo.streaming.model import StreamModel
from hullabaloo.streaming.noisy_projected_gradient import check_bounded, noisy_projected_gradient
from hullabaloo.streaming.planned_bounds import of_sums
from hullabaloo.streaming.sketched_solve import solve_sketched

RESOLVED = 4.0
"""Coordinates for each unit of W². Half as many lose signal, more gained little on simulated streams: `python -m benchmarks sketch`."""
DISTORTION = 1.0
"""The constant of the paper's rule: largest m·D²/W² seen, D the largest distortion of an inner product (same command)."""
FAILURE = 0.01
"""β: how likely a sketch may distort more than it should."""
MOST = 1_000
"""Coordinates up to which eigenvalues, memory (m²/2 numbers a buffer) and noise take about a second a release."""


class StreamRegressor(PlainScore, NumberTargets, RegressorMixin, PrivateStream, ABC):
    """A stream that learns numbers by a linear model; predictions are cut off at the target's declared bounds.

    Parameters beyond those of every stream:
        calibration: "exact" (the least noise that the budget allows), or "paper": the tree mechanism with the noise that Kasiviswanathan,
            Nissim and Jin (2017), Algorithm 4, print; the statement says what that really costs.
    """

    calibration: str | Calibration = "exact"

    def _task(self, encoding: Encoding) -> StreamTask:
        constraint, penalty = chosen(self, encoding)
        refuse_missing(constraint, penalty)
        if constraint is not None:
            require(constraint, [Projectable], type(self).__name__)
            slopes = encoding.facts.width - encoding.facts.intercept
            require_within(penalty, constraint, slopes, type(self).__name__)
        return StreamTask(
            **terms_of(self, encoding.domain, self.neighbours),
            schedule=self._schedule,
            constraint=constraint,
            penalty=penalty,
            fit_intercept=bool(self.fit_intercept),
            mechanism=self.mechanism,
            window=whole(self.window),
            half_life=self.half_life,
            calibration=Calibration.parse(self.calibration),
        )

    def _released_model(self, release: Release, position: int, encoding: Encoding) -> StreamModel:
        settings = {"mechanism": self.mechanism, "window": whole(self.window), "half_life": whole(self.half_life)}
        settings |= {"calibration": str(Calibration.parse(self.calibration)), **self._settings()}
        return StreamModel(
            estimator=label_of(self),
            domain=encoding.domain,
            encoding_=encoding,
            release_=release,
            position=position,
            schedule=self._schedule,
            constraint=self.constraint,
            penalty=self.penalty,
            settings=settings,
            named=hasattr(self, "feature_names_in_"),
        )


class IncrementalRegression(StreamRegressor):
    """Private least squares over a stream: after every step, minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over the records so far.

    PrivIncReg1 of Kasiviswanathan, Nissim and Jin (2017): the running sums of `x xᵀ` and `x yᵀ` are released continually, as one
    stream of `a aᵀ`, `a = (x, κy)`, in place of two with half the budget each; every model is post-processing of them. Several
    targets share the release. A target of 0 and 1 makes a linear probability model.

    Parameters beyond those of every stream:
        solver: "moments" (default), which mends the noisy moments and solves to the last digits; or
            "noisy_projected_gradient", the paper's own procedure, for reference (a set is needed).

    Parameters, attributes and methods: see `PrivateStream`.

    Example:
        >>> import hullabaloo as hb
        >>> domain = hb.Domain(features={"a": (0, 10), "b": (0, 10)}, target=(-5, 5), indicators=False)
        >>> stream = hb.streaming.IncrementalRegression(
        ...     budget=hb.Budget(1.0, 1e-8), domain=domain, horizon=10_000, every=1_000
        ... )
        >>> for i in range(2_500):
        ...     stream.learn_one({"a": i % 11, "b": i % 7}, 0.3 * (i % 11) - 0.2 * (i % 7))
        >>> stream.position_, stream.released_at_, stream.coef_.shape
        (2500, 2000, (2,))

    Source: 003, Algorithm 2; 003, Remark 4.4; 003, Section A.1, linear regression.
    """

    key_label: ClassVar[str] = "IncrementalRegression"
    solver: str = "moments"

    SOLVERS: ClassVar[tuple[str, ...]] = ("moments", "noisy_projected_gradient")

    def _priced(self, process: Any, encoding: Encoding, step: int, known: Mapping[str, float]) -> Price:
        query, schedule, private = process.query, process.schedule, process.task.budget.is_private
        prepared = as_fit(process.task, query, encoding, step)
        told, name, released = price(prepared, known), type(self).__name__, [schedule.position(step)]
        sums = of_sums(name, prepared.problem, query, schedule, released) if private else []
        return replace(
            told,
            solver="continual_moments",
            reason="one noisy running sum serves every model of the stream",
            notes=(*(" ".join(one.cells()) for one in sums), *told.notes),
        )

    def _open(self, encoding: Encoding) -> MomentsProcess:
        task = self._task(encoding)
        if one_of("solver", self.solver, self.SOLVERS) == "moments":
            return open_moments(task, encoding, solve=solve_moments)
        check_bounded(task.constraint, task.penalty)
        return open_moments(task, encoding, solve=noisy_projected_gradient)

    def _settings(self) -> dict[str, Any]:
        return {"solver": self.solver}


def as_fit(task: StreamTask, query: Any, encoding: Encoding, step: int) -> PlannedFit:
    """The fit of single records whose moments have the noise of the running sums after a step, whomever that protects."""
    records, noise = max(1, round(query.effective_records(step))), query.sigma * query.error(step)
    domain = Domain.from_dict({**task.domain.to_dict(), "unit": None, "records_per_unit": None})
    encoding = replace(encoding, domain=domain, facts=replace(encoding.facts, records_per_unit=1))
    fit = replace(task, domain=domain, neighbours=Neighbours.REPLACE_ONE, ledger=None, dataset=None)
    fit = replace(fit, budget=Budget(math.inf), calibration=Calibration.EXACT, inference="auto")
    if noise > 0.0:
        once = prepare(replace(fit, budget=Budget.gdp(1.0)), encoding, records)
        fit = replace(fit, budget=Budget.gdp(float(once.plan.settings["sigma"]) / noise))
    return prepare(fit, encoding, records)


class SketchedRegression(StreamRegressor):
    """Private least squares over a stream with many columns, in memory of m² in place of p² numbers.

    PrivIncReg2 of Kasiviswanathan, Nissim and Jin (2017): a row x is kept as Φx̃, Φ a random matrix of m rows that a public seed
    determines and `x̃ = x ‖x‖/‖Φx‖`; the running moments of `(Φx̃, y)` are released continually; every model minimises the sketched
    least squares over a set C of models and is lifted back to all columns. It works where rows and models have small Gaussian
    width (sparse rows, an l1 ball), and is for streams whose p² moments do not fit. Where they fit, keep all columns: noise over a
    set of models depends on the set's width and not on the number of columns, so that a sketch saves memory and no noise.

    Parameters beyond those of every stream (the set is needed, and no penalty):
        sketch_size: m; p keeps all columns as they are. "auto" is p up to 1000 columns, and beyond `4 max(W², log(T/β))`, W the
            relative Gaussian widths of rows and set, at most 1000; "paper" is the rule of the theory, `max(W², log(T/β))/γ²`,
            γ = (W/T)^{1/3}, at most p.
        seed: a whole number that names Φ; choose it without looking at records.
        max_nonzeros: records with more nonzero slopes (of the encoded row) count as nothing: they keep their position only.
        inside: the same for records whose slopes (on the unit domain) are outside this set.
        rescaled: whether rows keep their length; else x̃ = x, and what Φ lengthens beyond the bound of rows is clipped to it.
        column_nonzeros: s, for a sparse Φ with s entries ±1/√s in each column (time and memory are as for the normal entries of None).

    Attributes:
        sketch_: the `Sketch` in use.

    Parameters, attributes and methods: see `PrivateStream`.

    Example:
        >>> import numpy as np, hullabaloo as hb
        >>> X = np.eye(400)[np.arange(3_000) % 7]
        >>> y = X[:, 0] - X[:, 1]
        >>> stream = hb.streaming.SketchedRegression(
        ...     budget=hb.Budget(3.0, 1e-8), domain=hb.Domain(row_norm=("l2", 1.0), target=(-1, 1)), horizon=3_000,
        ...     constraint=hb.L1Ball(2.0), max_nonzeros=5, sketch_size=100,
        ... ).fit(X, y)
        >>> stream.coef_.shape, stream.sketch_.size
        ((400,), 100)

    Source: 003, Algorithm 3.
    """

    key_label: ClassVar[str] = "SketchedRegression"
    sketch_size: int | str = "auto"
    seed: int = 0
    max_nonzeros: int | None = None
    inside: ConvexSet | None = None
    rescaled: bool = True
    column_nonzeros: int | None = None

    def _open(self, encoding: Encoding) -> MomentsProcess:
        task = self._task(encoding)
        if task.constraint is None or not isinstance(task.penalty, NoPenalty):
            raise InvalidParameter(
                f"SketchedRegression was asked for with constraint={self.constraint!r} and penalty={self.penalty!r}. It learns p "
                "coefficients from m < p numbers a record, which only a set of few enough models allows: pass for example "
                "constraint=hb.L1Ball(5.0) and no penalty, or use IncrementalRegression."
            )
        sketch = self._sketch(encoding, task.constraint, task.records)
        process = open_moments(
            task,
            encoding,
            facts=sketch.facts(encoding.facts),
            transform=partial(sketch.rows, about=encoding.facts),
            solve=partial(solve_sketched, sketch=sketch),
            public={"sketch": sketch.to_dict()},
        )
        self.sketch_ = sketch
        return process

    def _sketch(self, encoding: Encoding, constraint: ConvexSet, records: int) -> Sketch:
        """The sketch that the parameters ask for: a function of public facts."""
        about, size = encoding.facts, self.sketch_size
        about_phi = (self.seed, self.max_nonzeros, self.inside, self.rescaled, self.column_nonzeros)
        trial = Sketch(about.width - about.intercept, 1, *about_phi)
        if isinstance(size, str) and size in ("auto", "paper"):
            rule = resolved_size if size == "auto" else paper_size
            asked = rule(relative_width(about, constraint, trial), records)
            if size == "auto":
                asked = MOST if trial.columns <= MOST else min(asked, MOST)
        elif is_whole(size, -math.inf):
            asked = int(size)
        else:
            raise InvalidParameter(
                f"sketch_size={size!r} was asked, of coordinates of a row: pass a whole number, 'auto', or 'paper' for the rule of the theory."
            )
        return replace(trial, size=min(asked, trial.columns))

    def _settings(self) -> dict[str, Any]:
        return {"sketch": self.sketch_.to_dict()}


def row_width(norm_l1: float, norm_l2: float, columns: int) -> float:
    """An upper bound of the Gaussian width of {x ∈ R^p : ‖x‖₁ ≤ a, ‖x‖₂ ≤ b}.

    `⟨g, x⟩ ≤ a t + b ‖(|g| − t)₊‖₂` for every t ≥ 0, so `w ≤ min_t a t + b √(p E(|g| − t)₊²)`, with
    `E(|g| − t)₊² = 2[(1 + t²)Q(t) − t φ(t)]`. Rows with k nonzeros have `a ≤ √k b`: then w is about `b √(2k log(p/k))`.
    """
    from scipy.special import erfc

    t = np.linspace(0.0, 8.0, 1601)
    density, tail = np.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi), 0.5 * erfc(t / math.sqrt(2.0))
    beyond = np.maximum(2.0 * ((1.0 + t * t) * tail - t * density), 0.0)
    return float((norm_l1 * t + norm_l2 * np.sqrt(columns * beyond)).min())


def relative_width(about: RowFacts, body: ConvexSet, sketch: Sketch) -> float:
    """W = w(X)/‖X‖₂ + w(C)/‖C‖₂ of the slopes of kept rows and of the models: the same in all units.

    Source: 003, Section 5.2, small widths.
    """
    p, constant = sketch.columns, float(about.intercept)
    long = sketch.facts(about).norm_l2
    norm = math.sqrt(max(long * long - constant, 0.0))
    sparse = math.sqrt(p if sketch.max_nonzeros is None else min(p, sketch.max_nonzeros)) * norm
    rows = row_width(min(about.norm_l1 - constant, sparse), norm, p)
    if sketch.inside is not None:
        rows = min(rows, sketch.inside.gaussian_width(p).high)
    return rows / max(norm, 1e-300) + body.gaussian_width(p).value / max(body.max_norm(2, p), 1e-300)


def resolved_size(width: float, records: int) -> int:
    """`RESOLVED · max(W², log(T/β))`: what keeps apart what rows and models can tell apart, however long the stream."""
    return math.ceil(RESOLVED * max(width**2, math.log(records / FAILURE)))


def paper_size(width: float, records: int) -> int:
    """`DISTORTION · max(W², log(T/β))/γ²`, γ = (W/T)^{1/3}: the rule of Kasiviswanathan, Nissim and Jin (2017), Algorithm 3.

    Source: 003, Algorithm 3.
    """
    gamma = float(np.cbrt(max(width, 1e-9) / records))  # a single row and a single model have width 0: keep all columns
    return math.ceil(DISTORTION * max(width**2, math.log(records / FAILURE)) / gamma**2)
