"""Indices of sparse input are never trusted: SciPy checks none, and one of them used to land on the intercept, or outside the memory.

Index p of p columns was the intercept's, so that a record counted there as what it liked; others ended the process, or wrote
where another record's numbers lay.
"""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import hullabaloo as hb
from hullabaloo.curator import GradientQuery, MomentsQuery
from hullabaloo.data import Domain, open_table
from hullabaloo.data.readers import sparse
from hullabaloo.data.readers.sparse import SparseTable
from hullabaloo.errors import SchemaError
from hullabaloo.losses import Squared
from hullabaloo.privacy import Neighbours

FORMS = [f"{name}_{kind}" for name in ("csr", "csc", "coo") for kind in ("array", "matrix")]
VALUES = [1.0, -2.5, 0.0, -0.0, 1e308, 5e-324, math.inf, -math.inf, math.nan, 0.1]
Entry = tuple[int, int, float]


def places(p: int) -> list[int]:
    """Numbers of columns, and numbers of none."""
    return [*range(p)] * 3 + [-(2**63), -(2**31), -p - 1, -1, p, p + 1, 2**31, 2**40, 2**63 - 1]


def random_entries(rng: np.random.Generator, n: int, p: int) -> list[Entry]:
    """Entries of n records in no order, most of one cell several times, and some of no record."""
    rows, columns = [*range(n)] * 3 + [-1, n, 2**40], places(p)
    count = int(rng.integers(0, 6 * n))
    return [
        (int(rows[i]), int(columns[j]), float(VALUES[v]))
        for i, j, v in rng.integers([len(rows), len(columns), len(VALUES)], size=(count, 3))
    ]


def stored(form: str, n: int, p: int, entries: list[Entry]) -> Any:
    """A matrix that holds these entries, in their order, put there behind the back of its constructor."""
    made, name = getattr(sp, form)((n, p)), form[:3]
    rows, columns = (np.array([one[at] for one in entries], dtype=np.int64) for at in (0, 1))
    data = np.array([one[2] for one in entries])
    if name == "coo":
        made.coords, made.data = (rows, columns), data
    else:
        lines, inner = (n, columns) if name != "csc" else (p, rows)
        outer = rows if name != "csc" else columns
        by_line = [np.flatnonzero(outer == line) for line in range(lines)]
        order = np.concatenate([*by_line, np.zeros(0, dtype=np.int64)])
        made.data, made.indices = data[order], inner[order]
        made.indptr = np.cumsum([0, *map(len, by_line)])
    return made


def by_hand(n: int, p: int, entries: list[Entry]) -> np.ndarray:
    """The table by its definition: cells are sums, in the order of the entries; what lies outside is absent."""
    out = np.zeros((n, p))
    with np.errstate(all="ignore"):
        for i, j, v in entries:
            if 0 <= i < n and 0 <= j < p:
                out[i, j] = v if out[i, j] == 0.0 else out[i, j] + v
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tables", [60, pytest.param(3_000, marks=pytest.mark.slow)])
def test_a_row_is_what_its_own_entries_say(form: str, tables: int) -> None:
    """Of the whole table, and of each record alone, byte for byte; tables of up to 7 records, in each format."""
    rng = np.random.default_rng(FORMS.index(form))
    for _ in range(tables):
        n, p = (int(number) for number in rng.integers(1, 8, 2))
        entries = random_entries(rng, n, p)
        table = stored(form, n, p, entries)
        wanted = by_hand(n, p, entries)
        found = open_table(table)
        np.testing.assert_array_equal(found.numbers(range(p)), wanted)
        encoding = Domain(row_norm=("l1", 2.0)).encoding(n_features=p)
        rows = encoding.encode(table).X
        rows.check_format(full_check=True)
        assert np.isfinite(rows.data).all()
        assert (rows[:, [p]].toarray() == 1.0).all()
        assert (np.abs(rows.toarray()[:, :p]).sum(axis=1) <= 1.0).all()
        for i in range(n):
            alone = stored(form, 1, p, [(0, column, value) for row, column, value in entries if row == i])
            made, row = encoding.encode(alone).X, rows[[i]]
            assert (made.data.tobytes(), made.indices.tolist()) == (row.data.tobytes(), row.indices.tolist())


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_matrix_is_its_dense_form(form: str) -> None:
    rng = np.random.default_rng(2)
    for dtype in (np.float64, np.float32, np.int8, np.uint64, np.bool_):
        dense = (rng.integers(0, 3, (6, 8)) * (rng.random((6, 8)) < 0.5)).astype(dtype)
        made = open_table(getattr(sp, form)(dense))
        np.testing.assert_array_equal(made.numbers(range(8)), dense.astype(np.float64))
        assert made.cells(3) == dense[:, 3].astype(np.float64).tolist()
        assert made.schema.kinds == ("number",) * 8


def test_no_entry_moves_an_answer_by_more_than_the_sensitivity() -> None:
    """Real neighbours: the last record's entries lie at index p, where they were added to the intercept's, and elsewhere."""
    p, n = 3, 4
    encoding = Domain(row_norm=1.0, target=(-1, 1)).encoding(n_features=p)
    about, y = encoding.facts, np.array([0.1, -0.2, 0.3, -1.0])
    gradient = GradientQuery(about, Neighbours.REPLACE_ONE, n, 1, 0.5, Squared(), 1.0)
    moments = MomentsQuery(about, Neighbours.REPLACE_ONE, n, 1, 0.5, 1.0)
    rng = np.random.default_rng(3)
    common = [(i, j, float(rng.normal())) for i in range(n - 1) for j in range(p)]
    lasts = [[(n - 1, j, v)] for j in (0, p - 1, p, p + 1, -1, -2) for v in (1.0, -1.0, 1e308)] + [
        [(n - 1, p, 1.0), (n - 1, p, 1.0), (n - 1, 0, 0.5)]
    ]
    rows = [encoding.encode(stored("csr_array", n, p, common + last), y) for last in lasts]
    points = [np.full(p + 1, size) for size in (0.0, 1.0, -3.0)]
    moved = max(
        float(np.linalg.norm(gradient.exact(one, at) - gradient.exact(other, at)))
        for one in rows for other in rows for at in points
    )  # fmt: skip
    assert moved <= gradient.sensitivity
    sums = [moments.exact(one) for one in rows]
    assert max(float(np.linalg.norm(one - other)) for one in sums for other in sums) <= moments.sensitivity


def test_a_hostile_table_is_fitted_and_predicted() -> None:
    rng = np.random.default_rng(4)
    table = stored("csr_matrix", 50, 4, random_entries(rng, 50, 4))
    domain = Domain(row_norm=1.0, target=(0, 1))
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver="moments")
    model.fit(table, np.full(50, 0.5))
    dense = np.asarray(model.encoding_.features(table).toarray())[:, :-1]
    np.testing.assert_allclose(model.predict(table), model.predict(dense), rtol=1e-12)


def sound(name: str) -> Any:
    return getattr(sp, f"{name}_array")(np.eye(4))


def changed(name: str, **parts: Any) -> Any:
    made = sound(name)
    for part, value in parts.items():
        setattr(made, part, value(getattr(made, part)))
    return made


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> hb.Ledger:
    made = hb.Ledger(f"sqlite:///{tmp_path_factory.mktemp('books')}/ledger.db")
    made.create("ward", hb.Budget(9.0, 1e-5))
    return made


def _shorter(values: Any) -> Any:
    return values[:-1]


def _later(values: Any) -> Any:
    return values + 1


class Telling(np.ndarray):
    """An array that says what it is not."""

    ndim, size = 1, 4

    def __len__(self) -> int:
        return 4


BROKEN: dict[str, Callable[[], Any]] = {
    **{
        f"{name}: {what}": lambda name=name, parts=parts: changed(name, **parts)  # type: ignore[misc]
        for name in ("csr", "csc")
        for what, parts in {
            "pointers too few": {"indptr": _shorter},
            "pointers too many": {"indptr": lambda values: np.append(values, values[-1])},
            "pointers beyond": {"indptr": lambda values: np.append(values[:-1], 9)},
            "pointers from elsewhere": {"indptr": _later},
            "pointers that fall": {"indptr": lambda values: np.array([0, 2, *values[2:] * 0 + 1])},
            "pointers below 0": {"indptr": lambda values: values - 1},
            "pointers of another type": {"indptr": lambda values: values.astype(float)},
            "huge pointers": {"indptr": lambda values: np.append(values[:-1].astype(np.uint64), np.uint64(2**64 - 1))},
            "no pointers": {"indptr": lambda values: None},
            "values too few": {"data": _shorter},
            "places too few": {"indices": _shorter},
            "places of another type": {"indices": lambda values: values.astype(float)},
            "places in two dimensions": {"indices": lambda values: values[:, None]},
            "values in other dimensions": {"data": lambda values: values[None]},
            "a list of values": {"data": list},
            "no values that say they are some": {"data": lambda values: values[:0].view(Telling)},
            "values that say they are in one dimension": {"data": lambda values: np.zeros((4, 0)).view(Telling)},
            "places too few that say they are enough": {"indices": lambda values: values[:1].view(Telling)},
        }.items()
    },
    "csr: another shape": lambda: changed("csr", _shape=lambda _: (5, 4)),
    "csr: a shape below 0": lambda: changed("csr", _shape=lambda _: (-1, 4)),
    "csr: a shape of another type": lambda: changed("csr", _shape=lambda _: (4, 2.5)),
    "csc: another shape": lambda: changed("csc", _shape=lambda _: (4, 5)),
    "coo: one place": lambda: changed("coo", coords=lambda found: found[:1]),
    "coo: places too few": lambda: changed("coo", coords=lambda found: (found[0], found[1][:-1])),
    "coo: values too few": lambda: changed("coo", data=_shorter),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_container_is_refused_before_the_charge(case: str, ledger: hb.Ledger) -> None:
    domain = Domain(row_norm=1.0, target=(0, 1))
    terms = {"budget": hb.Budget(1.0, 1e-6), "ledger": ledger, "dataset": "ward"}
    model = hb.LinearRegression(domain=domain, solver="moments", **terms)
    with pytest.raises(SchemaError, match="broken"):
        model.fit(BROKEN[case](), np.zeros(4))
    assert not ledger.charges("ward")


def test_other_formats_and_types_are_refused_by_their_declaration() -> None:
    class Own(sp.csr_array):  # type: ignore[misc]
        """It may mean anything by its parts."""

    for table in (Own(np.eye(3)), sp.linalg.aslinearoperator(np.eye(3))):
        with pytest.raises(SchemaError, match=r"no sparse matrix|no reader"):
            open_table(table)
    for form in ("bsr", "dia", "lil", "dok"):
        made = getattr(sp, f"{form}_array")(np.eye(3))
        with pytest.raises(SchemaError, match=r"no sparse matrix.*tocsr"):
            open_table(made)
        np.testing.assert_array_equal(open_table(made.tocsr()).numbers(range(3)), np.eye(3))
    with pytest.raises(SchemaError, match="Expected 2D array"):
        open_table(sp.coo_array(np.ones(3)))
    for dtype in (complex, object):
        made = sp.csr_array(np.eye(3))
        made.data = made.data.astype(dtype)
        with pytest.raises(SchemaError, match="declared type"):
            Domain(row_norm=1.0).encoding_for(made)


@pytest.mark.parametrize("form", ["csc_array", "coo_array"])
def test_places_that_are_compared_are_those_that_are_used(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are looked at twice: where they could change in between, an entry would lie outside of the memory."""
    seen: list[np.ndarray] = []

    class Compared(np.ndarray):
        def __ge__(self, other: Any) -> Any:
            seen.append(self)
            return super().__ge__(other)

    copied = sparse._wholes
    monkeypatch.setattr(sparse, "_wholes", lambda places: copied(places).view(Compared))
    for index in (np.int32, np.int64):
        made = getattr(sp, form)(np.eye(4))
        if form == "coo_array":
            made.coords = theirs = tuple(one.astype(index) for one in made.coords)
        else:
            made.indices = made.indices.astype(index)
            theirs = (made.indices,)
        SparseTable(made).rows()
        assert not any(np.shares_memory(one, other) for one in seen for other in theirs)
    assert len(seen) == 4


def test_a_file_is_read_as_the_matrix_that_it_holds(tmp_path: Path) -> None:
    table = stored("csr_array", 3, 2, [(0, 2, 9.0), (0, 1, 0.5), (1, -1, 9.0), (2, 0, 0.25), (2, 0, 0.25)])
    sp.save_npz(tmp_path / "t.npz", table)
    rows = Domain(row_norm=1.0).encoding(n_features=2).encode(sp.load_npz(tmp_path / "t.npz")).X
    np.testing.assert_array_equal(rows.toarray(), [[0, 0.5, 1], [0, 0, 1], [0.5, 0, 1]])


def test_no_index_reaches_outside_of_the_memory() -> None:
    """Every compiled function that takes rows by their indices, in a process of its own: a fault would end it with a signal."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.data.hostile_indices"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert set(told["found"]) == set(told["called"])
    assert len(told["found"]) >= 10
