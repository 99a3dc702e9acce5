"""One table, one name: spellings that look alike do not open a second budget."""

import unicodedata
from collections.abc import Callable

import pytest

from hullabaloo.errors import InvalidParameter, LedgerError
from hullabaloo.ledger import Ledger, names
from hullabaloo.privacy import Budget, GaussianEvent, SelectionEvent

FULL = Budget(1.0, 1e-6)
PART = Budget(0.1, 0.0)
NAME = "étude β-2026"


def charge(ledger: Ledger, dataset: str) -> str:
    return ledger.charge(dataset, SelectionEvent(0.1), budget=PART, neighbours="replace-one", what="a fit").dataset


def test_every_spelling_of_a_name_spends_one_budget(ledger: Ledger) -> None:
    """Before, NFC and NFD spellings and trailing blanks were three budgets of one table."""
    spellings = (unicodedata.normalize("NFD", NAME), NAME, f" {NAME}  ")
    assert ledger.create(spellings[0] + " ", FULL).name == NAME
    assert {charge(ledger, one) for one in spellings} == {NAME}
    for one in spellings:
        assert ledger.remaining(one).charges == len(ledger.charges(one)) == 3
        assert ledger.dataset(one).name == NAME
        with pytest.raises(LedgerError, match="exists there"):
            ledger.create(one, FULL)


@pytest.mark.parametrize(
    "other", ["Clinic-2026", "clinic -2026", "с\u006cinic-2026", "clinic\u3164-2026", "ｃlinic-2026", "clin\u0456c-2026", "CLINIC-2026"]
)  # fmt: skip
def test_a_look_alike_of_a_name_is_refused(sqlite_ledger: Ledger, other: str) -> None:
    sqlite_ledger.create("clinic-2026", FULL)
    with pytest.raises(LedgerError, match=r"'clinic-2026' exists.*people take them for one"):
        sqlite_ledger.create(other, FULL)
    sqlite_ledger.create("clinic-2027", FULL)
    assert [one.name for one in sqlite_ledger.datasets()] == ["clinic-2026", "clinic-2027"]


@pytest.mark.parametrize(
    "pair",
    [
        ("clinic", "cli\u0307nic"),  # a dot above an i, which has one
        ("clinic", "CL\u0130N\u0130C"),
        ("clinic", "cl\u0131n\u0131c"),
        ("cl\xednic", "cl\u0456\u0301nic"),  # a mark on a letter of another alphabet
        ("n\xeb", "n\u0451"),
        ("clinic", "clinic\U000e0100"),
        ("clinic", "cli\u180bnic"),
        ("clinic", "\u03f2linic"),
        ("clinic", "\u1d04linic"),
        ("one", "\u0585ne"),
        ("ward-1", "ward\u20131"),  # as a word processor writes it
        ("ward-1", "ward\u22121"),
    ],
)
def test_more_look_alikes(sqlite_ledger: Ledger, pair: tuple[str, str]) -> None:
    """Each of these opened a second budget: marks on letters of other alphabets, variation selectors, dots, dashes."""
    for first, second in (pair, pair[::-1]):
        assert names.skeleton(first) == names.skeleton(second)
    sqlite_ledger.create(pair[0], FULL)
    with pytest.raises(LedgerError, match="take them for one"):
        sqlite_ledger.create(pair[1], FULL)


@pytest.mark.parametrize("name", ["\u2800", "\ufe0f\u034f", "\u0958" * 300])
def test_names_that_are_not_seen_or_grow_too_long_are_refused(sqlite_ledger: Ledger, name: str) -> None:
    """A blank Braille cell was a name; 300 letters whose composition is two each were one of 600, and could not be shown."""
    with pytest.raises(InvalidParameter, match=r"no letter that is seen|1 to 500 characters"):
        sqlite_ledger.create(name, FULL)


@pytest.mark.parametrize(
    "pair", [("étude", "etude"), ("ward-1", "ward-2"), ("a b", "a c"), ("ärzte", "arzte"), ("кот", "ток")]
)
def test_names_that_look_different_are_different(pair: tuple[str, str]) -> None:
    assert names.skeleton(pair[0]) != names.skeleton(pair[1])


def test_old_names_still_open(ledger: Ledger, raw: Callable[[str], None]) -> None:
    """A ledger that holds two spellings keeps both apart, as they were charged."""
    old = unicodedata.normalize("NFD", "étude")
    ledger.create("etude", FULL)
    raw(f"UPDATE hullabaloo_dataset SET name = '{old}'")
    assert ledger.dataset(old).name == old
    (finding,) = ledger.verify().findings
    assert finding.dataset == old, "its terms were changed, of which its name is one"
    ledger.create("ward", FULL)
    assert [one.name for one in ledger.datasets()] in ([old, "ward"], ["ward", old])


def test_streams_have_one_spelling_too(ledger: Ledger) -> None:
    def begin(stream: str) -> int:
        return ledger.open_stream(
            "ward ", stream, GaussianEvent(200.0, samples=1000), budget=Budget(0.1, 1e-7), neighbours="replace-one", what="a stream"
        ).number  # fmt: skip

    ledger.create("ward", FULL)
    assert begin("night e\u0301") == begin("night \xe9 ") == 1
    assert ledger.stream(" ward", "night e\u0301").stream == "night \xe9"
    with pytest.raises(LedgerError, match="take them for one"):
        begin("Night\xe9")
    assert ledger.advance("ward ", "night e\u0301", position=5, token="a", previous="night \xe9").position == 5
    assert [one.stream for one in ledger.streams("ward ")] == ["night \xe9"]
    assert begin("0" * 32) == 2
