"""Saved models with one entry changed: loaded they predict and are shown, or they are refused in a sentence."""

import json
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo import streaming
from tests.fuzz.rooms import folder
from tests.fuzz.verdict import judged
from tests.linear_model import examples

BUDGET = hb.Budget(1.0, 1e-6)
DROPPED = object()
MUTATIONS: tuple[Any, ...] = (DROPPED, None, "x", 10**400, float("nan"), [[[]]], {}, -1, 1e308, True)
READ = {"LinearRegression": hb.load, "LogisticRegression": hb.load, "fits": hb.load, "stream": streaming.load}


@cache
def document(kind: str) -> str:
    frame = examples.table(60)
    if kind == "stream":
        domain = examples.domain_for("LinearRegression")
        stream = streaming.IncrementalRegression(budget=BUDGET, domain=domain, horizon=60, every=30).fit(frame)
        return json.dumps(stream.model_at().to_dict())
    if kind == "fits":
        alone = hb.LinearRegression(budget=BUDGET, domain=examples.domain_for("LinearRegression"))
        model = streaming.PeriodicERM(alone, 60, every=30).partial_fit(frame).model_at()
    else:
        model = getattr(hb, kind)(budget=BUDGET, domain=examples.domain_for(kind)).fit(frame)
    path = folder() / "leaf.json"
    model.save(path)
    return path.read_text()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every entry of a document; of long lists the first two."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def changed(text: str, path: tuple[Any, ...], value: Any) -> str:
    made = json.loads(text)
    at = made
    for key in path[:-1]:
        at = at[key]
    if value is DROPPED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(made)


@pytest.mark.few(1)
@pytest.mark.parametrize("every", [149, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", READ)
def test_a_model_with_one_entry_changed_predicts_or_is_refused(tmp_path: Path, kind: str, every: int) -> None:
    """Coefficients of another shape, or none, were loaded, and failed with NumPy's words when the model predicted."""
    text, frame, path = document(kind), examples.table(20), tmp_path / "m.json"

    def used() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # coefficients of 1e308 are numbers, and their sums are not
            model = READ[kind](path)
            model.predict(frame)
            if kind != "stream":  # whose models are shown by their statement alone
                str(model.summary())
                hb.report.card(model)
                model.save(tmp_path / "again.json")
        str(model.statement_ if kind != "stream" else model.statement)

    cases = [(place, value) for place in places(json.loads(text)) for value in MUTATIONS]
    assert len(cases) > 1000
    for place, value in cases[::every]:
        path.write_text(changed(text, place, value))
        judged(used)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("release", "plan", "settings", "sigma"), "x"),
        (("release", "statement", "horizon"), {}),
        (("release", "plan", "settings"), "1e5"),
        (("release", "plan", "settings"), [1]),
        (("release", "statement", "ledger"), float("inf")),
        (("release", "statement", "ledger"), 5),
        (("release", "statement", "dataset"), {}),
        (("release", "statement", "unit"), float("nan")),
        (("release", "statement", "records"), []),
        (("release", "statement", "query_noise", 0), 1.0),
        (("release", "statement", "query_noise", 0, "answers"), "x"),
        (("release", "plan", "queries", 0, "records"), "x"),
        (("release", "plan", "records"), "x"),
        (("release", "plan", "records"), None),
        (("release", "plan", "solver"), DROPPED),
        (("release", "plan", "settings", "noises"), {}),
        (("release", "trace"), [{"held up": []}]),
    ],
)
def test_a_model_whose_card_could_not_be_written_is_refused(tmp_path: Path, place: tuple[str, ...], value: Any) -> None:
    """It was loaded, and `card`, `summary` or `refit` ended in AttributeError, KeyError or TypeError, `save` in ValueError."""
    path = tmp_path / "m.json"
    path.write_text(changed(document("LinearRegression"), place, value))
    assert judged(lambda: hb.load(path)) == "refused"


@cache
def told() -> str:
    """Of a model that tells errors: of 60 records none are, and nothing read the noises."""
    model = hb.LogisticRegression(budget=hb.Budget(8.0, 1e-6), domain=examples.domain_for("LogisticRegression"))
    model.set_params(solver="preconditioned_gradient", inference=True, test_key=bytes(32)).fit(examples.table(5_000))
    assert np.isfinite(model.summary().to_dataframe()["low"]).any()
    path = folder() / "told.json"
    model.save(path)
    return path.read_text()


@pytest.mark.few(12)
@pytest.mark.parametrize("value", MUTATIONS)
@pytest.mark.parametrize("place", [*(("release", "statement", "query_noise", 0, name) for name in ("noise_std_of_sum", "records")), *(("release", "plan", "settings", name) for name in ("tail_noise", "score_noise", "noises"))], ids=lambda place: place[-1])  # fmt: skip
def test_noises_of_a_model_that_tells_errors_are_numbers_or_it_is_refused(tmp_path: Path, place: tuple[str, ...], value: Any) -> None:  # fmt: skip
    """It was loaded, and its summary ended in KeyError, TypeError or ValueError."""
    (tmp_path / "m.json").write_text(changed(told(), place, value))

    def used() -> None:
        model = hb.load(tmp_path / "m.json")
        str(model.summary()), model.predict_interval(examples.table(9)), str(model.joint_tests())

    judged(used)


@cache
def pulled() -> str:
    """Of a model of moments that the constant holds up, which refits follow."""
    model = hb.LinearRegression(budget=hb.Budget(0.1, 1e-6), domain=examples.domain_for("LinearRegression"))
    model.set_params(solver="moments", test_key=bytes(32)).fit(examples.table(2_000))
    assert any("constant" in line for line in model.release_.trace)
    path = folder() / "pulled.json"
    model.save(path)
    return path.read_text()


@pytest.mark.few(12)
@pytest.mark.parametrize("value", MUTATIONS)
@pytest.mark.parametrize("place", ["ridge", "held up", "constant", "above_mean"])
def test_a_model_that_is_held_up_is_refitted_or_refused(tmp_path: Path, place: str, value: Any) -> None:
    """It was loaded, and `summary` or `refit` ended in TypeError or ValueError."""
    trace = json.loads(pulled())["release"]["trace"]
    lines = [("trace", k, place) for k, line in enumerate(trace) if place in line] or [("plan", "settings", place)]
    for one in lines:
        (tmp_path / "m.json").write_text(changed(pulled(), ("release", *one), value))

        def used() -> None:
            model = hb.load(tmp_path / "m.json")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                str(model.summary()), str(model.refit(penalty=hb.L1Penalty(0.01)).summary())
                str(model.refit(selection="fdr").summary())

        judged(used)


def test_a_model_whose_plan_has_no_settings_is_shown(tmp_path: Path) -> None:
    """As with any other entry gone: `summary` ended in KeyError."""
    (tmp_path / "m.json").write_text(changed(document("LinearRegression"), ("release", "plan", "settings"), DROPPED))
    assert judged(lambda: str(hb.load(tmp_path / "m.json").summary())) == "accepted"


@pytest.mark.slow
def test_a_summary_of_coefficients_beyond_floats_is_shown(tmp_path: Path) -> None:
    """Their squares overflow: what is left of the residuals is no number, whose range a root was looked for."""
    model = hb.LinearRegression(budget=hb.Budget(1e5, 1e-6), domain=examples.domain_for("LinearRegression"))
    model.set_params(inference=True, test_key=bytes(32)).fit(examples.table(200)).save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    (tmp_path / "m.json").write_text(changed(text, ("release", "theta", 1, 0), -1e155))
    with np.errstate(all="ignore"):
        assert judged(lambda: str(hb.load(tmp_path / "m.json").summary())) == "accepted"


@pytest.mark.parametrize(
    ("place", "value"), [(("domain", "target"), DROPPED), *((("fit_intercept",), one) for one in ("x", 10**400, -1))]
)
def test_a_model_of_a_stream_that_could_not_predict_is_refused(
    tmp_path: Path, place: tuple[str, ...], value: Any
) -> None:
    """It was loaded, and `predict` ended in ValueError, TypeError or IndexError."""
    path = tmp_path / "m.json"
    path.write_text(changed(document("stream"), place, value))
    assert judged(lambda: streaming.load(path)) == "refused"


HUGE = 10**400
HOSTILE = {
    "window": lambda: _stream(window=HUGE).begin(),
    "horizon": lambda: _stream(horizon=HUGE).begin(),
    "half_life": lambda: _stream(half_life=HUGE).begin(),
    "a half-life beyond what Python writes": lambda: _stream(half_life=10**5000).begin(),
    "expected_candidates": lambda: _search(expected_candidates=HUGE).price(200),
    "shape": lambda: _search(shape=HUGE).price(200),
    "fit_intercept": lambda: streaming.plan(horizon=100, every=10, p=5, budget=BUDGET, fit_intercept={1: 2}),
    "p": lambda: streaming.plan(horizon=100, every=10, p=HUGE, budget=BUDGET),
    "p of a plan": lambda: hb.plan(n=100, p=HUGE, budget=BUDGET),
    "confidence": lambda: hb.evaluate(_fitted(), examples.table(60), budget=BUDGET, confidence=HUGE),
    "inference": lambda: hb.Ridge(budget=BUDGET, domain=examples.domain_for("Ridge"), inference=HUGE).price(100),
    "n": lambda: _fitted().price(HUGE),
    "bytes for TOML": lambda: hb.Domain.from_toml(b"x"),  # type: ignore[arg-type]
    "nothing for TOML": lambda: hb.Domain.from_toml(None),  # type: ignore[arg-type]
    "digits beyond what Python writes": lambda: _stream(window=10**5000).begin(),
}


def _stream(**more: Any) -> Any:
    domain = examples.domain_for("LinearRegression")
    return streaming.IncrementalRegression(**{"budget": BUDGET, "domain": domain, "horizon": 100, "every": 10, **more})


def _search(**more: Any) -> Any:
    model = hb.LinearRegression(domain=examples.domain_for("LinearRegression"), solver="moments")
    return hb.PrivateSearchCV(model, {"fit_intercept": [True, False]}, budget=BUDGET, **more)


def _fitted() -> Any:
    return hb.LinearRegression(budget=BUDGET, domain=examples.domain_for("LinearRegression"), solver="moments").fit(
        examples.table(60)
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_numbers_beyond_floats_and_other_kinds_are_refused_in_a_sentence(name: str) -> None:
    """They ended in OverflowError and TypeError of Python, or in a loop without an end."""
    assert judged(HOSTILE[name]) == "refused"


def test_a_domain_in_another_encoding_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "d.toml"
    for text in (
        'target = { cost = [0, 1] }\n[features]\n"é" = [0, 1]\n'.encode("latin-1"),
        b"\xff\xfe\x00",
        b"a = \x80",
    ):
        path.write_bytes(text)
        assert judged(lambda: hb.Domain.from_toml(path)) == "refused"
