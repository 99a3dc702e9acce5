"""Fits: every estimator with every solver that it takes, over sets, penalties, relations, weights, units, budgets and kinds of tables."""

from collections.abc import Iterator
from typing import Any

from scipy.sparse import csr_array

import hullabaloo as hb
from hullabaloo.linear_model import ESTIMATORS
from tests.kept.case import Case, Parts, of_model
from tests.kept.tables import FEATURES, N, key, linear, matrix, table

SOLVERS = (
    "moments", "gradient", "adaptive_gradient", "preconditioned_gradient", "coordinate_descent", "greedy_selection",
    "greedy_coordinate_descent", "mirror_descent", "frank_wolfe", "dual_frank_wolfe", "objective_perturbation", "output_perturbation",
)  # fmt: skip
RELATIONS = ("replace-one", "add-or-remove")
BUDGETS: dict[str, Any] = {
    "dp": hb.Budget(2.0, 1e-6),
    "gdp": hb.Budget.gdp(0.7),
    "zcdp": hb.Budget.zcdp(0.3),
    "pure": hb.Budget(3.0, 0.0),
    "none": hb.Budget(float("inf")),
}
ALL = {**FEATURES, "job": hb.Categorical(["clerk", "nurse", "cook"], baseline="clerk")}
COST, ILL, WARD = (
    {"target": {"cost": (-20, 20)}},
    {"classes": {"ill": ["no", "yes"]}},
    {"classes": {"ward": ["a", "b", "c"]}},
)
VISITS, BOTH = {"target": {"visits": (0, 30)}}, {"target": {"cost": (-20, 20), "visits": (0, 30)}}
TARGETS: dict[str, dict[str, Any]] = {
    "LogisticRegression": ILL, "LinearSVC": ILL, "StructuredSparseClassifier": ILL, "PoissonRegressor": VISITS, "MultiTaskRegression": BOTH,
}  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "L1": {"constraint": hb.L1Ball(1.0)},
    "L2": {"constraint": hb.L2Ball(1.0)},
    "box": {"constraint": hb.Box(-1.0, 1.0)},
    "simplex": {"constraint": hb.Simplex(1.0)},
    "lp": {"constraint": hb.LpBall(1.5, 1.0)},
    "elastic ball": {"constraint": hb.ElasticBall(0.5, 1.0)},
    "group ball": {"constraint": hb.GroupBall([[0, 1], [2, 3]], 1.0)},
    "polytope": {"constraint": hb.Polytope([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [-1, -1, -1, -1]])},
    "submodular ball": {"constraint": hb.SubmodularBall(hb.Intervals(4), 1.0)},
    "nuclear ball": {"constraint": hb.NuclearBall(1.0, 2)},
    "l1 penalty": {"penalty": hb.L1Penalty(0.02)},
    "l2 penalty": {"penalty": hb.SquaredL2Penalty(0.1)},
    "elastic net": {"penalty": hb.ElasticNetPenalty(0.05, 0.5)},
    "group penalty": {"penalty": hb.GroupPenalty([[0, 1], [2, 3]], 0.05)},
    "nuclear penalty": {"penalty": hb.NuclearPenalty(0.05, 2)},
    "submodular penalty": {"penalty": hb.SubmodularPenalty(hb.Intervals(4), 0.05)},
    "group cover": {"penalty": hb.SubmodularPenalty(hb.GroupCover([[0, 1], [2, 3], [1, 2]]), 0.05)},
    "tree": {"penalty": hb.SubmodularPenalty(hb.TreeCover([-1, 0, 0, 1]), 0.05)},
}
OPTIONS: dict[str, Any] = {
    "coordinate descent, Laplace": hb.CoordinateDescentSolver(constants="laplace"),
    "greedy selection of two": hb.GreedySelectionSolver(selected=2),
}


def _fitted(name: str, estimator: str, X: Any = None, y: Any = None, weight: Any = None, **given: Any) -> Parts:
    model = getattr(hb, estimator)(**{"budget": BUDGETS["dp"], "test_key": key(name), **given})
    return of_model(model.fit(table() if X is None else X, y, **({} if weight is None else {"sample_weight": weight})))


def _domain(estimator: str, relation: str = RELATIONS[0], **more: Any) -> hb.Domain:
    records = {"records": N} if relation == "add-or-remove" else {}
    return hb.Domain(**{"features": ALL, "indicators": False, **TARGETS.get(estimator, COST), **records, **more})


def _made(
    name: str, estimator: str, *data: Any, relation: str = RELATIONS[0], declared: Any = None, **given: Any
) -> Case:
    def case() -> Parts:
        domain = _domain(estimator, relation, **(declared or {}))
        return _fitted(name, estimator, *data, domain=domain, neighbours=relation, **given)

    return case


def solved() -> Iterator[tuple[str, Case]]:
    """Every estimator by every solver; the relation alternates."""
    for row, estimator in enumerate(ESTIMATORS):
        for column, solver in enumerate(SOLVERS):
            relation = RELATIONS[(row + column) % 2]
            for words in (("as it is", "l2 penalty"), ("L1", "L2"))[(row + column // 2) % 2]:
                name = f"fit/{estimator}/{solver}/{words}/{relation}"
                yield name, _made(name, estimator, relation=relation, solver=solver, **SHAPES[words])


def shaped() -> Iterator[tuple[str, Case]]:
    """Every set and penalty by a few solvers each."""
    for row, (words, shape) in enumerate(SHAPES.items()):
        for column, solver in enumerate(
            ("moments", "gradient", "adaptive_gradient", "mirror_descent", "frank_wolfe", "output_perturbation")
        ):
            relation = RELATIONS[(row + column + 1) % 2]
            estimator = (
                "MultiTaskRegression" if "nuclear" in words else ("LinearRegression", "LogisticRegression")[row % 2]
            )
            name = f"shape/{estimator}/{solver}/{words}/{relation}"
            yield name, _made(name, estimator, relation=relation, solver=solver, **shape)


def budgeted() -> Iterator[tuple[str, Case]]:
    """Every kind of budget, by solvers of every kind of noise."""
    for budget, value in BUDGETS.items():
        for estimator, solver, words in (
            ("LinearRegression", "moments", "as it is"),
            ("LinearRegression", "gradient", "L2"),
            ("LinearRegression", "frank_wolfe", "L1"),
            ("LinearRegression", "greedy_coordinate_descent", "l1 penalty"),
            ("LogisticRegression", "objective_perturbation", "l2 penalty"),
            ("LogisticRegression", "coordinate_descent", "l2 penalty"),
        ):
            name = f"budget/{estimator}/{solver}/{budget}"
            yield name, _made(name, estimator, solver=solver, budget=value, **SHAPES[words])


def special() -> Iterator[tuple[str, Case]]:
    """Options of solvers, calibrations, weights, units, offsets, several targets and classes, sparse and prepared tables."""

    def one(name: str, estimator: str, *data: Any, **given: Any) -> tuple[str, Case]:
        return f"special/{name}", _made(f"special/{name}", estimator, *data, **given)

    for name, solver in OPTIONS.items():
        for words in ("L1", "l1 penalty", "as it is", "L2"):
            yield one(f"{name}/{words}", "LinearRegression", solver=solver, **SHAPES[words])
    for solver, words in (("moments", "as it is"), ("gradient", "L2"), ("frank_wolfe", "L1")):
        about: dict[str, Any] = {"solver": solver, **SHAPES[words]}
        yield one(f"no intercept/{solver}", "LinearRegression", fit_intercept=False, **about)
        yield one(f"as printed/{solver}", "LinearRegression", calibration="paper", **about)
        yield one(f"two targets/{solver}", "LinearRegression", declared=BOTH, **about)
        for relation in RELATIONS:
            yield one(
                f"weights/{solver}/{relation}",
                "LinearRegression",
                declared={"weight": ("weight", 2.0)},
                relation=relation,
                **about,
            )
            unit = {"unit": "person", "records_per_unit": 2, "records": N}
            yield one(f"units/{solver}/{relation}", "LinearRegression", declared=unit, relation=relation, **about)
    transforms = {
        "features": {**ALL, "hours": (1, 80)},
        "transforms": {"hours": "log"},
        "interactions": [("age", "hours")],
    }
    yield one("transforms and interactions", "LinearRegression", declared=transforms, solver="moments")
    yield one("indicators", "Ridge", declared={"indicators": True}, solver="moments", **SHAPES["l2 penalty"])
    for solver in ("gradient", "adaptive_gradient", "output_perturbation"):
        for words in ("L2", "l2 penalty"):
            yield one(
                f"three classes/{solver}/{words}", "LogisticRegression", declared=WARD, solver=solver, **SHAPES[words]
            )
            apart = {"declared": WARD, "solver": solver, "multi_class": "one-vs-rest"}
            yield one(f"three classes apart/{solver}/{words}", "LogisticRegression", **apart, **SHAPES[words])
            exposed = {"features": {**ALL, "years": (0.5, 4.0)}, "target": {"events": (0, 30)}}
            yield one(
                f"exposure/{solver}/{words}",
                "PoissonRegressor",
                declared=exposed,
                exposure="years",
                solver=solver,
                **SHAPES[words],
            )
    for quantile in (0.1, 0.9):
        yield one(f"quantile {quantile}", "QuantileRegressor", quantile=quantile, solver="gradient", **SHAPES["L2"])


def prepared() -> Iterator[tuple[str, Case]]:
    """Prepared matrices, dense and sparse, of which the second kind have more columns than records."""
    for words, p, share in (("narrow", 6, 1.0), ("sparse", 90, 0.1), ("wide", 90, 1.0)):
        for solver, shape in (
            ("moments", "L1"),
            ("gradient", "L2"),
            ("frank_wolfe", "L1"),
            ("dual_frank_wolfe", "l1 penalty"),
            ("greedy_selection", "L1"),
            ("greedy_coordinate_descent", "l1 penalty"),
            ("coordinate_descent", "l2 penalty"),
            ("mirror_descent", "L1"),
            ("preconditioned_gradient", "L2"),
            ("output_perturbation", "l2 penalty"),
        ):
            name = f"prepared/{words}/{solver}"

            def case(
                name: str = name, p: int = p, share: float = share, solver: str = solver, shape: str = shape
            ) -> Parts:
                X = matrix(name, N, p, share)
                y = linear(X, [1.0, -0.5, 0.25])
                if share < 1.0:
                    X = csr_array(X)
                domain = hb.Domain(row_norm=1.0, target=(-1, 1), records=N)
                return _fitted(name, "LinearRegression", X, y, domain=domain, solver=solver, **SHAPES[shape])

            yield name, case


def cases() -> dict[str, Case]:
    """All of them by name."""
    return {name: case for kind in (solved, shaped, budgeted, special, prepared) for name, case in kind()}
