"""Everything public that takes records is given a table in parts: it takes it, or says before the charge what to do; `docs/larger-than-memory.md` has the table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hullabaloo as hb
from hullabaloo.errors import HullabalooError
from tests.data.engines.fits import CLASSES, N, table
from tests.data.test_sparse_lists import P, lists_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "larger-than-memory.md"
ONE, LASSO = hb.Budget(0.05, 1e-6), hb.L1Penalty(0.01)
DOMAIN = hb.Domain({"a": (-1, 1), "b": (-1, 1)}, target={"y": (-2, 2)}, records=N, indicators=False)
LISTS = hb.Domain(row_norm=1.5, target={"y": (-1, 1)}, weight=("w", 2.0), records=400)
UNITS = hb.Domain(row_norm=1.5, target={"y": (-1, 1)}, unit="w")
SUMS = "a solver that adds up: moments, gradient, adaptive_gradient, preconditioned_gradient, mirror_descent"
MEMORY = "the table in memory, or the path of its file"
SOLVERS: dict[str, dict[str, Any]] = {
    **{
        name: {}
        for name in (
            "auto",
            "moments",
            "gradient",
            "adaptive_gradient",
            "preconditioned_gradient",
            "subspace_descent",
            "constant",
        )
    },
    "mirror_descent": {"constraint": hb.L1Ball(1.0)},
    "frank_wolfe": {"constraint": hb.L1Ball(1.0)},
    "dual_frank_wolfe": {"penalty": LASSO},
    "coordinate_descent": {"penalty": LASSO},
    "greedy_coordinate_descent": {"penalty": LASSO},
    "greedy_selection": {"penalty": LASSO},
    "objective_perturbation": {},
    "output_perturbation": {},
}


def source() -> Any:
    return hb.scan(pa.Table.from_pandas(table(), preserve_index=False).to_reader)


def calls(model: Any, classes: Any, terms: dict[str, Any]) -> dict[str, tuple[Callable[[], Any], str]]:
    """By the name in the page's table: the call, and what to do instead where it is refused."""
    fits = {
        f'`solver="{name}"`': (
            lambda name=name, how=how: hb.LinearRegression(domain=DOMAIN, solver=name, **how, **terms).fit(source()),
            SUMS,
        )
        for name, how in SOLVERS.items()
    }
    stream = {"domain": DOMAIN, "horizon": N, "every": 500, **terms}
    grid = {"penalty": [hb.SquaredL2Penalty(0.1), None]}
    others: dict[str, tuple[Callable[[], Any], str]] = {
        "`predict`, `decision_function`": (lambda: (model.predict(source()), classes.decision_function(source())), ""),
        "`predict_proba`": (lambda: classes.predict_proba(source()), ""),
        "`predict_interval`": (lambda: model.predict_interval(source()), "`hb.predict(…, interval=0.95)`"),
        "`hb.predict`": (lambda: hb.predict(model, source(), keep=["unused"], interval=0.9).read_all(), ""),
        "`hb.evaluate`": (lambda: hb.evaluate(model, source(), **terms), ""),
        "`hb.private_bounds`": (
            lambda: hb.private_bounds(source(), outer={"a": (-9, 9)}, **terms | {"budget": hb.Budget(1.0, 1e-6)}),
            "",
        ),
        "`fit`, `hb.evaluate` with a target apart": (
            lambda: hb.evaluate(model, source(), np.zeros(N), **terms),
            "name its column: y='column'",
        ),
        "`public=`": (
            lambda: hb.LinearRegression(domain=DOMAIN, public=source(), solver="adaptive_gradient", **terms).fit(
                table()
            ),
            MEMORY,
        ),
        "`hb.PrivateSearchCV`": (
            lambda: hb.PrivateSearchCV(hb.LinearRegression(domain=DOMAIN), grid, **terms).fit(source()),
            MEMORY,
        ),
        "`hb.private_pipeline`": (
            lambda: hb.private_pipeline(hb.LinearRegression(domain=DOMAIN, **terms)).fit(source(), np.zeros(N)),
            MEMORY,
        ),
        "streams": (
            lambda: hb.streaming.IncrementalRegression(**stream).fit(source()),
            "the file itself, `hullabaloo stream`, or batches by `partial_fit`",
        ),
        "`to_sklearn`": (lambda: model.to_sklearn().predict(source()), "`predict`, or batches of the table"),
    }
    lists = lambda: hb.scan(lambda: iter(lists_table().to_batches()), sparse=P)  # noqa: E731
    of_lists = hb.LinearRegression(domain=LISTS, solver="moments", budget=hb.Budget(8.0, 1e-6)).fit(lists())
    sparse: dict[str, tuple[Callable[[], Any], str]] = {
        "sparse lists by the same solvers": (
            lambda: hb.LinearRegression(domain=LISTS, solver="gradient", **terms).fit(lists()),
            "",
        ),
        "by `hb.predict`, `hb.evaluate`": (
            lambda: (hb.predict(of_lists, lists()).read_all(), hb.evaluate(of_lists, lists(), **terms)),
            "",
        ),
        "sparse lists with a unit": (
            lambda: hb.LinearRegression(domain=UNITS, solver="moments", **terms).fit(lists()),
            "`cache='folder'`",
        ),
    }
    return fits | others | sparse


def shown(found: dict[str, str]) -> str:
    lines = ["| given a table in parts | |", "|---|---|"]
    taken = [name for name, instead in found.items() if not instead]
    lines += [f"| {', '.join(taken)} | taken |"]
    for instead in dict.fromkeys(found.values()):
        if instead:
            lines.append(
                f"| {', '.join(name for name in found if found[name] == instead)} | refused before the charge; instead: {instead} |"
            )
    return "\n".join(lines)


@pytest.mark.slow
def test_the_page_says_what_takes_a_table_in_parts(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("records", hb.Budget(1000.0, 1e-2))
    terms = {"budget": ONE, "ledger": ledger, "dataset": "records"}
    model = hb.LinearRegression(domain=DOMAIN, solver="moments", budget=hb.Budget(8.0, 1e-6)).fit(table())
    classes = hb.LogisticRegression(domain=CLASSES, solver="gradient", budget=hb.Budget(0.02, 1e-6)).fit(table())
    found: dict[str, str] = {}
    for name, (call, instead) in calls(model, classes, terms).items():
        charges, found[name] = len(ledger.charges("records")), ""
        try:
            call()
        except HullabalooError as error:
            said = str(error)
        else:
            continue
        assert "parts" in said, name
        assert "othing was charged" in said, name
        assert len(ledger.charges("records")) == charges, name
        found[name] = instead
    assert shown(found) in PAGE.read_text(encoding="utf-8"), shown(found)
