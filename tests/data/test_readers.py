"""Every kind of table gives the same rows, and its declared schema alone decides what is refused."""

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from hullabaloo.data import Domain, describe_table
from hullabaloo.errors import SchemaError

DOMAIN = Domain(
    features={"age": (17, 90), "job": ["clerk", "nurse"], "ok": [False, True], "pay": (0, 10)},
    target={"los": (0, 30)},
    unit="who",
    records_per_unit=2,
    records=10,
    weight=("w", 2),
)
AGE = [20.0, np.nan, 95.0, 50.0, 1e30]
JOB = ["clerk", None, "nurse", "other", "nurse"]
OK = [True, False, True, True, False]
PAY = [1, 2, 3, 40, 5]
LOS = [3.0, 31.0, np.nan, 0.0, 15.0]
WHO = [1, 1, 1, 2, 3]
W = [1.0, 5.0, 1.0, np.nan, 0.5]
DATA = {"extra": list("abcde"), "pay": PAY, "age": AGE, "job": JOB, "ok": OK, "who": WHO, "w": W, "los": LOS}


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(DATA)


def object_array() -> tuple[np.ndarray, dict[str, object]]:
    array = np.empty((5, 4), dtype=object)
    for j, column in enumerate((AGE, JOB, OK, PAY)):
        array[:, j] = column
    return array, {"y": LOS, "unit": WHO, "weight": W}


def forms(folder: Path) -> dict[str, tuple[object, dict[str, object]]]:
    frame = pandas_frame()
    arrow = pa.table({k: pa.array(v, from_pandas=True) for k, v in DATA.items()})
    pq.write_table(arrow, folder / "t.parquet", row_group_size=2)
    (folder / "many").mkdir()
    pq.write_table(arrow.slice(0, 3), folder / "many" / "a.parquet")
    pq.write_table(arrow.slice(3), folder / "many" / "b.parquet")
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    category = frame.astype({"job": "category", "pay": "Int16", "ok": "boolean", "age": "Float32", "los": "Float64"})
    array, rest = object_array()
    structured = np.array(
        list(zip(AGE, [j or "" for j in JOB], OK, PAY, strict=True)),
        dtype=[("age", "f8"), ("job", "U6"), ("ok", "?"), ("pay", "i4")],
    )
    dictionary = arrow.set_column(3, "job", arrow["job"].dictionary_encode())
    return {
        "pandas": (frame, {}),
        "pandas reordered": (frame[frame.columns[::-1]], {"y": frame["los"]}),
        "pandas types": (category, {"y": "los"}),
        "pandas arrow": (arrow.to_pandas(types_mapper=pd.ArrowDtype), {"y": pa.array(LOS, from_pandas=True)}),
        "pandas objects": (frame.astype(object), {"y": frame[["los"]], "weight": pd.Series(W)}),
        "polars": (pl.from_arrow(arrow), {"y": pl.Series(LOS)}),
        "polars types": (pl.from_arrow(arrow).with_columns(pl.col("job").cast(pl.Categorical)), {"y": np.array(LOS)}),
        "polars lazy": (pl.from_arrow(arrow).lazy(), {}),
        "arrow": (arrow, {"y": np.array(LOS)[:, None]}),
        "arrow chunks": (pa.concat_tables([arrow.slice(0, 2), arrow.slice(2)]), {"unit": WHO}),
        "arrow batch": (arrow.combine_chunks().to_batches()[0], {}),
        "arrow dictionary": (dictionary, {}),
        "parquet": (folder / "t.parquet", {}),
        "parquet folder": (str(folder / "many"), {}),
        "csv": (folder / "t.csv", {}),
        "tsv": (str(folder / "t.tsv"), {"y": "los"}),
        "objects": (array, rest),
        "lists": (array.tolist(), rest),
        "structured": (structured, rest),
        "masked": (np.ma.array(array, mask=False), {**rest, "weight": np.ma.array(W, mask=[0, 0, 0, 1, 0])}),
    }


def test_every_form_gives_the_same_rows(tmp_path: Path) -> None:
    array, rest = object_array()
    wanted = DOMAIN.encoding().encode(array, **rest)
    assert wanted.weight is not None
    assert wanted.weight.tolist() == [1, 2, 0, 0, 0.5]
    for name, (table, keywords) in forms(tmp_path).items():
        encoding = DOMAIN.encoding_for(table, **keywords)
        rows = encoding.encode(table, **keywords)
        np.testing.assert_array_equal(rows.X, wanted.X, err_msg=name)
        np.testing.assert_array_equal(rows.Y, wanted.Y, err_msg=name)
        np.testing.assert_array_equal(rows.weight, wanted.weight, err_msg=name)
        assert rows.X.flags.c_contiguous
        assert describe_table(table).n_rows == 5, name
        np.testing.assert_array_equal(encoding.features(table), wanted.X, err_msg=name)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "i1", "u8", "?", "U5", "S5", "O", "T"])
def test_array_types(dtype: str) -> None:
    base = np.array([[0, 1], [1, 0], [1, 1]])
    encoding = Domain(features={"a": (0, 1), "b": (-1, 1)}).encoding()
    wanted = encoding.encode(base.astype(float)).X
    if dtype == "?":
        base = base.astype(bool)
    for array in (base.astype(dtype), np.asfortranarray(base.astype(dtype)), base.astype(dtype)[::-1][::-1]):
        np.testing.assert_array_equal(encoding.encode(array).X, wanted)


def test_sparse_input_with_declared_features_and_a_frame_of_sparse_columns() -> None:
    X = np.array([[0, 3.0], [1, np.nan]])
    encoding = Domain(features={"a": [0, 1], "b": (0, 4)}).encoding()
    wanted = encoding.encode(X).X
    np.testing.assert_array_equal(encoding.encode(sparse.csc_array(X)).X, wanted)
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), columns=["a", "b"])
    np.testing.assert_array_equal(encoding.encode(frame).X, wanted)


def test_sparse_duplicates_are_summed_and_indices_of_both_sizes_work() -> None:
    coo = sparse.coo_array(
        (np.array([0.25, 0.25, np.inf, 1e308, 1e308]), ([0, 0, 1, 1, 1], [1, 1, 0, 1, 1])), shape=(3, 2)
    )
    encoding = Domain(row_norm=1.0).encoding(n_features=2)
    rows = encoding.encode(coo)
    np.testing.assert_allclose(rows.X.toarray(), [[0, 0.5, 1], [0, 0, 1], [0, 0, 1]])
    wide = coo.tocsr()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(encoding.encode(wide).X.toarray(), rows.X.toarray())
    assert np.isinf(coo.data).any()


def test_a_cell_that_is_stored_twice_is_summed_before_its_row_is_clipped() -> None:
    """Clipped as two cells it would be longer than the declared norm: 0.9 and 0.9 have norm 1.27 apart, and 1.8 together."""
    rows = sparse.csr_array((np.array([0.9, 0.9, 0.5]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    made = Domain(row_norm=1.0).encoding(n_features=2, fit_intercept=False).encode(rows).X
    np.testing.assert_allclose(made.toarray(), [[1.0, 0.0], [0.0, 0.5]])
    assert np.linalg.norm(made.toarray(), axis=1).max() <= 1.0


def test_prepared_frames_take_all_columns_that_have_no_other_role(tmp_path: Path) -> None:
    frame = pd.DataFrame({"u": [0.5, 0.0], "y": [1.0, 0.0], "v": [0.0, "0.25"]})
    domain = Domain(row_norm=1.0, target=(0, 1))
    encoding = domain.encoding_for(frame, "y")
    assert encoding.feature_names_in == ("u", "v")
    rows = encoding.encode(frame, "y")
    np.testing.assert_array_equal(rows.X, [[0.5, 0, 1], [0, 0.25, 1]])
    np.testing.assert_array_equal(encoding.encode(frame[["v", "u"]], [1, 0]).X, rows.X)
    np.testing.assert_array_equal(encoding.encode(np.array([[0.5, 0.0], [0.0, 0.25]]), [1, 0]).X, rows.X)
    named = Domain(row_norm=1.0, target={"y": (0, 1)})
    np.testing.assert_array_equal(named.encoding_for(frame).encode(frame).X, rows.X)


@pytest.mark.parametrize(
    "column",
    [[[1], [2]], [{"k": 1}, {"k": 2}], [b"a", b"b"], [date(2020, 1, 1), date(2020, 1, 2)]],
    ids=["list", "struct", "binary", "date"],
)
def test_types_without_a_rule_are_refused_by_their_declaration(column: list[object], tmp_path: Path) -> None:
    table = pa.table({"a": column, "y": [0.0, 1.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    domain = Domain(features={"a": (0, 1)}, target={"y": (0, 1)})
    for form in (table, tmp_path / "t.parquet", pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        with pytest.raises(SchemaError, match="declared type"):
            domain.check_schema(form)
        with pytest.raises(SchemaError, match="declared type"):
            domain.encoding().encode(form)


def test_decimal_null_and_nested_dictionary_types() -> None:
    from decimal import Decimal

    table = pa.table(
        {"a": pa.array([Decimal("0.50"), None]), "b": pa.nulls(2), "c": pa.array([1, 0]).dictionary_encode()}
    )
    domain = Domain(features={"a": (0, 1), "b": (0, 1), "c": [0, 1]})
    wanted = domain.encoding().encode(np.array([[0.5, None, 1], [None, None, 0]], dtype=object)).X
    for form in (table, pl.from_arrow(table.set_column(2, "c", pa.array([1, 0]))), table.to_pandas()):
        np.testing.assert_array_equal(domain.encoding_for(form).encode(form).X, wanted)


def test_missing_and_doubled_columns_are_refused() -> None:
    domain = Domain(features={"a": (0, 1)}, target={"y": (0, 1)})
    with pytest.raises(SchemaError, match="no such column"):
        domain.check_schema(pd.DataFrame({"b": [1], "y": [1]}))
    with pytest.raises(SchemaError, match="no such column"):
        domain.check_schema(pd.DataFrame({"a": [1]}))
    with pytest.raises(SchemaError, match=r"twice|2 columns"):
        domain.check_schema(pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"]))
    with pytest.raises(SchemaError, match="2 columns of that name"):
        domain.check_schema(pa.table([[1], [2], [3]], names=["a", "a", "y"]))
    with pytest.raises(SchemaError, match="also a feature"):
        domain.check_schema(pd.DataFrame({"a": [1], "y": [1]}), "a")
    domain.check_schema(pa.table([[1], [2], [3], [4]], names=["a", "z", "z", "y"]))


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    domain = Domain(features={"a": (0, 1)})
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "t.csv").write_bytes(b"")
    (tmp_path / "t.xlsx").write_bytes(b"")
    for name, words in (("t.parquet", "cannot be read as Parquet"), ("t.csv", "no line"), ("t.xlsx", "neither")):
        with pytest.raises(SchemaError, match=words):
            domain.check_schema(tmp_path / name)


def test_column_names_are_text_and_may_hold_dots(tmp_path: Path) -> None:
    domain = Domain(features={"0": (0, 1), "a.b": (0, 1)})
    table = pa.table({"a.b": [0.0, 1.0], "0": [1.0, 0.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    wanted = domain.encoding().encode(np.array([[1.0, 0.0], [0.0, 1.0]])).X
    np.testing.assert_array_equal(domain.encoding().encode(tmp_path / "t.parquet").X, wanted)
    frame = pd.DataFrame({0: [1.0, 0.0], "a.b": [0.0, 1.0]})
    np.testing.assert_array_equal(domain.encoding().encode(frame).X, wanted)
    (tmp_path / "bom.csv").write_bytes(b'\xef\xbb\xbf"0", a.b ,junk\r\n1,0\r\n0,1,2,3,4\r\n')
    np.testing.assert_array_equal(domain.encoding().encode(tmp_path / "bom.csv").X, wanted)


def test_who_misses_a_column_is_told_about_separators(tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    path.write_text("age;stay\n20;1,5\n", encoding="utf-8")
    domain = Domain(features={"age": (18, 90)}, target={"stay": (0, 30)})
    with pytest.raises(SchemaError, match=r"of one with semicolons.*sep=';'") as said:
        domain.check_schema(path)
    path.write_text("Anna Meier,hiv\nage,stay\n", encoding="utf-8")
    with pytest.raises(SchemaError) as other:
        domain.check_schema(path)
    assert str(said.value) == str(other.value), "nothing is said of the first line, which may be a record"
