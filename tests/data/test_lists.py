"""Lists as tables and targets: no record decides how the others are read, or whether they are.

The first row's length was the width, and the first target decided whether all were taken as rows: one record could make a
fit refuse, after what the others held.
"""

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import Normalizer

import hullabaloo as hb
from hullabaloo.data import Domain, describe_table, domain_template, open_table
from hullabaloo.errors import SchemaError
from hullabaloo.noise import TestKey


class Hostile:
    """It answers no question, not even what it is."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("class")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __len__(self) -> int:
        raise RuntimeError("length")

    def __getitem__(self, place: int) -> Any:
        raise RuntimeError("cell")


ROWS: list[Any] = [
    [0.5, "0.25", -1],
    [0.5],
    [],
    (0.1, 0.2, 0.3, 0.4, 0.5),
    np.array([0.5, 0.5, 0.5]),
    np.array(0.5),
    np.eye(2),
    0.75,
    "0.5",
    None,
    {},
    Hostile(),
    [Hostile(), [1], math.nan],
    [1j, 10**400, True],
]
DOMAIN = Domain(features=dict.fromkeys("abc", (-1, 1)), target={"u": (-1, 1), "v": (-1, 1)})
PREPARED = Domain(row_norm=("l1", 2.0), target=(-1, 1))


def rows(table: list[Any], domain: Domain = DOMAIN) -> np.ndarray:
    encoding = domain.encoding() if domain.features else domain.encoding(n_features=3)
    return np.asarray(encoding.features(table))


@pytest.mark.parametrize("domain", [DOMAIN, PREPARED], ids=["features", "prepared"])
def test_a_row_is_what_it_is_alone(domain: Domain) -> None:
    """Beside every other row, before it and behind it: all pairs, and all rows together in 30 orders."""
    alone = [rows([row], domain).tobytes() for row in ROWS]
    for (i, first), (j, second) in itertools.product(enumerate(ROWS), repeat=2):
        found = rows([first, second], domain)
        assert (found[0].tobytes(), found[1].tobytes()) == (alone[i], alone[j])
    rng = np.random.default_rng(1)
    for _ in range(30):
        order = rng.permutation(len(ROWS)).tolist()
        found = rows([ROWS[i] for i in order], domain)
        assert [row.tobytes() for row in found] == [alone[i] for i in order]
        assert DOMAIN.encoding_for([ROWS[i] for i in order], [ROWS[i] for i in order]).facts == DOMAIN.encoding().facts


def test_missing_cells_are_missing_and_surplus_ones_ignored() -> None:
    wanted = rows([[0.5, 0.25, -1.0], [0.5, None, None], [None] * 3, [0.1, 0.2, 0.3], [0.5] * 3])
    np.testing.assert_array_equal(rows(ROWS[:5]), wanted)
    np.testing.assert_array_equal(rows([0.75, "0.5"]), rows([[0.75, None, None], [0.5, None, None]]))


@pytest.mark.few(1)
@pytest.mark.parametrize("targets", [1, 2])
def test_a_target_is_what_it_is_alone(targets: int) -> None:
    bounds = dict.fromkeys("uv"[:targets], (-1, 1))
    domain = Domain(features={"a": (-1, 1)}, target=bounds, weight=("w", 1.0), unit="who", records=10)
    encoding = domain.encoding()

    def read(y: list[Any]) -> tuple[list[bytes], list[float]]:
        X = np.zeros((len(y), 1))
        domain.check_schema(X, y, weight=y, unit=list(range(len(y))))
        found = encoding.encode(X, y, weight=y, unit=list(range(len(y))))
        assert found.weight is not None
        return [one.tobytes() for one in found.Y], found.weight.tolist()

    blank = [None, None]  # with as many texts as targets a list would be their names
    alone = [tuple(part[0] for part in read([cell, *blank])) for cell in ROWS]
    for (i, first), (j, second) in itertools.product(enumerate(ROWS), repeat=2):
        Y, weight = read([first, second, *blank])
        assert list(zip(Y[:2], weight[:2], strict=True)) == [alone[i], alone[j]]


def test_a_width_that_only_a_record_could_tell_is_refused() -> None:
    model = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-6), domain=PREPARED, solver="moments", test_key=TestKey(bytes(32))
    )
    table, y = [[0.1, 0.2, 0.3]] * 20, [0.5] * 20
    for X in (table, tuple(table), [0.5] * 20):
        with pytest.raises(SchemaError, match=r"declares how many columns.*np\.asarray\(rows\)"):
            model.fit(X, y)
    with pytest.raises(SchemaError, match=r"np\.asarray\(rows\)"):
        hb.private_pipeline(Normalizer(), model).fit(table, y)
    with pytest.raises(SchemaError, match=r"np\.asarray\(rows\)"):
        domain_template(table)
    assert describe_table(table).width is None
    model.fit(np.asarray(table), y)
    np.testing.assert_array_equal(model.predict(table), model.predict(np.asarray(table)))
    piped = hb.private_pipeline(Normalizer(), model).fit(np.asarray(table), y)
    np.testing.assert_array_equal(piped.predict(table), piped.predict(np.asarray(table)))


def test_names_of_targets_are_told_from_texts_by_their_number() -> None:
    """A list of texts was names or targets by whether every target was a text."""
    X = pl.DataFrame({"a": [0.1] * 5, "u": [0.5] * 5, "v": [1.0] * 5})
    domain = Domain(features={"a": (0, 1)}, target={"u": (0, 1), "v": (0, 1)})
    named = domain.encoding_for(X, ["u", "v"]).encode(X, ["u", "v"]).Y
    assert named.tolist() == [[0.0, 1.0]] * 5
    for last in ("x", ["1", "1"]):
        y = ["x", "x", "x", "x", last]
        domain.check_schema(X, y)
    with pytest.raises(SchemaError, match="no such column"):
        domain.check_schema(X, ["u", "w"])


def test_a_lazy_frame_is_collected_before_anything_else(tmp_path: Any) -> None:
    """It was collected when its values were first needed: under add-or-remove, after the charge."""
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("ward", hb.Budget(1.0, 1e-6), neighbours="add-or-remove")
    domain = Domain(features={"a": (0, 1)}, target={"y": (0, 1)}, records=10)
    query = pl.DataFrame({"a": ["0.1", "SECRET"], "y": [0.0, 1.0]}).lazy().with_columns(pl.col("a").cast(pl.Float64))
    model = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-6),
        domain=domain,
        ledger=ledger,
        dataset="ward",
        neighbours="add-or-remove",
        solver="moments",
    )
    with pytest.raises(SchemaError, match="could not be collected") as refused:
        model.fit(query)
    assert "SECRET" not in str(refused.value)
    assert not ledger.charges("ward")


def test_a_lazy_frame_has_the_types_of_its_result_and_is_run_once() -> None:
    runs = []

    def spy(frame: pl.DataFrame) -> pl.DataFrame:
        runs.append(len(frame))
        return frame.with_columns(pl.col("a").cast(pl.String))

    query = pl.DataFrame({"a": [0.1, 0.9], "y": [0.0, 1.0]}).lazy().map_batches(spy, validate_output_schema=False)
    domain = Domain(features={"a": (0, 1)}, target={"y": (0, 1)}, records=2)
    table = open_table(query)
    assert table.schema.types == ("Text", "Float64")
    assert domain.encoding_for(table).encode(table).Y.tolist() == [[-1.0], [1.0]]
    assert runs == [2]


def test_a_lazy_target_is_refused() -> None:
    domain = Domain(features={"a": (0, 1)}, target=(0, 1), weight=("w", 1.0))
    X, lazy = np.zeros((2, 1)), pl.DataFrame({"y": [0.0, 1.0]}).lazy()
    with pytest.raises(SchemaError, match="target is a lazy dataframe"):
        domain.check_schema(X, lazy)
    with pytest.raises(SchemaError, match="weight is a lazy dataframe"):
        domain.check_schema(X, [0, 1], weight=lazy)
