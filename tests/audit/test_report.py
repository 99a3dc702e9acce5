"""`hb.audit` as people meet it: what it says, what it refuses, what it leaves alone; and the command line."""

import inspect
import json
import math
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.audit import AuditReport
from hullabaloo.audit.canary import BACKGROUND, EXPECTED, Record, made, pairs, surroundings
from hullabaloo.audit.estimator import Asked
from hullabaloo.audit.evidence import Evidence
from hullabaloo.curator import MomentsQuery
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from tests.cli.conftest import Run, run  # noqa: F401  # a fixture

KEY = TestKey(bytes(range(32)))
DOMAIN = hb.Domain(features={"age": (18, 90), "ward": ["a", "b", "c"]}, target=(0, 30), records=500)
TOML = """
records = 500
target = [0, 30]
[features]
age = [18, 90]
"""


def model(**changed: Any) -> hb.Ridge:
    return hb.Ridge(**{"budget": hb.Budget(1.0, 1e-6), "domain": DOMAIN, "solver": "moments", **changed})


@pytest.fixture(scope="module")
def report() -> AuditReport:
    return hb.audit(model(), runs=60, test_key=KEY)


def test_a_report_says_what_was_found(report: AuditReport) -> None:
    text = str(report)
    assert report.verdict in text
    assert "mu is at least" in text
    assert "probability at most 1e-8" in text
    assert report.canary in text
    assert report._repr_html_().startswith("<p>")
    assert report.epsilon == pytest.approx(1.0, rel=1e-6)
    assert report.passed
    assert not report.caught
    assert not report.weak
    assert "passed" not in repr(report)


def test_a_report_is_saved_as_json(report: AuditReport, tmp_path: Path) -> None:
    report.save(tmp_path / "audit.json")
    found = json.loads((tmp_path / "audit.json").read_text())
    assert found["passed"] is True
    assert found["mu_realised"] == report.mu_realised
    assert {check["name"] for check in found["checks"]} >= {"size", "size along the canary"}


def test_runs_are_those_of_the_key() -> None:
    one, two = (hb.audit(model(), runs=20, test_key=key).to_dict() for key in (KEY, bytes(range(32))))
    assert {**one, "seconds": 0} == {**two, "seconds": 0}


def test_blocks_of_runs_add_up_to_all_of_them() -> None:
    asked = Asked(model(), None, 2, None, KEY)
    subject = asked.subject()
    whole, parts = Evidence(subject, "transcript"), Evidence(subject, "transcript")
    for run_ in range(24):
        whole.runs.take(subject, "transcript", run_ % 2, KEY.derive(run_))
    for start in (0, 10, 20):
        parts.runs.merge(asked.tally(subject, "transcript", range(start, min(start + 10, 24))))
    assert whole.runs.rho == parts.runs.rho
    assert whole.bounds(0.05) == parts.bounds(0.05)
    assert whole.faults() == parts.faults() == ()
    for one, other in zip(whole.runs.checks(), parts.runs.checks(), strict=True):
        assert (one.name, one.count, one.fine) == (other.name, other.count, other.fine)
        assert one.value == pytest.approx(other.value, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["moments", "output_perturbation"])
def test_several_processes_find_what_one_does(solver: str, tmp_path: Path) -> None:
    """Neither a ledger nor a key of the estimator goes with it."""
    private = {"ledger": f"sqlite:///{tmp_path / 'ledger.db'}", "dataset": "d"}
    one, two = (
        hb.audit(model(solver=solver, **private), runs=301, processes=processes, test_key=KEY).to_dict()
        for processes in (1, 2)
    )
    assert {**one, "seconds": 0.0} == {**two, "seconds": 0.0}


def test_nothing_is_charged_and_no_file_is_touched(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/privacy.db"
    found = hb.audit(model(ledger=url, dataset="wards"), runs=4, test_key=KEY)
    assert any("nothing was charged" in note for note in found.notes)
    assert not list(tmp_path.iterdir())


def test_the_room_and_the_function_have_one_name() -> None:
    import hullabaloo.audit as room

    assert callable(room)
    assert room(model(), runs=4, test_key=KEY).runs == 4


def test_what_a_paper_claims_is_not_what_is_audited() -> None:
    about = {"constraint": hb.L2Ball(1.0), "solver": "mirror_descent", "calibration": "paper"}
    found = hb.audit(hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, **about), runs=6, test_key=KEY)
    assert not found.caught
    assert any("paper" in note for note in found.notes)


@pytest.mark.parametrize(
    ("changed", "options", "words"),
    [
        ({"budget": hb.Budget(math.inf)}, {}, "claims nothing"),
        ({}, {"runs": 1}, "whole number"),
        ({}, {"runs": True}, "whole number"),
        ({}, {"confidence": 1.0}, "confidence"),
        ({}, {"method": "guess"}, "method"),
        ({}, {"processes": 0}, "processes"),
        ({"domain": None}, {}, "needs a domain"),
    ],
    ids=str,
)
def test_refusals(changed: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        hb.audit(model(**changed), **options)


def test_something_else_than_an_estimator_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="one of Hullabaloo's estimators"):
        hb.audit("moments")


def test_a_subject_is_not_sent_to_other_processes() -> None:
    subject = Asked(model(), None, 2, None, KEY).subject()
    with pytest.raises(InvalidParameter, match="cannot be sent to another process"):
        hb.audit(subject, processes=2)


def test_a_weak_canary_does_not_pass() -> None:
    near = (Record((60.0, "a"), (15.0,), "one"), Record((60.0, "a"), (15.5,), "another"))
    found = hb.audit(model(), runs=4, canary=made(DOMAIN, *near), test_key=KEY)
    assert found.weak
    assert not found.passed
    assert not found.caught
    assert "too weak" in found.verdict


@pytest.mark.slow
def test_a_black_box_of_few_runs_does_not_pass() -> None:
    found = hb.audit(model(), runs=8, method="released", test_key=KEY)
    assert not found.caught
    assert found.blind
    assert not found.passed
    assert "so few runs" in found.verdict
    assert found.to_dict()["passed"] is False
    assert not hb.audit(
        model(), runs=200, method="released", test_key=KEY
    ).blind  # 50 of either table, judged without an error, prove it


def test_canaries_are_made_from_declarations() -> None:
    tried = list(pairs(DOMAIN, Neighbours.REPLACE_ONE, 2))
    assert len(tried) == 15
    cells = {cell for canary in tried for cell in canary.table(0)["table"][0]}
    assert cells == {18.0, 90.0, "a", "c"}
    assert all(len(canary.table(1)["table"]) == 0 for canary in pairs(DOMAIN, Neighbours.ADD_OR_REMOVE, 2))
    around = list(surroundings(tried[0], 2))
    assert sorted(len(canary.around) for canary in around) == [1] * 3 + [8] * 3 + [64] * 3
    assert all(canary.domain.records == 1 + len(canary.around) for canary in around)


def test_the_command_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    (tmp_path / "domain.toml").write_text(TOML)
    asked = ("audit", "--domain", "domain.toml", "--solver", "moments", "--epsilon", 2, "--delta", 1e-6, "--runs", 10)
    assert "hullabaloo audit" in run("audit", "--help").out
    done = run(*asked, "--out", "report.json")
    assert done.code == 0
    assert "Nothing contradicts the claim" in done.out
    assert json.loads((tmp_path / "report.json").read_text())["passed"] is True
    assert run(*asked, "--out", "report.json").code == 1  # it exists
    assert run(*asked, "--json").json["report"]["solver"] == "moments"
    stated = MomentsQuery.record_sensitivity.func
    monkeypatch.setattr(MomentsQuery, "record_sensitivity", property(lambda query: 0.5 * stated(query)))
    done = run(*asked)
    assert done.code == 5
    assert "NOT PRIVATE AS CLAIMED" in done.out
    assert run(*asked, "--json").json["report"]["passed"] is False


def test_a_crowd_drives_slopes_to_their_bound() -> None:
    """A classifier's slope at the start is half of its bound, and few records do not move it far in a few steps of so much noise."""
    domain = hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, classes=["no", "yes"], records=500)
    about: dict[str, Any] = {"budget": hb.Budget(1.0, 1e-5), "domain": domain, "fit_intercept": False}
    asked = hb.LogisticRegression(neighbours="add-or-remove", solver="gradient", **about)
    found = hb.audit(asked, runs=20, test_key=KEY)
    assert found.mu is not None
    assert found.mu_realised > 0.93 * found.mu
    assert not found.faults
    assert f"beside {BACKGROUND} of" in found.canary
    assert found.records == EXPECTED


def test_its_signature_is_that_of_the_function() -> None:
    assert list(inspect.signature(hb.audit).parameters) == list(inspect.signature(hb.audit.audit).parameters)  # type: ignore[attr-defined]
    assert "estimator" in inspect.signature(hb.audit).parameters
