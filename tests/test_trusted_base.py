"""Tier 1 is what runs while records are decoded, encoded and answered from, and no more: fits are traced, and the page is held to the code."""

import ast
import gc
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.curator.query import Query
from hullabaloo.data import Encoding
from hullabaloo.losses import Logistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import QUERIES, PricedQueries
from tests.audit.probes import asks, pairs
from tests.audit.test_every_query import MENU
from tests.curator import test_minimisers, test_structured_minimisers
from tests.curator.neighbours import facts, random_rows

_SPEC = importlib.util.spec_from_file_location("trusted_base", Path(__file__).parents[1] / "docs" / "trusted_base.py")
assert _SPEC is not None
assert _SPEC.loader is not None
base = importlib.util.module_from_spec(_SPEC)
sys.modules["trusted_base"] = base
_SPEC.loader.exec_module(base)

HOME = str(Path(hb.__file__).parent) + "/"
BOUNDARY = {
    Encoding.encode.__qualname__,
    *(getattr(Curator, name).__qualname__ for name in ("answer", "of_target", "restricted", "projected", "centred")),
}
"""Where records are read, encoded and answered from."""
BUDGET, KEY = hb.Budget(1.0, 1e-6), bytes(range(32))
SOLVERS = ("moments", "gradient", "adaptive_gradient", "preconditioned_gradient", "mirror_descent")


class Trace:
    """The files of the library of which a line runs inside the boundary, in any thread."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.inside = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call":
            self.inside += code.co_qualname in BOUNDARY and code.co_filename.startswith(HOME)
            if self.inside and code.co_filename.startswith(HOME):
                self.files.add(code.co_filename.removeprefix(HOME))
        elif event == "return":
            self.inside -= code.co_qualname in BOUNDARY and code.co_filename.startswith(HOME)


@pytest.fixture(scope="module", autouse=True)
def swept() -> None:
    """What earlier tests left behind is collected once: before each of sixty traces it took a third of a second."""
    gc.collect()


@contextmanager
def traced() -> Iterator[Trace]:
    trace = Trace()
    gc.disable()  # what earlier tests left behind is not finalised in between, and not traced
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # the stubs forget None
        gc.enable()


def tables(folder: Path) -> dict[str, Any]:
    """One table of 300 records, by everything that tier 1 decodes."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.uniform(0, 10, 300), "b": rng.uniform(-1, 1, 300), "c": rng.choice(["x", "y"], 300), "e": 1.0}
    )
    frame["t"] = np.clip(0.1 * frame.a + rng.normal(0, 0.1, 300), 0, 2)
    frame["k"] = np.where(frame.a > 5, "no", "yes")
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    return {"frame": frame, "csv": folder / "t.csv", "parquet": folder / "t.parquet"}


FEATURES: dict[str, Any] = {"a": (0, 10), "b": (-1, 1), "c": ["x", "y"]}
MODELS: dict[str, Any] = {
    "LinearRegression": {"domain": hb.Domain(features=FEATURES, target={"t": (0, 2)})},
    "LogisticRegression": {"domain": hb.Domain(features=FEATURES, classes={"k": ["no", "yes"]})},
    "PoissonRegressor": {
        "domain": hb.Domain(features={**FEATURES, "e": (0.5, 2)}, target={"t": (0, 2)}),
        "exposure": "e",
    },
    "LinearRegression of units": {
        "domain": hb.Domain(features=FEATURES, target={"t": (0, 2)}, unit="e", records_per_unit=2, records=300)
    },
}


def fit(model: str, solver: str, table: Any) -> None:
    options = {"constraint": hb.L1Ball(1.0)} if solver == "mirror_descent" else {}
    kind = getattr(hb, model.partition(" ")[0])
    kind(budget=BUDGET, test_key=KEY, solver=solver, **MODELS[model], **options).fit(table)


def check(model: str, solver: str, table: Any) -> None:
    fit(model, solver, table)  # imports and compiles
    with traced() as trace:
        fit(model, solver, table)
    assert {"data/encode.py", "curator/query.py", "noise/keys.py"} <= trace.files  # something was seen
    tiers = base.tier_of()
    strangers = {file for file in trace.files if tiers.get(file) != 1}
    assert not strangers, f"{model} by {solver}: {sorted(strangers)} run while records are read or answered from"


CASES = [("LinearRegression", solver, "csv") for solver in SOLVERS]
CASES += [("LogisticRegression", "preconditioned_gradient", "parquet"), ("PoissonRegressor", "gradient", "frame")]
EVERY = [
    (m, s, t) for m in MODELS for s in SOLVERS for t in ("frame", "csv", "parquet") if m[:2] == "Li" or s != "moments"
]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "case", [*CASES, *(pytest.param(one, marks=pytest.mark.slow) for one in EVERY if one not in CASES)], ids="-".join
)
def test_only_tier_1_runs_where_records_are(case: tuple[str, str, str], tmp_path: Path) -> None:
    model, solver, table = case
    check(model, solver, tables(tmp_path)[table])


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["array", "sparse"])
def test_only_tier_1_runs_on_matrices(kind: str) -> None:
    X = np.random.default_rng(2).uniform(-0.5, 0.5, (300, 3))
    model = {"budget": BUDGET, "test_key": KEY, "domain": hb.Domain(row_norm=1.0, target=(-1, 1))}
    table: Any = sp.csr_matrix(X) if kind == "sparse" else X
    for solver in ("moments", "adaptive_gradient"):
        hb.LinearRegression(solver=solver, **model).fit(table, X[:, 0])
        with traced() as trace:
            hb.LinearRegression(solver=solver, **model).fit(table, X[:, 0])
        assert {base.tier_of().get(file) for file in trace.files} == {1}


def test_what_is_traced_is_noticed() -> None:
    """A solver of tier 2 is seen: the trace is not blind."""
    X = np.random.default_rng(3).uniform(-0.5, 0.5, (50, 2))
    model = hb.LogisticRegression(
        budget=BUDGET, test_key=KEY, domain=hb.Domain(row_norm=1.0, classes=[0, 1]), solver="output_perturbation"
    )
    y = (X[:, 0] > 0).astype(int)
    model.fit(X, y)  # imports and compiles
    with traced() as trace:
        model.fit(X, y)
    assert any(base.tier_of().get(file) == 2 for file in trace.files)


PUBLIC = {"codec.py", "geometry/serialise.py"}
"""Asked about what a query is made of, while it is answered: whether a set can project, how a record of settings is held."""
ABOUT, SHAPES = facts(3, norm_l2=1.0), [*test_minimisers.SHAPES, *test_structured_minimisers.SHAPES.values()]


def strangers(query: Any, rows: Any, ask: Any) -> set[str]:
    """Files in no tier of which a line runs while a query is answered."""
    ask(Curator(rows, [replace(query)], key=TestKey(KEY)))  # imports and compiles
    curator = Curator(rows, [replace(query)], key=TestKey(KEY))
    with traced() as trace:
        ask(curator)
    assert {"curator/curator.py", "noise/keys.py"} <= trace.files  # something was seen
    return {file for file in trace.files if file not in base.tier_of()} - PUBLIC


@pytest.mark.parametrize("name", MENU)
def test_nothing_outside_of_the_tiers_runs_while_any_query_is_answered(name: str) -> None:
    make, about, _ = MENU[name]
    query = make(PricedQueries(about, Neighbours.REPLACE_ONE, 4))
    for ask in asks(query)[:2]:
        assert not strangers(query, next(iter(pairs(query)))[0], ask)


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nor_while_minimisers_over_a_set_or_under_a_penalty_are(shape: tuple[Any, Any]) -> None:
    rows = random_rows(np.random.default_rng(4), 20, ABOUT)
    for loss in (Squared(), Logistic()):
        settings = {"loss": loss, "feasible": shape[0], "penalty": shape[1]}
        for query in (
            test_minimisers.minimizer(ABOUT, Neighbours.REPLACE_ONE, 20, **settings),
            test_minimisers.perturbed(ABOUT, Neighbours.REPLACE_ONE, 20, **settings),
        ):
            assert not strangers(query, test_minimisers.squeezed(rows, loss), lambda room: room.answer(query.name))  # noqa: B023 - at once


@pytest.mark.parametrize("tier", [1, 2])
def test_compiled_code_of_a_tier_calls_those_up_to_it_alone(tier: int) -> None:
    """No profiler sees compiled code; its files import nothing of the library but kernels of the tier and the compiler."""
    tiers = base.tier_of()
    for file in (file for file, own in tiers.items() if own == tier and "kernels" in file):
        for node in ast.walk(ast.parse((base.SOURCE / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hullabaloo."):
                module = str(node.module).removeprefix("hullabaloo.").replace(".", "/") + ".py"
                assert module == "compiled.py" or tiers.get(module, 3) <= tier, f"{file} imports {module}"


def test_each_file_is_in_one_group_and_there() -> None:
    files = [path for group in base.GROUPS for path in group.files]
    assert len(files) == len(set(files))
    assert not [path for path in files if not path.exists()]


def test_one_person_can_read_tier_1() -> None:
    found = base.totals()
    assert {name: found[name] for name, most in base.LIMITS.items() if found[name] > most} == {}


def test_the_page_lists_what_there_is() -> None:
    """Files and claims; the numbers of lines are those of the last time it was written."""

    def parts(text: str) -> list[list[str]]:
        return [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| ") and "`" in line]

    assert parts(base.PAGE.read_text(encoding="utf-8")) == parts(base.page()), "run `python docs/trusted_base.py`"


@pytest.mark.parametrize("kind", QUERIES.values(), ids=QUERIES)
def test_a_query_says_the_tier_of_the_file_that_it_stands_in(kind: type[Query]) -> None:
    place = kind.__module__.removeprefix("hullabaloo.").replace(".", "/") + ".py"
    assert base.tier_of()[place] == kind.tier


@pytest.mark.usefixtures("unrehearsed")
def test_a_statement_says_the_tier_of_the_least_simple_of_its_queries() -> None:
    X = np.random.default_rng(2).uniform(-1.0, 1.0, (400, 2))
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1))
    for solver, tier in (("moments", 1), ("gradient", 1), ("output_perturbation", 2), ("frank_wolfe", 2)):
        about = {} if solver != "frank_wolfe" else {"constraint": hb.L1Ball(1.0)}
        told = hb.LinearRegression(budget=BUDGET, domain=domain, solver=solver, **about)
        statement = told.fit(X, X[:, 0]).statement_
        assert statement.tier == tier
        assert f"tier {tier} of the trusted base" in str(statement)
