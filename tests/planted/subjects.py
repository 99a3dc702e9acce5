"""What the statistical detectors are run on: an estimator for every solver, and streams, small enough for a second's audit."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import hullabaloo as hb
from hullabaloo.planning.named import solver_named
from hullabaloo.solvers import FrankWolfeSolver

RUNS = 20
"""Runs of an audit: enough for exact distances, and for noise that is half of what it must be."""
QUICK = (
    "moments",
    "moments, add-or-remove",
    "moments, people",
    "gradient",
    "mirror descent",
    "output perturbation",
    "stream",
)
"""Subjects whose audits take tenths of a second."""
GDP = hb.Budget.gdp(1.0)
DP = hb.Budget(1.0, 1e-6)


def _domain(**more: Any) -> hb.Domain:
    target = {} if "classes" in more else {"target": (-1, 1)}
    return hb.Domain(**{"features": {"a": (-1, 1), "b": (-1, 1)}, **target, **more})


def _linear(solver: Any, budget: hb.Budget = GDP, domain: hb.Domain | None = None, **more: Any) -> hb.LinearRegression:
    return hb.LinearRegression(budget=budget, domain=domain or _domain(), solver=solver_named(solver), **more)


SUBJECTS: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "moments": lambda: _linear("moments"),
        "moments, add-or-remove": lambda: _linear("moments", domain=_domain(records=50), neighbours="add-or-remove"),
        "moments, people": lambda: _linear(
            "moments", domain=_domain(records=50, unit="who", records_per_unit=3), neighbours="add-or-remove"
        ),
        "gradient": lambda: _linear("gradient"),
        "gradient, classes": lambda: hb.LogisticRegression(
            budget=GDP, domain=_domain(classes=["no", "yes"]), solver="gradient"
        ),
        "adaptive gradient": lambda: _linear("adaptive_gradient"),
        "preconditioned gradient": lambda: _linear("preconditioned_gradient"),
        "subspace descent": lambda: _linear("subspace_descent"),
        "coordinate descent": lambda: _linear("coordinate_descent"),
        "greedy selection": lambda: _linear("greedy_selection", DP),
        "greedy coordinate descent": lambda: _linear("greedy_coordinate_descent", DP),
        "mirror descent": lambda: _linear("mirror_descent", constraint=hb.L2Ball(1.0)),
        "Frank–Wolfe": lambda: _linear(FrankWolfeSolver(steps=6), DP, constraint=hb.L1Ball(1.0)),
        "dual Frank–Wolfe": lambda: _linear("dual_frank_wolfe", penalty=hb.L1Penalty(0.01)),
        "output perturbation": lambda: _linear("output_perturbation"),
        "objective perturbation": lambda: _linear("objective_perturbation", DP),
        "stream": lambda: hb.streaming.IncrementalRegression(budget=GDP, domain=_domain(), horizon=16, every=2),
        "stream, window": lambda: hb.streaming.IncrementalRegression(
            budget=GDP, domain=_domain(), horizon=16, every=2, window=6
        ),
        "stream of fits": lambda: hb.streaming.PeriodicERM(_linear("gradient"), horizon=12, every=6),
    }
)
