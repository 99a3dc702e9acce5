"""What the state file promises, seen through a stream that learns: nothing unsaved is shown, and nobody goes on twice."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import LedgerUnreachable, StateError, StreamMoved
from hullabaloo.streaming import IncrementalRegression, new_key_file

DRAW = np.random.default_rng(3)
X = DRAW.uniform(-1.0, 1.0, (400, 2))
Y = np.clip(X @ [0.5, -0.5] + 0.1 * DRAW.normal(size=400), -2.0, 2.0)
BUDGET = hb.Budget(20.0, 1e-6)


def stream(folder: Path, name: str = "stream.state", **other: Any) -> IncrementalRegression:
    options = {
        "budget": BUDGET, "domain": hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-2, 2)), "horizon": 400,
        "every": 50, "state": folder / name, "ledger": f"sqlite:///{folder}/privacy.db", "dataset": "clinic",
    } | other  # fmt: skip
    return IncrementalRegression(**options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hb.Ledger(f"sqlite:///{tmp_path}/privacy.db").create("clinic", BUDGET)
    return tmp_path


def coefficients(model: IncrementalRegression) -> list[float]:
    return [*model.coef_, model.intercept_]


@pytest.mark.few(2)
@pytest.mark.parametrize("call", ["write", "fsync", "replace", "open"])
def test_a_full_disk_releases_nothing_and_the_same_later(
    folder: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(os, call)

    def full(*arguments: Any, **keywords: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with stream(folder) as model:
        model.partial_fit(X[:70], Y[:70])
        before, saved = coefficients(model), (folder / "stream.state").read_bytes()
        monkeypatch.setattr(os, call, full)
        with pytest.raises(StateError, match="No space left on device"):
            model.partial_fit(X[70:120], Y[70:120])
        for look in (model.model_at, lambda: model.coef_, lambda: model.predict(X[:1]), lambda: model.released_at_):
            with pytest.raises(StateError, match="No space left"):
                look()
        if call != "fsync":
            assert (folder / "stream.state").read_bytes() == saved
        monkeypatch.setattr(os, call, real)
        assert model.position_ == 120
        assert model.released_at_ == 100
        after = coefficients(model)
        assert after != before
    assert hb.Ledger(f"sqlite:///{folder}/privacy.db").streams("clinic")[0].position == 120
    with stream(folder) as again:
        again.begin()
        assert coefficients(again) == after


def test_an_unreachable_ledger_releases_nothing_and_the_same_later(folder: Path) -> None:
    with stream(folder) as model:
        model.partial_fit(X[:70], Y[:70])
        (folder / "privacy.db").rename(folder / "away.db")
        with pytest.raises(LedgerUnreachable):
            model.partial_fit(X[70:120], Y[70:120])
        with pytest.raises(LedgerUnreachable):
            _ = model.coef_
        (folder / "away.db").rename(folder / "privacy.db")
        assert model.released_at_ == 100
        model.partial_fit(X[120:], Y[120:])
        assert model.released_at_ == 400


@pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
def test_it_goes_on_from_the_file_with_real_noise(folder: Path, sealed: bool) -> None:
    key = new_key_file(folder / "key") if sealed else None
    shown = {}
    for start in range(0, 400, 80):
        with stream(folder, key_file=key) as model:
            model.begin()
            assert model.position_ == start
            if start:
                assert coefficients(model) == shown[model.released_at_]
            model.partial_fit(X[start : start + 80], Y[start : start + 80])
            shown[model.released_at_] = coefficients(model)
    assert sorted(shown) == [50, 150, 200, 300, 400]
    with pytest.raises(StateError, match="no key was given" if sealed else "not sealed"):
        stream(folder, key_file=None if sealed else new_key_file(folder / "other")).begin()


def test_two_never_go_on_from_one_state(folder: Path) -> None:
    with stream(folder) as model:
        model.partial_fit(X[:70], Y[:70])
        with pytest.raises(StateError, match="in use"):
            stream(folder).begin()
        shutil.copy2(folder / "stream.state", folder / "copy.state")
        other = stream(folder, "copy.state").begin()
        model.partial_fit(X[70:120], Y[70:120])
        with pytest.raises(StreamMoved):
            other.partial_fit(X[70:120], Y[70:120])
        for _ in range(2):
            with pytest.raises(StreamMoved):
                _ = other.coef_
        with pytest.raises(StreamMoved):
            other.close()
    with pytest.raises(StateError, match="same state"):
        stream(folder, "copy.state").begin()
    shutil.copy2(folder / "stream.state", folder / "old.state")
    with stream(folder) as model:
        model.partial_fit(X[120:200], Y[120:200])
    with pytest.raises(StateError, match="outdated copy"):
        stream(folder, "old.state").begin()


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"horizon": 500}, "horizon is 400 there and 500 here"),
        ({"every": 40}, "every is 50 there and 40 here"),
        ({"budget": hb.Budget(10.0, 1e-6)}, "budget is "),
        ({"neighbours": "add-or-remove"}, "neighbours is 'replace-one' there and 'add-or-remove' here"),
        ({"domain": hb.Domain(features={"a": (-1, 1), "c": (-1, 1)}, target=(-2, 2))}, "domain is "),
        ({"half_life": 50.0}, "half_life is None there and 50.0 here"),
        ({"ledger": None, "dataset": None}, "ledger's dataset is 'clinic' there and None here"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)  # fmt: skip
def test_the_state_of_another_stream_is_told_apart(folder: Path, other: dict[str, Any], says: str) -> None:
    with stream(folder) as model:
        model.partial_fit(X[:70], Y[:70])
    with pytest.raises(StateError, match=says):
        stream(folder, **other).begin()
    assert len(hb.Ledger(f"sqlite:///{folder}/privacy.db").charges("clinic")) == 1


@pytest.mark.parametrize(
    "forget", [{"window": np.int64(100)}, {"half_life": np.float32(100)}], ids=["window", "half-life"]
)
def test_numbers_of_numpy_are_kept_as_numbers(folder: Path, forget: dict[str, Any]) -> None:
    every = np.int64(50)
    with stream(folder, every=every, **forget) as model:
        model.partial_fit(X[:70], Y[:70])
        model.model_at().save(folder / "model.json")
    plain = {name: value.item() for name, value in forget.items()}
    with stream(folder, **plain) as model:  # the same stream
        assert model.begin().position_ == 70
