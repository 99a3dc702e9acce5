"""Prices and plans: what the planner chooses for "auto", its table with the bounds beside it, and what fits and streams cost."""

from collections.abc import Iterator
from typing import Any

import hullabaloo as hb
from hullabaloo.linear_model import ESTIMATORS
from tests.golden.case import Case, Parts, numbers, of_price
from tests.golden.fits import BUDGETS, COST, ILL, RELATIONS, SHAPES, TARGETS, WARD
from tests.golden.streams import declared
from tests.golden.tables import FEATURES

Made = dict[str, Any]


def _prices() -> Iterator[tuple[str, Case]]:
    for row, estimator in enumerate(ESTIMATORS):
        slow = [("gradient", 50_000), ("objective_perturbation", 5_000)] if row % 4 == 2 else []
        for solver, n in [("auto", 80), ("moments", 50_000), *slow]:
            relation = RELATIONS[(row + (n > 80)) % 2]

            def case(estimator: str = estimator, solver: str = solver, n: int = n, relation: str = relation) -> Parts:
                domain = hb.Domain(features=FEATURES, indicators=False, records=n, **TARGETS.get(estimator, COST))
                model = getattr(hb, estimator)(budget=BUDGETS["dp"], domain=domain, neighbours=relation, solver=solver)
                return of_price(model.price(None if relation == "add-or-remove" else n))

            yield f"price/{estimator}/{solver}/{n}/{relation}", case


def _tables() -> Iterator[tuple[str, Case]]:
    squared: Made = {"n": 200, "p": 3}
    small = {"n": 200, "domain": hb.Domain(features=FEATURES, indicators=False, **COST)}
    classes = {"n": 200, "domain": hb.Domain(features=FEATURES, indicators=False, **ILL), "loss": hb.Logistic()}
    for words, given in {
        "free": squared,
        "L1": {**squared, "set": hb.L1Ball(1.0)},
        "L2": {**squared, "set": hb.L2Ball(1.0)},
        "box": {**squared, "set": hb.Box(-1.0, 1.0)},
        "simplex": {**squared, "set": hb.Simplex(1.0)},
        "l1 penalty": {**squared, "penalty": hb.L1Penalty(0.01)},
        "l2 penalty": {**squared, "penalty": hb.SquaredL2Penalty(0.1)},
        "intervals": {**squared, "penalty": hb.SubmodularPenalty(hb.Intervals(3), 0.02)},
        "add or remove": {**squared, "neighbours": "add-or-remove", "set": hb.L1Ball(1.0)},
        "no intercept": {**squared, "fit_intercept": False},
        "pure": {**squared, "budget": BUDGETS["pure"], "set": hb.L1Ball(1.0)},
        "gdp": {**squared, "budget": BUDGETS["gdp"]},
        "wide": {"n": 50, "p": 80, "set": hb.L1Ball(1.0)},
        "features": small,
        "huber": {**small, "loss": hb.Huber(0.2)},
        "pinball": {**small, "loss": hb.Pinball(0.3), "set": hb.L2Ball(1.0)},
        "logistic": classes,
        "logistic in a ball": {**classes, "set": SHAPES["L2"]["constraint"]},
        "hinge": {**classes, "loss": hb.SmoothedHinge(0.5)},
        "counts": {**squared, "loss": hb.Poisson()},
        "three classes": {
            "n": 200,
            "domain": hb.Domain(features=FEATURES, indicators=False, **WARD),
            "loss": hb.MultinomialLogistic(),
        },
    }.items():

        def case(given: Made = given) -> Parts:
            made = hb.plan(**{"budget": BUDGETS["dp"], **given})
            table = made.to_dict()
            lines = [
                [one[name] for name in ("kept", "risk", "low", "high", "harm", "formula", "answers", "epsilon")]
                for one in table["prospects"]
            ]
            return {
                "solver": made.chosen,
                "able": [one["solver"] for one in table["prospects"] if one["able"]],
                "table": numbers(lines),
                "lower": numbers([one["value"] for one in table["lower_bounds"]]),
                "upper": numbers(
                    [[one["value"], one["noise"], one["width"], one["size"]] for one in table["upper_bounds"]]
                ),
                "constant": numbers(table["constant"]),
            }

        yield f"plan/{words}", case


def _streams() -> Iterator[tuple[str, Case]]:
    for words, kind, given, position in (
        ("incremental", "IncrementalRegression", {"horizon": 10_000, "every": 100}, None),
        ("early", "IncrementalRegression", {"horizon": 10_000, "every": 100}, 500),
        ("without an end", "IncrementalRegression", {"every": 100}, 5_000),
        ("window", "IncrementalRegression", {"horizon": 10_000, "every": 100, "window": 1_000}, None),
    ):

        def case(kind: str = kind, given: Made = given, position: int | None = position) -> Parts:
            stream = getattr(hb.streaming, kind)(budget=BUDGETS["dp"], domain=declared(records=10_000), **given)
            return of_price(stream.price(position=position))

        yield f"stream price/{words}", case
    for words, given in {
        "free": {"p": 2, "every": 100},
        "L1": {"p": 2, "set": hb.L1Ball(1.0), "every": 250},
        "logistic": {"p": 2, "loss": hb.Logistic(), "every": 250},
    }.items():

        def planned(given: Made = given) -> Parts:
            table = hb.streaming.plan(**{"horizon": 500, "budget": BUDGETS["dp"], **given}).to_dict()
            lines = [[one[name] for name in ("kept", "risk", "memory", "passes")] for one in table["ways"]]
            return {"solver": table["chosen"], "table": numbers([table["positions"], table["releases"], lines])}

        yield f"stream plan/{words}", planned


def cases() -> dict[str, Case]:
    """All of them by name."""
    return {name: case for kind in (_prices, _tables, _streams) for name, case in kind()}
