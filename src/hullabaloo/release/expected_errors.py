"""Standard errors that a fit can be expected to have, from public facts: a range for each coefficient, which narrows with what is publicly known.

Least squares without privacy has the error `b_j = σ √VIF_j / (s_j √n)`, s_j a column's standard deviation and σ that of what the model leaves of
the target; of chances and counts σ is replaced by its inverse, as `Eφ'²/(Eφ'')² = 1/σ²` there. Inference multiplies it by

    r = (1 + nq (USUAL σ_g)²)^½,

σ_g the noise of a score of gradients of length 1 in each of q directions, USUAL the length over their root mean square that has the same effect as the clip and
all the rest that widens intervals together; moments add their own noise to it. Of s_j, σ, VIF_j and r logarithms are taken as independent and normal
around what is usual (`USUALLY`), a given s_j or σ as known; a range holds nine tenths.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hullabaloo.data import Encoding
from hullabaloo.data.reference import columns_of, reference_gram, undetermined
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Huber, Logistic, Poisson, Squared
from hullabaloo.release.parameters import positive
from hullabaloo.release.planned import PlannedFit, mean_weight
from hullabaloo.solvers import MomentsSolver, WithInference

USUAL = 5.5
USUALLY = {
    "number": (-0.95, 0.85),
    "level": (-0.3, 0.6),
    "squared": (-1.95, 0.75),
    "huber": (-1.95, 0.75),
    "logistic": (-1.2, 0.35),
    "poisson": (-0.6, 1.0),
    "inflation of number": (0.55, 0.75),
    "inflation of level": (0.2, 0.4),
    "ratio": (0.0, 0.5),
}
"""Means and deviations of logarithms: of a number's s over that of one spread evenly over its bounds, of a level's over that of levels all alike, of σ over half of the
target's range, of counts over 1, of √VIF and of r. They and r are those of the development half of `benchmarks/inference.py`; the report half had no part in them."""
QUANTILE = 1.645
WIDEST = 2_048
"""Columns of which errors are told one by one."""


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Of a coefficient, in the user's units: what is as likely below as above, and the ends of the range."""

    name: str
    low: float
    likely: float
    high: float

    @property
    def range(self) -> str:
        """In words."""
        return f"{self.low:.2g} to {self.high:.2g}, about {self.likely:.2g}"


def expected_errors(prepared: PlannedFit, known: Mapping[str, float]) -> tuple[ExpectedError, ...]:
    """Of the slopes of each target, but for levels that no table tells apart; none where the fit tells none.

    Raises:
        InvalidParameter: `known` names no column or target, or is no positive number.
    """
    names, targets = prepared.encoding.feature_names_out, prepared.encoding.facts.targets
    _check(known, names, targets)
    told = isinstance(prepared.problem.loss, Squared | Huber | Logistic | Poisson) and len(names) <= WIDEST
    if prepared.without or not told:
        return ()
    return tuple(one for number in range(len(targets)) for one in _of_target(prepared, known, number))


def _of_target(prepared: PlannedFit, known: Mapping[str, float], number: int) -> list[ExpectedError]:
    encoding, problem, loss = prepared.encoding, prepared.problem, prepared.problem.loss
    names, target = encoding.feature_names_out, encoding.facts.targets[number]
    of = f" for {target}" * (problem.targets > 1)
    linear = isinstance(loss, Squared | Huber)
    untold = {place for feature in undetermined(encoding) for place in columns_of(encoding, feature)}
    gram, matrix, n = reference_gram(encoding), encoding.user_matrix(number), problem.records
    means = gram[: len(names), -1] if encoding.facts.intercept else np.zeros(len(names))
    even = np.sqrt(np.maximum(np.diag(gram)[: len(names)] - means**2, 1e-12))
    scale = float(encoding.target_scale[number])
    rest, doubt = USUALLY[loss.name]
    if target in known:
        rest, doubt = math.log(known[target] / (scale if linear else 1.0)), 0.0
    levels, units = _levels(encoding), np.abs(np.diag(matrix)[: len(names)])
    kinds = ["level" if place in levels else "number" for place in range(len(names))]
    shifts, spreads = np.array([USUALLY[one] for one in kinds]).T
    larger, unsure = np.array([USUALLY[f"inflation of {one}"] for one in kinds]).T
    sizes = np.log(even) + shifts
    for place in (place for place, name in enumerate(names) if name in known):
        sizes[place], spreads[place] = math.log(known[names[place]] * units[place] / scale), 0.0
    middles = (rest if linear else -rest) + larger - sizes - 0.5 * math.log(n)
    if isinstance(prepared.solver, MomentsSolver):
        shrink = np.append(np.exp(sizes) / even, np.ones(len(gram) - len(names)))
        noise = prepared.solver.predicted_noise(problem, prepared.plan, gram * np.outer(shrink, shrink))
        middles = np.log(np.hypot(np.exp(middles), noise[: len(names)]))
    else:
        middles += math.log(_ratio(prepared))
    widths = QUANTILE * np.sqrt(doubt**2 + spreads**2 + unsure**2 + USUALLY["ratio"][1] ** 2)
    ends = units * np.exp(middles + np.multiply.outer([-1.0, 0.0, 1.0], widths))
    return [ExpectedError(names[j] + of, *map(float, ends[:, j])) for j in range(len(names)) if j not in untold]


def _ratio(prepared: PlannedFit) -> float:
    if not isinstance(prepared.solver, WithInference):
        return 1.0
    noise = USUAL * float(prepared.plan.settings["score_noise"]) / mean_weight(prepared)
    return math.sqrt(1.0 + prepared.problem.records * prepared.problem.dimension * noise**2)


def _levels(encoding: Encoding) -> set[int]:
    """Columns that mark a level or a missing value."""
    layout = encoding.layout
    if layout is None:
        return set()
    return {place for one in layout.onehot for place in one.places} | {one.indicator for one in layout.numeric}


def _check(known: Mapping[str, float], names: Sequence[str], targets: Sequence[str]) -> None:
    if not isinstance(known, Mapping):
        raise InvalidParameter(
            f"known= was given a {type(known).__name__}, and must map names to standard deviations, such as {{{targets[0]!r}: 2.5}}."
        )
    for name, value in known.items():
        if name not in (*names, *targets):
            shown = ", ".join(map(repr, names[:10])) + ", and so on" * (len(names) > 10)
            raise InvalidParameter(
                f"known= tells the standard deviation of {name!r}, which is no column that has a coefficient ({shown}) nor a target "
                f"({', '.join(map(repr, targets))}). Name one of them as coef_ does, a level as 'column=level'."
            )
        positive(f"known[{name!r}]", value, "a standard deviation")
