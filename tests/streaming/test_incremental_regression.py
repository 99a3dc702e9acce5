"""Incremental regression: the model of every prefix, under any batching; forgetting, sets, files, cards."""

import json
import math
import re
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import hullabaloo as hb
from hullabaloo.errors import DomainError, HullabalooError, InvalidParameter
from hullabaloo.inference.refit import refit
from hullabaloo.noise import TestKey

KEY = TestKey(bytes(range(32)))
INFINITE, ONE = hb.Budget(math.inf), hb.Budget(1.0, 1e-6)
NAMES = ("a", "b", "c")
DOMAIN = hb.Domain(features=dict.fromkeys(NAMES, (0, 1)), target={"y": (-4, 4)}, indicators=False)


def table(n: int, seed: int = 0, coef: tuple[float, ...] = (2.0, -1.0, 0.5)) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return pd.DataFrame(X, columns=list(NAMES)), X @ np.array(coef) + rng.normal(0, 0.2, n)


def stream(**more: Any) -> hb.streaming.IncrementalRegression:
    return hb.streaming.IncrementalRegression(
        **{"budget": INFINITE, "domain": DOMAIN, "horizon": 400, "every": 10, "test_key": KEY, **more}
    )


# ---- the model of a prefix ------------------------------------------------------------------------------------------


SHAPES: dict[str, dict[str, Any]] = {
    "least squares": {},
    "no intercept": {"fit_intercept": False},
    "l1 ball": {"constraint": hb.L1Ball(0.2)},
    "l2 ball": {"constraint": hb.L2Ball(0.15)},
    "box": {"constraint": hb.Box(-0.1, 0.2)},
    "simplex": {"constraint": hb.Simplex()},
    "elastic ball": {"constraint": hb.ElasticBall(0.3, 0.5)},
    "ridge": {"penalty": hb.SquaredL2Penalty(0.1)},
    "l1": {"penalty": hb.L1Penalty(0.02)},
    "elastic net": {"penalty": hb.ElasticNetPenalty(0.05, 0.5)},
    "groups": {"penalty": hb.GroupPenalty([[0, 1], [2]], 0.05)},
}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", SHAPES)
def test_without_noise_a_model_is_the_batch_model_of_its_prefix(name: str) -> None:
    """Tests: 003, Algorithm 2."""
    X, y = table(150)
    model = stream(**SHAPES[name])
    batch = hb.LinearRegression(budget=INFINITE, domain=DOMAIN, solver="moments", **SHAPES[name])
    for start in range(0, 150, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
        batch.fit(X[: start + 50], y[: start + 50])
        assert np.allclose(model.coef_, batch.coef_, rtol=0, atol=1e-7)
        assert model.intercept_ == pytest.approx(batch.intercept_, abs=1e-7)
    assert np.abs(model.coef_).max() > 0.01


def test_several_targets_share_the_stream() -> None:
    """Tests: 003, Remark 4.4."""
    X, y = table(100)
    domain = hb.Domain(features=dict.fromkeys(NAMES, (0, 1)), target={"y": (-4, 4), "z": (0, 2)}, indicators=False)
    both = np.column_stack([y, X["a"] + 0.5])
    model = stream(domain=domain).fit(X, both)
    batch = hb.LinearRegression(budget=INFINITE, domain=domain, solver="moments").fit(X, both)
    assert np.allclose(model.coef_, batch.coef_, atol=1e-9)
    assert np.allclose(model.predict(X), np.clip(batch.predict(X), [-4, 0], [4, 2]), atol=1e-9)
    assert np.allclose(model.predict(X, clip=False), batch.predict(X), atol=1e-9)
    one = model.predict_one(dict(X.iloc[3]))
    assert list(one) == ["y", "z"]
    assert list(one.values()) == pytest.approx(list(model.predict(X[3:4])[0]), abs=1e-12)


def test_under_noise_the_moments_are_those_of_the_whole_stream() -> None:
    """Tests: 003, Algorithm 2."""
    X, y = table(400)
    model = stream(budget=ONE).fit(X, y)
    moments = model.model_at().release_.moments
    assert moments is not None
    exact = stream().fit(X, y).model_at().release_.moments
    assert exact is not None
    assert moments.sigma > 0
    # Ten coordinates, each within 7 standard deviations: a false alarm has probability below 1e-10.
    assert np.abs(moments.gram - exact.gram).max() < 7 * moments.gram_noise
    assert np.abs(moments.gram - exact.gram).max() > 1e-3 * moments.gram_noise


def test_a_target_of_0_and_1_is_predicted_as_a_chance() -> None:
    X, y = table(400)
    domain = hb.Domain(features=dict.fromkeys(NAMES, (0, 1)), target=(0, 1), indicators=False)
    model = stream(domain=domain).fit(X, (y > 1).astype(float))
    chances = model.predict(X)
    assert chances.min() == 0.0
    assert chances.max() == 1.0
    assert np.mean((chances > 0.5) == (y > 1)) > 0.8
    with pytest.raises(DomainError, match="learns numbers"):
        stream(domain=hb.Domain(features={"a": (0, 1)}, classes=[0, 1])).fit([[0.5]], [1])


# ---- batching and reading -------------------------------------------------------------------------------------------


def sequence(cuts: list[int], one_by_one: bool, every_reads: bool, **more: Any) -> dict[int, list[float]]:
    """The models at the releases that are read, by position."""
    X, y = table(120)
    model = stream(budget=ONE, horizon=120, every=7, **more)
    found = {}
    for start, stop in pairwise([0, *cuts, 120]):
        if one_by_one:
            for i in range(start, stop):
                model.learn_one(dict(X.iloc[i]), y[i])
                if every_reads and model.released_at_:
                    found[model.released_at_] = [*model.coef_, model.intercept_]
        else:
            model.partial_fit(X[start:stop], y[start:stop])
        if model.released_at_:
            found[model.released_at_] = [*model.coef_, model.intercept_]
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("more", [{}, {"half_life": 30.0}, {"window": 28}, {"neighbours": "add-or-remove"}], ids=str)
def test_releases_do_not_depend_on_batches_or_on_who_reads_when(more: dict[str, Any]) -> None:
    reference = sequence([], one_by_one=True, every_reads=True, **more)
    assert list(reference) == [*range(7, 120, 7), 120]
    rng = np.random.default_rng(1)
    for number in range(3):
        cuts = sorted({int(cut) for cut in rng.integers(1, 119, size=number * 6)})
        for one_by_one in (False, True):
            found = sequence(cuts, one_by_one, every_reads=False, **more)
            assert found
            assert all(found[position] == reference[position] for position in found)


def test_a_stream_that_was_put_down_and_taken_up_again_releases_the_same(tmp_path: Path) -> None:
    X, y = table(400)
    whole = stream(budget=ONE).fit(X, y)
    for start, stop in ((0, 137), (137, 140), (140, 400)):
        with stream(budget=ONE, state=tmp_path / "s") as part:
            assert part.begin().position_ == start
            part.partial_fit(X[start:stop], y[start:stop])
    again = stream(budget=ONE, state=tmp_path / "s").begin()
    assert np.array_equal(again.coef_, whole.coef_)
    assert again.intercept_ == whole.intercept_
    again.close()


# ---- drift --------------------------------------------------------------------------------------------------------


def of_persons(share: int) -> hb.Domain:
    features: dict[str, Any] = dict.fromkeys(NAMES, (0, 1))
    about: dict[str, Any] = {"target": {"y": (-4, 4)}, "indicators": False, "weight": ("w", 2.0)}
    return hb.Domain(features, **about, unit="who", records_per_unit=share, records=400)


@pytest.mark.parametrize("share", [1, 3])
def test_of_a_person_the_first_records_count_however_they_come(share: int, tmp_path: Path) -> None:
    """Over the whole horizon: in tables, one by one, and when the stream is put down in between; a record of nobody counts nothing."""
    X, y = table(200)
    X["w"] = np.random.default_rng(3).uniform(0, 2, 200)
    X["who"] = [None if one == 5 else one for one in np.random.default_rng(2).integers(0, 30, 200)]
    place = X.groupby("who", dropna=False).cumcount()
    plain = X.assign(w=X.w.where((place < share) & X.who.notna(), 0.0))
    about = of_persons(share)
    alone = hb.Domain.from_dict({k: v for k, v in about.to_dict().items() if k not in ("unit", "records_per_unit")})
    expected = stream(domain=alone).partial_fit(plain.drop(columns="who"), y)
    with stream(domain=about, state=tmp_path / "state") as first:
        first.partial_fit(X[:37], y[:37])
        for x, one in zip(X[37:80].to_dict("records"), y[37:80], strict=True):
            first.learn_one(x, one)
    with stream(domain=about, state=tmp_path / "state") as again:
        again.partial_fit(X[80:], y[80:])
        assert np.array_equal(again.coef_, expected.coef_)
        assert again.position_ == 200


def test_units_cost_as_many_times_the_noise() -> None:
    """Twice the share under replace-one, as one person's records go and another's come; the ledger hears of the unit."""
    X, y = table(10)
    X["w"], X["who"], noise = 1.0, "one", {}
    for relation in ("add-or-remove", "replace-one"):
        for share in (1, 4):
            about = stream(domain=of_persons(share), neighbours=relation, budget=ONE, test_key=None)
            about.partial_fit(X, y)
            assert f"differ in all records of one who (of which the first {share} count)" in str(about.statement_)
            noise[relation, share] = about.statement_.query_noise[0]["noise_std_of_sum"]
            assert (about.statement_.unit, about.statement_.records_per_unit) == ("who", share)
    assert noise["add-or-remove", 4] == pytest.approx(4 * noise["add-or-remove", 1], rel=1e-6)
    assert noise["replace-one", 4] == pytest.approx(8 * noise["add-or-remove", 1], rel=1e-6)
    sketched = [
        hb.streaming.SketchedRegression(
            domain=of_persons(share), budget=ONE, horizon=400, constraint=hb.L1Ball(1.0), sketch_size=2
        )
        for share in (1, 4)
    ]
    one, four = (model.partial_fit(X, y).checkpoint()._live().process for model in sketched)
    assert four.query.sigma == pytest.approx(4 * one.query.sigma, rel=1e-6)  # type: ignore[attr-defined]


def drifting() -> tuple[pd.DataFrame, np.ndarray]:
    (A, a), (B, b) = table(200, 1), table(200, 2, coef=(-1.0, 1.0, 1.5))
    return pd.concat([A, B], ignore_index=True), np.concatenate([a, b])


def weighted(X: pd.DataFrame, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    root = np.sqrt(weights)[:, None]
    design = np.column_stack([X, np.ones(len(X))])
    return np.linalg.lstsq(root * design, root[:, 0] * y, rcond=None)[0]


def test_forgetting_weighs_records_by_the_age_of_their_step() -> None:
    X, y = drifting()
    model = stream(half_life=40.0).fit(X, y)
    ages = 39 - np.arange(400) // 10
    expected = weighted(X, y, 0.5 ** (ages * 10 / 40.0))
    assert np.allclose([*model.coef_, model.intercept_], expected, atol=1e-8)
    moments = model.model_at().release_.moments
    assert moments is not None
    assert moments.records == pytest.approx((0.5 ** (ages * 10 / 40.0)).sum())


def test_a_window_is_the_batch_model_of_the_latest_records() -> None:
    X, y = drifting()
    model = stream(window=80).fit(X, y)
    expected = weighted(X, y, (np.arange(400) >= 320).astype(float))
    assert np.allclose([*model.coef_, model.intercept_], expected, atol=1e-7)


@pytest.mark.parametrize("more", [{"half_life": 400.0}, {"window": 1000}], ids=str)
def test_forgetting_follows_a_change_under_noise_and_remembering_does_not(more: dict[str, Any]) -> None:
    (A, a), (B, b) = table(20_000, 1), table(4_000, 2, coef=(-1.0, 1.0, 1.5))
    X, y = pd.concat([A, B], ignore_index=True), np.concatenate([a, b])
    truth = np.array([-1.0, 1.0, 1.5])
    settings = {"budget": hb.Budget(20.0, 1e-6), "horizon": 24_000, "every": 100}
    following = np.abs(stream(**settings, **more).fit(X, y).coef_ - truth).max()
    staying = np.abs(stream(**settings).fit(X, y).coef_ - truth).max()
    assert following < 0.5 * staying


# ---- sets, statements, prices, cards --------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["moments", "noisy_projected_gradient"])
@pytest.mark.parametrize("constraint", [hb.L1Ball(0.2), hb.L2Ball(0.15), hb.Box(-0.05, 0.1), hb.Simplex()], ids=str)
def test_every_released_model_is_in_its_set(constraint: hb.L1Ball, solver: str) -> None:
    """Tests: 003, Section A.1, linear regression."""
    X, y = table(200)
    model = stream(budget=ONE, constraint=constraint, solver=solver)
    for start in range(0, 200, 40):
        model.partial_fit(X[start : start + 40], y[start : start + 40])
        theta = model.model_at().release_.theta[:-1, 0]
        assert constraint.contains(theta, 1e-7)


def test_the_statement_spans_the_horizon() -> None:
    X, y = table(100)
    for neighbours, word in (("replace-one", "replaced in its place"), ("add-or-remove", "present or absent")):
        statement = stream(budget=ONE, neighbours=neighbours, test_key=None).fit(X, y).statement_
        assert statement.horizon == 400
        assert word in str(statement)
        assert "all models released along the stream together, of up to 400 records" in str(statement)
        assert statement.epsilon() <= 1.0
    assert not stream(budget=ONE).fit(X, y).statement_.private


def test_the_summary_has_intervals() -> None:
    X, y = table(400)
    summary = stream(budget=hb.Budget(5.0, 1e-6)).fit(X, y).summary(confidence=0.9)
    assert [row.name for row in summary.rows] == [*NAMES, "(intercept)"]
    assert all(row.low < row.coefficient < row.high and row.privacy_error > 0 for row in summary.rows)


def test_a_price_costs_nothing_and_falls_as_records_come(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", ONE)
    model = stream(budget=ONE, horizon=10_000, every=100, ledger=ledger, dataset="clinic", test_key=None)
    early, late = model.price(1_000), model.price()
    assert (early.records, late.records) == (1_000, 10_000)
    assert early.epsilon == late.epsilon <= 1.0
    assert late.errors[0].likely < early.errors[0].likely / 3
    assert "all releases together" in str(early)
    assert ledger.charges("clinic") == ()
    assert model._intake is None
    for position in (99, 10_001, True, 2.5):
        with pytest.raises(InvalidParameter, match=r"released nothing|pass position"):
            model.price(position)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="pass position"):
        stream(horizon=None).price()
    with pytest.raises(InvalidParameter, match="needs a horizon"):
        stream(horizon=None, every="auto").begin()
    assert math.isinf(stream().price().epsilon)
    within = stream(budget=ONE, horizon=10_000, every=100, constraint=hb.L2Ball(0.1))
    said = [next(note for note in within.price(at).notes if "Theorem 4.2" in note) for at in (1_000, 10_000)]
    early, late = (float(note.split("≤ ")[1].split()[0]) for note in said)
    assert 0.0 < late < early / 5  # the sum's bound hardly grows, and this is a record's


def test_a_price_tells_the_errors_that_the_release_has() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(10_000, 3))
    model = stream(budget=ONE, horizon=10_000, every=100).fit(X, rng.normal(0, 1, 10_000))
    rows = {row.name: row.std_error for row in model.summary().rows}
    assert model.price().errors
    assert all(one.low < rows[one.name] < one.high for one in model.price().errors)
    (known,) = (one for one in model.price(known={"a": 0.29}).errors if one.name == "a")
    assert known.high / known.low < 0.7 * model.price().errors[0].high / model.price().errors[0].low


@pytest.mark.parametrize(("neighbours", "times"), [("add-or-remove", 3.0), ("replace-one", 3.0 * math.sqrt(2.0))])
def test_a_stream_of_persons_has_the_price_of_its_noise(neighbours: str, times: float) -> None:
    three = hb.Domain.from_dict({**DOMAIN.to_dict(), "unit": "who", "records_per_unit": 3, "records": 10_000})
    asked = {"neighbours": neighbours, "horizon": 10_000, "every": 100}
    persons = stream(domain=three, budget=hb.Budget.gdp(0.3 * times), **asked)
    single = stream(budget=hb.Budget.gdp(0.3), **asked)
    for position in (1_000, None):
        one, other = persons.price(position), single.price(position)
        assert one.records == other.records
        assert [each.likely for each in one.errors] == pytest.approx([each.likely for each in other.errors], rel=0.02)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove"])
@pytest.mark.few(1)
@pytest.mark.usefixtures("undrawn")
def test_a_card_says_that_it_is_of_a_stream(neighbours: str, tmp_path: Path) -> None:
    X, y = table(100)
    model = stream(budget=ONE, neighbours=neighbours, test_key=None).fit(X, y)
    assert ("Records", "100") in model.summary().header  # its place in the stream, which nobody declared
    card = hb.report.card(model)
    document = json.loads(card.to_json(tmp_path / "card.json"))
    jsonschema.Draft202012Validator(hb.report.schema()).validate(document)
    assert hb.report.card_from_json(tmp_path / "card.json").check() == card.check() == ()
    assert document["title"] == "IncrementalRegression model of y, a stream of up to 400 records"
    assert document["model"]["settings"]["position"] == 100
    assert "two streams" in document["guarantee"]["relation_text"]
    assert "stream of up to 400 records" in document["methods"]
    assert "table:" not in document["plain"]["headline"]
    assert "records of the stream</p>" in card.to_html()
    assert hb.report.card(model.model_at()).to_dict() == card.to_dict()


def test_a_saved_model_is_the_released_one(tmp_path: Path) -> None:
    X, y = table(100)
    model = stream(budget=ONE, constraint=hb.L1Ball(0.3), half_life=100.0).fit(X, y)
    model.model_at().save(tmp_path / "m.json")
    again = hb.streaming.load(tmp_path / "m.json")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert str(again) == str(model.model_at())
    assert again._repr_html_() == model.model_at()._repr_html_()
    assert again.settings["half_life"] == 100.0
    assert hb.report.card(again).to_dict() == hb.report.card(model).to_dict()


def test_a_release_is_solved_again_under_another_set_at_no_cost(tmp_path: Path) -> None:
    X, y = table(200)
    first = stream(budget=ONE).fit(X, y).model_at()
    again = first.refit(constraint=hb.L1Ball(0.1))
    other = stream(budget=ONE, constraint=hb.L1Ball(0.1)).fit(X, y).model_at()
    assert np.array_equal(again.coef_, other.coef_)
    assert again.position == first.position
    assert again.statement == first.statement
    again.save(tmp_path / "m.json")
    loaded = hb.streaming.load(tmp_path / "m.json")
    assert np.array_equal(loaded.predict(X), other.predict(X))
    assert np.array_equal(loaded.refit().coef_, first.coef_)
    both = first.refit(constraint=hb.L1Ball(0.1), penalty=hb.L1Penalty(0.1))
    assert np.abs(both.coef_).sum() <= np.abs(first.refit(constraint=hb.L1Ball(0.1)).coef_).sum() * (1.0 + 1e-9)
    with pytest.raises(InvalidParameter, match="9 dimensions"):
        first.refit(constraint=hb.Box([0.0] * 9, [1.0] * 9))


def test_a_release_is_solved_again_on_other_columns(tmp_path: Path) -> None:
    """As an estimator's is: of the same moments, and by the same rule where columns are left out of none."""
    X, y = table(200)
    first = stream(budget=hb.Budget(200.0, 1e-6)).fit(X, y).model_at()
    name, *others = first.feature_names_out_
    part, whole = first.refit(features=[name]), first.refit(features=[name, *others])
    assert np.array_equal(whole.coef_, first.coef_)
    assert part.coef_[0] != 0.0
    assert not part.coef_[1:].any()
    assert part.release_.theta == pytest.approx(refit(first._fitted(), [name]).theta)
    told = {row.name for row in part.summary().rows if math.isfinite(row.low)}
    assert name in told
    assert not told & {*others}
    part.save(tmp_path / "m.json")
    assert np.array_equal(hb.streaming.load(tmp_path / "m.json").predict(X), part.predict(X))
    with pytest.raises(InvalidParameter, match="no feature 'nosuch'"):
        first.refit(features=["nosuch"])


def test_a_stream_of_unknown_length_has_no_last_record() -> None:
    X, y = table(300)
    model = stream(horizon=None, every=50).fit(X, y)
    assert (model.position_, model.released_at_) == (300, 300)
    batch = hb.LinearRegression(budget=INFINITE, domain=DOMAIN, solver="moments").fit(X, y)
    assert np.allclose(model.coef_, batch.coef_, atol=1e-9)
    assert model.statement_.horizon is not None
    assert "unknown horizon" in str(model.model_at())
    assert np.array_equal(
        stream(budget=ONE, horizon=None, every=50).fit(X, y).coef_,
        stream(budget=ONE, horizon=None, every=50).fit(X, y).coef_,
    )


def test_dataframes_of_any_library_arrays_and_sparse_matrices_are_taken() -> None:
    X, y = table(60)
    expected = stream(budget=ONE).fit(X, y).coef_
    frames = [
        pl.DataFrame(dict(X)),
        X[["c", "b", "a"]],
        X.to_numpy(),
        X.to_numpy().tolist(),
        X.to_numpy().astype(object),
    ]
    for one in frames:
        assert np.array_equal(stream(budget=ONE).fit(one, y).coef_, expected)
    whole = X.assign(y=y, other="text")
    assert np.array_equal(stream(budget=ONE).fit(whole).coef_, expected)
    assert np.array_equal(stream(budget=ONE).partial_fit(whole[:20]).partial_fit(whole[20:], y[20:]).coef_, expected)
    prepared = hb.Domain(row_norm=2.0, target=(-4, 4))
    dense = stream(budget=ONE, domain=prepared).fit(X.to_numpy(), y).coef_
    assert np.array_equal(stream(budget=ONE, domain=prepared).fit(csr_array(X.to_numpy()), y).coef_, dense)


def test_one_thread_reads_while_another_learns() -> None:
    X, y = table(400)
    model, given = stream(budget=ONE, every=1).begin(), X.to_dict("records")
    found: dict[int, float] = {}

    def read() -> None:
        while len(found) < 400 and not done.is_set():
            if model.released_at_:
                frozen = model.model_at()
                found[frozen.position] = frozen.intercept_

    done = Event()
    reader = Thread(target=read)
    reader.start()
    for x, target in zip(given, y, strict=True):
        model.learn_one(x, target)
    done.set()
    reader.join()
    alone = stream(budget=ONE, every=1).begin()
    for number, (x, target) in enumerate(zip(given, y, strict=True), 1):
        alone.learn_one(x, target)
        if number in found:
            assert alone.intercept_ == found[number]


def test_a_clone_of_a_stream_under_way_learns_from_nothing() -> None:
    X, y = table(100)
    model = stream(budget=ONE).fit(X, y)
    assert np.array_equal(clone(model).fit(X[:50], y[:50]).coef_, stream(budget=ONE).fit(X[:50], y[:50]).coef_)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"solver": "gradient"}, "The parameter solver"),
        ({"solver": "noisy_projected_gradient"}, "none was given"),
        (
            {"constraint": hb.L2Ball(1.0), "penalty": hb.L1Penalty(0.1), "solver": "noisy_projected_gradient"},
            "follow a gradient",
        ),
        ({"constraint": 3}, "must be a convex set"),
        ({"constraint": hb.Box([0.0] * 9, [1.0] * 9)}, "9 dimensions"),
        ({"mechanism": "abacus"}, "mechanism"),
        ({"neighbours": "next-door"}, "next-door"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused_before_anything_is_read(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        stream(**wrong).begin()


def test_a_price_that_promises_nothing_asks_for_more_than_there_is() -> None:
    """Hopeless budgets, where what is expected is capped at a constant's loss: neither fewer records nor a smaller epsilon can help."""
    domain = hb.Domain(features={"a": (0, 1), "b": (0, 1)}, target=(0, 1))
    for epsilon in (1e-3, 1e-4):
        said = (
            hb.LinearRegression(budget=hb.Budget(epsilon, 1e-9), domain=domain, solver=hb.GradientSolver())
            .price(n=5_000)
            .expectation
        )
        records, asked = re.search(r"about ([\d,]+) records or about epsilon = ([\d.e-]+)", said).groups()  # type: ignore[union-attr]
        assert int(records.replace(",", "")) > 5_000
        assert float(asked) > epsilon


def test_a_stream_model_is_named_where_another_is_expected(tmp_path: Path) -> None:
    X, y = table(100)
    stream(budget=ONE).fit(X, y).model_at().save(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"hb\.streaming\.load"):
        hb.load(tmp_path / "model.json")


# ---- the noise that the paper prints --------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [hb.streaming.IncrementalRegression, hb.streaming.SketchedRegression])
@pytest.mark.parametrize(("epsilon", "horizon", "every"), [(1.0, 400, 1), (0.3, 4096, 64)])
def test_the_papers_noise_is_that_of_its_formula_and_costs_what_it_costs(
    cls: Any, epsilon: float, horizon: int, every: int
) -> None:
    """σ² = 2 log₂²(T)Δ₂² ln(2/δ')/ε'² on the diagonal of x xᵀ and on x y, and μ² = (levels)(√2 (1 + κ²))²/σ². Source: 003, Algorithm 4."""
    paper = {"budget": hb.Budget(epsilon, 1e-8), "calibration": "paper", "constraint": hb.L1Ball(1.0)}
    made = cls(domain=DOMAIN, horizon=horizon, every=every, **paper, test_key=KEY)
    X, y = table(horizon)
    release = made.fit(X, y).model_at().release_
    steps = horizon // every
    printed = math.sqrt(2.0 * math.log(4e8)) * math.log2(steps) * 2.0 * 2.0 / epsilon
    assert release.plan["settings"]["sigma"] == pytest.approx(printed, rel=1e-6)
    mu = math.sqrt(2.0) * 1.5 * math.sqrt(math.floor(math.log2(steps)) + 1) / printed
    assert made.statement_.event.gdp_mu() == pytest.approx(mu, rel=1e-3)
    assert made.statement_.budget.admits(made.statement_.event)
    assert made.statement_.claimed == paper["budget"]
    if (
        cls is hb.streaming.IncrementalRegression
    ):  # a sketch's moments are not kept; B² = 4: three columns on [−1, 1] and the intercept
        sums = math.sqrt(np.bitwise_count(steps)) * printed / horizon
        assert release.moments.gram_noise == pytest.approx(4.0 * sums, rel=1e-3)
        assert release.moments.cross_noise == pytest.approx(2.0 * sums, rel=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mechanism": "hybrid"},
        {"window": 100},
        {"half_life": 100.0},
        {"horizon": None, "every": 10},
        {"budget": hb.Budget.gdp(0.3)},
        {"budget": hb.Budget(1.0, 0.0)},
        {"every": 400},
        {"calibration": "printed"},
        {"budget": hb.Budget(50.0, 1e-2), "every": 200},
    ],
)
def test_what_the_papers_formula_does_not_cover_is_refused_before_the_charge(wrong: dict[str, Any]) -> None:
    made = stream(**{"budget": ONE, "calibration": "paper", **wrong})
    with pytest.raises(HullabalooError, match="paper"):
        made.fit(*table(400))
