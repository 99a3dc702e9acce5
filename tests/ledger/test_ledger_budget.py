"""Laws of every filter as the ledger applies it: what is admitted, what is refused, and that a refusal changes nothing."""

import math
from pathlib import Path

import pytest
from pg_cluster import find_binaries

from hullabaloo.errors import (
    BudgetError,
    BudgetExhausted,
    EventRefused,
    InvalidParameter,
    LedgerError,
    RelationRefused,
    TestKeyRefused,
    UnknownDataset,
)
from hullabaloo.ledger import Charge, Ledger
from hullabaloo.privacy import (
    Budget,
    Event,
    GaussianEvent,
    Neighbours,
    NotPrivateEvent,
    SelectionEvent,
    compose,
    gaussian_mu,
)

FILTERS = ("basic", "gdp", "renyi")
FULL = Budget(1.0, 1e-6)
DRAWS = 1 << 40


def default_fit(budget: Budget, filter: str) -> Event:
    return GaussianEvent(1.0 / gaussian_mu(budget, samples=DRAWS, filter=filter), samples=DRAWS)


def charge(ledger: Ledger, event: Event, budget: Budget = FULL, dataset: str = "clinic", **other: object) -> Charge:
    options = {"neighbours": "replace-one", "what": "test"} | other
    return ledger.charge(dataset, event, budget=budget, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize(
    "budget",
    [FULL, Budget(0.1, 1e-6), Budget(8.0, 1e-5), Budget(1e-3, 1e-9), Budget.gdp(0.24), Budget.zcdp(0.0244)],
    ids=repr,
)
@pytest.mark.few(9)
def test_exactly_one_default_fit_at_the_full_budget(sqlite_ledger: Ledger, filter: str, budget: Budget) -> None:
    if (filter, budget.kind) in {("basic", "gdp"), ("basic", "zcdp"), ("gdp", "zcdp"), ("renyi", "gdp")}:
        with pytest.raises(BudgetError):
            sqlite_ledger.create("clinic", budget, neighbours="replace-one", filter=filter)
        return
    sqlite_ledger.create("clinic", budget, neighbours="replace-one", filter=filter)
    event = default_fit(budget, filter)
    quote = sqlite_ledger.check("clinic", event, budget=budget, neighbours="replace-one")
    assert charge(sqlite_ledger, event, budget).cost == quote.cost
    with pytest.raises(BudgetExhausted, match=r"clinic.*othing was read"):
        charge(sqlite_ledger, event, budget)
    with pytest.raises(BudgetExhausted):
        sqlite_ledger.check("clinic", event, budget=budget, neighbours="replace-one")
    assert len(sqlite_ledger.charges("clinic")) == 1


@pytest.mark.few(3)
@pytest.mark.parametrize("filter", FILTERS)
def test_exactly_one_default_fit_in_both_databases(ledger: Ledger, filter: str) -> None:
    ledger.create("clinic", FULL, neighbours="replace-one", filter=filter)
    charge(ledger, default_fit(FULL, filter))
    with pytest.raises(BudgetExhausted):
        charge(ledger, default_fit(FULL, filter))
    assert len(ledger.charges("clinic")) == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("parts", [3, 7, 10, 49])
def test_equal_parts_of_a_budget_fill_it_exactly(sqlite_ledger: Ledger, parts: int) -> None:
    """0.1 is not a tenth in binary; ten of them must still fit into 1, and the eleventh must not."""
    part = Budget(1.0 / parts, 1e-6 / parts)
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one")
    for _ in range(parts):
        charge(sqlite_ledger, default_fit(part, "basic"), part)
    with pytest.raises(BudgetExhausted):
        charge(sqlite_ledger, default_fit(part, "basic"), part)


@pytest.mark.slow
@pytest.mark.parametrize("filter", FILTERS)
def test_many_small_gaussian_releases_cost_less_in_the_gaussian_filters(sqlite_ledger: Ledger, filter: str) -> None:
    part = Budget(0.1, 1e-7)
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one", filter=filter)
    accepted = 0
    while True:
        try:
            charge(sqlite_ledger, default_fit(part, filter), part)
        except BudgetExhausted:
            break
        accepted += 1
    assert accepted == 10 if filter == "basic" else accepted > 30


@pytest.mark.few(1)
def test_a_refusal_says_what_was_asked_and_what_remains_and_changes_nothing(ledger: Ledger) -> None:
    ledger.create("clinic", FULL, neighbours="replace-one")
    part = Budget(0.75, 5e-7)
    charge(ledger, default_fit(part, "basic"), part)
    before = ledger.remaining("clinic")
    with pytest.raises(BudgetExhausted, match=r"0\.75.*0\.25"):
        charge(ledger, default_fit(part, "basic"), part)
    assert ledger.remaining("clinic") == before
    assert [row.number for row in ledger.charges("clinic")] == [1]
    smaller = Budget(0.25, 5e-7)
    assert charge(ledger, default_fit(smaller, "basic"), smaller).number == 2


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"neighbours": "add-or-remove"}, "replace-one"),
        ({"unit": "patient_id"}, "unit"),
        ({"records_per_unit": 2}, "unit"),
    ],
)
@pytest.mark.few(3)
def test_another_relation_or_unit_is_refused(ledger: Ledger, other: dict[str, object], says: str) -> None:
    ledger.create("clinic", FULL, neighbours="replace-one")
    with pytest.raises(RelationRefused, match=says):
        charge(ledger, default_fit(FULL, "basic"), **other)
    assert ledger.charges("clinic") == ()
    assert charge(ledger, default_fit(FULL, "basic")).number == 1


def test_the_other_relation_is_refused_by_either_kind_of_dataset(sqlite_ledger: Ledger) -> None:
    sqlite_ledger.create("visits", FULL, neighbours="add-or-remove")
    with pytest.raises(RelationRefused, match="add-or-remove"):
        sqlite_ledger.charge(
            "visits",
            default_fit(FULL, "basic"),
            budget=FULL,
            neighbours="replace-one",
            what="a fit of another relation",
        )
    assert sqlite_ledger.charges("visits") == ()


def test_units_of_several_records(sqlite_ledger: Ledger) -> None:
    terms = sqlite_ledger.create("clinic", FULL, neighbours="add-or-remove", unit="patient_id", records_per_unit=5)
    assert (terms.neighbours, terms.unit, terms.records_per_unit) == (Neighbours.ADD_OR_REMOVE, "patient_id", 5)
    options = {"neighbours": Neighbours.ADD_OR_REMOVE, "unit": "patient_id", "records_per_unit": 5}
    assert charge(sqlite_ledger, default_fit(FULL, "basic"), **options).records_per_unit == 5
    assert sqlite_ledger.dataset("clinic").charges == 1


@pytest.mark.parametrize("filter", FILTERS)
def test_what_is_not_private_is_refused(sqlite_ledger: Ledger, filter: str) -> None:
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one", filter=filter)
    for event in (NotPrivateEvent(), compose(NotPrivateEvent(), GaussianEvent(100.0))):
        for budget in (FULL, Budget(math.inf)):
            with pytest.raises(EventRefused, match="not private"):
                charge(sqlite_ledger, event, budget)
    with pytest.raises(EventRefused):
        charge(sqlite_ledger, GaussianEvent(100.0), Budget(math.inf))
    with pytest.raises(TestKeyRefused, match="subtract"):
        charge(sqlite_ledger, default_fit(FULL, filter), test_key=True)
    assert sqlite_ledger.charges("clinic") == ()


@pytest.mark.parametrize("filter", FILTERS)
def test_an_event_above_its_declared_budget_is_refused(sqlite_ledger: Ledger, filter: str) -> None:
    """Declaring less than a release costs must not make it cheaper, in any filter."""
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one", filter=filter)
    with pytest.raises(EventRefused, match="declare"):
        charge(sqlite_ledger, default_fit(FULL, "basic"), Budget(0.5, 1e-6))
    assert sqlite_ledger.charges("clinic") == ()


@pytest.mark.parametrize("filter", FILTERS)
def test_selections_are_charged_too(sqlite_ledger: Ledger, filter: str) -> None:
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one", filter=filter)
    charge(sqlite_ledger, SelectionEvent(0.1), Budget(0.1, 0.0))
    assert sqlite_ledger.dataset("clinic").charges == 1


def test_an_unknown_dataset_is_named_with_those_that_exist(ledger: Ledger) -> None:
    ledger.create("clinic", FULL, neighbours="replace-one")
    with pytest.raises(UnknownDataset, match=r"'klinic'.*'clinic'"):
        charge(ledger, default_fit(FULL, "basic"), dataset="klinic")
    for look in (ledger.remaining, ledger.charges, ledger.dataset):
        with pytest.raises(UnknownDataset):
            look("klinic")


@pytest.mark.few(2)
@pytest.mark.parametrize("budget", [FULL, Budget(2.0, 1e-6)])
def test_a_second_budget_for_a_dataset_is_refused(ledger: Ledger, budget: Budget) -> None:
    first = ledger.create("clinic", FULL, neighbours="replace-one")
    with pytest.raises(LedgerError, match=r"exists there.*replace-one"):
        ledger.create("clinic", budget, neighbours="replace-one")
    assert ledger.datasets() == (first,)


@pytest.mark.parametrize(
    "terms",
    [
        {"filter": "advanced"}, {"neighbours": "bounded"}, {"unit": ""}, {"records_per_unit": 0}, {"records_per_unit": 1.5},
        {"dataset": ""}, {"dataset": "two\nlines"}, {"dataset": "nul\0"}, {"budget": Budget(math.inf)},
    ],
    ids=repr,
)  # fmt: skip
def test_malformed_terms_leave_no_file(sqlite_ledger: Ledger, terms: dict[str, object]) -> None:
    options = {"dataset": "clinic", "budget": FULL, "neighbours": "replace-one"} | terms
    with pytest.raises((InvalidParameter, BudgetError)):
        sqlite_ledger.create(**options)  # type: ignore[arg-type]
    assert not Path(sqlite_ledger.url.removeprefix("sqlite:///")).exists()


def test_a_row_holds_everything_that_was_said(ledger: Ledger) -> None:
    from hullabaloo._version import __version__
    from hullabaloo.ledger.schema import VERSION
    from hullabaloo.privacy import ACCOUNTING_VERSION, event_from_dict

    ledger.create("clinic", FULL, neighbours="replace-one", filter="gdp")
    event = compose(GaussianEvent(17.0, samples=3), GaussianEvent(math.pi * 10), count=4)
    made = charge(ledger, event, what="Ridge “θ” 100 %", who="ada", detail={"columns": ["a", "ß"], "x": 1.5})
    (row,) = ledger.charges("clinic")
    assert row == made
    assert event_from_dict(row.event) == event
    assert (row.who, row.what, row.detail) == ("ada", "Ridge “θ” 100 %", {"columns": ["a", "ß"], "x": 1.5})
    assert (row.versions.library, row.versions.accounting, row.versions.schema) == (
        __version__,
        ACCOUNTING_VERSION,
        VERSION,
    )
    assert row.charged_at.endswith("+00:00")
    assert row.budget == FULL
    assert "ada" in row.describe()
    assert row.to_dict()["neighbours"] == "replace-one"


@pytest.mark.parametrize(
    "other", [{"detail": {"x": math.nan}}, {"detail": {"x": object()}}, {"what": "a\nb"}, {"who": ""}]
)
def test_what_cannot_be_written_is_refused(sqlite_ledger: Ledger, other: dict[str, object]) -> None:
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one")
    with pytest.raises(InvalidParameter):
        charge(sqlite_ledger, default_fit(FULL, "basic"), **other)
    assert sqlite_ledger.charges("clinic") == ()


def test_what_is_no_event_or_budget_is_refused(sqlite_ledger: Ledger) -> None:
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one")
    for event, budget in ((0.1, FULL), (SelectionEvent(0.1), 0.1)):
        with pytest.raises(InvalidParameter, match="Event"):
            charge(sqlite_ledger, event, budget)  # type: ignore[arg-type]


def test_who_defaults_to_the_user_of_the_system(sqlite_ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one")
    monkeypatch.setenv("LOGNAME", "grace")
    assert charge(sqlite_ledger, SelectionEvent(0.1), Budget(0.1, 0.0)).who == "grace"


def test_postgres_is_here_where_it_is_required() -> None:
    import os

    if os.environ.get("HULLABALOO_REQUIRE_POSTGRES") == "1":
        assert os.environ.get("HULLABALOO_TEST_POSTGRES") or find_binaries() is not None
