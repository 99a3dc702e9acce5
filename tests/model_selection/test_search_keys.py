"""Where the noise of a search comes from: no two draws share a key, and one record that changes changes all of them.

Before, a search that was killed drew its next runs under fresh keys, and had to save every run in order to be charged once. Now it is drawn again
from one secret, which is only right if the same noise never meets other records, another question or another draw.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import hullabaloo as hb
from hullabaloo.curation import running
from hullabaloo.curation.kept import Kept
from hullabaloo.curator import Curator
from hullabaloo.curator.search_randomness import SearchRandomness
from hullabaloo.data.source import Rows
from hullabaloo.errors import HullabalooError
from hullabaloo.geometry.separable import separable_form
from hullabaloo.losses import Logistic
from hullabaloo.noise import ReleaseKey, TestKey, keys
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Neighbours, Repeats
from hullabaloo.queries import PricedQueries
from hullabaloo.streaming import new_key_file

from ..curator.neighbours import facts, random_rows
from ..linear_model.examples import domain_for, table, target_of

NAMES = [f"x{i}" for i in range(3)]
BUDGET = hb.Budget(2.0, 1e-6)
DOMAIN = hb.Domain(features=dict.fromkeys(NAMES, (-1, 1)), target=(-1, 1), indicators=False)
SECRET = bytes(range(32))


def data(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (n, 3))
    return x, np.clip(x @ [0.6, -0.3, 0.0] + 0.1 * rng.normal(size=n), -1, 1)


@contextmanager
def drawn(monkeypatch: Any, secret: bytes = SECRET) -> Iterator[list[bytes]]:
    """The keys of all that a search draws after its charge, in order; its secret is fixed."""
    found: list[bytes] = []
    real, begin = keys.secret_bytes, Kept.begin

    def spy(key: Any) -> bytes:
        assert isinstance(key, ReleaseKey)  # neither fresh bytes, which nobody could draw again, nor a test key
        found.append(real(key))
        return found[-1]

    with monkeypatch.context() as patched:

        def begun(*given: Any) -> Kept:
            kept = begin(*given)
            patched.setattr(keys, "secret_bytes", spy)
            return kept

        patched.setattr(Kept, "begin", begun)
        patched.setattr(ReleaseKey, "fresh", lambda: ReleaseKey.reopened(secret))
        patched.setattr(running, "load_all", lambda *_: None)  # tables of nothing, under a key that everybody knows
        yield found


def keys_of(search: hb.PrivateSearchCV, monkeypatch: Any, *given: Any) -> list[bytes]:
    with drawn(monkeypatch) as found:
        search.fit(*given)
    assert len(set(found)) == len(found)  # no two draws share a key
    return list(found)


def one_changed(x: np.ndarray, y: np.ndarray) -> Iterator[tuple[Any, Any]]:
    """The table with one record that is another, by as little as can be."""
    for column in range(3):
        other = x.copy()
        other[7, column] = np.nextafter(other[7, column], 0.0)
        yield other, y
    other = y.copy()
    other[-1] = -other[-1]
    yield x, other
    yield x[::-1].copy(), y[::-1].copy()  # the same records elsewhere


def test_no_two_draws_share_a_key_and_one_record_changes_all_of_them(monkeypatch):
    monkeypatch.setattr(SearchRandomness, "runs", lambda self, repeats: 5 if self.key.derive("runs") else 0)
    x, y = data()
    grid = [
        {"solver": "moments", "penalty": hb.SquaredL2Penalty(0.1)},
        {"solver": "gradient", "penalty": hb.SquaredL2Penalty(0.1)},
        {"solver": "output_perturbation", "penalty": hb.SquaredL2Penalty(1.0)},
        {"solver": "coordinate_descent", "penalty": hb.SquaredL2Penalty(0.1), "fit_intercept": False},
    ]
    search = hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN), grid, budget=BUDGET, metric="squared_error")
    base = keys_of(search, monkeypatch, x, y)
    assert base == keys_of(search, monkeypatch, x, y)  # the same records: the same noise
    assert len(base) > 10
    seen = set(base)
    for other in one_changed(x, y):
        now = keys_of(search, monkeypatch, *other)
        assert seen.isdisjoint(now)
        seen.update(now)
    with drawn(monkeypatch, bytes(32)) as found:  # and so another secret
        search.fit(x, y)
    assert seen.isdisjoint(found)


SHAPES: dict[str, dict[str, Any]] = {
    "set": {"constraint": hb.L1Ball(1.0)},
    "ridge": {"penalty": hb.SquaredL2Penalty(0.1)},
    "norm": {"penalty": hb.SubmodularPenalty(hb.Intervals(), 0.1)},
    "neither": {},
}


@pytest.mark.slow
def test_every_solver_draws_all_of_it_under_keys_of_its_own(monkeypatch):
    """Each solver with the first shape that it takes, dense and sparse: its views and loops ask the most different questions."""
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: 2)
    x, y = data()
    tried = set()
    for name in SOLVERS:
        for shape in SHAPES.values():
            model = hb.LinearRegression(domain=DOMAIN, fit_intercept=name == "constant", solver=name, **shape)
            search = hb.PrivateSearchCV(model, [{}], budget=BUDGET)
            try:
                search.price(300, n_features=3)
            except HullabalooError:
                continue
            base, other = (keys_of(search, monkeypatch, x, target) for target in (y, np.append(-y[:1], y[1:])))
            assert set(base).isdisjoint(other)
            assert set(base).isdisjoint(keys_of(search, monkeypatch, sp.csr_array(np.where(x > 0.8, x, 0.0)), y))
            tried.add(name)
            break
    assert set(SOLVERS) - tried <= {"objective_perturbation"}, f"not searched: {set(SOLVERS) - tried}"


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["MultiTaskRegression", "LogisticRegression", "LinearSVC", "PoissonRegressor"])
def test_so_do_several_targets_classes_and_counts(monkeypatch, name):
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: 3)
    frame = table(300)[["age", "hours", "job", target_of(name)]]
    model = getattr(hb, name)(domain=domain_for(name), solver="gradient")
    search = hb.PrivateSearchCV(model, {"fit_intercept": [True, False]}, budget=BUDGET, metric=None)
    base = keys_of(search, monkeypatch, frame)
    frame.loc[17, "hours"] = 0.0
    assert set(base).isdisjoint(keys_of(search, monkeypatch, frame))


def test_units_decide_the_parts_and_with_them_the_noise(monkeypatch):
    """A record that has another holder is another record, though its row is the same."""
    frame = table(300)[["age", "hours", "job", "cost"]]
    frame["who"] = [f"p{i}" for i in range(300)]
    model = hb.Ridge(domain=domain_for("Ridge", unit="who", records_per_unit=1, records=300), solver="moments")
    search = hb.PrivateSearchCV(model, [{}], budget=BUDGET)
    with drawn(monkeypatch) as base:
        search.fit(frame)
    for number in range(40):  # some of whom are in the other part
        frame.loc[number, "who"] = f"q{number}"
    with drawn(monkeypatch) as found:
        search.fit(frame)
    assert set(base[1:]).isdisjoint(found[1:])  # all but the secret of the parts, which rows alone decide


# In the curator: views count their answers together, so that a name, a width and a number are never used twice.


def test_views_of_one_curator_never_share_a_key(monkeypatch):
    """Under test keys they do: the first answers to one query about rows of two widths have the same noise."""
    about, rng = facts(6), np.random.default_rng(0)
    rows, prices, loss = random_rows(rng, 50, about), PricedQueries(about, Neighbours.REPLACE_ONE, 50), Logistic()
    narrow = PricedQueries(about.restricted(3), Neighbours.REPLACE_ONE, 50)
    queries = [
        prices.price("centred_gradient", loss=loss, mu=1.0, count=4),
        narrow.price("centred_gradient", loss=loss, mu=1.0, count=4),
        prices.price("gradient", loss=loss, clip=1.0, mu=1.0, count=4),
        narrow.price("gradient", loss=loss, clip=1.0, mu=1.0, count=4),
        prices.price("second_moments", mu=1.0, count=2),
        prices.price("coordinate_gradient", loss=loss, mu=1.0, count=4),
    ]
    zero = np.zeros(6)
    asks: list[Callable[[Curator], Any]] = [
        lambda c: c.answer("centred_gradient", zero, centre=zero, intercept_weight=1.0, clip_norm=1.0),
        lambda c: c.projected(np.eye(6)).answer(
            "centred_gradient", zero, centre=zero, intercept_weight=1.0, clip_norm=1.0
        ),
        lambda c: c.projected(np.eye(6)[:, :3]).answer(
            "centred_gradient", zero[:3], centre=zero[:3], intercept_weight=1.0, clip_norm=1.0
        ),
        lambda c: c.restricted([0, 2, 4]).answer("gradient", zero[:3]),
        lambda c: c.restricted([1, 3, 5]).answer("gradient", zero[:3]),
        lambda c: c.of_target(0).answer("gradient", zero),
        lambda c: c.answer("gradient", zero),
        lambda c: c.answer("second_moments"),
        lambda c: c.of_target(0).answer("second_moments"),
    ]

    def labels(key: Any) -> list[bytes]:
        found, real = [], keys.bound_to

        def spy(key: Any, *hidden: Any) -> Any:
            found.append(keys.secret_bytes(key))  # before it is bound to a number: the names alone must do
            return real(key, *hidden)

        with monkeypatch.context() as patched:
            patched.setattr("hullabaloo.noise.release.bound_to", spy)
            curator = Curator(rows, queries, key=key)
            for ask in asks:
                ask(curator)
        return found

    secret = labels(ReleaseKey.reopened(SECRET))
    assert len(secret) == len(set(secret)) == len(asks)
    assert len(set(labels(TestKey(SECRET)))) < len(asks)


def test_coordinate_updates_are_bound_to_where_they_start(monkeypatch):
    """Their noise is drawn before their sums are known, so it is bound to what these follow from."""
    about, rng = facts(3), np.random.default_rng(0)
    rows, prices = random_rows(rng, 50, about), PricedQueries(about, Neighbours.REPLACE_ONE, 50)
    free = separable_form(hb.NoPenalty(), None, 3)
    query = prices.price("coordinate_gradient", loss=Logistic(), mu=1.0, count=6)
    given = {"order": np.array([0, 2]), "clips": np.ones(3), "steps": np.full(3, 0.1), "form": free}
    found: list[bytes] = []
    real = keys.secret_bytes
    monkeypatch.setattr(keys, "secret_bytes", lambda key: found.append(real(key)) or found[-1])
    starts = [np.zeros(3), np.array([0.0, 0.0, 5e-324]), np.ones(3)]
    for theta in (*starts, starts[0]):
        Curator(rows, [query], key=ReleaseKey.reopened(SECRET)).answer("coordinate_gradient", theta, **given)
    for name, other in (("clips", np.full(3, 2.0)), ("steps", np.full(3, 0.2)), ("order", np.array([2, 0]))):
        Curator(rows, [query], key=ReleaseKey.reopened(SECRET)).answer(
            "coordinate_gradient", starts[0], **{**given, name: other}
        )
    assert found[0] == found[3]
    assert len(set(found)) == 6


# The number of runs, the candidates and the parts come from the same key.


def tables() -> Iterator[Rows]:
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(20, 4)), rng.normal(size=(20, 1))
    weight = np.ones(20)
    yield Rows(X, Y)
    yield Rows(X, Y, weight)
    yield Rows(X, Y, None, weight)
    yield Rows(X.reshape(40, 2), Y)
    yield Rows(X.reshape(10, 8), Y)
    yield Rows(np.hstack([X, Y]), Y)
    yield Rows(sp.csr_array(X), Y)
    sparse = sp.csr_array(X)
    sparse.data[3] = -sparse.data[3]
    yield Rows(sparse, Y)
    other = sp.csr_array(X)
    other.indices[[0, 1]] = other.indices[[1, 0]]
    yield Rows(other, Y)
    for place in range(20):
        changed = Y.copy()
        changed[place] = np.nextafter(changed[place], 9.0)
        yield Rows(X, changed)


def test_the_lottery_of_other_records_is_another():
    lots = SearchRandomness(ReleaseKey.reopened(SECRET))
    found = [lots.about([rows]) for rows in tables()]
    assert len({one.secret() for one in found}) == len(found)
    assert lots.about([next(tables())]).secret() == found[0].secret()
    repeats = Repeats(30.0, "geometric")
    assert len({(one.runs(repeats), one.candidate(1000, 0), one.candidate(1000, 1)) for one in found}) == len(found)
    noise = {one.noise(what, run).sealed() for one in found for what in ("fit", "score") for run in range(5)}
    assert len(noise) == 10 * len(found)
    for kept in (SearchRandomness(TestKey(SECRET)), SearchRandomness(TestKey(SECRET)).about([next(tables())])):
        assert kept.secret() == SearchRandomness(TestKey(SECRET)).secret()  # a test key decides alone


# Killed, changed and gone on with.


@pytest.mark.parametrize("sealed", [False, True], ids=["open", "sealed"])
def test_a_search_that_is_killed_and_finds_another_record_draws_other_noise(tmp_path, monkeypatch, sealed):
    """The same noise on two tables that differ in one record is their difference, without noise."""
    x, y = data()
    key = new_key_file(tmp_path / "key") if sealed else None
    grid = {"penalty": [hb.SquaredL2Penalty(strength) for strength in (1e-3, 1e-1, 10.0)]}

    def made(path: Path) -> hb.PrivateSearchCV:
        return hb.PrivateSearchCV(
            hb.Ridge(domain=DOMAIN, solver="moments"), grid, budget=BUDGET, state=path, key_file=key
        )

    class Killed(BaseException):
        """Stands for SIGKILL: nothing of ours catches it."""

    def killed(*given: Any) -> float:
        raise Killed

    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: 4)
    with drawn(monkeypatch) as first, monkeypatch.context() as patched:
        patched.setattr(running, "score_of", killed)
        with pytest.raises(Killed):
            made(tmp_path / "state").fit(x, y)
    assert len(first) > 2
    shutil.copy(tmp_path / "state", tmp_path / "same")
    other = y.copy()
    other[5] = -other[5]
    with drawn(monkeypatch, bytes(32)) as same:  # the file's secret counts
        made(tmp_path / "same").fit(x, y)
    with drawn(monkeypatch, bytes(32)) as changed:
        made(tmp_path / "state").fit(x, other)
    assert same[: len(first)] == first
    assert set(first).isdisjoint(changed)
    assert set(same).isdisjoint(changed)


def test_every_part_of_the_records_is_in_the_key() -> None:
    """Whose record is whose, too: a field that is left out lets other records have the same draws."""
    two = np.ones((2, 1))
    whole = Rows(np.ones((2, 3)), two, np.ones(2), np.ones(2), np.array([0, 1]))
    parts = [one.name for one in fields(Rows) if one.init]
    first = SearchRandomness(ReleaseKey.reopened(SECRET)).about([whole]).secret()
    for name in parts:
        other = replace(whole, **{name: getattr(whole, name) + 1})
        assert SearchRandomness(ReleaseKey.reopened(SECRET)).about([other]).secret() != first, name
