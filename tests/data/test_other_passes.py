"""Sources that are read anew for each question, and fail, or give other records, in one pass: the bits of one table, or a charge that stays and nothing released."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hullabaloo as hb
from hullabaloo.errors import HullabalooError
from tests.data.engines.fits import FITS, KEY, ONE, table

WHOLE = pa.Table.from_pandas(table(), preserve_index=False)
OTHER = WHOLE.set_column(2, "y", pa.array([*WHOLE["y"].to_pylist()[:-1], 1.9]))
MODEL = FITS["moments"]().set_params(budget=ONE, test_key=KEY).fit(WHOLE)


def fit(name: str, source: Any, **terms: Any) -> bytes:
    return bytes(FITS[name]().set_params(budget=ONE, **terms).fit(source).release_.theta.tobytes())


USES: dict[str, Callable[..., object]] = {
    "moments": lambda source, **terms: fit("moments", source, **terms),
    "gradients": lambda source, **terms: fit("weights", source, **terms),
    "an evaluation": lambda source, **terms: repr(hb.evaluate(MODEL, source, budget=ONE, **terms)),
    "bounds": lambda source, **terms: repr(
        hb.private_bounds(
            source, outer={"a": (-9, 9), "y": (-9, 9)}, y="y", budget=hb.Budget(1.0, 1e-6), **terms
        ).bounds
    ),
}


def reader(fault: str, when: int) -> Callable[[], Iterator[Any]]:
    """Record batches, with a fault in one of the passes, or from it on."""
    passes = [0]

    def read() -> Iterator[Any]:
        passes[0] += 1
        now = passes[0]
        changed = now == when if fault == "another cell once" else now >= when
        given = {"another cell once": OTHER, "another cell": OTHER, "one fewer": WHOLE.slice(1)}.get(fault, WHOLE)
        for number, batch in enumerate((given if changed else WHOLE).to_batches(max_chunksize=400)):
            if fault == "raises" and now == when and number == 2:
                raise ValueError("SECRET")
            yield batch

    return read


@cache
def of_one_table(use: str) -> frozenset[object]:
    """What is released of each table alone."""
    tables = (WHOLE, OTHER, WHOLE.slice(1))
    return frozenset(USES[use](hb.scan(one.to_reader, keep_bytes=0), test_key=KEY) for one in tables)


@pytest.mark.few(4)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("fault", ["raises", "another cell", "another cell once", "one fewer"])
def test_a_fault_in_one_pass_releases_what_one_table_has_or_nothing(use: str, fault: str, tmp_path: Path) -> None:
    """Of the passes one is for the schema, one for counting; a fault after the charge leaves one charge, and no release."""
    ask, charged = USES[use], 0
    for when in (1, 2, 3, 5):
        try:
            assert ask(hb.scan(reader(fault, when), keep_bytes=0), test_key=KEY) in of_one_table(use)
            continue
        except (HullabalooError, OSError):
            pass
        ledger = hb.Ledger(f"sqlite:///{tmp_path}/{when}.db")
        ledger.create("records", hb.Budget(2.0, 1e-5))
        with pytest.raises((HullabalooError, OSError)) as caught:
            ask(hb.scan(reader(fault, when), keep_bytes=0), ledger=ledger, dataset="records")
        assert "SECRET" not in str(caught.value)
        assert len(ledger.charges("records")) <= 1
        charged += len(ledger.charges("records"))
    assert charged > 0 or fault.startswith("another cell")
