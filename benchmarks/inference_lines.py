"""One line of the benchmark of inference: samples of a population, each fitted once, and what intervals say of the truth.

All is about slopes; coefficients that the population does not identify have no truth and count nowhere. An interval without an end is *not
told*: it counts as a miss of width (its efficiency is 0) and never as cover.

- `told`, `strong`: the share told of all slopes, and of those with |t| ≥ 4 without privacy (value over robust error at this n);
- `cover`: of intervals told, the share that hold the truth, with its standard error over draws, beside what intervals of the robust error
  without privacy hold of the same coefficients: where single records decide a coefficient, they hold less than 95 % themselves;
- `worst`: the lowest coverage of a coefficient told in half of the draws or more, `below` how many of these are below 90 %, beside how many
  would be by chance were each at 95 %; both of *sound* coefficients, those that the robust interval without privacy holds in 90 % or more;
- `means`: of intervals of the mean at eight records that are told (`means told`), the share that hold it;
- `width`: median of the interval's over the robust one without privacy, 2 · 1.96 · error, of those told;
- `power`: median of (robust error / ours)² over strong coefficients and draws, 0 for untold; `power of all` over all slopes;
- `size`: how often an interval of a column without effect (a copy of another, drawn apart) excludes 0, of those told;
- `total`: predicted over observed total of the sample (of Huber's loss: over the truth's prediction of it), its mean and spread over draws,
  and how often it is within two of its stated errors;
- `share`: the share of the gain over a constant that is kept, on the population; `plain` is that without inference where asked for;
- `distance`: of the released coefficients from the sample's own estimate without privacy, in robust errors: of the worst strong one, the
  median over draws.
"""

import math
import time
import zlib
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import binom

import hullabaloo as hb
from benchmarks import small
from benchmarks.forecasts import Forecast, compared, forecast
from benchmarks.inference_populations import Population, Truth, bent, hessian, scores
from benchmarks.inference_tables import population
from hullabaloo.inference.fit_quality import total
from hullabaloo.noise import TestKey

Array = np.ndarray
Told = dict[str, tuple[float, float, float, float]]
STRONG, LEVEL, QUANTILE = 4.0, 0.95, 1.959964
REFERENCES, SPOTS, SOUND, PART = 100, 8, 0.9, 100_000


@dataclass(frozen=True)
class Case:
    """One line: `draws` samples of n records of a population, each fitted once."""

    table: str
    bounds: str
    loss: str
    n: int
    epsilon: float
    neighbours: str = small.REPLACED
    solver: str = "auto"
    draws: int = 20
    nulls: int = 2
    compare: bool = False

    @property
    def seed(self) -> int:
        """Of the samples; the same for every solver."""
        return zlib.crc32(f"{self.table} {self.n} {self.epsilon} {self.neighbours}".encode())


# ---- what is asked of the library -----------------------------------------------------------------------------------


def told(model: Any) -> Told:
    """name → (estimate, standard error, low, high) of each coefficient, NaN where untold: the one place that knows the library's words."""
    return {
        row.name: (row.estimate, float(np.hypot(row.sampling_error, row.privacy_error)), row.low, row.high)
        for row in model.summary(confidence=LEVEL).rows
    }


def total_told(model: Any) -> tuple[float, float]:
    """How far predicted over observed total is said to be from 1, root mean square, and its error; NaN where the release does not say."""
    told_ = total(model._fitted(), 0) if model.release_.scores else None
    return (np.nan, np.nan) if told_ is None else (float(np.hypot(told_[0] - 1.0, told_[1])), float(told_[1]))


def estimator(case: Case, known: Population, key: TestKey | None, **given: Any) -> Any:
    """The library's, by default as a user gets it; a stream for the solver "stream"."""
    terms: dict[str, Any] = {
        "budget": hb.Budget(case.epsilon, float(case.n) ** -2),
        "domain": known.domain(case.bounds, case.n),
    }
    terms |= {"neighbours": case.neighbours, "test_key": key, **given}
    if case.solver == "stream":
        return hb.streaming.IncrementalRegression(**terms, horizon=case.n, every=case.n // 4)
    return known.estimator(case.loss)(**terms, solver=case.solver)


def fitted(case: Case, known: Population, key: TestKey, sample: Any, **given: Any) -> Any:
    """A fitted model; of a stream that of its last release, at its horizon."""
    model = estimator(case, known, key, **given).fit(sample)
    return model.model_at() if case.solver == "stream" else model


# ---- one line -------------------------------------------------------------------------------------------------------


def measure(case: Case) -> dict[str, Any]:
    """The line of a case, with its coefficients."""
    known, rng = population(case.table, case.nulls), np.random.default_rng(case.seed)
    truth = known.truth(case.bounds, case.loss)
    error = truth.spread / np.sqrt(case.n)
    try:
        found = [_drawn(case, known, truth, rng, draw) for draw in range(case.draws)]
    except hb.errors.HullabalooError as refusal:
        return {**_asked(case), "refused": f"{type(refusal).__name__}: {str(refusal)[:300]}"}
    kept = {name: np.array([line[name] for line in found]) for name in found[0]}
    ends, strong = kept["ends"], _strong(truth, error)
    sound = reference(case.table, case.bounds, case.loss, min(case.n, 50_000), case.nulls)
    share, spread = float(np.median(kept["share"])), float(kept["total"].std())
    often = np.isfinite(ends[:, :, 1]).mean(axis=0) >= 0.5
    stated = np.where(often, _nanmedian(ends[:, :, 1]), kept["coef"].std(axis=0))
    far = np.abs(kept["coef"] - kept["least"])[:, strong] / error[strong]
    return {
        **_asked(case),
        "solver that ran": str(kept["solver"][0]),
        **metrics(ends.transpose(2, 0, 1), truth, error, sound),
        "means": float(np.nanmean(kept["means"])) if np.isfinite(kept["means"]).any() else None,
        "means told": float(np.isfinite(kept["means"]).mean()),
        "total": float(kept["total"].mean()),
        "total spread": spread,
        "total within 1 %": float(np.mean(np.abs(kept["total"] - 1.0) <= 0.01)),
        "total held": _held(kept["total"], kept["total error"][:, 0]),
        "share": share,
        "plain": float(np.median(kept["plain"])) if case.compare else None,
        "distance": float(np.median(far.max(axis=1))) if strong.any() else None,
        "seconds": float(kept["seconds"].mean()),
        **compared(
            _forecast(case, known, {}),
            _forecast(case, known, deviations(case, known)),
            _forecast(case, known, deviations(case, known) | mean(case, known)),
            truth.names,
            stated,
            often,
            share,
            (kept["total"], kept["total error"][:, 1]),
        ),
    }


def _drawn(case: Case, known: Population, truth: Truth, rng: np.random.Generator, draw: int) -> dict[str, Any]:
    """One sample, fitted once."""
    rows, others = known.sample(rng, case.n)
    sample, key = known.table(rows, others), TestKey(bytes(32)).derive(f"{case.seed}/{draw}")
    begun = time.perf_counter()
    model = fitted(case, known, key, sample)
    said = told(model)
    seconds = time.perf_counter() - begun
    line = {
        "solver": model.release_.plan["solver"],
        "ends": [said.get(name, (np.nan,) * 4) for name in truth.names],
        "coef": np.ravel(model.coef_),
        "least": without_privacy(case, known, rows, others),
        "total": _total(case, known, model, rows, others),
        "total error": total_told(model),
        "share": _share(case, known, model),
        "means": _means(case, known, model),
        "seconds": seconds,
    }
    if case.compare:
        line["plain"] = _share(case, known, fitted(case, known, key, sample, inference=False))
    return line


def _forecast(case: Case, known: Population, deviations: dict[str, float]) -> Forecast:
    return forecast(estimator(case, known, None), case.n if case.neighbours == small.REPLACED else None, deviations)


def deviations(case: Case, known: Population) -> dict[str, float]:
    """Standard deviations of the population's columns and of what its truth leaves of the target, to one digit, in the user's units."""
    encoded, truth = known.encoded(case.bounds, case.loss), known.truth(case.bounds, case.loss)
    scale, matrix = float(encoded.encoding.target_scale[0]), np.diag(encoded.encoding.user_matrix(0)[:-1])
    slope = encoded.loss.derivative(encoded.X @ truth.theta + encoded.offset, encoded.y)
    bend = encoded.loss.second_derivative(encoded.X @ truth.theta + encoded.offset, encoded.y)
    rest = float(np.sqrt(np.mean(slope**2)) / np.mean(bend))
    found = dict(zip(truth.names, encoded.X[:, :-1].std(axis=0) * scale / matrix, strict=True))
    found[known.target] = rest * scale if case.loss in ("squared", "huber") else 1.0 / rest
    return {name: float(f"{value:.0e}") for name, value in found.items() if value > 1e-12}


def mean(case: Case, known: Population) -> dict[str, float]:
    """The population's mean target to two digits, in the user's units, of a class its share."""
    encoded = known.encoded(case.bounds, case.loss)
    found = float(encoded.observed().mean()) * (encoded.encoding.targets[0].hi if case.loss == "poisson" else 1.0)
    return {f"mean of {known.target}": float(f"{found:.1e}")}


def _held(ratios: Array, stated: Array) -> float | None:
    """How often a total is within two of its stated errors; None where none are stated."""
    return float(np.mean(np.abs(ratios - 1.0) <= 2.0 * stated)) if np.isfinite(stated).all() else None


def _nanmedian(values: Array) -> Array:
    """Over draws, NaN where all are."""
    told_ = np.isfinite(values).any(axis=0)
    out = np.full(values.shape[1], np.nan)
    out[told_] = np.nanmedian(values[:, told_], axis=0)
    return out


def without_privacy(case: Case, known: Population, rows: Array, others: Array) -> Array:
    """The slopes of a sample by two Newton steps from the truth, (slopes,): what is left after them is of the order 1/n²."""
    encoded, truth = known.encoded(case.bounds, case.loss), known.truth(case.bounds, case.loss)
    null, theta = np.append(truth.null, False), truth.theta
    for _ in range(2):
        bend, slope = np.zeros((len(theta), len(theta))), np.zeros(len(theta))
        for part in np.array_split(np.arange(len(rows)), math.ceil(len(rows) / PART)):
            X, here = encoded.X[rows[part]], rows[part]
            X[:, null] = encoded.X[others[part]][:, null]
            sample = replace(encoded, X=X, y=encoded.y[here], offset=encoded.offset[here])
            bend += len(part) * hessian(sample, X, theta)
            slope += X.T @ encoded.loss.derivative(X @ theta + sample.offset, sample.y)
        theta = theta - np.linalg.lstsq(bend, slope, rcond=1e-10)[0]
    return np.ravel(encoded.encoding.coefficients_to_user(theta)[0])


@cache
def reference(table: str, bounds: str, loss: str, n: int, nulls: int) -> Array:
    """How often the interval of the robust error without privacy holds each slope, (slopes,): one Newton step from the truth each draw."""
    known = population(table, nulls)
    encoded, truth, rng = known.encoded(bounds, loss), known.truth(bounds, loss), np.random.default_rng(n)
    null, matrix = np.append(truth.null, False), encoded.encoding.user_matrix(0)[:-1]
    held = np.zeros(len(truth.names))
    for _ in range(REFERENCES):
        rows, others = known.sample(rng, n)
        X = encoded.X[rows]
        X[:, null] = encoded.X[others][:, null]
        sample = replace(encoded, X=X, y=encoded.y[rows], offset=encoded.offset[rows])
        _, inverse = bent(sample, truth.theta)
        step = -inverse @ (X.T @ encoded.loss.derivative(X @ truth.theta + sample.offset, sample.y) / len(X))
        meat = scores(sample, truth.theta + step, known.firsts(rows))
        error = np.sqrt(np.einsum("ij,jk,kl,lm,im->i", matrix, inverse, meat, inverse, matrix, optimize=True) / len(X))
        held += np.abs(matrix @ step) <= QUANTILE * error
    return held / REFERENCES


def metrics(ends: Array, truth: Truth, error: Array, sound: Array) -> dict[str, Any]:
    """What estimates, errors, lower and upper ends, (4, draws, slopes), say of the truth; `sound` as by `reference`."""
    estimate, stated, low, high = ends
    known, strong = np.isfinite(truth.value), _strong(truth, error)
    effect, null = known & ~truth.null, known & truth.null
    told_ = np.isfinite(low) & np.isfinite(high)
    held = told_ & (low <= truth.value) & (truth.value <= high)
    ours = np.where(told_, (high - low) / (2.0 * QUANTILE), np.inf)
    power = np.where(told_, (error / ours) ** 2, 0.0)
    here = told_ & effect
    count, hits = here.sum(axis=1), (held & effect).sum(axis=1)
    cover = hits.sum() / count.sum() if count.any() else np.nan
    times, covered = told_.sum(axis=0), held.sum(axis=0)
    often = effect & (times >= max(0.5 * len(told_), 1)) & (sound >= SOUND)
    few = np.ceil(0.9 * times[often]) - 1
    rejected = told_ & null & ((low > 0.0) | (high < 0.0))
    z = ((estimate - truth.value) / stated)[here]
    return {
        "slopes": int(effect.sum()),
        "strong ones": int(strong.sum()),
        "told": float(told_[:, effect].mean()) if effect.any() else None,
        "strong": float(told_[:, strong].mean()) if strong.any() else None,
        "cover": float(cover),
        "cover error": _cover_error(hits, count) if count.any() else None,
        "robust cover": float((times * sound)[effect].sum() / count.sum()) if count.any() else None,
        "sound": int((sound >= SOUND)[effect].sum()),
        "worst": float((covered[often] / times[often]).min()) if often.any() else None,
        "often told": int(often.sum()),
        "below": int((covered[often] <= few).sum()),
        "below by chance": float(binom.cdf(few, times[often], LEVEL).sum()),
        "width": float(np.median((ours / error)[here])) if here.any() else None,
        "power": float(np.median(power[:, strong])) if strong.any() else None,
        "power of all": float(np.median(power[:, effect])),
        "size": float(rejected.sum() / (told_ & null).sum()) if (told_ & null).any() else None,
        "nulls told": int((told_ & null).sum()),
        "told though not identified": int(told_[:, ~known].sum()),
        "rms of z": float(np.sqrt(np.mean(np.minimum(np.abs(z), 10.0) ** 2))) if z.size else None,
        "coefficients": [
            {
                "name": name,
                "t": truth.value[j] / error[j],
                "told": float(told_[:, j].mean()),
                "cover": float(covered[j] / times[j]) if times[j] else None,
                "robust cover": float(sound[j]),
                "bias / error": float(np.mean((estimate - truth.value)[told_[:, j], j]) / error[j])
                if times[j]
                else None,
                "width": float(np.median((ours[:, j] / error[j])[told_[:, j]])) if times[j] else None,
            }
            for j, name in enumerate(truth.names)
        ],
    }


def _cover_error(hits: Array, count: Array) -> float:
    """Of pooled coverage over draws, in which intervals err together; not below that of as many draws at the nominal level."""
    apart = np.sqrt(np.sum((hits - hits.sum() / count.sum() * count) ** 2)) / count.sum()
    return float(max(apart, np.sqrt(LEVEL * (1.0 - LEVEL) / count.sum())))


def _strong(truth: Truth, error: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(truth.value) >= STRONG * error) & ~truth.null & np.isfinite(truth.value))


def _total(case: Case, known: Population, model: Any, rows: Array, others: Array) -> float:
    """Predicted over observed total of a sample, from the encoded population."""
    encoded, theta = known.encoded(case.bounds, case.loss), model.release_.theta[:, 0]
    null = np.append(known.truth(case.bounds, case.loss).null, False)
    apart = encoded.X[:, null] @ theta[null]
    z = (encoded.X @ theta - apart + encoded.offset)[rows] + apart[others]
    wanted = (
        encoded.observed()
        if case.loss != "huber"
        else encoded.means(encoded.X @ known.truth(case.bounds, case.loss).theta)
    )
    return float(encoded.means(z).sum() / wanted[rows].sum())


def _means(case: Case, known: Population, model: Any) -> Array:
    """(SPOTS,) whether intervals of the mean hold it at a few records; NaN where none is told."""
    encoded, truth = known.encoded(case.bounds, case.loss), known.truth(case.bounds, case.loss)
    rows = np.random.default_rng(0).integers(0, len(known.frame), SPOTS)
    try:
        low, high = model.predict_interval(known.frame.take(rows)).T
    except hb.errors.NotReleased:
        return np.full(SPOTS, np.nan)
    means = encoded.means(encoded.X[rows] @ truth.theta + encoded.offset[rows])
    if case.loss == "poisson":
        means = means * np.exp(encoded.encoding.prediction_offset[0])
    if case.loss != "logistic":  # of records that count as the bound beyond it
        means = np.clip(means, encoded.encoding.targets[0].lo, encoded.encoding.targets[0].hi)
    return np.where(np.isfinite(low) & np.isfinite(high), (low <= means) & (means <= high), np.nan)


def _share(case: Case, known: Population, model: Any) -> float:
    """Of the gain over the best constant, on the population."""
    theta, truth = model.release_.theta[:, 0], known.truth(case.bounds, case.loss)
    return (truth.constant - known.encoded(case.bounds, case.loss).risk(theta)) / (truth.constant - truth.risk)


def _asked(case: Case) -> dict[str, Any]:
    return {"half": population(case.table, case.nulls).half, **asdict(case)}
