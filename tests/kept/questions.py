"""What is asked of records without being a fit: private bounds, evaluations, searches; and mirror descent by an oracle of one's own."""

from collections.abc import Iterator
from typing import Any

import hullabaloo as hb
from tests.kept.case import Case, Parts, numbers, of_model, of_statement
from tests.kept.fits import ALL, BUDGETS, COST, ILL, RELATIONS, VISITS, WARD
from tests.kept.tables import N, key, matrix, table

OUTER: dict[str, Any] = {"features": {"age": (0, 130), "hours": (0, 1000)}, "target": {"cost": (-100, 100)}}
Made = dict[str, Any]


def _bounds() -> Iterator[tuple[str, Case]]:
    unit = {"unit": "person", "records_per_unit": 2, "records": 2_000}
    for words, declared, given in (
        ("usual", {}, {}),
        ("quantiles", {}, {"quantiles": (0.1, 0.9)}),
        ("coverage", {}, {"coverage": 0.8}),
        ("some columns", {}, {"columns": ["age"]}),
        ("linear grid", {}, {"grid": "linear"}),
        ("log grid", {}, {"grid": "log"}),
        ("pure", {}, {"budget": BUDGETS["pure"]}),
        ("gdp", {}, {"budget": BUDGETS["gdp"]}),
        ("units", unit, {}),
        ("add or remove", {"records": 2_000}, {"neighbours": "add-or-remove"}),
    ):
        name = f"bounds/{words}"

        def case(name: str = name, declared: Made = declared, given: Made = given) -> Parts:
            outer = hb.Domain(**OUTER, **declared)
            made = hb.private_bounds(
                table(2_000), outer=outer, **{"budget": BUDGETS["dp"], "test_key": key(name), **given}
            )
            told = [made.asked, made.cut, made.least, made.typical_error, made.usual_error, made.largest_error]
            return {
                "found": numbers([one[1:] for one in made.found]),
                "price": numbers(told),
                **of_statement(made.statement),
            }

        yield name, case


def model(estimator: str, relation: str = RELATIONS[0], **more: Any) -> Any:
    """An unfitted estimator of its usual target, with a solver that takes it."""
    target = {"LogisticRegression": ILL, "LinearSVC": ILL, "PoissonRegressor": VISITS}.get(estimator, COST)
    linear = estimator in ("LinearRegression", "Ridge")
    domain = hb.Domain(
        features=ALL,
        indicators=False,
        **({"records": N} if relation == "add-or-remove" else {}),
        **more.pop("target", target),
    )
    shape = {} if linear else {"constraint": hb.L2Ball(1.0)}
    return getattr(hb, estimator)(
        **{"domain": domain, "neighbours": relation, "solver": "moments" if linear else "gradient", **shape, **more}
    )


def _evaluations() -> Iterator[tuple[str, Case]]:
    for estimator, relation, given, more in (
        ("LinearRegression", RELATIONS[0], {}, {}),
        ("LinearRegression", RELATIONS[1], {}, {}),
        ("LinearRegression", RELATIONS[0], {"metrics": ["squared_error", "absolute_error", "r2", "calibration"]}, {}),
        ("LinearRegression", RELATIONS[0], {"largest_error": 5.0}, {}),
        ("LogisticRegression", RELATIONS[0], {}, {}),
        ("LogisticRegression", RELATIONS[1], {"metrics": ["log_loss", "accuracy", "brier_score", "calibration"]}, {}),
        ("LogisticRegression", RELATIONS[0], {"metrics": ["log_loss", "calibration"]}, {"target": WARD}),
        ("PoissonRegressor", RELATIONS[0], {"metrics": ["poisson_deviance"]}, {}),
        ("QuantileRegressor", RELATIONS[1], {}, {}),
        ("LinearSVC", RELATIONS[0], {}, {}),
    ):
        name = f"evaluate/{estimator}/{relation}/{','.join([*given.get('metrics', given), *more])}"

        def case(
            name: str = name,
            estimator: str = estimator,
            relation: str = relation,
            given: Made = given,
            more: Made = more,
        ) -> Parts:
            fitted = model(estimator, relation, budget=BUDGETS["dp"], test_key=key(f"{name} fit"), **more).fit(table())
            about = {"records": N} if relation == "add-or-remove" else {}
            made = hb.evaluate(fitted, table(N, 1), budget=BUDGETS["dp"], test_key=key(name), **about, **given)
            told = made.to_dict()
            return {"values": numbers([told["values"], told["calibration"]]), **of_statement(made.statement)}

        yield name, case


def searches() -> Iterator[tuple[str, str, str, Made, Made]]:
    """(name, estimator, relation, candidates, options)."""
    balls = {"constraint": [hb.L2Ball(0.5), hb.L2Ball(2.0)]}
    yield "usual", "LogisticRegression", RELATIONS[0], balls, {}
    yield "add or remove", "LogisticRegression", RELATIONS[1], balls, {}
    yield "logarithmic", "LogisticRegression", RELATIONS[0], balls, {"shape": "logarithmic"}
    yield "a shape between", "LogisticRegression", RELATIONS[0], balls, {"shape": 0.5}
    yield "accuracy", "LogisticRegression", RELATIONS[0], balls, {"metric": "accuracy", "holdout": 0.4}
    yield (
        "moments",
        "LinearRegression",
        RELATIONS[0],
        {"penalty": [hb.SquaredL2Penalty(0.01), hb.SquaredL2Penalty(1.0)]},
        {},
    )
    yield "intercepts", "LinearRegression", RELATIONS[1], {"fit_intercept": [True, False]}, {"metric": "absolute_error"}
    yield (
        "solvers",
        "LinearRegression",
        RELATIONS[0],
        {"solver": ["moments", "gradient"], "constraint": [hb.L2Ball(1.0)]},
        {},
    )
    yield "counts", "PoissonRegressor", RELATIONS[0], balls, {}
    yield "quantiles", "QuantileRegressor", RELATIONS[0], balls, {}
    yield "sets", "LinearRegression", RELATIONS[0], {"constraint": [None, hb.L1Ball(1.0)]}, {}
    yield (
        "many",
        "LinearRegression",
        RELATIONS[0],
        {"penalty": [hb.L1Penalty(0.01 * 2**i) for i in range(5)]},
        {"expected_candidates": 12},
    )


def searching(name: str, estimator: str, relation: str, candidates: Made, options: Made) -> Any:
    """A search that was not begun."""
    given = {"budget": BUDGETS["dp"], "expected_candidates": 4, "test_key": key(name), **options}
    return hb.PrivateSearchCV(model(estimator, relation), candidates, **given)


def _searches() -> Iterator[tuple[str, Case]]:
    for words, *about in searches():
        name = f"search/{words}"

        def case(name: str = name, about: Any = about) -> Parts:
            made = searching(name, *about).fit(table())
            return {
                "best": numbers([made.best_index_, made.best_score_, made.best_score_error_]),
                **of_model(made.best_estimator_),
            }

        yield name, case


def _oracles() -> Iterator[tuple[str, Case]]:
    for words, body in {
        "L1": hb.L1Ball(1.0),
        "L2": hb.L2Ball(1.0),
        "simplex": hb.Simplex(1.0),
        "lp": hb.LpBall(1.5, 1.0),
    }.items():

        def case(body: Any = body) -> Parts:
            goal = matrix("oracle", 1, 5)[0]
            found = hb.mirror_descent(lambda theta: theta - goal, body, steps=20, lipschitz=2.0, dimension=5)
            return {"theta": numbers(found)}

        yield f"oracle/{words}", case


def _forecasts() -> Iterator[tuple[str, Case]]:
    for words, *about in searches():
        name = f"search price/{words}"

        def case(name: str = name, about: Any = about) -> Parts:
            price = searching(name, *about).price(500)
            told = [
                price.epsilon,
                price.chance,
                price.run_mu,
                price.grid_mu,
                price.trained,
                price.held,
                price.score_error,
            ]
            return {"price": numbers(told), "solver": "+".join(price.solvers)}

        yield name, case


def cases() -> dict[str, Case]:
    """All of them by name."""
    kinds = (_bounds, _evaluations, _searches, _forecasts, _oracles)
    return {name: case for kind in kinds for name, case in kind()}
