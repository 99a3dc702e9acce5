"""Private evaluation: its noise beside the sampling error, how often its intervals hold the truth, and what it takes of time.

On real tables (`share_tables.py`, at most `ROWS` rows): a model of half of the rows at ε = 1, evaluated on the other half. "privacy" is the noise of
each metric asked alone and of all asked together, "sampling" the standard error that records have anyway, both in the metric's units;
δ = 1/n². Coverage: the held-out half is the population, `SAMPLE` records are drawn from it with replacement, and 95 % intervals are
asked of all metrics together, replace-one and add-or-remove.

Areas under the ROC curve have lines of their own (`areas`): models of two classes as above, on `AREAS`, of up to `LARGE` records; from the other half so many records are drawn with
replacement as counts by class and bin, and the noise of the query's price is added to their coordinates. "told": by how many draws a number was told at all.
"""

import math
from itertools import product
from typing import Any

import numpy as np
from sklearn import metrics as plain
from sklearn.calibration import calibration_curve

import hullabaloo as hb
from benchmarks import small
from benchmarks.share_tables import TABLES
from benchmarks.timing import alternate
from hullabaloo.curation.scoring import score_noise
from hullabaloo.curator import Curator
from hullabaloo.data import Rows
from hullabaloo.losses.ranks import LEVELS, waves
from hullabaloo.model_selection import price_evaluation
from hullabaloo.model_selection.area import window
from hullabaloo.model_selection.catalogue import choose, reading_of
from hullabaloo.model_selection.evaluation import released
from hullabaloo.model_selection.metrics import Bin, ScoreAnswer, _units
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.queries import PricedQueries

NAMES = ("california", "power_plant", "adult", "law_school", "noaa")
NUMBERS, CLASSES = ("squared_error", "absolute_error", "r2"), ("log_loss", "accuracy", "brier_score")
EPSILONS, ROWS, SAMPLE, DRAWS = (0.1, 1.0, 3.0), 20_000, 2000, 400
FREE = hb.Budget(math.inf)
AREAS = ("adult", "bank", "covertype", "electricity", "law_school", "noaa", "skin", "spambase")
LARGE, DRAWN, KEYS = 40_000, (5000, 20_000), 200
Z = 1.959963984540054
Array = np.ndarray


def least_errors(*asked: Any, **given: Any) -> dict[str, float]:
    """The privacy errors that `price_evaluation` expects, of targets spread evenly over their bounds and of classes of one size."""
    return {name: one.low for name, one in price_evaluation(*asked, **given).errors.items()}


def fingerprint() -> dict[str, Any]:
    """Every metric of a small model with its interval and price, of numbers and of classes, in both relations."""
    X, y, c = small.table()
    found = {}
    area = hb.evaluate(
        small.fitted("gradient", classes=True), X, c, budget=small.BUDGET, metrics="roc_auc", test_key=small.KEY
    )
    found["roc_auc"] = [area.values["roc_auc"].value, area.values["roc_auc"].low, area.values["roc_auc"].high]
    for classes, target, asked in ((False, y, NUMBERS), (True, c, CLASSES)):
        model = small.fitted("gradient", classes=classes)
        for neighbours in Neighbours:
            about: dict[str, Any] = {"budget": small.BUDGET, "metrics": list(asked), "neighbours": str(neighbours)}
            public = {} if neighbours is Neighbours.REPLACE_ONE else {"records": len(X)}
            heard = hb.evaluate(model, X, target, test_key=small.KEY, **public, **about)
            prices = least_errors(model, len(X), **about)
            found[f"{asked[0]}, {neighbours}"] = {
                name: [one.value, one.low, one.high, prices[name]] for name, one in heard.values.items()
            }
    return found


def run(names: tuple[str, ...] = NAMES, draws: int = DRAWS) -> dict[str, Any]:
    """Noise and coverage on every table, and times."""
    found = [measure(name, draws) for name in names]
    lines = [line for name in (AREAS if names == NAMES else ()) for line in areas(name, min(draws, KEYS))]
    about = {"sample": SAMPLE, "draws": draws, "tables": found, "coverage": summary(found), "seconds": timing()}
    return about | {"areas": lines}


def quick(names: tuple[str, ...] = ("power_plant",)) -> dict[str, Any]:
    """One table, few draws: for a look."""
    return run(names, draws=40)


def measure(name: str, draws: int) -> dict[str, Any]:
    """Of one table: errors of each metric, and coverage."""
    declared = TABLES[name]
    table = declared.read()
    table = table.take(np.random.default_rng(0).permutation(len(table))[:ROWS])
    half = len(table) // 2
    train, test = table.slice(0, half), table.slice(half)
    kind = hb.LogisticRegression if declared.is_classification else hb.LinearRegression
    model = kind(budget=hb.Budget(1.0, 1.0 / half**2), domain=declared.domain(half)).fit(train)
    asked = list(CLASSES if declared.is_classification else NUMBERS)
    exact = hb.evaluate(model, test, budget=FREE, metrics=asked)
    n = len(test)
    lines = []
    for epsilon in EPSILONS:
        budget = hb.Budget(epsilon, 1.0 / n**2)
        together = least_errors(model, n, budget=budget, metrics=asked)
        for metric in asked:
            one = exact.values[metric]
            privacy = least_errors(model, n, budget=budget, metrics=metric)[metric]
            lines.append(
                {
                    "epsilon": epsilon,
                    "metric": metric,
                    "value": one.value,
                    "privacy": privacy,
                    "privacy of all": together[metric],
                    "sampling": one.sampling_error,
                }
            )
    return {"table": name, "records": n, "errors": lines, "coverage": coverage(model, test, asked, draws)}


def coverage(model: Any, test: Any, asked: list[str], draws: int) -> list[dict[str, Any]]:
    """Per budget and relation: how often each metric's interval holds the population's value, and its mean width over the classical one's."""
    encoding, loss, theta = model.encoding_, model._loss(model.encoding_), model.release_.theta
    chosen = choose(reading_of(encoding, loss), loss, [*asked, "calibration"])
    rows = encoding.encode(test)
    rng = np.random.default_rng(7)

    def heard(part: Rows, relation: Neighbours, mu: float, n: int, key: TestKey | None) -> ScoreAnswer:
        query = PricedQueries(encoding.facts, relation, n).price(
            "score", reading=chosen.reading, tallies=chosen.tallies, mu=mu
        )
        return ScoreAnswer.split(
            Curator(part, [query], key=key).answer("score", theta), chosen.tallies, score_noise(query)
        )

    n = len(test)
    every = heard(rows, Neighbours.REPLACE_ONE, math.inf, n, None)
    truth = {metric.name: metric.measure(every, Z).value for metric in chosen.metrics}
    tally = chosen.tables[0].tally
    bins, (origin, span) = every.sums[tally].reshape(tally.bins, -1), _units(tally)

    def true(row: Bin) -> tuple[float, float]:
        """Records and mean outcome of the bins that a row joins."""
        start, stop = (round((end - origin) / span * tally.bins) for end in (row.low, row.high))
        half, outcome = bins[start:stop, :2].sum(axis=0).tolist()
        return 2.0 * half, origin + span * (0.5 + outcome / max(2.0 * half, 1.0))

    lines = []
    for epsilon in (0.5, 1.0, 3.0):
        mu = Allowance(hb.Budget(epsilon, 1.0 / SAMPLE**2)).mu
        for relation in Neighbours:
            hits = dict.fromkeys([*truth, "calibration"], 0.0)
            for _ in range(draws):
                drawn = rng.integers(0, n, SAMPLE)
                answer = heard(_taken(rows, drawn), relation, mu, SAMPLE, TestKey(rng.bytes(32)))
                for metric in chosen.metrics:
                    one = metric.measure(answer, Z)
                    hits[metric.name] += (one.low <= truth[metric.name] <= one.high) / draws
                told = [(row.outcome, *true(row)) for row in chosen.tables[0].measure(answer, Z)]
                inside = [one.low <= value <= one.high for one, count, value in told if count >= 0.01 * n]
                hits["calibration"] += float(np.mean(inside)) / draws
            lines.append({"epsilon": epsilon, "relation": str(relation), **hits})
    return lines


def areas(name: str, keys: int) -> list[dict[str, Any]]:
    """Of one table, size and budget: how often intervals of the area held that of the held-out half, their errors, and the price."""
    declared = TABLES[name]
    table = declared.read()
    table = table.take(np.random.default_rng(0).permutation(len(table))[:LARGE])
    half = len(table) // 2
    model = hb.LogisticRegression(budget=hb.Budget(1.0, 1.0 / half**2), domain=declared.domain(half))
    public = released(model.fit(table.slice(0, half)), None)[0]
    chosen = choose(reading_of(public.encoding, public.loss), public.loss, "roc_auc", window=window(public))
    (metric,), (tally,) = chosen.metrics, chosen.tallies
    rows, places = public.encoding.encode(table.slice(half)), waves(np.arange(1 << LEVELS))
    z = np.asarray(rows.X @ public.release.theta)
    truth = float(plain.roc_auc_score(rows.Y[:, 0] > 0.0, z[:, 0]))
    parts = np.array_split(np.arange(len(z)), 1 + len(z) // 1000)
    sums = sum(tally.of(chosen.reading.seen(z[part], rows.Y[part])).sum(axis=0) for part in parts)
    counts = np.round(sums.reshape(2, -1) @ np.linalg.inv(places))
    rng, lines = np.random.default_rng(7), []
    for n, epsilon in product(DRAWN, (0.3, 1.0, 3.0)):
        mu, found, held = Allowance(hb.Budget(epsilon, 1.0 / n**2)).mu, [], []
        for relation in Neighbours:
            query = PricedQueries(public.encoding.facts, relation, n).price("score", mu=mu, **chosen.question)
            noise = score_noise(query)
            for _ in range(keys):
                drawn = rng.multinomial(n, counts.ravel() / counts.sum()).reshape(2, -1) @ places
                answer = drawn + noise.sigma * rng.normal(size=drawn.shape)
                found.append(metric.measure(ScoreAnswer({tally: answer}, n, noise), Z))
            held.append(float(np.mean([one.low <= truth <= one.high for one in found[-keys:]])))
        about = {
            "table": name,
            "records": n,
            "rarer": float(counts.sum(axis=1).min() / counts.sum()),
            "epsilon": epsilon,
        }
        told = [one for one in found if math.isfinite(one.privacy_error)]
        of = {
            at: float(np.median([getattr(one, at) for one in told or found]))
            for at in ("privacy_error", "sampling_error")
        }
        price = least_errors(model, n, budget=hb.Budget(epsilon, 1.0 / n**2), metrics="roc_auc")["roc_auc"]
        lines.append(
            about
            | {
                "area": truth,
                **dict(zip(map("held, {}".format, Neighbours), held, strict=True)),
                "told": len(told) / len(found),
                "priced": price,
            }
            | of
        )
    return lines


def _taken(rows: Rows, drawn: Array) -> Rows:
    return Rows(rows.X[drawn], rows.Y[drawn])


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The least, the median and the largest coverage of every metric over tables, budgets and relations."""
    shares: dict[str, list[float]] = {}
    for table in found:
        for line in table["coverage"]:
            for name, value in line.items():
                if name not in ("epsilon", "relation"):
                    shares.setdefault(name, []).append(value)
    return {name: [min(all_of), float(np.median(all_of)), max(all_of)] for name, all_of in shares.items()}


def timing(n: int = 100_000, p: int = 100, repeats: int = 3) -> dict[str, float]:
    """Seconds of an evaluation, and of predicting and scikit-learn's functions for the same numbers, taking turns."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (n, p))
    y = np.clip(X[:, :5].sum(axis=1) + rng.normal(size=n), -5.0, 5.0)
    c = (y > 0.0).astype(int)
    features = {f"x{j}": (-1, 1) for j in range(p)}
    few = slice(0, 5000)
    numbers = hb.LinearRegression(
        budget=FREE, domain=hb.Domain(features=features, target=(-5, 5), indicators=False)
    ).fit(X[few], y[few])
    classes = hb.LogisticRegression(
        budget=FREE,
        domain=hb.Domain(features=features, classes=[0, 1], indicators=False),
        penalty=hb.SquaredL2Penalty(0.01),
    ).fit(X[few], c[few])
    budget = hb.Budget(1.0, 1e-10)

    def sklearn_numbers() -> None:
        found = numbers.predict(X)
        for function in (plain.mean_squared_error, plain.mean_absolute_error, plain.r2_score):
            function(y, found)

    def sklearn_classes() -> None:
        chances = classes.predict_proba(X)
        plain.log_loss(c, chances)
        plain.accuracy_score(c, chances[:, 1] > 0.5)
        plain.brier_score_loss(c, chances[:, 1])
        calibration_curve(c, chances[:, 1], n_bins=10)

    names = ("numbers", "numbers, plain", "classes", "classes, plain")
    tasks = (
        lambda: hb.evaluate(numbers, X, y, budget=budget, metrics=NUMBERS),
        sklearn_numbers,
        lambda: hb.evaluate(classes, X, c, budget=budget, metrics=[*CLASSES, "calibration"]),
        sklearn_classes,
    )
    return dict(zip(names, alternate(*tasks, repeats=repeats), strict=True))
