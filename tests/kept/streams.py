"""Streams: every class, mechanism, kind of horizon and of forgetting; each is saved between two releases, closed and gone on with."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hullabaloo as hb
from tests.kept.case import Case, Parts, numbers, of_statement
from tests.kept.fits import BOTH, BUDGETS, COST, ILL
from tests.kept.tables import FEATURES, N, key, table

EVERY, CUT = 10, 25
MECHANISMS = ("tree", "hybrid", "square_root", "buffered", "dense")
Made = dict[str, Any]


def declared(**more: Any) -> hb.Domain:
    """Two features and a number as the target, of about `N` records."""
    about = {"features": FEATURES, "indicators": False, "records": N, **({} if "classes" in more else COST)}
    return hb.Domain(**{**about, **more})


def _kinds() -> Iterator[tuple[str, str, Made]]:
    """(name, class, parameters)."""
    ends: Made = {"horizon": N, "every": EVERY}
    common: Made = {"budget": BUDGETS["dp"], "domain": declared()}
    for relation in ("replace-one", "add-or-remove"):
        for kind in ("IncrementalRegression", "SketchedRegression"):
            ball = {"constraint": hb.L1Ball(1.0)}
            more = {} if kind == "IncrementalRegression" else {"sketch_size": 2, **ball}
            given = {**common, "neighbours": relation, **more}
            yield f"{kind}/known horizon/{relation}", kind, {**given, **ends}
            yield f"{kind}/no horizon/{relation}", kind, {**given, "every": EVERY}
            yield f"{kind}/listed releases/{relation}", kind, {**given, "horizon": N, "every": (5, 20, 33, 60)}
            yield f"{kind}/window/{relation}", kind, {**given, **ends, "window": 30}
            yield f"{kind}/half-life/{relation}", kind, {**given, **ends, "half_life": 30}
    for mechanism in MECHANISMS:
        unknown = mechanism == "hybrid"
        about = {"every": EVERY} if unknown else ends
        yield f"mechanism/{mechanism}", "IncrementalRegression", {**common, **about, "mechanism": mechanism}
    forgetting = {"window": {"window": 30}, "half-life": {"half_life": 30}}
    for mechanism in ("square_root", "buffered", "dense"):
        for words, more in forgetting.items():
            yield (
                f"mechanism/{mechanism}/{words}",
                "IncrementalRegression",
                {**common, **ends, **more, "mechanism": mechanism},
            )
    for words, more in {
        "in a ball": {"constraint": hb.L2Ball(1.0)},
        "penalised": {"penalty": hb.L1Penalty(0.02)},
        "two targets": {"domain": declared(**BOTH)},
        "weights": {"domain": declared(weight=("weight", 2.0))},
        "gdp": {"budget": BUDGETS["gdp"]},
        "no noise": {"budget": BUDGETS["none"]},
        "no intercept": {"fit_intercept": False},
    }.items():
        yield words, "IncrementalRegression", {**common, **ends, **more}
    yield (
        "another seed",
        "SketchedRegression",
        {**common, **ends, "sketch_size": 3, "seed": 7, "constraint": hb.L1Ball(1.0)},
    )


def _refits() -> Iterator[tuple[str, Case]]:
    for estimator, solver, shape in (
        ("LinearRegression", "gradient", {"constraint": hb.L2Ball(1.0)}),
        ("LinearRegression", "moments", {}),
        ("LinearRegression", "frank_wolfe", {"constraint": hb.L1Ball(1.0)}),
        ("LogisticRegression", "gradient", {"constraint": hb.L2Ball(1.0)}),
        ("LogisticRegression", "output_perturbation", {"penalty": hb.SquaredL2Penalty(0.1)}),
        ("Ridge", "coordinate_descent", {}),
    ):
        for rule, every in (("convex", "auto"), ("convex", 20)):
            name = f"stream/PeriodicERM/{estimator}/{solver}/{every}"

            def case(
                estimator: str = estimator,
                solver: str = solver,
                shape: Made = shape,
                rule: str = rule,
                every: Any = every,
                name: str = name,
            ) -> Parts:
                about = {
                    "domain": declared(**(ILL if estimator == "LogisticRegression" else {})),
                    "budget": BUDGETS["dp"],
                }
                model = getattr(hb, estimator)(**about, solver=solver, test_key=key(name), **shape)
                return outcome(hb.streaming.PeriodicERM(model, horizon=N, every=every, rule=rule))

            yield name, case


def outcome(stream: Any) -> Parts:
    """Coefficients before and after a save in the middle of a step, the moments and the noise at the end."""
    records, at = table(), []
    with tempfile.TemporaryDirectory() as folder:
        stream.set_params(state=Path(folder) / "kept.state")
        for part in (records.iloc[:CUT], records.iloc[CUT:]):
            with stream:
                stream.partial_fit(part)
            model = stream.model_at()
            at.append(numbers([model.coef_, model.intercept_, stream.released_at_]))
            stream._intake = None  # the next part is taken from the file
        release = model.release_
    moments = release.moments
    found = {
        "coef": at,
        "theta": numbers(release.theta),
        "solver": str(release.plan["solver"]),
        **of_statement(release.statement),
    }
    found["moments"] = [] if moments is None else numbers([moments.gram, moments.cross, moments.square, moments.sigma])
    return found


def cases() -> dict[str, Case]:
    """All of them by name."""
    found: dict[str, Case] = {}
    for words, kind, given in _kinds():
        name = f"stream/{words}"

        def case(name: str = name, kind: str = kind, given: Made = given) -> Parts:
            return outcome(getattr(hb.streaming, kind)(**given, test_key=key(name)))

        found[name] = case
    return found | dict(_refits())
