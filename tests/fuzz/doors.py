"""The cheap doors: constructors, parsers and accountants, each a function that draws one input and passes it on."""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

import hullabaloo as hb
from hullabaloo import privacy, streaming
from hullabaloo.cli.build import structure_from_text
from hullabaloo.data import Domain
from hullabaloo.data.labels import label_of
from hullabaloo.data.numbers import number_of
from hullabaloo.geometry import ConvexSet, Penalty, SetFunction, penalty_from_text, set_from_text
from hullabaloo.geometry.serialise import (
    penalty_from_dict,
    set_from_dict,
    set_function_from_dict,
    set_function_from_text,
)
from hullabaloo.ledger.address import parse
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.losses.serialise import loss_from_dict
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import solver_from_dict
from hullabaloo.privacy import Budget, Calibration, Neighbours, compose, event_from_dict
from hullabaloo.privacy.schedule import Schedule
from tests.fuzz.garbage import INTS, Garbage

Door = Callable[[Garbage], Any]
"""Draws one input and passes it on."""

KEYS = {"epsilon": 1.0, "delta": 1e-6}
DOMAIN = {
    "features": {"age": [18, 90], "job": {"levels": ["a", "b"], "baseline": "a"}, "pay": {"lo": 1, "hi": 9, "transform": "log1p"}},
    "target": {"cost": [-20, 20]}, "interactions": [["age", "pay"]], "indicators": False, "unit": "who", "records_per_unit": 2,
    "weight": ["w", 2.0], "records": 100,
}  # fmt: skip


def whole_groups(g: Garbage) -> Any:
    """Groups of columns, right as often as not."""
    if g.chance(0.5):
        return g.one((((0, 1), (2,)), [[0], [1, 2]], ((0, 1, 2, 3),), [range(3)]))
    return g.sequence(lambda: g.sequence(g.count))


def a_set(g: Garbage) -> Any:
    """A convex set."""
    return g.one((hb.L1Ball(1.0), hb.L2Ball(2.0), hb.Box(-1.0, 1.0), hb.Simplex(), hb.GroupBall(((0, 1), (2,)), 1.0)))


def a_penalty(g: Garbage) -> Any:
    """A penalty."""
    return g.one((hb.L1Penalty(0.1), hb.SquaredL2Penalty(0.1), hb.ElasticNetPenalty(0.1, 0.5), hb.NoPenalty()))


def a_budget(g: Garbage) -> Any:
    """A budget."""
    return g.one((Budget(1.0, 1e-6), Budget.gdp(0.5), Budget.zcdp(0.1), Budget(3.0, 0.0), Budget(1e-3, 1e-9)))


def a_domain(g: Garbage) -> Any:
    """A domain."""
    return g.one((_domain("number"), _domain("classes"), _domain("rows")))


@cache
def _domain(kind: str) -> Domain:
    features = {"age": (18, 90), "job": ["a", "b"]}
    if kind == "rows":
        return Domain(row_norm=1.0, target=(-1, 1), records=50)
    return Domain(features=features, **({"target": (0, 1)} if kind == "number" else {"classes": ["no", "yes"]}))


def address(g: Garbage) -> str:
    """An address of a ledger."""
    parts = (
        "sqlite",
        "postgresql",
        "mysql",
        ":",
        "//",
        "/",
        "///",
        "user",
        ":",
        "pw",
        "@",
        "host",
        "5432",
        "a.db",
        "?",
        "x=1",
        " ",
        "%",
    )
    return "".join(g.one(parts) for _ in range(g.random.randrange(8)))


USUAL: dict[str, Door] = {
    "alpha": Garbage.positive, "bound": Garbage.count, "budget": a_budget, "calibration": lambda g: g.one(("exact", "paper", "x")),
    "clip": Garbage.positive, "columns": Garbage.count, "constraint": a_set, "dataset": Garbage.text, "delta": Garbage.real,
    "domain": a_domain, "epsilon": Garbage.number, "every": lambda g: g.one((g.count(), "auto", g.sequence(g.count))),
    "exponent": lambda g: g.random.uniform(0.5, 3.0), "exposure": Garbage.text, "fill": Garbage.real, "fit_intercept": lambda g: g.chance(0.5),
    "function": lambda g: g.one((hb.Intervals(), hb.Cardinality(), hb.BoundedCardinality(2), hb.GroupCover(((0, 1), (1, 2))))),
    "groups": whole_groups, "h": Garbage.positive, "half_life": Garbage.number, "hi": Garbage.real, "horizon": Garbage.count,
    "indicator": lambda g: g.one((True, False, None)), "l1_ratio": lambda g: g.random.random(), "lo": Garbage.real,
    "lower": lambda g: g.one((g.real(), g.sequence(g.real))), "upper": lambda g: g.one((g.real(), g.sequence(g.real))),
    "ledger": lambda g: None, "levels": lambda g: g.sequence(g.text), "baseline": Garbage.text,
    "neighbours": lambda g: g.one(("replace-one", "add-or-remove", "both")), "n": Garbage.count, "p": Garbage.count,
    "mechanism": lambda g: g.one(("auto", "tree", "none", "toeplitz", g.text())), "parents": lambda g: g.sequence(g.count),
    "penalty": a_penalty, "quantile": lambda g: g.random.random(), "radius": Garbage.number, "rows": Garbage.count,
    "rule": lambda g: g.one(("convex", "width", "x")), "rounds": Garbage.count, "updates": Garbage.count, "steps": Garbage.count,
    "selected": Garbage.count, "share": Garbage.real, "ridge": Garbage.number, "smoothing": Garbage.number, "strength": Garbage.number,
    "solver": lambda g: g.one(("auto", "gradient", "moments", "coordinate_descent", g.text())), "tau": lambda g: g.random.random(),
    "test_key": lambda g: g.one((None, bytes(32), b"short")), "threshold": Garbage.number, "transform": lambda g: g.one(("identity", "log1p", g.text())),
    "vertices": lambda g: g.array(g.random.randrange(5), g.random.randrange(1, 4)), "weights": lambda g: g.sequence(g.real),
    "window": Garbage.count, "structure": lambda g: g.one(("intervals", None, [["age"]], "x")), "multi_class": lambda g: g.one(("auto", "x")),
    "state": lambda g: None, "key_file": lambda g: None, "url": address, "order": lambda g: g.one(("cyclic", "x")),
    "constants": lambda g: g.one(("gaussian", "laplace", "x")), "check": lambda g: True,
    "metric": Garbage.text, "expected_candidates": Garbage.number, "shape": lambda g: g.one(("geometric", "logarithmic", "poisson", g.real())),
    "holdout": lambda g: g.random.random(), "estimator": lambda g: hb.LinearRegression(domain=a_domain(g)), "candidates": Garbage.anything,
    "sketch_size": Garbage.count, "max_nonzeros": Garbage.count, "seed": Garbage.count,
}  # fmt: skip
"""The kind of value that each parameter takes, by its name."""


def arguments(g: Garbage, maker: Callable[..., Any], more: Mapping[str, Door] | None = None) -> dict[str, Any]:
    """A value for each parameter that must be given and for some of the others, of the kinds in `more` or else the usual ones."""
    kinds = USUAL if more is None else {**USUAL, **more}
    found = {}
    for name, one in _parameters(maker):
        if one.default is inspect.Parameter.empty or g.chance(0.4):
            usual = kinds.get(name, Garbage.anything)
            found[name] = g.mostly(lambda usual=usual: usual(g))
    return found


@cache
def _parameters(maker: Callable[..., Any]) -> tuple[tuple[str, inspect.Parameter], ...]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple((name, one) for name, one in inspect.signature(maker).parameters.items() if one.kind in kinds)


def made(maker: Callable[..., Any]) -> Door:
    """Construct, and use what was made."""
    return lambda g: used(g, maker(**arguments(g, maker)))


def used(g: Garbage, thing: Any) -> None:
    """Ask a set, penalty or set function what everybody asks of it: never fails once it was made."""
    repr(thing)
    if not isinstance(thing, ConvexSet | Penalty | SetFunction) or isinstance(thing, hb.CustomSetFunction):
        return
    written = json.loads(json.dumps(thing.to_dict()))
    if isinstance(thing, SetFunction):
        assert set_function_from_dict(written) == thing
        return
    if isinstance(thing, Penalty):
        assert penalty_from_dict(written) == thing
        return
    again = set_from_dict(written)
    assert again.to_dict() == thing.to_dict()
    p = 3 if thing.dimension is None else thing.dimension
    if p > 50 or p % getattr(thing, "columns", 1):
        return
    v = np.nan_to_num(np.clip(g.array(p), -1e6, 1e6))
    assert np.isfinite(thing.start(p)).all()
    assert thing.vertex(v).shape == (p,)


def phrase(g: Garbage, words: tuple[str, ...]) -> str:
    """A text of the small languages of the command line, nearly."""
    rest = "".join(
        g.one(("0", "1", "2", "-", ",", ";", ":", ".5", "1e9", " ", "a", "*", "99"))
        for _ in range(g.random.randrange(9))
    )
    return f"{g.one(words)}{g.one((':', ';', ''))}{rest}" if g.chance(0.9) else g.text()


SETS = (
    "l1",
    "l2",
    "lp",
    "box",
    "simplex",
    "polytope",
    "group",
    "elastic",
    "nuclear",
    "structure:1;cover",
    "structure:1;grid",
    "structure:1;top",
)
PENALTIES = ("none", "l1", "l2", "elastic", "nuclear", "group", "structure:1;tree", "structure:1;sorted")
FUNCTIONS = ("cardinality", "top", "sorted", "intervals", "cover", "tree", "grid")
TOML = """target = { cost = [-20, 20] }
records = 100
[features]
age = [18, 90]
job = ["a", "b"]
pay = { lo = 1, hi = 9, transform = "log1p" }
"""
WRITTEN: dict[str, Any] = {
    "set": [{"kind": "l1-ball", "radius": 1.0}, {"kind": "box", "lower": 0.0, "upper": [1.0, 2.0]}, {"kind": "group-ball", "groups": [[0, 1], [2]], "radius": 1.0},
            {"kind": "submodular-ball", "function": {"kind": "intervals", "p": 3}, "radius": 1.0}, {"kind": "polytope", "vertices": [[0.0, 1.0], [1.0, 0.0]]}],
    "penalty": [{"kind": "l1", "strength": 0.1}, {"kind": "elastic-net", "strength": 0.1, "l1_ratio": 0.5}, {"kind": "group", "groups": [[0, 1]], "strength": 1.0}],
    "function": [{"kind": "bounded-cardinality", "bound": 2}, {"kind": "group-cover", "groups": [[0, 1], [1, 2]], "weights": [1.0, 2.0]}, {"kind": "tree-cover", "parents": [-1, 0], "weights": None}],
    "loss": [{"kind": "huber", "h": 0.5}, {"kind": "clipped", "loss": {"kind": "poisson"}, "clip": 1.0}, {"kind": "pinball", "tau": 0.5}],
    "event": [{"kind": "gaussian", "noise_multiplier": 1.5, "samples": 3}, {"kind": "laplace", "scale": 1.0}, {"kind": "selection", "epsilon": 0.1},
              {"kind": "composed", "parts": [[{"kind": "gaussian", "noise_multiplier": 1.5, "samples": 3}, 4]]}],
    "budget": [{"kind": "dp", "epsilon": 1.0, "delta": 1e-6}, {"kind": "gdp", "mu": 1.0}, {"kind": "zcdp", "rho": 0.5}, {"kind": "not-private"}],
    "solver": [{"name": "coordinate_descent", "clip": 1.0}, {"name": "greedy_selection", "selected": 3}, "auto"],
    "domain": [DOMAIN],
}  # fmt: skip
READERS: dict[str, Callable[[Any], Any]] = {
    "set": set_from_dict, "penalty": penalty_from_dict, "function": set_function_from_dict, "loss": loss_from_dict,
    "event": event_from_dict, "budget": Budget.from_dict, "solver": solver_from_dict, "domain": Domain.from_dict,
}  # fmt: skip


def _written(kind: str) -> Door:
    def read(g: Garbage) -> Any:
        damaged = g.damaged(g.one(WRITTEN[kind]))
        return READERS[kind](damaged if isinstance(damaged, dict) else {"kind": damaged})

    return read


def _priced(g: Garbage) -> Any:
    """Price, compose and calibrate: answers are bounds, never NaN."""
    makers = (privacy.GaussianEvent, privacy.LaplaceEvent, privacy.SelectionEvent, privacy.PermuteAndFlipEvent)
    events = [g.one(makers)(g.mostly(g.positive)) for _ in range(1 + g.random.randrange(2))]
    event = compose(*events, count=g.random.randrange(-1, 20) or g.one(INTS))
    kind = g.random.randrange(4)
    if kind == 0:
        found: Any = privacy.delta_of(event, g.real())
        assert 0.0 <= found <= 1.0
    elif kind == 1:
        found = event.gdp_mu()
        assert found is None or found >= 0.0
    elif kind == 2:
        found = event.renyi(g.real())
        assert found >= 0.0
    else:
        assert event_from_dict(json.loads(json.dumps(event.to_dict()))) == event
    return None


def _calibrated(g: Garbage) -> Any:
    budget = Budget(10.0 ** g.random.uniform(-4, 3), 10.0 ** g.random.uniform(-12, -2))
    found = privacy.gaussian_mu(budget, samples=g.random.randrange(1000))
    assert found > 0.0


def _schedule(g: Garbage) -> Any:
    found = Schedule.of(g.mostly(g.count), g.mostly(lambda: g.one((g.count(), "auto", g.sequence(g.count)))))
    assert found.completed(found.position(found.steps)) == found.steps


def _cell(g: Garbage) -> Any:
    cell = g.anything()
    label = label_of(cell)
    assert label is None or isinstance(label, str)
    assert isinstance(number_of(cell), float)


def _toml(g: Garbage) -> Any:
    return Domain.from_toml("a = 1\n" + g.torn(TOML.encode()).decode("utf-8", "replace"))


def _json(g: Garbage) -> Any:
    return Domain.from_json("{" + g.torn(json.dumps(DOMAIN).encode()).decode("utf-8", "replace")[1:])


NOT_MADE = ("SetFunction", "PrivateBounds", "Evaluation", "AuditReport")
"""Classes that nobody constructs: an abstract one, and records of what functions found."""
CLASSES = [name for name in hb.__all__ if inspect.isclass(getattr(hb, name)) and name not in NOT_MADE]
CHEAP: dict[str, Door] = {
    **{f"hb.{name}": made(getattr(hb, name)) for name in CLASSES if name not in ESTIMATORS},
    "streaming.Sketch": made(streaming.Sketch),
    **{f"from_dict: {kind}": _written(kind) for kind in WRITTEN},
    "set_from_text": lambda g: set_from_text(phrase(g, SETS)),
    "penalty_from_text": lambda g: penalty_from_text(phrase(g, PENALTIES)),
    "set_function_from_text": lambda g: set_function_from_text(phrase(g, FUNCTIONS)),
    "structure_from_text": lambda g: structure_from_text(phrase(g, (*FUNCTIONS, "features")), g.one((None, _domain("number")))),
    "Domain.from_toml": _toml,
    "Domain.from_json": _json,
    "Budget": lambda g: g.one((Budget, Budget.gdp, Budget.zcdp))(g.number()),
    "accountant": _priced,
    "gaussian_mu": _calibrated,
    "Schedule": _schedule,
    "cells": _cell,
    "ledger address": lambda g: parse(g.mostly(lambda: address(g))),
    "TestKey": lambda g: TestKey(g.anything()).derive(g.anything()),
    "Neighbours": lambda g: Neighbours.parse(g.mostly(g.text)),
    "Calibration": lambda g: Calibration.parse(g.mostly(g.text)),
}  # fmt: skip
