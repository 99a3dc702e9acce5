"""The document: valid, complete, honest about what it does not know, and a function of public things alone."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter, LedgerError
from hullabaloo.privacy import epsilon_of, event_from_dict
from tests.report.conftest import DATASET, HOSTILE, KEY, domain, fitted

VALIDATOR = jsonschema.Draft202012Validator(hb.report.schema())


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(hb.report.schema())


@pytest.mark.few(1)
def test_every_card_follows_the_schema_and_survives_json(model: Any, tmp_path: Path) -> None:
    card = hb.report.card(model)
    text = card.to_json(tmp_path / "card.json")
    assert (tmp_path / "card.json").read_text(encoding="utf-8") == text
    VALIDATOR.validate(json.loads(text))
    assert hb.report.card_from_json(tmp_path / "card.json").to_dict() == card.to_dict() == json.loads(text)


def test_to_dict_is_a_copy(plain: Any) -> None:
    card = hb.report.card(plain)
    card.to_dict()["guarantee"]["epsilon"] = 0.0
    assert card.to_dict()["guarantee"]["epsilon"] == plain.statement_.epsilon()


def test_the_guarantee_follows_from_the_event(model: Any) -> None:
    card = hb.report.card(model)
    assert card.check() == ()
    stated = card.to_dict()["guarantee"]
    if card.document["private"]:
        assert epsilon_of(event_from_dict(stated["event"]), stated["delta"]) == stated["epsilon"]
        assert stated["epsilon"] <= model.budget.epsilon


@pytest.mark.parametrize("place", ["epsilon", "mu", "readings", "groups", "other_deltas"])
@pytest.mark.few(3)
def test_an_altered_number_is_found(plain: Any, tmp_path: Path, place: str) -> None:
    altered = hb.report.card(plain).to_dict()
    stated = altered["guarantee"]
    if place == "readings":
        stated[place]["best_guess"] *= 0.99
    elif place in {"groups", "other_deltas"}:
        stated[place][1]["epsilon"] *= 0.99
    else:
        stated[place] *= 0.99
    (tmp_path / "card.json").write_text(json.dumps(altered))
    (problem,) = hb.report.card_from_json(tmp_path / "card.json").check()
    assert place in problem


def test_a_private_claim_on_a_card_that_is_not_private_is_found(bare: Any, tmp_path: Path) -> None:
    altered = hb.report.card(bare).to_dict()
    altered["guarantee"]["epsilon"] = 1.0
    (tmp_path / "card.json").write_text(json.dumps(altered))
    assert hb.report.card_from_json(tmp_path / "card.json").check()


def test_the_commands_on_the_card_do_what_they_say(plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = hb.report.card(plain)
    card.to_json(tmp_path / "card.json")
    monkeypatch.chdir(tmp_path)
    said: list[Any] = []
    for one in card.to_dict()["check"]:
        if one["language"] == "python":
            exec(one["type"], {"print": said.append})  # the text that a reader is told to type
    assert said[0] == ()
    assert said[1] == pytest.approx(plain.statement_.delta, rel=1e-6)


def test_coefficients_are_the_released_ones_with_their_noise(plain: Any) -> None:
    rows = hb.report.card(plain).to_dict()["coefficients"]["rows"]
    assert [row["coefficient"] for row in rows] == [*plain.coef_, plain.intercept_]
    for row, known in zip(rows, plain.summary().rows, strict=True):
        assert row["privacy_std"] == (None if math.isnan(known.privacy_error) else known.privacy_error) != 0.0
        assert (row["low"], row["high"]) == tuple(None if math.isnan(end) else end for end in (known.low, known.high))
    assert {row["name"]: row["span"] for row in rows}["age"] == 62.0
    assert rows[-1]["span"] is None


def test_a_solver_without_error_estimates_says_so(gradient: Any) -> None:
    rows = hb.report.card(gradient).to_dict()["coefficients"]["rows"]
    assert all(row["low"] is None for row in rows)


@pytest.mark.parametrize("name", ["bare", "keyed"])
def test_a_model_without_privacy_has_none_of_its_numbers_on_the_card(name: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(name)
    card = hb.report.card(model).to_dict()
    assert card["warnings"][0]["head"] == "NOT PRIVATE"
    assert card["coefficients"] is None
    assert card["guarantee"]["readings"] is None
    text = json.dumps(card)
    for number in [*model.coef_, model.intercept_, *model.release_.theta.ravel()]:
        assert number == 0.0 or repr(float(number)) not in text


def test_an_unrecorded_fit_says_first_that_nothing_counts(plain: Any) -> None:
    first = hb.report.card(plain).to_dict()["warnings"][0]
    assert first["kind"] == "not-recorded"
    assert "nothing counts" in first["text"]


def test_the_ledger_section(recorded: Any, ledger: hb.Ledger) -> None:
    card = hb.report.card(recorded, ledger=ledger).to_dict()
    assert card["warnings"] == []
    money = card["ledger"]
    assert (money["status"], money["dataset"], money["charge"]) == ("read", DATASET, 2)
    assert [one["what"] for one in money["charges"]] == ["Lasso", "Ridge"]
    assert money["shares"] == pytest.approx({"this": 0.25, "others": 0.125, "left": 0.625})
    assert money["remaining_amounts"] == list(ledger.remaining(DATASET).amounts)
    assert money["together"]["epsilon"] > card["guarantee"]["epsilon"]
    assert "who" not in money["charges"][0]
    assert hb.report.card(recorded).to_dict() == hb.report.card(recorded, ledger=ledger.url).to_dict() == card


@pytest.mark.parametrize("rule", ["gdp", "renyi"])
def test_shares_add_up_as_the_filter_does(rule: str, tmp_path: Path) -> None:
    book = hb.Ledger(f"sqlite:///{tmp_path}/p.db")
    book.create("d", hb.Budget(2.0, 1e-6), neighbours="replace-one", filter=rule)
    models = [fitted(ledger=book, dataset="d", budget=hb.Budget(0.7, 1e-7)) for _ in range(2)]
    shares = hb.report.card(models[0]).to_dict()["ledger"]["shares"]
    assert shares["this"] == pytest.approx(shares["others"], rel=1e-6)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert 0.0 < shares["left"] < 1.0


def test_a_saved_model_gives_the_same_card(recorded: Any, tmp_path: Path) -> None:
    recorded.save(tmp_path / "model.json")
    loaded = hb.load(tmp_path / "model.json")
    assert hb.report.card(loaded).to_dict() == hb.report.card(recorded).to_dict()


def test_a_ledger_that_is_gone_is_said_on_the_card_or_raised_when_asked_for(tmp_path: Path) -> None:
    book = hb.Ledger(f"sqlite:///{tmp_path}/p.db")
    book.create("d", hb.Budget(1.0, 1e-6), neighbours="replace-one")
    model = fitted(ledger=book, dataset="d")
    for file in tmp_path.iterdir():
        file.unlink()
    card = hb.report.card(model).to_dict()
    assert card["ledger"]["status"] == "unreachable"
    assert card["warnings"][0]["kind"] == "ledger-unreachable"
    VALIDATOR.validate(card)
    with pytest.raises(LedgerError):
        hb.report.card(model, ledger=book)


def test_another_release_in_the_charge_s_place_is_refused(recorded: Any, tmp_path: Path) -> None:
    other = hb.Ledger(f"sqlite:///{tmp_path}/p.db")
    other.create(DATASET, hb.Budget(4.0, 1e-5), neighbours="replace-one")
    for _ in range(2):
        fitted(budget=hb.Budget(0.25, 1e-7), ledger=other, dataset=DATASET)
    with pytest.raises(InvalidParameter, match="no charge 2"):
        hb.report.card(recorded, ledger=other)


def test_a_card_after_a_backup_was_put_back_claims_no_other_charge(tmp_path: Path) -> None:
    """Two releases of equal events: the card of the one whose row is gone showed the other's row, and its time, as "this release"."""
    book, file = hb.Ledger(f"sqlite:///{tmp_path}/p.db"), tmp_path / "p.db"
    book.create("d", hb.Budget(4.0, 1e-5), neighbours="replace-one")
    backup = file.read_bytes()
    lost = fitted(ledger=book, dataset="d")
    file.write_bytes(backup)
    kept = fitted(ledger=book, dataset="d")
    assert hb.report.card(kept).to_dict()["ledger"]["status"] == "read"
    card = hb.report.card(lost).to_dict()
    assert card["ledger"]["status"] == "mismatch"
    assert card["ledger"]["charges"] == []
    assert card["warnings"][0]["kind"] == "ledger-mismatch"
    VALIDATOR.validate(card)
    with pytest.raises(InvalidParameter, match="no charge 1"):
        hb.report.card(lost, ledger=book)


def test_a_ledger_for_an_unrecorded_model_is_refused(plain: Any, ledger: hb.Ledger) -> None:
    with pytest.raises(InvalidParameter, match="fitted without one"):
        hb.report.card(plain, ledger=ledger)


def test_what_is_no_fitted_model_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="has not been fitted"):
        hb.report.card(hb.Ridge(budget=hb.Budget(1.0, 1e-6), domain=domain()))
    with pytest.raises(InvalidParameter, match="no estimator"):
        hb.report.card(object())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "not JSON"), ("[]", "no privacy card"), ('{"format": "hullabaloo model"}', "hb.load"),
     ('{"format": "hullabaloo privacy card", "format_version": 99}', "format version 99"),
     ('{"format": "hullabaloo privacy card", "format_version": 1}', "missing or malformed")],
)  # fmt: skip
def test_what_is_no_card_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "card.json").write_text(text)
    with pytest.raises(InvalidParameter, match=says):
        hb.report.card_from_json(tmp_path / "card.json")
    with pytest.raises(InvalidParameter, match="no privacy card of Hullabaloo at"):
        hb.report.card_from_json(tmp_path / "elsewhere.json")


def _without(card: dict[str, Any], *, noisy: bool) -> dict[str, Any]:
    """A card without the time of its release and, where asked, without the numbers that contain noise."""
    card["model"].pop("made")
    if noisy and card["coefficients"] is not None:
        for row in card["coefficients"]["rows"]:
            for name in (
                "coefficient",
                "estimate",
                "privacy_std",
                "sampling_std",
                "std_error",
                "statistic",
                "p_value",
                "low",
                "high",
            ):
                row.pop(name)
    return card


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["moments", "gradient"])
def test_under_add_or_remove_nothing_but_noisy_answers_depends_on_the_number_of_rows(solver: str) -> None:
    models = [fitted(rows=rows, neighbours="add-or-remove", solver=solver, test_key=KEY) for rows in (400, 401)]
    left, right = (_without(hb.report.card(model).to_dict(), noisy=False) for model in models)
    assert left == right
    cards = []
    for model in models:  # as if it had been released: the layout of a private card, with noise that can be replayed
        model.statement_ = replace(model.statement_, not_private="")
        model.release_ = replace(model.release_, statement=model.statement_)
        cards.append(hb.report.card(model).to_dict())
    assert cards[0]["coefficients"]["rows"] != cards[1]["coefficients"]["rows"]
    assert _without(cards[0], noisy=True) == _without(cards[1], noisy=True)


def test_a_unit_of_several_records_is_named() -> None:
    X, y = __import__("tests.report.conftest", fromlist=["table"]).table()
    X["who"] = [f"p{i // 2}" for i in range(len(X))]
    declared = domain(unit="who", records_per_unit=2)
    card = hb.report.card(hb.Ridge(budget=hb.Budget(1.0, 1e-6), domain=declared, solver="moments").fit(X, y)).to_dict()
    assert "who" in card["guarantee"]["unit_text"]
    assert not card["guarantee"]["records_public"]
    assert any(row["role"] == "unit of privacy" for row in card["domain"]["rows"])
    VALIDATOR.validate(card)


def test_large_epsilon_and_delta_are_called_weak() -> None:
    card = hb.report.card(fitted(budget=hb.Budget(30.0, 0.01))).to_dict()
    assert {"weak", "large-delta"} <= {one["kind"] for one in card["warnings"]}
    assert "weak" in card["plain"]["headline"]


@pytest.mark.parametrize("budget", [hb.Budget.gdp(0.3), hb.Budget.zcdp(0.02)])
def test_budgets_of_other_kinds(budget: hb.Budget) -> None:
    card = hb.report.card(fitted(budget=budget))
    VALIDATOR.validate(card.to_dict())
    assert card.check() == ()
    assert "δ was chosen" in card.document["plain"]["delta"]


def test_under_add_or_remove_the_odds_of_a_value_are_those_of_two_steps(hidden: Any, plain: Any) -> None:
    """Two values of one record are a removal and an addition apart: the card must not promise more."""
    hidden_lines, plain_lines = (hb.report.card(model).document["plain"]["cannot"] for model in (hidden, plain))
    (line,) = [line for line in hidden_lines if "what any one record says" in line]
    assert "row for 2" in line
    assert "With more confidence than the odds above: what any one record says." in plain_lines
    assert [one["k"] for one in hb.report.card(hidden).document["guarantee"]["groups"]] == [1, 2, 5, 10]


def test_hostile_names_are_kept_as_they_are_in_json(plain: Any) -> None:
    assert HOSTILE in hb.report.card(plain).to_dict()["model"]["features"]


def test_prints_as_a_short_text(model: Any) -> None:
    card = hb.report.card(model)
    assert ("NOT PRIVATE" in str(card)) is not card.document["private"]
    assert card.document["plain"]["headline"] in str(card)


@pytest.mark.parametrize("value", ["gone", None, "x", {}])
@pytest.mark.parametrize(
    "place", ["guarantee/readings", "ledger/shares", "model/targets", "coefficients/rows", "mechanism/queries", "trust"]
)
@pytest.mark.few(4)
def test_an_edited_card_is_refused_or_shown(plain: Any, tmp_path: Path, place: str, value: Any) -> None:
    """What an edit left is tried out where it is read: a page of it ended in a traceback of its template or of its pictures."""
    edited = hb.report.card(plain).to_dict()
    *outer, name = place.split("/")
    within = edited[outer[0]] if outer else edited
    within.pop(name, None)
    if value != "gone":
        within[name] = value
    (tmp_path / "card.json").write_text(json.dumps(edited))
    try:
        read = hb.report.card_from_json(tmp_path / "card.json")
    except InvalidParameter:
        return
    assert str(read)
    assert read.to_html()
