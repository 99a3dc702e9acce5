"""Tables of which nothing can be learned: a fit asks what it bought, whatever they hold, and what it tells are numbers or sentences."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.errors import CapabilityError, InvalidParameter, NotReleased
from hullabaloo.noise import TestKey
from hullabaloo.report import card
from tests.sampling import sampled

KEY = TestKey(bytes(range(32)))
FEATURES = {"x": (0, 10), "z": (-1, 1), "g": hb.Categorical(list("abc"), baseline="a"), "one": hb.Categorical(["only"])}
TABLES = (
    "no records", "one record", "two records", "constants", "all missing", "one class", "at the upper end", "an empty level", "no weight", "one far out",
    "extreme exposures",
)  # fmt: skip
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "numbers": (hb.LinearRegression, {"target": {"y": (-5, 5)}}),
    "classes": (hb.LogisticRegression, {"classes": {"y": [0, 1]}}),
    "three classes": (hb.LogisticRegression, {"classes": {"y": [0, 1, 2]}}),
    "counts": (hb.PoissonRegressor, {"target": {"y": (0, 5)}}),
    "absolute errors": (hb.HuberRegressor, {"target": {"y": (-5, 5)}}),
}
SOLVERS = (
    "moments",
    "gradient",
    "adaptive_gradient",
    "preconditioned_gradient",
    "constant",
    "objective_perturbation",
    "greedy_selection",
)
CASES = [(table, kind, solver) for table in TABLES for kind in KINDS for solver in SOLVERS]


def table(name: str) -> pd.DataFrame:
    """Records that say nothing, or next to nothing, in one way or another."""
    rng = np.random.default_rng(0)
    n = {"no records": 0, "one record": 1, "two records": 2}.get(name, 200)
    frame = pd.DataFrame(
        {"x": rng.uniform(0, 10, n), "z": rng.uniform(-1, 1, n), "g": rng.choice(list("abc"), n), "one": "only"},
        index=range(n),
    )
    frame["y"], frame["w"], frame["e"] = rng.integers(0, 2, n).astype(float), 1.0, rng.uniform(0.5, 1.0, n)
    if name == "constants":
        frame = frame.assign(x=5.0, z=0.0, g="a")
    if name == "all missing":
        frame = frame.assign(x=np.nan, z=np.nan, g=None, y=np.nan, e=np.nan)
    changed: dict[str, dict[str, Any]] = {
        "one class": {"y": 0.0},
        "at the upper end": {"y": 5.0},
        "an empty level": {"g": rng.choice(["a", "b"], n)},
        "no weight": {"w": 0.0},
    }
    frame = frame.assign(**changed.get(name, {}))
    if name == "one far out":
        frame = frame.assign(x=0.0, z=-1.0, y=0.0)
        frame.loc[7, ["x", "z", "y"]] = [1e300, np.inf, 5.0]
    return frame.assign(e=rng.choice([0.0, 1e-300, 1e300], n)) if name == "extreme exposures" else frame


@sampled("name, kind, solver", CASES, lambda case: (case[2], case[1:] == ("numbers", "moments")))
@pytest.mark.usefixtures("unrehearsed")
def test_it_asks_what_it_bought_and_tells_numbers(
    name: str, kind: str, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer that was paid for is asked for, as another number of questions would tell of records; and no table or sentence shows what is no number."""
    held: list[tuple[Any, Any]] = []

    class Watched(Curator):
        __slots__ = ()

        def __init__(self, rows: Any, queries: Any, *, key: Any = None) -> None:
            super().__init__(rows, queries, key=key)
            held.append((self, queries))

    monkeypatch.setattr("hullabaloo.release.run.Curator", Watched)
    estimator, target = KINDS[kind]
    weighted, exposed = name == "no weight", kind == "counts" and name in ("extreme exposures", "all missing")
    more: dict[str, Any] = {"weight": ("w", 2.0)} if weighted else {}
    features = {**FEATURES, "e": (0.5, 10)} if exposed else FEATURES
    domain = hb.Domain(features=features, records=200, **target, **more)
    about = {"exposure": "e"} if exposed else {}
    asked = [(1.0, "replace-one"), (1.0, "add-or-remove"), (100.0, "replace-one")]
    if solver in ("objective_perturbation", "greedy_selection"):  # dear ones: one for each table, and all over tables
        asked = [asked[TABLES.index(name) % 3]]
    for epsilon, relation in asked:
        model = estimator(
            budget=hb.Budget(epsilon, 1e-6),
            domain=domain,
            solver=solver,
            neighbours=relation,
            test_key=KEY,
            **about,
        )
        try:
            model.fit(table(name))
        except (CapabilityError, InvalidParameter):  # the loss is none of the solver's, or no record is there: told
            assert not held  # before the charge
            continue
        curator, queries = held.pop()
        bought: Counter[tuple[str, int]] = Counter()
        for query in queries:
            bought[query.key_label, len(query.facts.columns)] += query.count
        assert {place: times for place, times in curator._Curator__answered.items() if times} == bought
        assert np.isfinite(model.release_.theta).all()
        said = [str(model.summary()), model.summary()._repr_html_(), str(card(model))]
        try:
            said.append(str(model.joint_tests()))
        except NotReleased as error:
            said.append(str(error))
        for text in said:  # of some budgets no finite ε is proved, which is said so
            assert not re.search(r"\b(nan|NaN|inf)\b", re.sub(r"epsilon inf|\(inf, 1e-06\)", "", text)), text
