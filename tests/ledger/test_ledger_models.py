"""Everything that is charged carries its row's head, and `ledger verify --model` looks for it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.cli.app import app
from hullabaloo.release import PrivacyStatement

BUDGET = hb.Budget(1.0, 1e-6)
DOMAIN = hb.Domain(features={"a": (-1, 1)}, target=(-1, 1), indicators=False)
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (200, 1))
Y = 0.5 * X[:, 0]


@pytest.fixture
def ledger(tmp_path: Path) -> hb.Ledger:
    made = hb.Ledger(f"sqlite:///{tmp_path / 'privacy.db'}")
    made.create("people", hb.Budget(20.0, 1e-4))
    return made


def _fit(where: dict[str, Any]) -> Any:
    return hb.Ridge(budget=BUDGET, domain=DOMAIN, solver="moments", **where).fit(X, Y)


def _stream(where: dict[str, Any], state: Path | None = None) -> Any:
    stream = hb.streaming.IncrementalRegression(
        budget=BUDGET, domain=DOMAIN, horizon=20, every=10, state=state, **where
    )
    stream.partial_fit(X[:10], Y[:10])
    model = stream.model_at()
    stream.close()
    return model


def _search(where: dict[str, Any]) -> Any:
    grid = {"penalty": [hb.SquaredL2Penalty(0.1), hb.SquaredL2Penalty(1.0)]}
    return hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN, solver="moments"), grid, budget=BUDGET, **where).fit(X, Y)


def test_fits_streams_and_searches_carry_their_row(ledger: hb.Ledger, tmp_path: Path) -> None:
    where: dict[str, Any] = {"ledger": ledger, "dataset": " people "}
    models = [_fit(where), _stream(where), _search(where), _stream(where, tmp_path / "state")]
    rows = ledger.charges("people")
    for model, row in zip(models, rows, strict=True):
        said = model.statement_
        assert (said.dataset, said.charge, said.database, said.head) == ("people", row.number, row.database, row.head)
        assert PrivacyStatement.from_dict(json.loads(json.dumps(said.to_dict()))) == said
        assert row.head not in str(said), "people read sentences"
    assert ledger.verify(models=models).findings == ()
    wrong = replace(models[0].statement_, head="0" * 64)
    assert [one.number for one in ledger.verify(models=[wrong]).findings] == [1]


def test_statements_of_older_versions_load(ledger: hb.Ledger) -> None:
    said = _fit({"ledger": ledger, "dataset": "people"}).statement_.to_dict()
    old = PrivacyStatement.from_dict({name: value for name, value in said.items() if name not in ("database", "head")})
    (finding,) = ledger.verify(models=[old]).findings
    assert (finding.severity, old.head) == ("note", None)
    assert "head" not in old.to_dict()


def test_the_command_names_the_model_whose_row_is_gone(
    ledger: hb.Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where: dict[str, Any] = {"ledger": ledger, "dataset": "people"}
    file, backup = Path(ledger.url.removeprefix("sqlite:///")), tmp_path / "backup.db"
    places = [tmp_path / "fit.json", tmp_path / "stream.json"]
    _fit(where).save(places[0])
    shutil.copy(file, backup)
    _stream(where).save(places[1])
    command = ["ledger", "verify", ledger.url, *(word for place in places for word in ("--model", str(place)))]
    for code, says in ((0, "sound"), (5, "stream.json was row 2: at least 1 row(s) are missing")):
        with pytest.raises(SystemExit) as ended:
            app(command)
        assert ended.value.code == code
        assert says in " ".join(capsys.readouterr().out.split())
        shutil.copy(backup, file)


@pytest.mark.parametrize("kind", [_fit, _stream, _search])
def test_a_model_that_says_otherwise_what_was_charged_is_found(ledger: hb.Ledger, kind: Any) -> None:
    """Noise a hundred times as large, another budget, relation or unit: the card and the summary of such a file read well."""
    said = kind({"ledger": ledger, "dataset": "people"}).statement_
    edits: dict[str, Any] = {
        "event": hb.privacy.GaussianEvent(100.0),
        "budget": hb.Budget(0.01, 1e-9),
        "neighbours": hb.privacy.Neighbours.ADD_OR_REMOVE,
        "unit": "patient",
        "records_per_unit": 2,
    }
    assert ledger.verify(models=[said]).findings == ()
    for name, value in edits.items():
        (finding,) = ledger.verify(models=[replace(said, **{name: value})]).findings
        assert (finding.severity, finding.number) == ("fault", said.charge)
        assert f"says of its {name.replace('_', ' ')}: the model was edited" in finding.text
