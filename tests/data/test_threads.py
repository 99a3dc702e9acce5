"""`by_rows`: every row is done once, whatever the cores, and what is made of rows has the same bits."""

import numpy as np
import pytest
from scipy import sparse

from hullabaloo.curator.views import turned_rows
from hullabaloo.data import Domain, Rows, threads


def shared_by(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MANY", 1)
    monkeypatch.setattr(threads, "cores", lambda: workers)


@pytest.mark.few(8)
@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("rows", [0, 1, 2, 6, 1001])
def test_every_row_is_done_once(workers, rows, monkeypatch) -> None:
    shared_by(workers, monkeypatch)
    done = np.zeros(rows, dtype=np.int64)

    def work(part: slice) -> None:
        done[part] += 1

    threads.by_rows(work, rows, 5)
    assert (done == 1).all()


def test_what_fails_in_a_share_fails_in_the_whole(monkeypatch) -> None:
    shared_by(3, monkeypatch)

    def work(part: slice) -> None:
        if part.start:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.by_rows(work, 9, 1)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_through_a_matrix_have_the_same_bits_for_any_number_of_cores(kind, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(257, 9)) * (rng.uniform(size=(257, 9)) < 0.6)
    matrix, found = rng.normal(size=(9, 7)), []
    for workers in (1, 2, 3, 5):
        shared_by(workers, monkeypatch)
        found.append(turned_rows(Rows(kind(X), np.zeros((257, 1))), matrix).X)
    assert all(one.tobytes() == found[0].tobytes() for one in found)


def test_encoded_rows_have_the_same_bits_for_any_number_of_cores(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(101, 3))
    values[rng.uniform(size=values.shape) < 0.2] = np.nan
    domain = Domain({"a": (-1, 1), "b": (0, 2), "c": (-1, 3)}, interactions=[("a", "b")])
    encoding, found = domain.encoding(), []
    for workers in (1, 2, 3, 5):
        shared_by(workers, monkeypatch)
        found.append(encoding.features(values))
    assert all(one.tobytes() == found[0].tobytes() for one in found)
