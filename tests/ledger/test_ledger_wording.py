"""What people read when they mistake a ledger's terms or address, and at a prompt."""

import re
from pathlib import Path

import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.errors import BudgetError, InvalidParameter, LedgerUnreachable, RelationRefused
from hullabaloo.ledger.pricing import remaining
from hullabaloo.privacy import filter_named
from hullabaloo.privacy.filters import NOTHING
from hullabaloo.privacy.renyi import delta_at_order


@pytest.fixture
def ledger(tmp_path: Path) -> hb.Ledger:
    return hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")


def test_a_dataset_is_opened_under_the_estimators_default_relation(ledger: hb.Ledger) -> None:
    assert ledger.create("ward", hb.Budget(1.0, 1e-8)).neighbours.value == hb.Ridge().neighbours


@pytest.mark.parametrize(
    ("filter", "budget", "says"),
    [
        ("gdp", hb.Budget(1.0, 1e-8), "is (1, 1e-08)-differentially private"),
        ("gdp", hb.Budget.gdp(0.5), "is (2.254, 1e-06)-differentially private"),
        ("renyi", hb.Budget.zcdp(0.1), "1e-06)-differentially private"),
        ("renyi", hb.Budget(1.0, 1e-8), "is (1, 1e-08)-differentially private"),
    ],
)
def test_what_is_left_is_said_in_epsilon_and_delta_too(
    ledger: hb.Ledger, filter: str, budget: hb.Budget, says: str
) -> None:
    ledger.create("ward", budget, filter=filter)
    assert says in ledger.remaining("ward").sentence


def test_what_is_left_of_one_renyi_order_is_what_that_order_certifies(ledger: hb.Ledger) -> None:
    dataset, rule = ledger.create("ward", hb.Budget(3.0, 1e-8), filter="renyi"), filter_named("renyi")
    capacity = dataset.capacity
    for share in (0.1, 0.5, 0.9):
        left = remaining(dataset, rule.add(NOTHING, (share * capacity[0], 0.0)))
        told = re.search(r"is \((.+), 1e-08\)-diff", left.sentence)
        assert told is not None
        epsilon = float(told[1])  # four digits
        assert delta_at_order(capacity[2], left.amounts[0], epsilon * 1.0005) <= 1e-8
        assert delta_at_order(capacity[2], left.amounts[0], epsilon * 0.999) > 1e-8
    assert "One release" not in remaining(dataset, rule.add(NOTHING, capacity[:2])).sentence


def test_a_number_is_no_budget(ledger: hb.Ledger) -> None:
    with pytest.raises(InvalidParameter, match=r"such as hb\.Budget\(1\.0, 1e-9\), but a float was given"):
        ledger.create("ward", 1.0)


def test_a_missing_ledger_is_one_sentence_without_the_drivers_traceback(ledger: hb.Ledger) -> None:
    with pytest.raises(LedgerUnreachable, match="the file does not exist") as caught:
        ledger.charges("ward")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_path_is_answered_with_its_url() -> None:
    for given in ("books/privacy.db", Path("books/privacy.db")):
        with pytest.raises(InvalidParameter, match=r'"sqlite:///books/privacy\.db" for a file'):
            hb.Ledger(given)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="not a database URL") as caught:
        hb.Ledger("postgresql:/me:secret@host/books")
    assert "secret" not in str(caught.value)


def test_a_mistaken_unit_is_mended_in_the_domain(ledger: hb.Ledger) -> None:
    ledger.create("ward", hb.Budget(1.0, 1e-8))
    ledger.create("people", hb.Budget(1.0, 1e-8), unit="patient", records_per_unit=3)
    domain = {"features": {"age": (18, 90)}, "target": {"stay": (0, 30)}, "records": 10}
    table = [[20.0]]
    people = hb.Domain(**domain, unit="patient", records_per_unit=3)
    for dataset, declared, words in (
        ("ward", people, "Leave unit and records_per_unit out of the domain"),
        ("people", hb.Domain(**domain), "Declare unit='patient', records_per_unit=3 in the domain"),
    ):
        model = hb.Ridge(budget=hb.Budget(1.0, 1e-8), domain=declared, ledger=ledger, dataset=dataset)
        frame = pd.DataFrame(table, columns=["age"]).assign(patient="a", stay=1.0)
        with pytest.raises(RelationRefused, match=words):
            model.fit(frame)
        assert ledger.charges(dataset) == ()


def test_a_budget_of_another_kind_is_not_said_to_be_created(ledger: hb.Ledger) -> None:
    ledger.create("ward", hb.Budget(1.0, 1e-8))
    domain = hb.Domain(features={"age": (18, 90)}, target=(0, 30))
    model = hb.Ridge(budget=hb.Budget.gdp(0.1), domain=domain, ledger=ledger, dataset="ward")
    with pytest.raises(BudgetError, match=r"^Budget\.gdp\(0\.1\) was stated under the basic filter.*filter='gdp'"):
        model.fit([[20.0]], [1.0])


def test_records_print_as_sentences(ledger: hb.Ledger) -> None:
    terms = ledger.create("ward", hb.Budget(1.0, 1e-8))
    domain = hb.Domain(features={"age": (18, 90)}, target=(0, 30))
    terms_of_fit = {"budget": hb.Budget(1.0, 1e-8), "domain": domain, "ledger": ledger, "dataset": "ward"}
    hb.Ridge(**terms_of_fit, solver="moments").fit([[20.0]], [1.0])
    for record in (terms, ledger.remaining("ward"), ledger.charges("ward")[0]):
        assert str(record) == record.describe()
        assert str(record).startswith("ward")
    assert "sound" in str(ledger.verify())
