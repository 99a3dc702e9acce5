"""What leaves a fit: the mark of a release that is not private is never lost, and a machine's words hold no row count."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey

DOMAIN = hb.Domain(features={"a": (0, 1)}, target=(0, 1), records=50)
X, Y = np.linspace(0, 1, 60)[:, None], np.linspace(0, 1, 60)


def saved(tmp_path: Path, **options: Any) -> tuple[Path, dict[str, Any]]:
    path = tmp_path / "model.json"
    hb.LinearRegression(**{"budget": hb.Budget(1.0, 1e-6), "domain": DOMAIN, **options}).fit(X, Y).save(path)
    return path, json.loads(path.read_text())


def test_a_file_that_forgot_its_mark_is_marked_again(tmp_path: Path) -> None:
    path, document = saved(tmp_path, budget=hb.Budget(math.inf))
    document["release"]["statement"]["not_private"] = ""
    path.write_text(json.dumps(document))
    statement = hb.load(path).statement_
    assert not statement.private
    assert str(statement).startswith("NOT PRIVATE")
    assert statement.epsilon() == math.inf


def test_a_mark_that_is_not_known_is_not_dropped(tmp_path: Path) -> None:
    path, document = saved(tmp_path, test_key=TestKey(bytes(32)))
    assert document["release"]["statement"]["not_private"] == "test_key"
    document["release"]["statement"]["not_private"] = "of a later version"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidParameter, match="not dropped"):
        hb.load(path)


@pytest.mark.parametrize("options", [{"budget": hb.Budget(math.inf)}, {"test_key": TestKey(bytes(32))}])
def test_whatever_is_made_of_a_release_that_is_not_private_says_so(tmp_path: Path, options: dict[str, Any]) -> None:
    path, _ = saved(tmp_path, solver="moments", **options)
    loaded = hb.load(path)
    for model in (loaded, loaded.refit(penalty=hb.L1Penalty(0.1))):
        model.save(path)
        assert str(hb.load(path).statement_).startswith("NOT PRIVATE")
        assert "NOT PRIVATE" in str(model.summary())


def test_running_out_of_memory_does_not_tell_how_many_rows_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise np._core._exceptions._ArrayMemoryError((60, 2), np.dtype(float))  # type: ignore[attr-defined]

    monkeypatch.setattr(Encoding, "encode", full)
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, neighbours="add-or-remove")
    with pytest.raises(MemoryError) as caught:
        model.fit(X, Y)
    assert "60" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_file_that_cannot_be_read_to_its_end_does_not_tell_what_is_in_it(tmp_path: Path) -> None:
    path, ledger = tmp_path / "table.parquet", hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.uniform(size=2000), "y": rng.uniform(size=2000)}).to_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(200) + whole[204:])  # the first page is no page any more
    ledger.create("survey", hb.Budget(1.0, 1e-6))
    domain = hb.Domain(features={"a": (0, 1)}, target={"y": (0, 1)})
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, ledger=ledger, dataset="survey")
    with pytest.raises(OSError, match="a charge that was made stays") as caught:
        model.fit(str(path))
    assert caught.value.__suppress_context__
    assert len(ledger.charges("survey")) == 1
