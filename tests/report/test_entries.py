"""What else was released from the same records: shown, added up where that means something, and checked."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import compose, epsilon_of
from tests.report.conftest import HOSTILE, KEY, fitted, table

VALIDATOR = jsonschema.Draft202012Validator(hb.report.schema())


def bounds(**more: Any) -> hb.PrivateBounds:
    X, y = table()
    outer = hb.Domain(features={"age": (0, 1e4), HOSTILE: (0, 1e4), "job": ["nurse", "clerk"]}, target=(0, 1e4))
    arguments = {"outer": outer, "budget": hb.Budget(0.5, 1e-7), "quantiles": (0.05, 0.95)} | more
    return hb.private_bounds(X, y, **arguments)


@pytest.fixture(scope="module")
def bought() -> hb.PrivateBounds:
    return bounds()


@pytest.fixture
def book(tmp_path: Path) -> hb.Ledger:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    for name in ("here", "elsewhere"):
        ledger.create(name, hb.Budget(4.0, 1e-5), neighbours="replace-one")
    return ledger


def test_a_card_without_entries_has_no_such_section(plain: Any) -> None:
    card = hb.report.card(plain)
    assert card.to_dict()["also"] is None
    assert "Also released" not in card.to_html()


def test_no_card_says_that_bounds_which_were_bought_are_not_from_the_records(
    plain: Any, bought: hb.PrivateBounds, book: hb.Ledger
) -> None:
    """Whether the card is told of them, or finds them in the ledger before the fit."""
    declared = hb.report.card(plain).to_dict()
    assert "come from knowledge that is not of these records" in declared["trust"]["assumptions"][0]
    assert "or released beforehand under differential privacy" not in declared["methods"]
    charged = {"ledger": book, "dataset": "here"}
    alone = fitted(**charged)
    bounds(**charged)
    after, later = hb.report.card(alone), hb.report.card(fitted(**charged))
    for card, said in ((hb.report.card(plain, entries=[bought]), True), (later, True), (after, False)):
        document = card.to_dict()
        assert ("bought privately" in document["trust"]["assumptions"][0]) is said
        assert ("or released beforehand under differential privacy" in document["methods"]) is said


def test_entries_are_shown_with_their_cost_and_the_total(plain: Any, bought: hb.PrivateBounds) -> None:
    card = hb.report.card(plain, entries=[bought])
    document = card.to_dict()
    VALIDATOR.validate(document)
    assert card.check() == ()
    (one,), together = document["also"]["entries"], document["also"]["together"]
    assert one["epsilon"] == bought.statement.epsilon()
    assert one["table"]["body"][0][0] == "age"
    event = compose(plain.statement_.event, bought.statement.event)
    assert together["epsilon"] == epsilon_of(event, 1e-6) > plain.statement_.epsilon()
    assert together["delta"] == 1e-6
    assert together["releases"] == 2
    assert "Not all are recorded" in document["also"]["text"]
    page = card.to_html()
    assert "Also released from these records" in page
    assert HOSTILE not in page
    assert "Private bounds of columns" in str(card)


def test_releases_of_one_dataset_add_up(book: hb.Ledger) -> None:
    model = fitted(ledger=book, dataset="here")
    own, other = bounds(ledger=book, dataset="here"), bounds(ledger=book, dataset="elsewhere")
    also = hb.report.card(model, entries=[own, other, own]).to_dict()["also"]
    assert [one["counted"] for one in also["entries"]] == [True, False, False]
    assert "another dataset" in also["entries"][1]["note"]
    assert "counted once" in also["entries"][2]["note"]
    assert also["together"]["releases"] == 2
    assert "All that are added up are charged to dataset 'here'" in also["text"]
    assert "what is not added up comes on top" in also["text"]
    alone = hb.report.card(model, entries=[own, own]).to_dict()["also"]
    assert "All are charged to dataset 'here'" in alone["text"]
    assert "everything in this section" in alone["text"]
    also = hb.report.card(model, entries=[other]).to_dict()["also"]
    assert also["together"] is None
    assert "comes on top" in also["text"]


def test_two_releases_of_one_second_are_two(plain: Any, bought: hb.PrivateBounds) -> None:
    # Two models' evaluations say the same of themselves, to the second: what tells them apart is that they are two objects.
    again = replace(bought, statement=replace(bought.statement))
    assert again.statement.to_dict() == bought.statement.to_dict()
    also = hb.report.card(plain, entries=[bought, again, bought]).to_dict()["also"]
    assert [one["counted"] for one in also["entries"]] == [True, True, False]
    events = (plain.statement_.event, bought.statement.event, bought.statement.event)
    assert also["together"]["epsilon"] == epsilon_of(compose(*events), 1e-6)


def test_the_models_own_release_is_not_counted_twice(plain: Any) -> None:
    search = SimpleNamespace(
        statement=plain.statement_, card_entry=lambda: {"title": "Search", "lines": [], "table": None}
    )
    also = hb.report.card(plain, entries=[search]).to_dict()["also"]
    assert also["entries"][0]["counted"] is False
    assert also["together"] is None


def test_another_relation_does_not_add_up(hidden: Any, bought: hb.PrivateBounds) -> None:
    also = hb.report.card(hidden, entries=[bought]).to_dict()["also"]
    assert also["together"] is None
    assert "another relation" in also["entries"][0]["note"]
    assert "comes on top" in also["text"]


def test_an_entry_without_privacy_has_none_of_its_numbers(plain: Any) -> None:
    keyed = bounds(test_key=KEY)
    card = hb.report.card(plain, entries=[keyed])
    document = card.to_dict()
    VALIDATOR.validate(document)
    assert document["warnings"][-1]["head"] == "NOT PRIVATE"
    assert document["also"]["entries"][0]["table"] is None
    assert document["also"]["together"] is None
    for _, low, high in keyed.found:
        assert f"{high:.6g}" not in json.dumps(document["also"]), low
    assert "NOT PRIVATE" in card.to_html()
    assert card.check() == ()


def test_an_entry_beside_a_model_without_privacy(bare: Any, bought: hb.PrivateBounds) -> None:
    card = hb.report.card(bare, entries=[bought])
    VALIDATOR.validate(card.to_dict())
    assert card.to_dict()["also"]["together"] is None
    assert card.check() == ()


@pytest.mark.few(2)
@pytest.mark.parametrize("place", ["entry", "together", "releases", "counted"])
def test_an_altered_number_is_found(plain: Any, bought: hb.PrivateBounds, tmp_path: Path, place: str) -> None:
    document = hb.report.card(plain, entries=[bought]).to_dict()
    if place == "entry":
        document["also"]["entries"][0]["epsilon"] *= 0.9
    elif place == "counted":
        document["also"]["entries"][0]["counted"] = False
    else:
        document["also"]["together"]["epsilon" if place == "together" else place] *= 2
    (tmp_path / "card.json").write_text(json.dumps(document))
    (problem,) = hb.report.card_from_json(tmp_path / "card.json").check()
    assert "events give" in problem or "event gives" in problem


def test_cards_of_before_can_still_be_read(plain: Any, tmp_path: Path) -> None:
    document = hb.report.card(plain).to_dict()
    del document["also"]
    (tmp_path / "card.json").write_text(json.dumps(document))
    old = hb.report.card_from_json(tmp_path / "card.json")
    VALIDATOR.validate(old.to_dict())
    assert old.check() == ()
    assert "Also released" not in old.to_html()
    assert str(old)


def test_entries_from_files(bought: hb.PrivateBounds, tmp_path: Path) -> None:
    bought.save(tmp_path / "bounds.json")
    back = hb.report.entry_from_json(tmp_path / "bounds.json")
    assert back.to_dict() == bought.to_dict()
    cut = {key: value for key, value in bought.to_dict().items() if key != "statement"}
    for text, words in (("{", "JSON"), ("[1]", "is JSON, but no evaluation"), (json.dumps(cut), "changed or cut off")):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InvalidParameter, match=words):
            hb.report.entry_from_json(tmp_path / "bad.json")


def test_what_is_no_entry_is_refused(plain: Any, bought: hb.PrivateBounds) -> None:
    with pytest.raises(InvalidParameter, match="no privacy statement"):
        hb.report.card(plain, entries=[{"epsilon": 0.0}])
    with pytest.raises(InvalidParameter, match=r"a PrivateBounds was given\. Put it into a list"):
        hb.report.card(plain, entries=bought)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="an int, which is no estimator"):
        hb.report.card(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="has the fields"):
        hb.report.card(plain, entries=[SimpleNamespace(statement=bought.statement, card_entry=dict)])
