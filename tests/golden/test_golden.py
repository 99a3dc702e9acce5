"""What was computed under fixed keys is computed still: a tenth of the kept cases here, all of them by `python -m tests.golden`."""

import pytest
from threadpoolctl import threadpool_limits

from tests.golden import record

NAMES = list(record.read()["cases"])
REHEARSED = [name for name in NAMES if name.startswith(("price/", "plan/", "stream plan/"))]  # seconds each
TENTH = [name for name in NAMES if name not in REHEARSED][3::10] + REHEARSED[5::10]


@pytest.fixture(scope="module")
def same_machine() -> bool:
    return bool(record.read()["machine"] == record.machine())


@pytest.mark.parametrize("name", TENTH)
def test_nothing_moved(name: str, same_machine: bool) -> None:
    with threadpool_limits(1):
        now = record.kept(record.cases()[name]())
    assert record.differences(record.read()["cases"][name], now, exact=same_machine) == []


def test_differences_are_seen() -> None:
    old = record.kept({"theta": [1.0, 2.0, 3.0, 4.0, 5.0], "solver": "moments"})
    last = record.kept({"theta": [1.0, 2.0, 3.0, 4.0, 5.0 + 1e-15], "solver": "moments"})
    assert record.differences(old, last, exact=True) == ["theta (5 numbers then, 5 now): beyond its first 4"]
    assert record.differences(old, last, exact=False) == []
    moved = record.kept({"theta": [1.0, 2.0 + 1e-7, 3.0, 4.0, 5.0], "solver": "gradient"})
    assert [one.split(":")[0] for one in record.differences(old, moved, exact=False)] == [
        "theta (5 numbers then, 5 now)",
        "solver",
    ]
    assert record.differences(old, {"solver": "moments"}, exact=True) == ["theta is no longer told"]
