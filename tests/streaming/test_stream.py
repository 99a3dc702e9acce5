"""What every stream does, whatever it learns: order, horizon, saving before showing, copies, one record or many."""

import copy
import math
import os
import pickle
import signal
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from threading import Thread
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hullabaloo as hb
from hullabaloo.curation.intake import BUFFER
from hullabaloo.data.records import RecordTable
from hullabaloo.data.table import Table
from hullabaloo.durable.journal import Journal
from hullabaloo.errors import DomainError, InvalidParameter, NotReleased, SchemaError, StateError
from hullabaloo.privacy.schedule import Schedule
from tests.streaming.toy import DOMAIN, ToyProcess, ToyStream, records, toy


def learned(stream: ToyStream, count: int, seed: int = 0) -> ToyStream:
    for x, y in records(count, seed):
        stream.learn_one(x, y)
    return stream


def frame(count: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    given = records(count, seed)
    return pd.DataFrame([x for x, _ in given]), np.array([y for _, y in given])


# ---- reading ------------------------------------------------------------------------------------------------------


def test_a_model_is_read_at_the_last_release_and_not_between() -> None:
    stream = learned(toy(), 25)
    assert (stream.position_, stream.released_at_) == (25, 20)
    mean = np.clip([y for _, y in records(25)][:20], -5, 5).mean()
    assert stream.intercept_ == pytest.approx(mean)
    before = stream.model_at()
    learned(stream, 4, seed=1)
    assert stream.model_at() is before
    learned(stream, 1, seed=2)
    assert stream.released_at_ == 30
    assert before.position == 20


def test_reading_takes_waiting_records_only_when_a_release_is_among_them() -> None:
    stream = learned(toy(), 9)
    with pytest.raises(NotFittedError):
        stream.coef_  # noqa: B018
    assert stream._toy.position == 0
    assert stream.predict_one({}) == 0.0
    learned(stream, 1)
    assert stream._toy.position == 0
    assert stream.released_at_ == 10
    assert stream._toy.position == 10


def test_before_the_first_release_it_is_said_when_that_comes() -> None:
    stream = toy()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        stream.predict([[1, 1, "x"]])
    learned(stream, 3)
    for read in (lambda: stream.coef_, lambda: stream.predict([[1, 1, "x"]]), stream.model_at, stream.summary):
        with pytest.raises(NotFittedError, match="first release comes after 10 records, and 3 are in"):
            read()
    assert stream.released_at_ == 0


def test_one_record_is_predicted_as_the_middle_of_the_target_before_the_first_release() -> None:
    two = hb.Domain(features={"a": (0, 1)}, target={"u": (0, 1), "v": (-4, 8)})
    assert toy(domain=two).predict_one({"a": 3}) == {"u": 0.5, "v": 2.0}
    assert learned(toy(), 9).predict_one({}) == 0.0


def test_predictions_are_cut_off_at_the_declared_bounds() -> None:
    domain = hb.Domain(features={"a": (0, 1)}, target=(0, 1))
    stream = toy(domain=domain).partial_fit([[0.0]] * 10, [1.0] * 10)
    model = stream.model_at()
    model.release_.theta[-1] = 3.0
    assert stream.predict([[0.5]]) == [1.0]
    assert stream.predict_one({"a": 0.5}) == 1.0


# ---- one by one or in tables --------------------------------------------------------------------------------------


def test_tables_records_and_any_mixture_of_them_release_the_same() -> None:
    given = records(97)
    X, y = frame(97)
    one = learned(toy(), 97)
    tables = toy().partial_fit(X[:13], y[:13]).partial_fit(X[13:], y[13:])
    mixed = toy().partial_fit(X[:41], y[:41])
    for record, target in given[41:70]:
        mixed.learn_one(record, target)
    mixed.predict_one({})
    mixed.partial_fit(X[70:], y[70:])
    for stream in (tables, mixed):
        assert stream.position_ == 97
        assert stream.intercept_ == one.intercept_
        assert np.array_equal(stream._toy.rows, one.checkpoint()._toy.rows)
        assert np.array_equal(stream.checkpoint()._toy.targets, one._toy.targets)


def test_unknown_keys_are_ignored_and_missing_ones_are_missing_values() -> None:
    stream = toy()
    stream.learn_one({"b": 0.5, "nonsense": object(), 7: None}, 1.0)
    X = pd.DataFrame({"a": [math.nan], "b": [0.5], "c": [None]})
    other = toy().partial_fit(X, [1.0])
    assert np.array_equal(stream.checkpoint()._toy.rows, other._toy.rows)


STRANGE = [
    math.nan, math.inf, -math.inf, "3", " 3.5 ", "n/a", "", None, True, False, Decimal("2.5"), Decimal("1e400"), 10**400, -(10**400),
    np.float32(1.5), np.float64(2.0), np.int64(3), np.bool_(True), b"4", b"\xff", object(), [1], {"a": 1}, float, 1 + 2j, "x", "y",
    np.array(2.0), np.datetime64("2020-01-01"), pd.NA, pd.NaT,
]  # fmt: skip


def test_no_value_of_a_record_stops_a_stream_and_each_counts_as_in_a_table() -> None:
    n = len(STRANGE)
    rows = [(STRANGE[i], STRANGE[(i * 7 + 3) % n], STRANGE[(i * 11 + 5) % n]) for i in range(n)]
    stream = toy(every=1)
    for i, row in enumerate(rows):
        stream.learn_one(dict(zip("abc", row, strict=True)), STRANGE[(3 * i + 1) % n])
    X = pd.DataFrame({name: pd.Series([row[j] for row in rows], dtype=object) for j, name in enumerate("abc")})
    other = toy(every=1).partial_fit(X, [STRANGE[(3 * i + 1) % n] for i in range(n)])
    assert stream.released_at_ == n
    assert np.array_equal(stream._toy.rows, other._toy.rows)
    assert np.array_equal(stream._toy.targets, other._toy.targets)
    for row in rows:
        assert np.isfinite(stream.predict_one(dict(zip("abc", row, strict=True))))


def test_a_record_may_be_changed_after_it_was_given() -> None:
    stream, x = toy(), {"a": 1.0, "b": 0.0, "c": "x"}
    stream.learn_one(x, 1.0)
    x["a"] = 9.0
    assert stream.checkpoint()._toy.rows[0, 0] == pytest.approx(-0.8)


def test_weights_and_several_targets_come_by_their_names() -> None:
    domain = hb.Domain(features={"a": (0, 1)}, target={"u": (0, 1), "v": (0, 4)}, weight=("w", 2.0))
    given = [({"a": 0.1, "w": 1.5}, {"v": 3, "u": 1}), ({"a": 0.2}, np.array([0, 2])), ({"w": 5, "a": 0.3}, None)]
    taken: list[Any] = []

    class Spying(ToyStream):
        """Keeps the rows. See `PrivateStream`."""

        def _open(self, encoding: Any) -> Any:
            process = super()._open(encoding)
            take = process.take
            process.take = lambda rows: taken.append(rows) or take(rows)  # type: ignore[method-assign,func-returns-value]
            return process

    stream = Spying(budget=hb.Budget(1.0, 1e-6), domain=domain, horizon=13, every=13)
    for x, y in given:
        stream.learn_one(x, y)
    stream.checkpoint()
    X = pd.DataFrame({"a": [0.1, 0.2, 0.3], "w": [1.5, math.nan, 5.0]})
    y = pd.DataFrame({"u": [1, 0, None], "v": [3, 2, None]})
    stream.partial_fit(X, y)
    one, table = taken
    assert np.array_equal(one.X, table.X)
    assert np.array_equal(one.Y, table.Y)
    assert one.weight.tolist() == table.weight.tolist() == [1.5, 0.0, 2.0]
    malformed = (
        3.0,
        np.array(3.0),
        np.ma.masked,
        [1, 2, 3],
        None,
        [],
        object(),
    )  # the form of a y is its record's alone
    for y in malformed:
        stream.learn_one({"a": 0.1}, y)
    stream.checkpoint()
    assert stream.position_ == 6 + len(malformed)
    cells = pd.DataFrame({"u": [3.0, None, None, 1, None, None, None], "v": [None, None, None, 2, None, None, None]})
    wanted = (
        domain.encoding(fit_intercept=stream.fit_intercept).encode(pd.DataFrame({"a": [0.1] * 7, "w": 1.0}), cells).Y
    )
    assert np.array_equal(np.concatenate([rows.Y for rows in taken[2:]]), wanted)


def test_a_record_is_a_mapping_and_prepared_columns_need_names() -> None:
    stream = toy()
    with pytest.raises(InvalidParameter, match="mapping from feature to value"):
        stream.learn_one([1, 2, 3], 1.0)  # type: ignore[arg-type]
    assert stream.position_ == 0
    prepared = hb.Domain(row_norm=1.0, target=(0, 1))
    stream = toy(domain=prepared)
    with pytest.raises(DomainError, match="feature_names"):
        stream.learn_one({"a": 1}, 1)
    stream = toy(domain=prepared).partial_fit(np.zeros((2, 3)), [0, 1])
    with pytest.raises(InvalidParameter, match="columns have no names"):
        stream.learn_one({"a": 1}, 1)
    stream = toy(domain=prepared, every=1).begin(feature_names=["a", "b"])
    stream.learn_one({"b": 0.5, "a": math.inf}, 1)
    assert stream._toy is not None
    assert stream.released_at_ == 1
    assert stream._toy.rows[0].tolist() == [0.0, 0.5, 1.0]


# ---- the horizon and the schema -------------------------------------------------------------------------------------


def test_more_than_the_horizon_is_refused_whole() -> None:
    X, y = frame(100)
    stream = toy().partial_fit(X[:95], y[:95])
    with pytest.raises(
        InvalidParameter, match="6 more records were given to a stream with a horizon of 100, of which 95"
    ):
        stream.partial_fit(X[:6], y[:6])
    assert stream.position_ == stream._toy.position == 95
    learned(stream, 5)
    with pytest.raises(InvalidParameter, match="1 more records"):
        stream.learn_one({}, 1)
    assert stream.released_at_ == 100


def test_a_table_beyond_the_horizon_is_refused_before_the_charge(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", hb.Budget(3.0, 1e-6))
    X, y = frame(101)
    for take in (toy(ledger=ledger, dataset="clinic").fit, toy(ledger=ledger, dataset="clinic").partial_fit):
        with pytest.raises(InvalidParameter, match="horizon of 100"):
            take(X, y)
    assert ledger.charges("clinic") == ()


def test_another_schema_is_refused_before_anything_is_taken() -> None:
    X, y = frame(20)
    stream = toy().partial_fit(X, y)
    for wrong, target in ((X.drop(columns="a"), y), (np.zeros((5, 2)), y[:5]), (X, y[:-1]), (X, None)):
        with pytest.raises(SchemaError):
            stream.partial_fit(wrong, target)
        assert stream.position_ == stream._toy.position == 20
    stream.partial_fit(X, y)
    assert stream.position_ == 40


def test_an_empty_table_is_nothing_and_a_fit_needs_records() -> None:
    X, y = frame(20)
    stream = toy().partial_fit(X[:0], y[:0])
    assert stream.position_ == 0
    stream.partial_fit(X, y).partial_fit(X[:0], y[:0])
    assert stream.position_ == 20
    with pytest.raises(InvalidParameter, match="found 0 sample"):
        toy().fit(X[:0], y[:0])


def test_records_wait_up_to_the_last_release_within_the_buffer() -> None:
    for every, first in ((1, BUFFER), (1000, 1000), (400, 800), (10_000, BUFFER)):
        stream = toy(horizon=20_000, every=every).begin()
        assert stream._intake is not None
        assert stream._intake._due == first


# ---- parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"budget": None}, "needs a budget"),
        ({"domain": None}, "needs a domain"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"horizon": 2.5}, "horizon"),
        ({"every": 0}, "release after every"),
        ({"every": (5, 3)}, "rising"),
        ({"every": (5, 101)}, "beyond the horizon"),
        ({"every": "often"}, "release after every"),
        ({"key_file": "k"}, "without a state file"),
        ({"state": "\ud800"}, "none that a file can have"),
        ({"state": 3}, "must be a path"),
        ({"dataset": "d"}, "go together"),
        ({"mechanism": 3}, "mechanism"),
        ({"test_key": b"x"}, "test key"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"domain": hb.Domain(features={"a": (0, 1)}, classes=[0, 1])}, "classes"),
    ],
    ids=str,
)
def test_parameters_are_checked_first(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        toy(**wrong).partial_fit(*frame(3))
    with pytest.raises(ValueError, match=says):
        toy(**wrong).learn_one({}, 1)


# ---- order: plan, charge, restore, read -----------------------------------------------------------------------------


def test_nothing_is_read_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    begin, numbers = Journal.begin, RecordTable.numbers
    monkeypatch.setattr(Journal, "begin", lambda **given: done.append("charge") or begin(**given))
    monkeypatch.setattr(RecordTable, "numbers", lambda *given: done.append("read") or numbers(*given))
    open_ = ToyStream._open
    monkeypatch.setattr(ToyStream, "_open", lambda *given: done.append("plan") or open_(*given))
    X, y = frame(10)

    class Watched(Table):
        """A table that says when it is read."""

        inner = RecordTable([X[name].tolist() for name in X], tuple(X), len(X))
        schema = property(lambda self: self.inner.schema)
        n_rows = property(lambda self: self.inner.n_rows)

        def numbers(self, columns: Any) -> Any:
            return self.inner.numbers(columns)

        def cells(self, column: int) -> list[Any]:
            done.append("read")
            return self.inner.cells(column)

    toy().fit(Watched(), list(y))
    assert done[:2] == ["plan", "charge"]
    assert set(done[2:]) == {"read"}


def test_a_stream_is_charged_once_and_its_statement_names_the_charge(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", hb.Budget(3.0, 1e-6))
    stream = learned(toy(ledger=ledger, dataset="clinic"), 60)
    (charge,) = ledger.charges("clinic")
    statement = stream.statement_
    assert (statement.ledger, statement.dataset, statement.charge) == (ledger.address, "clinic", charge.number)
    assert charge.what == "ToyStream"


def test_two_threads_that_begin_a_stream_begin_one(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", hb.Budget(9.0, 1e-5))
    stream = toy(ledger=ledger, dataset="clinic")
    threads = [Thread(target=stream.begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.charges("clinic")) == 1


# ---- saving -------------------------------------------------------------------------------------------------------


def test_a_stream_goes_on_from_its_state_file(tmp_path: Path) -> None:
    whole = learned(toy(), 57)
    with toy(state=tmp_path / "s") as first:
        learned(first, 57)
        expected = first.intercept_
    again = toy(state=tmp_path / "s").begin()
    assert (again.position_, again.released_at_, again.intercept_) == (57, 50, expected)
    assert expected == whole.intercept_
    learned(again, 13, seed=5)
    learned(whole, 13, seed=5)
    assert again.intercept_ == whole.intercept_
    again.close()


def test_a_fit_begins_anew_and_never_over_a_state_file(tmp_path: Path) -> None:
    X, y = frame(30)
    stream = toy().fit(X, y)
    learned(stream, 5)
    assert stream.fit(X[:10], y[:10]).position_ == 10
    saved = toy(state=tmp_path / "s").fit(X, y)
    saved.close()
    for other in (saved, toy(state=tmp_path / "s")):
        with pytest.raises(InvalidParameter, match="there is a state file"):
            other.fit(X, y)


def test_what_was_not_saved_is_not_shown_and_its_noise_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = learned(toy(), 20)
    assert stream.released_at_ == 20
    full, commit, positions = True, Journal.commit, []

    def failing(journal: Journal, snapshot: Callable[[], Any], position: int, *rest: Any) -> None:
        positions.append(position)
        if full:
            raise OSError(28, "No space left on device")
        commit(journal, snapshot, position, *rest)

    monkeypatch.setattr(Journal, "commit", failing)
    learned(stream, 12, seed=1)
    with pytest.raises(OSError, match="No space") as caught:
        stream.predict_one({})
    assert any("do not pass them again" in note for note in caught.value.__notes__)
    for call in (
        stream.model_at,
        lambda: stream.learn_one({}, 1),
        lambda: stream.partial_fit(*frame(2)),
        stream.checkpoint,
    ):
        with pytest.raises(OSError, match="No space"):
            call()
    assert stream.position_ == 32
    full = False
    assert stream.released_at_ == 30
    assert set(positions) == {32}
    assert stream._toy.drawn == {1: 1, 2: 1, 3: 1}
    assert stream._toy.position == 32


def test_a_table_whose_saving_failed_was_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = frame(30)
    stream = toy()
    failed = iter([True])
    commit = Journal.commit

    def failing(journal: Journal, *given: Any) -> None:
        if next(failed, False):
            raise OSError(28, "No space left on device")
        commit(journal, *given)

    monkeypatch.setattr(Journal, "commit", failing)
    with pytest.raises(OSError, match="No space"):
        stream.partial_fit(X, y)
    assert stream.position_ == 30
    assert stream.released_at_ == 30
    assert stream._toy.drawn == {1: 1, 2: 1, 3: 1}


def test_a_stream_that_was_interrupted_while_taking_goes_no_further() -> None:
    stream = learned(toy(), 10)
    stream._toy.fail_at = 20
    learned(stream, 10)
    with pytest.raises(MemoryError):
        stream.predict_one({})
    for call in (stream.model_at, lambda: stream.learn_one({}, 1), stream.checkpoint):
        with pytest.raises(NotReleased, match="interrupted"):
            call()
    stream.close()


def test_a_checkpoint_saves_between_two_releases(tmp_path: Path) -> None:
    stream = learned(toy(state=tmp_path / "s"), 13)
    stream.checkpoint()
    before = (tmp_path / "s").read_bytes()
    stream.checkpoint()
    assert (tmp_path / "s").read_bytes() == before
    stream._intake._journal.close()  # type: ignore[union-attr]  # as a kill would
    again = toy(state=tmp_path / "s").begin()
    assert again.position_ == 13
    again.close()


def test_a_closed_stream_is_read_and_takes_nothing(tmp_path: Path) -> None:
    stream = toy(state=tmp_path / "s")
    with stream:
        learned(stream, 23)
    assert (stream.position_, stream.released_at_) == (23, 20)
    with pytest.raises(NotReleased, match="closed"):
        stream.learn_one({}, 1)
    stream.close()


def test_a_stream_that_cannot_be_saved_stays_open_until_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = learned(toy(), 10)
    full, commit = True, Journal.commit

    def failing(journal: Journal, *given: Any) -> None:
        if full:
            raise OSError(28, "No space left on device")
        commit(journal, *given)

    monkeypatch.setattr(Journal, "commit", failing)
    with pytest.raises(OSError, match="No space"):
        stream.close()
    full = False
    stream.close()
    assert (stream.position_, stream.released_at_, stream._toy.drawn) == (10, 10, {1: 1})


def test_a_failed_opening_lets_the_state_file_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned(toy(state=tmp_path / "s"), 10).close()
    restore = ToyProcess.restore
    monkeypatch.setattr(ToyProcess, "restore", lambda *_: 1 / 0)
    with pytest.raises(StateError, match="is damaged"):
        toy(state=tmp_path / "s").begin()
    monkeypatch.setattr(ToyProcess, "restore", restore)
    with monkeypatch.context() as patch:
        patch.setattr("hullabaloo.streaming.opening.StreamBuffer", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):  # nothing was put down, so no state is damaged
            toy(state=tmp_path / "new").begin()
    again = toy(state=tmp_path / "s").begin()
    assert again.position_ == 10
    again.close()


def test_parameters_of_an_open_stream_stay() -> None:
    stream = learned(toy(), 10)
    with pytest.raises(InvalidParameter, match="This stream is open"):
        stream.set_params(horizon=200)
    stream.set_params()
    stream.close()
    assert stream.set_params(horizon=np.int64(200), every=np.int32(5)).released_at_ == 10
    assert stream.fit(*frame(120)).released_at_ == 120


# ---- copies -------------------------------------------------------------------------------------------------------


def by_joblib(stream: Any) -> Any:
    def path() -> str:
        return f"/tmp/{os.getpid()}.joblib"

    joblib.dump(stream, path())
    try:
        return joblib.load(path())
    finally:
        os.unlink(path())


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda stream: pickle.loads(pickle.dumps(stream)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "joblib": by_joblib,
}


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_predicts_what_was_released_and_does_not_learn(kind: str) -> None:
    stream = learned(toy(), 25)
    twin = COPIES[kind](COPIES[kind](stream))
    assert twin._intake is None
    assert not any(isinstance(value, type(stream._toy)) for value in vars(twin).values())
    X, _ = frame(5, seed=3)
    assert np.array_equal(twin.predict(X), stream.predict(X))
    assert twin.predict_one({"a": 1}) == stream.predict_one({"a": 1})
    assert (twin.released_at_, twin.intercept_, twin.statement_) == (20, stream.intercept_, stream.statement_)
    for learn in (
        lambda: twin.learn_one({}, 1),
        lambda: twin.partial_fit(*frame(3)),
        lambda: twin.fit(*frame(3)),
        twin.begin,
    ):
        with pytest.raises(NotReleased, match="cannot learn"):
            learn()
    assert learned(stream, 5).released_at_ == 30


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_of_a_stream_that_took_nothing_is_a_stream(kind: str) -> None:
    assert learned(COPIES[kind](toy()), 10).released_at_ == 10


def test_a_copy_made_before_the_first_release_predicts_nothing() -> None:
    twin = pickle.loads(pickle.dumps(learned(toy(), 3)))
    with pytest.raises(NotFittedError, match="copy made before"):
        twin.predict(frame(3)[0])
    assert twin.predict_one({}) == 0.0


def test_a_clone_is_fresh() -> None:
    twin = clone(learned(toy(), 25))
    assert learned(twin, 10).released_at_ == 10


def test_a_pickle_holds_no_record() -> None:
    stream = toy(every=100)
    stream.learn_one({"a": 1.0, "b": 0.25, "c": "a-name-of-somebody"}, 1.0)
    assert b"somebody" not in pickle.dumps(stream)


@pytest.mark.parametrize("same_number", [False, True])
def test_a_forked_child_neither_learns_nor_reads(same_number: bool) -> None:
    """Nor one that has its parent's number, as in a namespace of its own or after its parent's end."""
    stream, here = learned(toy(), 25), os.getpid()
    assert stream.released_at_ == 20
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            signal.alarm(60)  # a call that waits for ever ends the child, and the test fails
            if same_number:
                os.getpid = lambda: here
            assert stream._intake is not None
            other = threading.Thread(target=stream._intake._lock.acquire)  # as it is while another thread learns
            other.start()
            other.join()
            said = []
            for call in (lambda: stream.learn_one({}, 1), stream.model_at, stream.checkpoint):
                try:
                    call()
                    said.append("went on")
                except NotReleased as error:
                    said.append(str(error))
            stream.close()
            os.write(send, "|".join(said).encode())
        finally:  # whatever happens, the child must not go on as a test runner
            os._exit(0)
    os.waitpid(child, 0)
    told = os.read(receive, 10_000).decode().split("|")
    assert len(told) == 3
    assert all("another operating-system process" in one for one in told)
    assert learned(stream, 5).released_at_ == 30


# ---- files ----------------------------------------------------------------------------------------------------------


def test_a_released_model_is_saved_and_read_again(tmp_path: Path) -> None:
    stream = learned(toy(), 25)
    model = stream.model_at()
    model.save(tmp_path / "m.json")
    again = hb.streaming.load(tmp_path / "m.json")
    X, _ = frame(9, seed=4)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.predict_one({"a": 2}) == model.predict_one({"a": 2})
    assert (again.position, again.schedule, again.statement) == (20, Schedule(100, 10), model.statement)
    assert again.to_dict() == model.to_dict()
    twin = pickle.loads(pickle.dumps(again))
    assert twin.intercept_ == model.intercept_
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "no saved model"),
        ("{", "not JSON"),
        ("{}", "no saved model of a stream"),
        ('{"format": "hullabaloo model"}', r"Read it with hb\.load"),
        ('{"format": "hullabaloo stream model", "format_version": 9}', "format version 9"),
        ('{"format": "hullabaloo stream model", "format_version": 1}', "missing or malformed"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "m.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidParameter, match=says):
        hb.streaming.load(path)


def test_the_module_says_what_it_holds() -> None:
    assert set(hb.streaming.__all__) <= set(dir(hb.streaming))
    for name in hb.streaming.__all__:
        assert getattr(hb.streaming, name) is not None
    with pytest.raises(AttributeError, match="public names are"):
        hb.streaming.nonsense  # noqa: B018


def test_the_stream_describes_its_parameters_once_for_all() -> None:
    assert "half_life" in (ToyStream.__doc__ or "") or "PrivateStream" in (ToyStream.__doc__ or "")
    assert repr(toy(horizon=7)).startswith("ToyStream(")
    assert DOMAIN.targets_named
