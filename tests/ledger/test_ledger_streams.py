"""Streams in the ledger: one charge each, one successor of each save, and older ledgers that learn about them."""

import multiprocessing
from collections.abc import Callable

import pytest
from many_rows import as_version

from hullabaloo.errors import (
    BudgetExhausted,
    InvalidParameter,
    LedgerError,
    RelationRefused,
    StreamMoved,
    TestKeyRefused,
    UnknownDataset,
    UnknownStream,
)
from hullabaloo.ledger import Charge, Ledger, schema
from hullabaloo.privacy import Budget, GaussianEvent

FULL = Budget(1.0, 1e-6)
PART = Budget(0.4, 1e-7)
EVENT = GaussianEvent(200.0, samples=1000)


def begin(ledger: Ledger, stream: str = "s1", **other: object) -> Charge:
    options = {"event": EVENT, "budget": PART, "neighbours": "replace-one", "what": "a stream"} | other
    return ledger.open_stream("clinic", stream, **options)  # type: ignore[arg-type]


@pytest.fixture
def opened(ledger: Ledger) -> Ledger:
    """A dataset with a fit and a stream."""
    ledger.create("clinic", FULL, neighbours="replace-one")
    ledger.charge("clinic", EVENT, budget=Budget(0.1, 1e-7), neighbours="replace-one", what="a fit")
    begin(ledger)
    return ledger


def test_a_stream_is_charged_once_however_often_it_begins(opened: Ledger) -> None:
    first = opened.charges("clinic")[1]
    assert [begin(opened), begin(opened)] == [first, first]
    (row,) = opened.streams("clinic")
    assert row == opened.stream("clinic", "s1")
    assert (row.charge, row.position, row.token, row.opened_at) == (2, 0, "s1", first.charged_at)
    assert len(opened.charges("clinic")) == 2
    assert "position 0" in str(row)
    assert row.to_dict()["token"] == "s1"
    assert begin(opened, "s2").number == 3
    assert [one.stream for one in opened.streams("clinic")] == ["s1", "s2"]


@pytest.mark.parametrize(
    "other", [{"neighbours": "add-or-remove"}, {"unit": "patient", "records_per_unit": 3}], ids=str
)
@pytest.mark.parametrize("stream", ["s1", "s2"], ids=["opened before", "new"])
def test_other_terms_than_the_datasets_are_refused_whether_the_stream_is_there_or_not(
    opened: Ledger, stream: str, other: dict[str, object]
) -> None:
    """Of a stream that was there its charge was given back, which is for another promise."""
    with pytest.raises(RelationRefused, match="do not add up"):
        begin(opened, stream, **other)
    assert len(opened.charges("clinic")) == 2


@pytest.mark.parametrize(
    "other", [{"event": GaussianEvent(201.0, samples=1000)}, {"budget": Budget(0.3, 1e-7)}], ids=str
)
def test_a_name_that_was_charged_for_something_else_is_refused(opened: Ledger, other: dict[str, object]) -> None:
    with pytest.raises(LedgerError, match="one charge pays for one stream"):
        begin(opened, **other)
    assert len(opened.charges("clinic")) == 2


def test_a_refused_stream_leaves_neither_charge_nor_row(opened: Ledger) -> None:
    begin(opened, "s2")
    before = opened.charges("clinic"), opened.streams("clinic")
    with pytest.raises(BudgetExhausted):
        begin(opened, "s3")
    with pytest.raises(TestKeyRefused):
        begin(opened, "s1", test_key=True)
    with pytest.raises(InvalidParameter):
        begin(opened, "two\nlines")
    assert (opened.charges("clinic"), opened.streams("clinic")) == before
    assert begin(opened, "s1") == before[0][1], "what was paid for is still there when the budget is spent"


def test_a_save_has_one_successor(opened: Ledger) -> None:
    row = opened.advance("clinic", "s1", position=100, token="a", previous="s1")
    assert (row.position, row.token) == (100, "a")
    assert opened.advance("clinic", "s1", position=100, token="a", previous="s1") == row, "asked again, it agrees"
    for position, token, previous in ((100, "b", "s1"), (200, "b", "s1"), (50, "b", "a"), (120, "a", "s1")):
        with pytest.raises(StreamMoved, match=r"position 100.*outdated copy"):
            opened.advance("clinic", "s1", position=position, token=token, previous=previous)
    assert opened.stream("clinic", "s1") == row
    later = opened.advance("clinic", "s1", position=1 << 40, token="b", previous="a")
    assert (later.position, later.opened_at) == (1 << 40, row.opened_at)


def test_what_is_not_there_or_not_a_position_is_refused(opened: Ledger) -> None:
    with pytest.raises(UnknownStream, match="older than the stream"):
        opened.advance("clinic", "s9", position=1, token="a", previous="s9")
    with pytest.raises(UnknownStream):
        opened.stream("clinic", "s9")
    with pytest.raises(UnknownDataset):
        opened.stream("klinic", "s1")
    for position in (-1, True, 1.5):
        with pytest.raises(InvalidParameter, match="counts records"):
            opened.advance("clinic", "s1", position=position, token="a", previous="s1")  # type: ignore[arg-type]


def _advance(ledger: Ledger, token: str, previous: str) -> str | None:
    try:
        return ledger.advance("clinic", "s1", position=100, token=token, previous=previous).token
    except StreamMoved:
        return None


@pytest.mark.few(1)
def test_of_processes_that_hold_the_same_save_one_goes_on(opened: Ledger) -> None:
    previous = "s1"
    with multiprocessing.get_context("fork").Pool(4) as pool:
        for turn in range(3):
            tokens = [f"{turn}-{one}" for one in range(8)]
            won = pool.starmap(_advance, [(opened, token, previous) for token in tokens], chunksize=1)
            (previous,) = filter(None, won)
            assert opened.stream("clinic", "s1").token == previous


def _begin(ledger: Ledger) -> int:
    return begin(ledger, "together").number


@pytest.mark.few(1)
def test_processes_that_begin_one_stream_pay_once(opened: Ledger) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(_begin, [opened] * 8, chunksize=1) == [3] * 8
    assert len(opened.charges("clinic")) == 3


@pytest.fixture(params=[1, 2])
def old(request: pytest.FixtureRequest, ledger: Ledger, raw: Callable[[str], None]) -> tuple[Ledger, int]:
    """A ledger as version 1 wrote it, without streams, or version 2, without a chain."""
    ledger.create("clinic", FULL, neighbours="replace-one")
    ledger.charge("clinic", EVENT, budget=PART, neighbours="replace-one", what="a fit")
    as_version(request.param, raw)
    return ledger, request.param


@pytest.mark.few(2)
def test_an_old_ledger_keeps_its_charges_and_learns_streams_and_chains(old: tuple[Ledger, int]) -> None:
    ledger, version = old
    for act in (lambda: begin(ledger), lambda: ledger.charges("clinic"), ledger.verify):
        with pytest.raises(LedgerError, match="ledger upgrade"):
            act()
    done = ledger.upgrade()
    assert (done.before, done.after) == (version, 3) == (version, schema.VERSION)
    (kept,) = ledger.charges("clinic")
    assert (kept.what, kept.event, kept.budget, kept.versions.schema) == ("a fit", EVENT.to_dict(), PART, version)
    assert ledger.remaining("clinic").charges == 1
    assert ledger.streams("clinic") == ()
    assert begin(ledger).number == 2
    ledger.advance("clinic", "s1", position=1 << 33, token="a", previous="s1")
    assert ledger.verify().findings == ()
    assert ledger.upgrade().before == 3


@pytest.mark.few(1)
def test_creating_in_an_old_ledger_changes_nothing(old: tuple[Ledger, int]) -> None:
    with pytest.raises(LedgerError, match="ledger upgrade"):
        old[0].create("school", FULL)
    assert old[0].upgrade().before == old[1]


@pytest.mark.parametrize(
    ("damage", "says", "number"),
    [
        ("UPDATE hullabaloo_stream SET position = -1", "its position is not a whole number", 2),
        ("UPDATE hullabaloo_stream SET token = ''", "last save is empty", 2),
    ],
)
def test_damage_to_a_stream_is_named_and_stops_it(
    opened: Ledger, raw: Callable[[str], None], damage: str, says: str, number: int
) -> None:
    assert opened.verify().status == "sound"
    raw(damage)
    (finding,) = opened.verify().findings
    assert (finding.severity, finding.dataset, finding.number) == ("fault", "clinic", number)
    assert says in finding.text
    for act in (lambda: opened.stream("clinic", "s1"), lambda: begin(opened)):
        with pytest.raises(LedgerError, match="cannot be understood"):
            act()


def test_a_stream_without_a_charge_of_its_own_is_a_fault(sqlite_ledger: Ledger) -> None:
    import sqlite3

    sqlite_ledger.create("clinic", FULL)
    for name in ("s1", "s2"):
        begin(sqlite_ledger, name)
    for number, damage in (
        (1, "UPDATE hullabaloo_stream SET charge = 1"),
        (9, "UPDATE hullabaloo_stream SET charge = 9"),
    ):
        with sqlite3.connect(sqlite_ledger.url.removeprefix("sqlite:///")) as connection:
            connection.execute(damage)
        connection.close()
        found = sqlite_ledger.verify().findings
        assert {(one.severity, one.number) for one in found} == {("fault", number)}
        assert all("should pay for stream 's" in one.text for one in found)
    with pytest.raises(LedgerError, match="not there"):
        begin(sqlite_ledger)
