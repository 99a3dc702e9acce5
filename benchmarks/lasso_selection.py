"""False selections of private lassos, and their power beside the lasso without privacy at as large a share of false ones.

Synthetic tables: of 20 columns 5 matter, by sizes from 0.05 to 1 of either sign, residuals as wide as the signal. Real tables: beside
every feature stands a copy whose rows are shuffled anew in each repetition, so that no column of a copy has an effect; power is of the
features' own columns, of which some may truly have none, so that it is read beside the lasso without privacy alone. That lasso is given
the point of its path that selects most of the true columns while at most a tenth of all selected are false: nobody could choose it
without knowing the truth. The elastic net, of the same release, has the l1 part 0.001 and the quadratic part s√(2p), the spectral radius of the
public noise of second moments: it is asked what columns tell at that resolution, and of synthetic tables, too, judged by the least-squares truth.
`share false` is the mean over repetitions of (false selected)/(selected), 0 where none is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import lasso_path

import hullabaloo as hb
from benchmarks import small
from benchmarks.share_tables import TABLES
from hullabaloo.noise import TestKey

Array = np.ndarray
EPSILONS = (1.0, 3.0)
LEVEL, DELTA = 0.1, 1e-6
DRAWS, SHUFFLES = 60, 12
COLUMNS, MATTER = 20, 5
REAL = ("bike", "california", "diamonds", "elevators", "flights", "wine")
RULES = ("fdr", "bound", None)


def chain(correlation: float) -> Callable[[np.random.Generator, int], Array]:
    """Normal columns cut at ±3, each correlated with the one before."""

    def rows(rng: np.random.Generator, n: int) -> Array:
        X = rng.normal(size=(n, COLUMNS))
        for j in range(1, COLUMNS):
            X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
        return np.clip(X, -3.0, 3.0)

    return rows


def common(rng: np.random.Generator, n: int) -> Array:
    """Columns with a common part, correlated by 0.5."""
    return 3.0 * (0.5 * rng.uniform(-1.0, 1.0, (n, 1)) + 0.5 * rng.uniform(-1.0, 1.0, (n, COLUMNS)))


def mixed(rng: np.random.Generator, n: int) -> Array:
    """Every second column of a chain rare, every fourth skewed."""
    X = chain(0.5)(rng, n)
    X[:, ::2] = 3.0 * (X[:, ::2] > 1.2)
    X[:, 1::4] = np.clip(np.exp(X[:, 1::4]) - 1.0, -3.0, 3.0)
    return X


def even(rng: np.random.Generator, X: Array) -> Array:
    """Normal residuals."""
    return rng.normal(size=len(X))


def spreading(rng: np.random.Generator, X: Array) -> Array:
    """Residuals that spread with |x₁|."""
    return (1.0 + 2.0 * np.abs(X[:, 0])) * rng.normal(size=len(X))


DESIGNS: dict[str, tuple[int, Any, Any]] = {
    "correlated 0.5 by neighbours": (50_000, chain(0.5), even),
    "correlated 0.5 by neighbours, more records": (200_000, chain(0.5), even),
    "correlated 0.8 by neighbours": (200_000, chain(0.8), even),
    "correlated 0.5 all": (100_000, common, even),
    "rare and skewed columns": (50_000, mixed, even),
    "residuals that spread": (50_000, chain(0.5), spreading),
}


def drawn(name: str, draw: int) -> tuple[Array, Array, hb.Domain, Array]:
    """A table, its domain, and which columns matter."""
    n, rows, residuals = DESIGNS[name]
    rng = np.random.default_rng([draw, n])
    X, slopes, true = rows(rng, n), np.zeros(COLUMNS), rng.permutation(COLUMNS) < MATTER
    slopes[true] = rng.choice([-1.0, 1.0], MATTER) * rng.uniform(0.05, 1.0, MATTER)
    signal, rest = X @ slopes, residuals(rng, X)
    y = signal + rest * signal.std() / rest.std()
    bound = float(np.ceil(40.0 * np.sqrt(2.0) * signal.std())) / 10.0
    return (
        X,
        y,
        hb.Domain(features={f"x{j}": (-3, 3) for j in range(COLUMNS)}, target=(-bound, bound), indicators=False),
        true,
    )


def shuffled(name: str, draw: int) -> tuple[Any, Any, hb.Domain, Array]:
    """A real table with a shuffled copy of every feature."""
    declared = TABLES[name]
    table, rng = declared.read().to_pandas(), np.random.default_rng(draw)
    copies = {f"copy of {feature}": feature for feature in declared.features}
    for copy, feature in copies.items():
        table[copy] = table[feature].to_numpy()[rng.permutation(len(table))]
    features = {**declared.features, **{copy: declared.features[feature] for copy, feature in copies.items()}}
    domain = hb.Domain(features=features, target=declared.target, indicators=False)
    own = [
        not column.startswith("copy of ")
        for column in domain.encoding(None, None, fit_intercept=True).feature_names_out
    ]
    return table, None, domain, np.array(own)


def judged(kept: Array, true: Array) -> tuple[float, float]:
    """The share of false ones among those selected, and the share of true ones selected."""
    return float((kept & ~true).sum() / max(kept.sum(), 1)), float((kept & true).sum() / true.sum())


def plain(X: Array, y: Array, true: Array) -> float:
    """Power of the lasso without privacy where at most the level is false; rows and target encoded."""
    X, y = X - X.mean(axis=0), y - y.mean()
    spread = X.std(axis=0)
    X = X[:, spread > 0.0] / spread[spread > 0.0]
    strengths = float(np.abs(X.T @ y).max()) / len(y) * np.geomspace(1.0, 1e-4, 200)
    _, path, _ = lasso_path(X, y, precompute=True, alphas=strengths)
    told = true[spread > 0.0]
    found = [judged(kept, told) for kept in (path != 0.0).T]
    return max(power for false, power in found if false <= LEVEL) * told.sum() / true.sum()


def measure(name: str, source: Callable[[str, int], Any], epsilon: float, draws: int) -> dict[str, Any]:
    """One line."""
    seen: dict[str, list[Any]] = {name: [] for name in [*map(str, RULES), "elastic net, fdr"]}
    without, gained = [], []
    for draw in range(draws):
        X, y, domain, true = source(name, draw)
        key = TestKey(np.random.default_rng([7, draw]).bytes(32))
        models = {}
        for rule in RULES:
            about: dict[str, Any] = {"solver": "moments", "selection": rule, "selection_level": LEVEL}
            models[rule] = hb.Lasso(budget=hb.Budget(epsilon, DELTA), domain=domain, test_key=key, **about).fit(X, y)
            seen[str(rule)].append(judged(_kept(models[rule]), true))
        noise = float(models[None].release_.moments.gram_noise) * np.sqrt(2.0 * true.size)
        net = models[None].refit(penalty=hb.ElasticNetPenalty(0.001 + noise, 0.001 / (0.001 + noise)), selection="fdr")
        seen["elastic net, fdr"].append(judged(_kept(net), true))
        rows = models[None].encoding_.encode(models[None].domain.open(X), y)
        without.append(plain(np.asarray(rows.X)[:, :-1], rows.Y[:, 0], true))
        errors = [float(np.mean((rows.X @ models[rule].release_.theta - rows.Y) ** 2)) for rule in ("fdr", None)]
        errors.append(float(np.mean((rows.X @ net.release_.theta - rows.Y) ** 2)))
        gained.append([1.0 - error / float(rows.Y.var()) for error in errors])
    line: dict[str, Any] = {"table": name, "records": len(rows.Y), "columns": true.size, "epsilon": epsilon}
    for rule, pairs in seen.items():
        words = "solver's zeros" if rule == "None" else rule
        line |= {f"{words}: share false": np.mean(pairs, axis=0)[0], f"{words}: power": np.mean(pairs, axis=0)[1]}
    line["fdr: error of the share"] = np.std(seen["fdr"], axis=0)[0] / np.sqrt(draws)
    line["bound: any false"] = np.mean([false > 0.0 for false, _ in seen["bound"]])
    line["not private: power"] = np.mean(without)
    line |= {
        f"{name}: R²": value
        for name, value in zip(("fdr", "solver's zeros", "elastic net, fdr"), np.mean(gained, axis=0), strict=True)
    }
    return line | {"draws": draws}


def _kept(model: Any) -> Array:
    return np.asarray(model.release_.theta[:-1, 0] != 0.0)


def fingerprint() -> dict[str, Any]:
    """What the rules leave of a small fit, and the lasso without privacy."""
    X, y, _ = small.table()
    about: dict[str, Any] = {"domain": small.domain(), "test_key": small.KEY, "solver": "moments"}
    fits = {
        rule: hb.Lasso(budget=hb.Budget(20.0, 1e-5), selection=rule, **about).fit(X, y) for rule in ("fdr", "bound")
    }
    found = {rule: model.release_.theta.ravel() for rule, model in fits.items()}
    return {**found, "not private": plain(X, y, np.array([True, True, True, False]))}


def run(draws: int = DRAWS, shuffles: int = SHUFFLES, only: str = "") -> dict[str, Any]:
    """All tables at all ε."""
    asked = [(name, drawn, draws) for name in DESIGNS] + [(name, shuffled, shuffles) for name in REAL]
    lines = [
        measure(name, source, epsilon, count) for name, source, count in asked for epsilon in EPSILONS if only in name
    ]
    made, real = lines[: 2 * len(DESIGNS)], lines[2 * len(DESIGNS) :]

    def beside(name: str, some: list[dict[str, Any]]) -> float:
        return float(
            np.median([line[f"{name}: power"] / max(line["not private: power"], 1e-9) for line in some] or [0.0])
        )

    return {
        "level": LEVEL,
        "delta": DELTA,
        "largest share false, fdr": max(line["fdr: share false"] for line in lines),
        "largest chance of any false, bound": max(line["bound: any false"] for line in lines),
        "power beside the lasso without privacy, median of synthetic tables": beside("fdr", made),
        "of real tables": beside("fdr", real),
        "of real tables, elastic net": beside("elastic net, fdr", real),
        "lines": lines,
    }


if __name__ == "__main__":
    import sys

    for line in run(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])["lines"]:
        print({name: round(value, 3) if isinstance(value, float) else value for name, value in line.items()})
