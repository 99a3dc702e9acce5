"""Predictions of a table in parts: those of the table in memory, beside the columns that were kept, and nothing else that was fitted with."""

import datetime as dt
import pickle
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import hullabaloo as hb
from hullabaloo.errors import HullabalooError, InvalidParameter, SchemaError
from hullabaloo.linear_model import predicted
from tests.data.engines.fits import FITS, KEY, ONE, N, table

KEPT = ["unused", "name", "day", "when"]


def keyed() -> pa.Table:
    whole = pa.Table.from_pandas(table(), preserve_index=False)
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=i) for i in range(N)]
    names = pa.array([None if i % 7 == 0 else f"p{i}" for i in range(N)])
    return whole.append_column("name", names).append_column("day", pa.array(days)).append_column(
        "when", pa.array([dt.datetime(2026, 1, 1, 1, 2, 3)] * N)
    )  # fmt: skip


def model_of(name: str) -> Any:
    return FITS[name]().set_params(budget=ONE, test_key=KEY).fit(table())


def close(found: Any, wanted: Any) -> bool:
    if wanted.dtype.kind != "f":
        return found.to_pylist() == wanted.tolist()
    return bool(np.allclose(found.to_numpy(), wanted, rtol=1e-12, atol=1e-12, equal_nan=True))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["moments", "several", "classes", "hinge", "counts"])
def test_predictions_in_parts_are_those_of_memory(name: str, tmp_path: Path) -> None:
    model, whole = model_of(name), keyed()
    parquet.write_table(whole, tmp_path / "table.parquet")
    how = {"probabilities": name == "classes"} | ({"interval": 0.9} if name == "moments" else {})
    found = hb.predict(model, hb.scan(tmp_path / "table.parquet", batch_rows=333), keep=KEPT, **how).read_all()
    wanted = predicted.columns_of(model, table(), **how)
    assert found.schema.names == [*KEPT, *wanted]
    assert all(close(found[one], values) for one, values in wanted.items())
    assert [str(found.schema.field(one).type) for one in KEPT] == ["int64", "string", "date32[day]", "string"]
    assert found["name"].to_pylist() == whole["name"].to_pylist()
    assert found["when"][0].as_py() == "2026-01-01 01:02:03"


def test_a_source_that_fails_says_nothing() -> None:
    def torn() -> Any:
        yield from keyed().slice(0, 500).to_batches()
        raise ValueError("SECRET")

    with pytest.raises(HullabalooError, match="could not be read") as caught:
        hb.predict(model_of("moments"), hb.scan(torn)).read_all()
    assert "SECRET" not in str(caught.value)


def test_nothing_is_sent_that_only_fits_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    model, sent = model_of("moments").set_params(ledger=ledger, dataset="records"), []
    plain = predicted.columns_of
    monkeypatch.setattr(
        predicted, "columns_of", lambda one, *given, **how: sent.append(one) or plain(one, *given, **how)
    )
    hb.predict(model, hb.scan(keyed()))
    assert KEY not in pickle.dumps(sent[0])
    assert (sent[0].ledger, sent[0].dataset, model.ledger) == (None, None, ledger)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["moments", "classes", "several", "counts"])
def test_a_model_from_a_file_can_be_sent_and_copied_as_a_fitted_one(name: str, tmp_path: Path) -> None:
    """Its plan could not, so that no worker of a cluster predicted by one."""
    fitted = model_of(name)
    fitted.save(tmp_path / "model.json")
    loaded = hb.load(tmp_path / "model.json")
    assert type(loaded.release_.plan) is type(fitted.release_.plan)
    for model in (pickle.loads(pickle.dumps(loaded)), deepcopy(loaded)):
        assert model.predict(keyed()).tolist() == fitted.predict(keyed()).tolist()
        assert model.release_.to_dict() == fitted.release_.to_dict()


def test_what_cannot_be_predicted_is_refused_in_sentences() -> None:
    model, source = model_of("moments"), hb.scan(keyed())
    refused: list[tuple[Any, Any, dict[str, Any]]] = [
        (hb.Ridge(), source, {}),
        (model, source, {"keep": ["nobody"]}),
        (model, hb.scan(keyed().drop_columns(["b"])), {}),
        (model, source, {"probabilities": True}),
        (model, hb.scan(keyed().append_column("predicted_y", keyed()["a"])), {"keep": ["predicted_y"]}),
    ]
    for one, table_, how in refused:
        with pytest.raises((InvalidParameter, SchemaError)):
            hb.predict(one, table_, **how)


def test_a_kept_cell_that_its_type_cannot_hold_is_not_quoted() -> None:
    days = pa.array([2_147_483_601] * N, pa.int32()).view(pa.date32())
    with pytest.raises(SchemaError, match="cannot hold") as caught:
        hb.predict(
            model_of("moments"), hb.scan(lambda: keyed().append_column("far", days).to_reader()), keep=["far"]
        ).read_all()
    assert caught.value.__context__ is None
    assert "2147483601" not in str(caught.value)
