"""Standard errors that a fit can be expected to tell, from public facts: a range for each coefficient and total, which narrows with what is publicly known.

Least squares without privacy has the error `b_j = σ √VIF_j / (s_j √n)`, s_j a column's standard deviation and σ that of what the model leaves of
the target; of chances and counts σ is replaced by its inverse, as `Eφ'²/(Eφ'')² = 1/σ²` there. Inference multiplies it by

    r = (1 + nq (USUAL σ_g^⅔)²)^½,

σ_g the noise of a score of gradients of length 1 in each of q directions, and USUAL σ_g^−⅓ the length over their root mean square that has the same effect as the clip and
all the rest that widens intervals together: a clip at which what it takes of a tail of index k is as much as noise goes like σ_g^−1/k, and usual ones fall like the cube. Moments add their
own noise to b_j. Columns explain one another the more of them are numbers, and a single number is explained by none: of m of them log √VIF_j is taken in proportion to log m. Of s_j, σ, VIF_j
and r logarithms are taken as independent and normal around what is usual (`USUALLY`), a given s_j or σ as known; a range holds nine tenths. What is usual of s_j is that of columns of
which fits tell errors: columns that are narrow in their bounds get none (log s_j of numbers −1.7 in place of −0.6), and no public fact tells which these are.

A predicted total is off by the noise of the score along the constant, and by what shortening may take of it (`inference/fit_quality.py`): about as much as privacy adds to the error of a column of deviation 1, `MORE USUAL σ_g^⅔ √q σ` in the mean prediction, σ now that of φ'. Over the mean target that is in proportion
to `1/√m` of counts of mean m, and to σ over the mean of numbers, the logarithm of it usual and normal likewise, a given σ or mean as known. Of two classes |φ'| ≤ 1, so that next to nothing is shortened, and the sum is told twice: by the score, of noise σ_g √q,
and along the constant alone, of noise σ_l (`solvers/score/with_inference.py`). That of a class of share s is off by `(1/(σ_g²q) + 1/σ_l²)^−½/s`, s as usual (log 1/s as of the four such tables of the development half), as given, or of the rarer one by a given σ; of the range a deviation of 0.4 is left, as of several classes. (The formula has no number chosen: of 13 lines of 7 tables of `benchmarks/inference.py`, ε = 1 and 3, it comes to 0.67 to 1.29 times what is told at the true s.)
Where the mean may be 0, of targets of both signs, there is no forecast unless it is given.
Of several classes totals are told by an answer of their own (`solvers/class_totals.py`), of noise σ_t records in half a total: that of a class of share s is off by `2σ_t/(n s)` and what a step leaves, log s of k classes as usual around −log k
(chosen on four tables, 20 000 records, ε = 1 and 3: the range holds 24 of 25 totals told, and 8 of 9 of three other tables).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.data import ClassTarget, Encoding
from hullabaloo.data.reference import columns_of, halves, reference_gram, undetermined
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Huber, Logistic, Poisson, Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.release.parameters import positive
from hullabaloo.release.planned import PlannedFit
from hullabaloo.solvers import MomentsSolver, WithInference
from hullabaloo.solvers.floored import FlooredSolver

ROOTS = ": of values beyond their bounds as if at them, and so at most half the way between these; of a class √(s(1 − s)) of its share s, of counts the root of their mean"
ROUNDED = 1.0 + 1e-9
USUAL = 0.42
"""Of the development half, with standard deviations known, the median forecast is 1.04 times what fits tell, of the report half 1.2 (0.58, of longer intervals, made it 1.36 and 1.5)."""
USUALLY = {
    "number": (-0.6, 0.6),
    "level": (-0.25, 0.45),
    "squared": (-1.95, 0.75),
    "huber": (-1.95, 0.75),
    "logistic": (-1.2, 0.35),
    "poisson": (-0.6, 1.0),
    "inflation of number": (0.25, 0.9),
    "inflation of level": (0.2, 0.4),
    "ratio": (-0.1, 0.3),
}
"""Means and deviations of logarithms: of a number's s over that of one spread evenly over its bounds, of a level's over that of levels all alike, of σ over half of the
target's range, of counts over 1, of √VIF (of a number over log m) and of r. They and r are those of the development half of `benchmarks/inference.py`; the report half had no part in them.
But for the deviation of a number's √VIF, as that benchmark leaves collinear columns out, and many tables have such (abalone, elevators, diamonds: errors 4 to 10 times those of columns that explain one another usually): of
half of 20 tables as they are (ε = 3) it takes 0.9 for nine tenths of the errors of numbers to be in range where standard deviations are known; 0.55 held 77 and, of the other half, 65 %, 0.9 holds 89 and 82 %."""
COLLINEAR = 1.3
"""The same of a number's √VIF towards the upper end: no column is explained by others less than not at all, and many are almost wholly. Of numbers of the half of the tables of docs/planning.md that it was chosen on,
as they are, it takes so much for nine tenths of the errors to be below the end (0.92 without known deviations and 0.90 with them; 0.83 and 0.80 by 0.9)."""
MORE = {"squared": (0.27, 0.55), "logistic": (0.0, 0.4), "poisson": (0.82, 0.8)}
RELATIVE = {"squared": (-1.05, 0.85), "logistic": (1.5, 1.0), "poisson": (0.6, 0.9)}
COMMON, SHIFTED = (-0.25, 0.75), (0.2, 0.4)
"""The same of 1/s over the number of classes, of those whose totals are told, and of what a step leaves with noise over noise."""
ABOVE = (-0.9, 0.8)
"""The same of `MORE`, of σ over the mean target, which is that above the lower bound of numbers, and of this over half the range."""
QUANTILE = 1.81
"""Of Student's law, within which nine tenths of further tables are where means and deviations are those of 16."""
WIDEST = 2_048
"""Columns of which errors are told one by one."""
TOTAL, MEAN = "predicted / observed total", "mean of {}"


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Of a coefficient, in the user's units, or of a total over another: what is as likely below as above, and the ends of the range; of which target, where there are several."""

    name: str
    target: str
    low: float
    likely: float
    high: float

    @property
    def range(self) -> str:
        """In words."""
        low, likely, high = (f"{float(f'{one:.2g}'):,.10g}" for one in (self.low, self.likely, self.high))
        return f"about {likely}" + f" ({low} to {high})" * (low != high)


def alike(errors: Sequence[ExpectedError]) -> list[tuple[str, str]]:
    """Which columns, of which targets, have a range in words; those of one range together."""
    together: dict[tuple[str, str], list[str]] = {}
    for one in errors:
        together.setdefault((one.target, one.range), []).append(one.name.removesuffix(f" for {one.target}"))
    targets = len({one.target for one in errors})
    shared: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (target, said), names in together.items():
        shared.setdefault((said, tuple(names)), []).append(target)
    lines = []
    for (said, group), of in shared.items():
        words = _listed(group, len(errors) // targets, "columns")
        lines.append((words + f" for {_listed(of, targets, 'targets')}" * (targets > 1), said))
    return lines


def _listed(names: Sequence[str], every: int, what: str) -> str:
    """All of so many, or four names and how many more."""
    if len(names) == every > 3:
        return f"all {every} {what}"
    return ", ".join(names[:4]) + f" and {len(names) - 4} more" * (len(names) > 4)


def expected_errors(prepared: PlannedFit, known: Mapping[str, float]) -> tuple[ExpectedError, ...]:
    """Of the slopes of each target, but for levels that no table tells apart; none where the fit tells none."""
    names, targets = prepared.encoding.feature_names_out, prepared.encoding.facts.targets
    told = isinstance(prepared.problem.loss, Squared | Huber | Logistic | Poisson) and len(names) <= WIDEST
    if prepared.without or not told:
        return ()
    return tuple(one for number in range(len(targets)) for one in _of_target(prepared, known, number))


def expected_totals(prepared: PlannedFit, known: Mapping[str, float]) -> tuple[ExpectedError, ...]:
    """Of each target's predicted over observed total, 1 where they agree; none where the fit tells none."""
    facts, problem, loss = prepared.encoding.facts, prepared.problem, prepared.problem.loss
    counted = facts.max_weight == 1.0 and problem.neighbours is Neighbours.REPLACE_ONE and facts.intercept
    apart = problem.targets > 1 and isinstance(loss, Logistic)
    counted &= isinstance(prepared.solver, WithInference) and not (apart and prepared.totals is None)
    if not (counted and isinstance(loss, Squared | Logistic | Poisson)):
        return ()
    found, noise, (more, unsure), several = [], _privacy(prepared), MORE[loss.name], problem.targets > 1
    if apart and prepared.totals is not None:
        noise, (more, unsure) = 2.0 * prepared.totals.sigma / problem.records, SHIFTED
    elif isinstance(loss, Logistic):
        own, alone = (float(prepared.plan.settings[one] or math.inf) for one in ("score_noise", "level_noise"))
        noise = 1.0 / math.hypot(1.0 / (own * math.sqrt(problem.dimension)), 1.0 / alone)
    for name, target in zip(facts.targets, (one for one in prepared.encoding.targets for _ in one.names), strict=True):
        middle, doubt = _relative(prepared, target, known.get(name), known.get(MEAN.format(name)))
        middle, half = min(middle + more, 600.0), QUANTILE * math.hypot(doubt, unsure)
        ends = (noise * math.exp(middle + side * half) for side in (-1.0, 0.0, 1.0))
        if math.isfinite(doubt):
            found.append(ExpectedError(TOTAL + f" for {name}" * several, name * several, *ends))
    return tuple(found)


def _relative(prepared: PlannedFit, target: Any, sure: float | None, mean: float | None) -> tuple[float, float]:
    """Mean and deviation of the logarithm of σ over a target's mean, of a class of 1 over its share; the latter is infinite where the mean may be 0."""
    loss, (middle, doubt) = prepared.problem.loss, RELATIVE[prepared.problem.loss.name]
    if isinstance(loss, Squared):
        lo = target.lo if target.hi > -target.lo else -target.hi
        above = 0.5 * (target.hi - target.lo) * math.exp(ABOVE[0])
        usual = lo + above if mean is None else abs(mean)
        if usual <= 0.5 * above * (mean is None):
            return 0.0, math.inf
        if sure:
            return math.log(sure) - math.log(usual), ABOVE[1] * above / usual * (mean is None)
        return middle + math.log(above / usual), doubt
    if isinstance(loss, Poisson):
        return (-math.log(sure), 0.0) if sure else (middle, doubt)
    if sure:
        often = 0.5 + math.sqrt(0.25 - min(sure, 0.5) ** 2)  # of the more frequent of two classes
        return -math.log(mean or min(sure, 0.5) ** 2 / often), 0.0
    several = prepared.problem.targets > 1
    return (math.log(prepared.problem.targets) + COMMON[0], COMMON[1]) if several else (middle, doubt)


def _of_target(prepared: PlannedFit, known: Mapping[str, float], number: int) -> list[ExpectedError]:
    encoding, problem, loss = prepared.encoding, prepared.problem, prepared.problem.loss
    names, target = encoding.feature_names_out, encoding.facts.targets[number]
    linear = isinstance(loss, Squared | Huber)
    untold = {place for feature in undetermined(encoding) for place in columns_of(encoding, feature)}
    gram, matrix, n = reference_gram(encoding), encoding.user_matrix(number), problem.records
    means = gram[: len(names), -1] if encoding.facts.intercept else np.zeros(len(names))
    even = np.sqrt(np.maximum(np.diag(gram)[: len(names)] - means**2, 1e-12))
    scale = float(encoding.target_scale[number])
    rest, doubt = USUALLY[loss.name]
    if target in known:
        rest, doubt = math.log(known[target]) - math.log(scale if linear else 1.0), 0.0
    levels, units = _levels(encoding), np.abs(np.diag(matrix)[: len(names)])
    kinds = ["level" if place in levels else "number" for place in range(len(names))]
    shifts, spreads = np.array([USUALLY[one] for one in kinds]).T
    larger, unsure = np.array([USUALLY[f"inflation of {one}"] for one in kinds]).T
    larger *= np.where(np.array(kinds) == "number", math.log(max(kinds.count("number"), 1)), 1.0)
    sizes = np.log(even) + shifts
    for place in (place for place, name in enumerate(names) if name in known):
        sizes[place], spreads[place] = math.log(known[names[place]]) + math.log(units[place] / scale), 0.0
    middles = (rest if linear else -rest) + larger - sizes - 0.5 * math.log(n)
    own = prepared.solver.solver if isinstance(prepared.solver, FlooredSolver) else prepared.solver
    if isinstance(own, MomentsSolver):
        shrink = np.append(np.exp(sizes) / even, np.ones(len(gram) - len(names)))
        noise = own.predicted_noise(problem, prepared.plan, gram * np.outer(shrink, shrink))
        middles = np.log(np.hypot(np.exp(middles), noise[: len(names)]))
    else:
        middles += 0.5 * math.log1p(n * _privacy(prepared) ** 2)
    longer = np.where(np.array(kinds) == "number", COLLINEAR, unsure)
    below, above = (
        QUANTILE * np.sqrt(doubt**2 + spreads**2 + one**2 + USUALLY["ratio"][1] ** 2) for one in (unsure, longer)
    )
    ends = units * np.exp(middles + np.stack([-below, np.zeros(len(names)), above]))
    of, one = f" for {target}" * (problem.targets > 1), target * (problem.targets > 1)
    return [ExpectedError(names[j] + of, one, *map(float, ends[:, j])) for j in range(len(names)) if j not in untold]


def _privacy(prepared: PlannedFit) -> float:
    """What it adds to the error of a coefficient of a column of deviation 1, over σ; nothing where there is no inference."""
    if not isinstance(prepared.solver, WithInference):
        return 0.0
    return float(USUAL * prepared.plan.settings["score_noise"] ** (2.0 / 3.0) * math.sqrt(prepared.problem.dimension))


def _levels(encoding: Encoding) -> set[int]:
    """Columns that mark a level or a missing value."""
    layout = encoding.layout
    if layout is None:
        return set()
    return {place for one in layout.onehot for place in one.places} | {one.indicator for one in layout.numeric}


def publicly_known(prepared: PlannedFit, known: Mapping[str, float]) -> dict[str, float]:
    """Standard deviations of columns and targets and means of targets, checked; of classes and counts a mean tells the deviation, too.

    Raises:
        InvalidParameter: `known` names no column or target, or is no positive number, or a mean is none within the target's bounds.
    """
    encoding, names, targets = prepared.encoding, prepared.encoding.feature_names_out, prepared.encoding.facts.targets
    if not isinstance(known, Mapping):
        raise InvalidParameter(
            f"known= was given a {type(known).__name__}, and must map names to standard deviations, such as {{{targets[0]!r}: 2.5}}."
        )
    classes = isinstance(encoding.targets[0], ClassTarget)
    follows = classes or isinstance(prepared.problem.loss, Poisson)
    # No values within bounds have a deviation above half the way between these, and of a level that is 1/2.
    widest = dict.fromkeys(names, math.inf) | {names[one]: 0.5 for one in _levels(encoding) - {-1}} | halves(encoding)
    limits, found = {one: (0.0, ROUNDED * widest[one]) for one in names}, {}
    for one in encoding.targets:
        lo, hi = (0.0, 1.0) if isinstance(one, ClassTarget) else (one.lo, one.hi)
        # No class of share s has a √(s(1 − s)) above 1/2, and no mean of counts is above what one may count.
        most = (0.5 if classes else math.sqrt(hi) if follows else 0.5 * (hi - lo)) * ROUNDED
        limits |= dict.fromkeys(one.names, (0.0, most)) | dict.fromkeys(map(MEAN.format, one.names), (lo, hi))
    for name, value in known.items():
        if name not in limits:
            shown = ", ".join(map(repr, names[:10])) + ", and so on" * (len(names) > 10)
            raise InvalidParameter(
                f"known= tells something of {name!r}, which is no column that has a coefficient ({shown}) nor a target ({', '.join(map(repr, targets))}) or its mean ({MEAN.format(targets[0])!r}). Name one of them as coef_ does, a level as 'column=level'."
            )
        lowest, highest = limits[name]
        what = "a standard deviation" + ROOTS * math.isfinite(highest) if name in (*names, *targets) else "a mean"
        found[name] = positive(f"known[{name!r}]", value, what, highest, lowest)
    for name in targets if follows else ():
        if mean := found.get(MEAN.format(name)):
            found.setdefault(name, math.sqrt(mean * (1.0 - mean * classes)))
    return found
