"""Private incremental regression of many columns, on records seen through a public random matrix."""

import math
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from hullabaloo.curation.moments_process import open_moments
from hullabaloo.curation.process import Process
from hullabaloo.curation.sketch import Sketch
from hullabaloo.data import Encoding
from hullabaloo.data.source import RowFacts
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, NoPenalty
from hullabaloo.streaming.incremental_regression import StreamRegressor
from hullabaloo.streaming.sketched_solve import solve_sketched

RESOLVED = 4.0
"""Coordinates for each unit of W². Half as many lose signal, more gained little on simulated streams: `python -m benchmarks sketch`."""
DISTORTION = 1.0
"""The constant of the paper's rule: largest m·D²/W² seen, D the largest distortion of an inner product (same command)."""
FAILURE = 0.01
"""β: how likely a sketch may distort more than it should."""
MOST = 1_000
"""Coordinates up to which eigenvalues, memory (m²/2 numbers a buffer) and noise take about a second a release."""


@final
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
    """

    key_label: ClassVar[str] = "SketchedRegression"
    sketch_size: int | str = "auto"
    seed: int = 0
    max_nonzeros: int | None = None
    inside: ConvexSet | None = None

    def _open(self, encoding: Encoding) -> Process:
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
        trial = Sketch(about.width - about.intercept, 1, self.seed, self.max_nonzeros, self.inside)
        if isinstance(size, str) and size in ("auto", "paper"):
            rule = resolved_size if size == "auto" else paper_size
            asked = rule(relative_width(about, constraint, trial), records)
            if size == "auto":
                asked = MOST if trial.columns <= MOST else min(asked, MOST)
        elif isinstance(size, int | np.integer) and not isinstance(size, bool):
            asked = int(size)
        else:
            raise InvalidParameter(
                f"sketch_size={size!r} was asked. It is the number of coordinates that a row is kept as: pass a whole number, 'auto', or "
                "'paper' for the rule of the theory."
            )
        return Sketch(trial.columns, min(asked, trial.columns), trial.seed, trial.max_nonzeros, trial.inside)

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
    """W = w(X)/‖X‖₂ + w(C)/‖C‖₂ of the slopes of kept rows and of the models: the same in all units."""
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
    """`DISTORTION · max(W², log(T/β))/γ²`, γ = (W/T)^{1/3}: the rule of Kasiviswanathan, Nissim and Jin (2017), Algorithm 3."""
    gamma = float(np.cbrt(max(width, 1e-9) / records))  # a single row and a single model have width 0: keep all columns
    return math.ceil(DISTORTION * max(width**2, math.log(records / FAILURE)) / gamma**2)
