"""An object of JSON that has a key twice is refused by every reader of files: one reader takes the first value, another one the last."""

import ast
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.durable import sealed
from hullabaloo.errors import HullabalooError
from hullabaloo.ledger import rows
from hullabaloo.report.entries import entry_from_json
from hullabaloo.streaming import IncrementalRegression
from tests.laws.test_out_of_reach import BUDGET, CLASSES, DOMAIN, N, records

SOURCES = Path(hb.__file__).parent
OWN_TEXT = {
    "cli/stream_loop.py": "compares files that are kept; the model's reader refuses",
    "data/sources/json_lines.py": "records: no record may fail, and the last value counts",
    "durable/journal.py": "its own text",
    "ledger/store.py": "its own text",
    "ledger/streams.py": "its own text",
    "linear_model/own.py": "its own text",
    "noise/continual/design.py": "numbers that are shipped",
    "release/remembered.py": "numbers that this user's own processes kept, which no guarantee rests on",
    "report/cards.py": "the schema that is shipped",
    "reproduce/papers.py": "results that were recorded here",
    "structure/structure_files.py": "its own text",
}
"""Where JSON is read without the hook, and why."""


def _plain_readers(file: Path) -> bool:
    """Whether a module decodes JSON without the hook."""
    text = file.read_text(encoding="utf-8")
    if not re.search(r"\bjson\s*\.\s*(loads|load|JSONDecoder)\b", text):
        return False
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ("loads", "load", "JSONDecoder")
            and ast.unparse(node.value) == "json"
        ):
            line = ast.get_source_segment(text, node) or ""
            after = text[text.index(line, len("".join(text.splitlines(keepends=True)[: node.lineno - 1]))) :]
            if "object_pairs_hook=once" not in after.partition("\n")[0]:
                return True
    return False


def test_every_reader_of_files_has_the_hook() -> None:
    plain = {str(file.relative_to(SOURCES)) for file in SOURCES.rglob("*.py") if _plain_readers(file)}
    assert plain == set(OWN_TEXT)


def _documents(folder: Path) -> dict[Path, Callable[[Path], Any]]:
    table = records()
    model = hb.LogisticRegression(domain=CLASSES, budget=BUDGET, solver="gradient").fit(table)
    with IncrementalRegression(domain=DOMAIN, budget=BUDGET, horizon=N, every=500) as stream:
        stream.partial_fit(table)
        stream.model_at().save(folder / "stream.json")
    model.save(folder / "model.json")
    hb.evaluate(model, table, budget=BUDGET).save(folder / "evaluation.json")
    hb.private_bounds(table, outer=DOMAIN, budget=BUDGET).save(folder / "bounds.json")
    hb.report.card(model).to_json(folder / "card.json")
    (folder / "domain.json").write_text(json.dumps(DOMAIN.to_dict()))
    return {
        folder / "model.json": hb.load,
        folder / "stream.json": hb.streaming.load,
        folder / "evaluation.json": hb.Evaluation.load,
        folder / "bounds.json": hb.PrivateBounds.load,
        folder / "card.json": hb.report.card_from_json,
        folder / "domain.json": hb.Domain.from_json,
    }


def test_no_document_with_a_key_twice_is_read(tmp_path: Path) -> None:
    for place, read in _documents(tmp_path).items():
        text = place.read_text(encoding="utf-8")
        read(place)
        for found in [*re.finditer(r'"(\w+)": (true|false|null|-?[\d.e+-]+|"[^"\\]*")(?=[,\n }])', text)][::13]:
            place.write_text(f"{text[: found.start()]}{found[0]}, {text[found.start() :]}", encoding="utf-8")
            for reader in (read, entry_from_json) if place.stem in ("evaluation", "bounds") else (read,):
                with pytest.raises(HullabalooError, match="JSON") as refused:
                    reader(place)
                assert found[1] not in str(refused.value).replace(str(place), "").split()


def test_no_state_and_no_row_of_a_ledger_with_a_key_twice_is_read(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with IncrementalRegression(domain=DOMAIN, budget=BUDGET, horizon=N, every=500, state=state) as stream:
        stream.partial_fit(records().iloc[:600])
    whole = state.read_bytes()
    for name in (b'"position":', b'"library":', b'"token":'):
        at = whole.index(name)
        value = whole[at : min(whole.index(end, at) for end in (b",", b"}") if end in whole[at:])]
        body = (whole[:at] + value + b"," + whole[at:])[:-32]
        with pytest.raises(hb.errors.StateError, match="damaged"):
            sealed.from_bytes(body + hashlib.sha256(body).digest(), None, state)
    with pytest.raises(rows.Garbled):
        rows._json('{"mu": 1.0, "mu": 0.01}')
