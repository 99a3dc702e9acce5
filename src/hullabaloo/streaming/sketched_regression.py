"""Private incremental regression of many columns, on records seen through a public random matrix."""

from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from hullabaloo.curation.moments_process import open_moments
from hullabaloo.curation.process import Process
from hullabaloo.curation.sketch import Sketch
from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, NoPenalty, Projectable, require
from hullabaloo.linear_model.shared import chosen
from hullabaloo.streaming.regressor import StreamRegressor
from hullabaloo.streaming.sketch_size import MOST, paper_size, relative_width, resolved_size
from hullabaloo.streaming.sketched_solve import solve_sketched
from hullabaloo.structure.not_in_file import refuse_unknown


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
        constraint, penalty = chosen(self, encoding)
        if constraint is None or not isinstance(penalty, NoPenalty):
            raise InvalidParameter(
                f"SketchedRegression was asked for with constraint={self.constraint!r} and penalty={self.penalty!r}. It learns p "
                "coefficients from m < p numbers a record, which only a set of few enough models allows: pass for example "
                "constraint=hb.L1Ball(5.0) and no penalty, or use IncrementalRegression."
            )
        refuse_unknown(constraint, penalty)
        require(constraint, [Projectable], "SketchedRegression")
        task = self._task(constraint, penalty)
        sketch = self._sketch(encoding, constraint, task.records)
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
