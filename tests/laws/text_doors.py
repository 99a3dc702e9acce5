"""Everything public that takes a table, and every command: found by introspection, each with a way to call it."""

import inspect
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
import typer
from sklearn.preprocessing import Normalizer

import hullabaloo as hb
from hullabaloo import streaming
from hullabaloo.cli.app import app
from tests.laws.public import public

ROOMS = (
    "",
    ".audit",
    ".bounds",
    ".data",
    ".linear_model",
    ".model_selection",
    ".report",
    ".streaming",
    ".data.sources",
)
TABLES = {"X", "table", "x"}
BUDGET = hb.Budget(50.0, 1e-3)
DOMAIN = hb.Domain(
    features={"age": (0, 95), "ward": ["surgery", "medicine"]}, target={"stay": (0, 30)}, indicators=False
)
TWO = hb.Domain(features={"age": (0, 95)}, target={"stay": (0, 30), "cost": (0, 9)})
CLASSES = hb.Domain(features=dict(DOMAIN.features), classes={"stay": ["no", "yes"]}, indicators=False)
PREPARED = hb.Domain(row_norm=2.0, target=(0, 1))


def functions() -> dict[str, Callable[..., Any]]:
    """Every public function and method that takes a table, by its qualified name."""
    found: dict[str, Callable[..., Any]] = {}
    for room in (import_module(f"hullabaloo{name}") for name in ROOMS):
        for one in (getattr(room, name) for name in public(room)):
            inside = [f for name, f in inspect.getmembers(one) if name[:1] != "_"] if inspect.isclass(one) else [one]
            for function in filter(callable, inside):
                module = str(getattr(function, "__module__", ""))
                if module.startswith("hullabaloo") and not inspect.isclass(function) and set(_takes(function)) & TABLES:
                    found[function.__qualname__] = function
    return found


def _takes(function: Callable[..., Any]) -> Any:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()


@cache
def sound() -> Any:
    """A sound table."""
    import pandas as pd

    rng = np.random.default_rng(5)
    stay = rng.uniform(0, 30, 40)
    return pd.DataFrame({"age": rng.uniform(0, 95, 40), "ward": rng.choice(["surgery", "medicine"], 40), "stay": stay})


class _Fitted:
    """Models of a sound table, each fitted when it is first asked for; what they say of another table is looked at."""

    matrix, ones = np.eye(3)[np.arange(40) % 3], np.arange(40) % 2

    @cached_property
    def linear(self) -> Any:
        return _regression(DOMAIN).fit(sound())

    @cached_property
    def prepared(self) -> Any:
        return _regression(PREPARED).fit(self.matrix, self.ones)

    @cached_property
    def logistic(self) -> Any:
        return hb.LogisticRegression(budget=BUDGET, domain=CLASSES, solver="gradient").fit(self._classes)

    @cached_property
    def poisson(self) -> Any:
        return hb.PoissonRegressor(budget=BUDGET, domain=DOMAIN, solver="gradient").fit(sound())

    @cached_property
    def structured(self) -> Any:
        return hb.StructuredSparseClassifier(budget=BUDGET, domain=CLASSES, solver="gradient").fit(self._classes)

    @cached_property
    def pipeline(self) -> Any:
        return hb.private_pipeline(Normalizer(), _regression(PREPARED)).fit(self.matrix, self.ones)

    @cached_property
    def search(self) -> Any:
        return _search().fit(sound())

    @cached_property
    def stream(self) -> Any:
        return stream().fit(sound())

    @cached_property
    def periodic(self) -> Any:
        model = hb.LogisticRegression(budget=BUDGET, domain=CLASSES, solver="gradient")
        return streaming.PeriodicERM(model, horizon=40, every=40).fit(self._classes)

    @cached_property
    def _classes(self) -> Any:
        return sound().assign(stay=np.where(self.ones, "yes", "no"))


FITTED = _Fitted()


def _regression(domain: hb.Domain, budget: hb.Budget | None = BUDGET) -> Any:
    return hb.LinearRegression(budget=budget, domain=domain, solver="moments")


def _search() -> Any:
    candidates = {"penalty": [hb.SquaredL2Penalty(0.01), hb.SquaredL2Penalty(0.1)]}
    return hb.PrivateSearchCV(_regression(DOMAIN, None), candidates, budget=BUDGET, expected_candidates=1.5)


def stream(domain: hb.Domain = DOMAIN) -> Any:
    """A stream of forty records that was not begun."""
    return streaming.IncrementalRegression(budget=BUDGET, domain=domain, horizon=40, every=40)


def _each(*calls: Callable[[Any], Any]) -> Callable[[Any], list[Callable[[], Any]]]:
    return lambda table: [lambda call=call: call(table) for call in calls]


def _one(model: Callable[[], Any], method: str) -> Callable[[Any], list[Callable[[], Any]]]:
    return lambda table: [lambda: getattr(model(), method)(table)]


def _all(method: str, *places: str) -> Callable[[Any], list[Callable[[], Any]]]:
    return _each(*(lambda table, at=at: getattr(getattr(FITTED, at), method)(table) for at in places))


def _released() -> Any:
    return FITTED.stream.model_at()


def _scored(*models: Callable[[], Any]) -> Callable[[Any], list[Callable[[], Any]]]:
    calls = (
        (lambda table, made=made: made().score(table, "stay"), lambda table, made=made: made().score(table, table))
        for made in models
    )
    return _each(*(call for pair in calls for call in pair))


DOORS: dict[str, Callable[[Any], list[Callable[[], Any]]]] = {
    "Domain.check_schema": _each(
        DOMAIN.check_schema,
        lambda table: DOMAIN.check_schema(table, "elsewhere"),
        lambda table: TWO.check_schema(sound(), table),
        lambda table: DOMAIN.check_schema(sound(), table),
    ),
    "Domain.open": _each(DOMAIN.open),
    "Domain.encoding_for": _each(
        lambda table: hb.Domain(features={"age": (0, 9)}, weight=("w", 2.0)).encoding_for(sound(), weight=table),
        lambda table: hb.Domain(features={"age": (0, 9)}, unit="who").encoding_for(sound(), unit=table),
    ),
    "Encoding.encode": _each(
        lambda table: DOMAIN.encoding().encode(table), lambda table: DOMAIN.encoding().encode(sound(), table)
    ),
    "Encoding.owned": _each(lambda table: DOMAIN.encoding().owned(table)),
    "Encoding.features": _each(lambda table: DOMAIN.encoding().features(table)),
    "Encoding.predictions": _each(lambda table: DOMAIN.encoding().predictions(table, np.zeros((4, 1)))),
    "open_table": _each(hb.data.open_table),
    "describe_table": _each(hb.data.describe_table),
    "domain_template": _each(hb.data.domain_template),
    "PrivateLinearModel.fit": _each(
        lambda table: _regression(DOMAIN).fit(table),
        lambda table: _regression(PREPARED).fit(table, "stay"),
        lambda table: hb.LinearRegression(budget=BUDGET, domain=DOMAIN, solver="gradient").fit(sound(), table),
        lambda table: hb.MultiTaskRegression(budget=BUDGET, domain=TWO).fit(sound(), table),
    ),
    "LinearPredictor.predict": lambda table: [
        lambda: FITTED.linear.predict(table),
        lambda: FITTED.prepared.predict(table),
    ],
    "CoefficientInference.predict_interval": lambda table: [
        lambda: FITTED.linear.predict_interval(table),
        lambda: _released().predict_interval(table),
    ],
    "PlainScore.score": _scored(lambda: FITTED.linear, lambda: FITTED.logistic, lambda: FITTED.stream),
    "PrivateClassifier.decision_function": _one(lambda: FITTED.logistic, "decision_function"),
    "PrivateClassifier.predict": _one(lambda: FITTED.logistic, "predict"),
    "LogisticClassifier.predict_proba": _all("predict_proba", "logistic", "structured"),
    "LogisticClassifier.predict_log_proba": _all("predict_log_proba", "logistic", "structured"),
    "PoissonRegressor.predict": _one(lambda: FITTED.poisson, "predict"),
    "PrivateSearchCV.fit": _each(
        lambda table: _search().fit(table),
        lambda table: _search().fit(sound(), table),
    ),
    "Around.predict": _all("predict", "search", "pipeline", "periodic"),
    "Around.predict_proba": _all("predict_proba", "search", "pipeline", "periodic"),
    "Around.decision_function": _all("decision_function", "search", "pipeline", "periodic"),
    "PrivateSearchCV.score": _scored(lambda: FITTED.search),
    "PrivatePipeline.fit": _each(
        lambda table: hb.private_pipeline(Normalizer(), _regression(PREPARED)).fit(table, "stay"),
        lambda table: hb.private_pipeline(Normalizer(), _regression(PREPARED)).fit(table, table),
    ),
    "PrivatePipeline.score": _scored(lambda: FITTED.pipeline),
    "evaluate": _each(
        lambda table: hb.evaluate(FITTED.linear, table, budget=BUDGET),
        lambda table: hb.evaluate(FITTED.linear, sound(), table, budget=BUDGET),
        lambda table: hb.evaluate(FITTED.prepared, table, "stay", budget=BUDGET),
    ),
    "private_bounds": _each(
        lambda table: hb.private_bounds(table, outer=DOMAIN, budget=BUDGET),
        lambda table: hb.private_bounds(table, table, outer={"age": (0, 200), "target": (0, 99)}, budget=BUDGET),
    ),
    "PrivateStream.fit": _each(lambda table: stream().fit(table), lambda table: stream(PREPARED).fit(table, "stay")),
    "PrivateStream.partial_fit": _each(
        lambda table: stream().partial_fit(table), lambda table: stream(PREPARED).partial_fit(table, "stay")
    ),
    "PrivateStream.learn_one": _each(
        lambda table: stream().learn_one(table, table), lambda table: stream(TWO).learn_one({"age": 1}, table)
    ),
    "PrivateStream.predict": _one(lambda: FITTED.stream, "predict"),
    "PrivateStream.predict_interval": _one(lambda: FITTED.stream, "predict_interval"),
    "PrivateStream.predict_one": _one(lambda: FITTED.stream, "predict_one"),
    "StreamModel.predict": _one(_released, "predict"),
    "StreamModel.predict_one": _one(_released, "predict_one"),
    "PeriodicERM.predict_proba_one": _one(lambda: FITTED.periodic, "predict_proba_one"),
    "RiverRegressor.learn_one": _each(lambda table: streaming.RiverRegressor(stream()).learn_one(table, table)),
    "RiverRegressor.predict_one": _each(lambda table: streaming.RiverRegressor(FITTED.stream).predict_one(table)),
}
"""By qualified name: the calls to make with a table, wherever a table, a target, a weight or a record goes."""


def commands(group: Any = None, before: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command of the command line, by its words."""
    group = typer.main.get_command(app) if group is None else group
    if not hasattr(group, "commands"):
        yield " ".join(before), group
        return
    for name, inner in group.commands.items():
        yield from commands(inner, (*before, name))


SPENT = "--epsilon 50 --delta 1e-3"
LINES = {
    "demo": "demo --out nowhere/demo",
    "price": f"price --domain d.toml --records 40 {SPENT} --solver moments",
    "plan": f"plan --domain d.toml --records 40 {SPENT}",
    "fit": f"fit TABLE --domain d.toml {SPENT} --solver moments --out o.json --overwrite",
    "search": f"search TABLE --domain d.toml --grid g.toml {SPENT} --solver moments --expected-runs 1.5 --out o.json --overwrite",
    "stream": f"stream TABLE --domain d.toml {SPENT} --horizon 40 --every 40 --out o.json",
    "summary": "summary m.json --joint",
    "predict": "predict m.json TABLE --out p.csv --overwrite",
    "evaluate": f"evaluate m.json TABLE {SPENT} --out e.json --overwrite",
    "card": "card m.json --out c.json --overwrite",
    "audit": f"audit --domain d.toml --runs 2 {SPENT} --records 9 --solver nowhere",
    "reproduce": "reproduce nowhere --quick --out nowhere/reproduced",
    "domain template": "domain template TABLE",
    "domain describe": "domain describe d.toml",
    "domain check": "domain check d.toml TABLE",
    "domain estimate": f"domain estimate TABLE --outer d.toml {SPENT} --quantiles 0.1,0.9 --out b.toml --overwrite",
    "ledger create": f"ledger create sqlite:///c.db people {SPENT}",
    "ledger show": "ledger show sqlite:///c.db",
    "ledger log": "ledger log sqlite:///c.db people",
    "ledger upgrade": "ledger upgrade sqlite:///c.db",
    "ledger verify": "ledger verify sqlite:///c.db",
}
"""A command line of every command; TABLE stands for the table."""
ALSO = {
    "fit": (f"fit TABLE --domain n.toml --target stay {SPENT} --solver moments --out o.json --overwrite",),
    "stream": (f"stream TABLE --domain n.toml --target stay {SPENT} --horizon 40 --every 2 --out o.json --json",),
    "evaluate": (f"evaluate n.json TABLE --target stay {SPENT}",),
    "predict": ("predict n.json TABLE", "predict m.json TABLE --json"),
    "domain check": ("domain check n.toml TABLE --json", "domain check d.toml TABLE --target elsewhere --json"),
    "domain template": ("domain template TABLE --json",),
}
"""Further lines of some commands: prepared matrices, and answers for scripts."""
