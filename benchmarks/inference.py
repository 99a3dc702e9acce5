"""Inference measured: what a fit tells of the coefficients, whether that holds, how wide it is, and what it costs.

The population is a table (`inference_tables.py`); samples of n records (of whole units where there are units) are drawn from it with
replacement; the truth is the population's unpenalised estimate without privacy, in the user's units. All is about slopes; coefficients that the
population does not identify have no truth and count nowhere. An interval without an end is *not told*: it counts as a miss of width (its
efficiency is 0) and never as cover. δ = 1/n².

- `told`, `strong`: the share told of all slopes, and of those with |t| ≥ 4 without privacy (value over robust error at this n);
- `cover`: of intervals told, the share that hold the truth, with its standard error over draws, beside what intervals of the robust error
  without privacy hold of the same coefficients: where single records decide a coefficient, they hold less than 95 % themselves;
- `worst`: the lowest coverage of a coefficient told in half of the draws or more, `below` how many of these are below 90 %, beside how many
  would be by chance were each at 95 %; both of *sound* coefficients, those that the robust interval without privacy holds in 90 % or more;
- `means`: of intervals of the mean at eight records that are told, the share that hold it;
- `width`: median of the interval's over the robust one without privacy, 2 · 1.96 · error, of those told;
- `power`: median of (robust error / ours)² over strong coefficients and draws, 0 for untold; `power of all` over all slopes;
- `size`: how often an interval of a column without effect (a copy of another, drawn apart) excludes 0, of those told;
- `total`: predicted over observed total of the sample (of Huber's loss: over the truth's prediction of it), its mean and spread over draws,
  and how often it is within two of its stated errors;
- `share`: the share of the gain over a constant that is kept, on the population; `plain` is that without inference where asked for;
- `distance`: of the released coefficients from the truth, in robust errors: of the worst strong one, the median over draws.

    python -m benchmarks.inference --grid smoke
    python -m benchmarks.inference --tables california --bounds fit --eps 1 3 --n 20000 --draws 20 --solver auto --detail
"""

import argparse
import json
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

import hullabaloo as hb
from benchmarks import forecasts, small
from benchmarks.forecasts import Forecast, compared, forecast
from benchmarks.inference_tables import BOUNDS, ESTIMATORS, Population, Truth, bent, names, population, scores
from benchmarks.record import plain
from hullabaloo.noise import TestKey

Array = np.ndarray
Told = dict[str, tuple[float, float, float, float]]
STRONG, LEVEL, QUANTILE = 4.0, 0.95, 1.959964
REFERENCES, SPOTS, SOUND = 100, 8, 0.9
GOALS = {"strong": {1.0: 0.60, 3.0: 0.85}, "power": {1.0: 0.05, 3.0: 0.25}, "width": {1.0: 3.5, 3.0: 2.0}}
"""Of medians over tables of 20 000 records and more, under the expert's bounds."""


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


def total_error(model: Any) -> float:
    """The stated standard error of predicted over observed total; NaN where the release states none."""
    return float(getattr(model.summary(), "total_error", np.nan))


def estimator(case: Case, known: Population, key: TestKey | None, **given: Any) -> Any:
    """The library's, by default as a user gets it; a stream for the solver "stream"."""
    terms = {"budget": hb.Budget(case.epsilon, float(case.n) ** -2), "domain": known.domain(case.bounds, case.n)}
    terms |= {"neighbours": case.neighbours, "test_key": key, **given}
    if case.solver == "stream":
        return hb.streaming.IncrementalRegression(**terms, horizon=case.n, every=case.n // 4)
    solver = hb.WithMoments("auto") if case.solver == "with_moments" else case.solver
    return known.estimator(case.loss)(**terms, solver=solver)


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
    far = np.abs(kept["coef"] - truth.value)[:, strong] / error[strong]
    return {
        **_asked(case),
        "solver that ran": str(kept["solver"][0]),
        **metrics(ends.transpose(2, 0, 1), truth, error, sound),
        "means": float(np.nanmean(kept["means"])) if np.isfinite(kept["means"]).any() else None,
        "total": float(kept["total"].mean()),
        "total spread": spread,
        "total within 1 %": float(np.mean(np.abs(kept["total"] - 1.0) <= 0.01)),
        "total held": _held(kept["total"], kept["total error"]),
        "share": share,
        "plain": float(np.median(kept["plain"])) if case.compare else None,
        "distance": float(np.median(far.max(axis=1))) if strong.any() else None,
        "seconds": float(kept["seconds"].mean()),
        **compared(_forecast(case, known), truth.names, stated, share, spread),
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
        "total": _total(case, known, model, rows, others),
        "total error": total_error(model),
        "share": _share(case, known, model),
        "means": _means(case, known, model),
        "seconds": seconds,
    }
    if case.compare:
        line["plain"] = _share(case, known, fitted(case, known, key, sample, inference=False))
    return line


def _forecast(case: Case, known: Population) -> Forecast:
    return forecast(estimator(case, known, None), case.n if case.neighbours == small.REPLACED else None)


def _held(ratios: Array, stated: Array) -> float | None:
    """How often a total is within two of its stated errors; None where none are stated."""
    return float(np.mean(np.abs(ratios - 1.0) <= 2.0 * stated)) if np.isfinite(stated).all() else None


def _nanmedian(values: Array) -> Array:
    """Over draws, NaN where all are."""
    told_ = np.isfinite(values).any(axis=0)
    out = np.full(values.shape[1], np.nan)
    out[told_] = np.nanmedian(values[:, told_], axis=0)
    return out


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
        means = means * known.domain(case.bounds, case.n).targets[0].hi
    return np.where(np.isfinite(low) & np.isfinite(high), (low <= means) & (means <= high), np.nan)


def _share(case: Case, known: Population, model: Any) -> float:
    """Of the gain over the best constant, on the population."""
    theta, truth = model.release_.theta[:, 0], known.truth(case.bounds, case.loss)
    return (truth.constant - known.encoded(case.bounds, case.loss).risk(theta)) / (truth.constant - truth.risk)


def _asked(case: Case) -> dict[str, Any]:
    return {"half": population(case.table, case.nulls).half, **asdict(case)}


# ---- many lines -----------------------------------------------------------------------------------------------------


def grid(name: str) -> list[Case]:
    """The lines of "smoke", "core" (of the development half) or "full" (of both halves)."""
    if name == "smoke":
        tables, sizes = ["california", "diamonds", "adult", "fremtpl2", "v_shape", "rare_class"], {20_000: 10}
        return list(cases(tables, ["fit", "expert"], (1.0, 3.0), sizes))
    if name == "core":
        tables = names("development")
        few = ["california", "diamonds", "adult", "fremtpl2", "v_shape", "clustered", "rare_levels"]
        return [
            *cases(tables, BOUNDS, (0.5, 1.0, 3.0), {20_000: 200}, all_losses=True),
            *cases(tables, ["expert"], (1.0,), {20_000: 200}, relations=[small.REMOVED]),
            *cases(["california", "v_shape"], ["fit"], (1.0,), {20_000: 200}, solver="stream"),
            *cases(few, ["expert"], (1.0,), {2_000: 200, 200_000: 100, 1_000_000: 20}),
        ]
    small_and_large = {2_000: 200, 200_000: 100}
    return [
        *cases(names(), BOUNDS, (0.5, 1.0, 3.0), {20_000: 200}, all_losses=True),
        *cases(names(), BOUNDS, (1.0,), {20_000: 200}, relations=[small.REMOVED], all_losses=True),
        *cases(names(), BOUNDS, (1.0,), small_and_large),
        *cases(names(), ["expert"], (1.0,), {1_000_000: 20}),
    ]


def cases(
    tables: Sequence[str],
    bounds: Sequence[str],
    epsilons: Sequence[float],
    sizes: dict[int, int],
    *,
    relations: Sequence[str] = (small.REPLACED,),
    all_losses: bool = False,
    **more: Any,
) -> Iterator[Case]:
    """Tables × losses × bounds × n (with its number of draws) × ε × relations."""
    for table in tables:
        losses = population(table).losses
        for loss in losses if all_losses else losses[:1]:
            for declared in bounds:
                for n, draws in sizes.items():
                    for epsilon in epsilons:
                        for relation in relations:
                            yield Case(table, declared, loss, n, epsilon, relation, draws=draws, **more)


COLUMNS = ["told", "strong", "cover", "worst", "below", "width", "power", "size", "means", "total", "share", "distance"]


ASKED = ("half", "table", "loss", "bounds", "n", "epsilon", "neighbours", "draws")
RECORDED = (
    *(
        *ASKED,
        "solver that ran",
        "slopes",
        "strong ones",
        "told",
        "strong",
        "cover",
        "cover error",
        "robust cover",
        "worst",
        "below",
    ),
    *(
        "below by chance",
        "width",
        "power",
        "size",
        "means",
        "total",
        "total spread",
        "total within 1 %",
        "total held",
        "share",
        "distance",
        "seconds",
    ),
    *("forecast errors", "forecast share", "forecast loss", "forecast total"),
)


def text(line: dict[str, Any]) -> str:
    """One line of the printed table."""
    head = f"{line['table']:17s} {line['loss']:8s} {line['bounds']:6s} {line['n']:8,} {line['epsilon']:4g} {line['neighbours'][:3]}"
    if "refused" in line:
        return f"{head}  refused: {line['refused']}"
    cells = [f"{line['slopes']:3d}/{line['strong ones']:<3d}"]
    for name in COLUMNS:
        value = line[name]
        if name == "below":
            cells.append(f"{value:3d}({line['below by chance']:4.1f})")
        elif name == "total":
            held = "  – " if line["total held"] is None else f"{line['total held']:4.2f}"
            cells.append(f"{value:6.3f}±{line['total spread']:.3f} {held}")
        elif name == "cover" and line["cover error"] is not None:
            cells.append(f"{value:5.3f}±{line['cover error']:.3f} ({line['robust cover']:.3f})")
        else:
            cells.append("    –" if value is None or np.isnan(value) else f"{value:5.3g}")
    plain = "" if line["plain"] is None else f" (plain {line['plain']:.3f})"
    return f"{head} {line['solver that ran'][:12]:12s} {' '.join(cells)}{plain}  {line['seconds']:.2f} s"


HEAD = (
    f"{'table':17s} {'loss':8s} {'bounds':6s} {'n':>8s} {'ε':>4s} rel {'solver':12s} slopes   told strong   cover (without privacy) worst   below   "
    "width power  size means  total (within 2 errors) share distance"
)


def summary(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over tables of n ≥ 20 000, for every declaration, ε and relation, beside the goals under the expert's bounds."""
    held = [line for line in lines if "refused" not in line and line["n"] >= 20_000]
    out = []
    for key in dict.fromkeys((line["bounds"], line["epsilon"], line["neighbours"], line["solver"]) for line in held):
        part = [line for line in held if (line["bounds"], line["epsilon"], line["neighbours"], line["solver"]) == key]
        counts = [line["told"] * line["slopes"] * line["draws"] for line in part]
        nulls = sum(line["nulls told"] for line in part)
        one: dict[str, Any] = dict(zip(("bounds", "epsilon", "neighbours", "solver"), key, strict=True))
        one |= {"lines": len(part)}
        one |= {name: _median([line[name] for line in part]) for name in ("told", "strong", "width", "power", "share")}
        one["cover"] = sum(line["cover"] * count for line, count in zip(part, counts, strict=True) if count) / max(
            sum(counts), 1e-9
        )
        one["outside 93–97 %"] = [line["table"] for line in part if _outside(line)]
        one["size"] = sum((line["size"] or 0.0) * line["nulls told"] for line in part) / nulls if nulls else None
        one["below / by chance"] = (
            f"{sum(line['below'] for line in part)} / {sum(line['below by chance'] for line in part):.1f}"
        )
        if key[0] == "expert":
            one["goals"] = {name: goal[key[1]] for name, goal in GOALS.items() if key[1] in goal}
        out.append(one)
    return out


def _outside(line: dict[str, Any]) -> bool:
    """Whether coverage is outside 93–97 % by more than two of its standard errors."""
    if line["cover error"] is None:
        return False
    slack = 2.0 * line["cover error"]
    return bool(line["cover"] < 0.93 - slack or line["cover"] > 0.97 + slack)


def _median(values: Sequence[float | None]) -> float | None:
    """Of what there is; untold is nothing for a width."""
    there = [value for value in values if value is not None]
    return float(np.median(there)) if there else None


def fingerprint() -> dict[str, Any]:
    """What small fits tell of their coefficients, and the truth of a synthetic population."""
    models = {
        "auto": small.fitted(),
        "moments": small.fitted("moments"),
        "logistic": small.fitted(hb.WithMoments("objective_perturbation"), classes=True),
    }
    found: dict[str, Any] = {name: told(model) for name, model in models.items()}
    known = population("rare_class").truth("expert", "logistic")
    return {**found, "truth": known.value, "errors": known.spread}


def run() -> dict[str, Any]:
    """The core grid, for the record; coefficients one by one are left to `--out`."""
    return recorded(list(measured(grid("core"), os.cpu_count() or 1)))


def recorded(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is kept of lines: their medians, how forecasts fared, and the columns of the printed table."""
    kept = [line for line in lines if "refused" not in line]
    return {
        "confidence": LEVEL,
        "refused": [f"{line['table']}, {line['loss']}: {line['refused']}" for line in lines if "refused" in line],
        "medians": summary(lines),
        "forecasts": forecasts.summary(kept),
        "lines": [{name: line[name] for name in RECORDED} for line in kept],
    }


def measured(asked: list[Case], jobs: int) -> Iterator[dict[str, Any]]:
    """The lines of cases, tables together: a worker encodes a population once."""
    asked = sorted(asked, key=lambda case: (case.table, case.loss, case.bounds))
    if jobs == 1:
        yield from map(measure, asked)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(measure, asked)


def main(words: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inference")
    parser.add_argument("--grid", choices=("smoke", "core", "full"))
    parser.add_argument("--tables", nargs="+", help="names, or development or report", default=["development"])
    parser.add_argument("--loss", nargs="+", choices=ESTIMATORS)
    parser.add_argument("--bounds", nargs="+", choices=(*BOUNDS, "bare"), default=list(BOUNDS))
    parser.add_argument("--eps", nargs="+", type=float, default=[1.0, 3.0])
    parser.add_argument("--n", nargs="+", type=int, default=[20_000])
    parser.add_argument("--neighbours", nargs="+", default=[small.REPLACED])
    parser.add_argument("--draws", type=int)
    parser.add_argument("--solver", nargs="+", help="a solver's name, with_moments, or stream")
    parser.add_argument("--nulls", type=int, default=2, help="columns without effect that are added")
    parser.add_argument("--compare", action="store_true", help="fit without inference too")
    parser.add_argument("--detail", action="store_true", help="show every coefficient")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a file for the lines, as JSON")
    asked = parser.parse_args(words)
    tables = [name for one in asked.tables for name in (names(one) if one in ("development", "report") else [one])]
    sizes = dict.fromkeys(asked.n, asked.draws or 20)
    lines = (
        grid(asked.grid)
        if asked.grid
        else list(
            cases(tables, asked.bounds, asked.eps, sizes, relations=asked.neighbours, all_losses=asked.loss is not None)
        )
    )
    if asked.loss:
        lines = [case for case in lines if case.loss in asked.loss]
    if asked.grid and asked.draws:
        lines = [replace(case, draws=asked.draws) for case in lines]
    lines = [
        replace(case, solver=solver, nulls=asked.nulls, compare=asked.compare)
        for case in lines
        for solver in asked.solver or [case.solver]
    ]
    print(HEAD)
    found = []
    for line in measured(lines, asked.jobs):
        found.append(line)
        print(text(line), flush=True)
    for line in found if asked.detail else []:
        print(line["table"], line["bounds"], line["epsilon"])
        for one in line.get("coefficients", []):
            print(
                "   ",
                *(f"{key} {value:.3g}" if isinstance(value, float) else f"{value}" for key, value in one.items()),
                sep="  ",
            )
    for one in [*summary(found), *forecasts.summary([line for line in found if "refused" not in line])]:
        print(*(f"{key} {_short(value)}" for key, value in one.items()), sep="  ")
    if asked.out:
        asked.out.write_text(json.dumps(plain({**recorded(found), "lines": found})) + "\n", encoding="utf-8")


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
