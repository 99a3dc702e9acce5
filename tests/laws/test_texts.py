"""One gate for texts: what stands in a file, or in a table's names, levels and types, is in no message, warning, log, traceback or answer.

A file without a line of names has its first record there, and one with a torn quote may have all of them. So a text of a table is a type
that cannot be formatted (`data/table.py`), and here is the law that it closes: tables with a mark in every place that a reader reads
go through everything public that takes a table and through every command, in every position of its line. Nothing heard may hold a mark,
and what is refused is refused in the same words when the marks are others. `domain template` shows names, which is what it is for; it
shows no record after the first line and nothing that acts on a terminal.
"""

import ast
import copy
import json
import pickle
import re
import shutil
from collections.abc import Callable
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.data.sources import RedisSource, StreamSource
from hullabaloo.data.table import SHOWN, TYPES, FileText, Table, TableSchema, hidden, type_word
from tests.laws import text_doors
from tests.laws.hearing import everywhere, heard, run
from tests.laws.marked_tables import OTHERS, READERS, Marks, in_memory, write_files

SOURCE = Path(hb.__file__).parent
REVEALED_BY = {
    "data/readers/parquet.py": "where a column is found in a file of a folder",
    "data/sources/parquet.py": "the same, of a stream",
    "data/schema.py": "names of a prepared matrix's columns, where a dataframe or a Parquet file declares them",
    "data/files.py": "the writer of templates, on request, escaped",
}
"""The files that may call `revealed`, and what for."""
TEMPLATES = ("domain_template", "domain template")


# ---- everything public that takes a table ---------------------------------------------------------------------------------


def test_every_public_function_of_a_table_has_a_door() -> None:
    assert set(text_doors.functions()) == set(text_doors.DOORS)


def test_every_reader_is_reached(tmp_path: Path) -> None:
    def below(kind: type) -> set[str]:
        own = {kind.__name__} if kind.__module__.startswith("hullabaloo.") else set()
        return own.union(*(below(inner) for inner in kind.__subclasses__()))

    for path in SOURCE.rglob("*.py"):
        if re.search(r"\((Table|StreamSource|LineSource)\)", path.read_text(encoding="utf-8")):
            import_module(".".join(["hullabaloo", *path.relative_to(SOURCE).with_suffix("").parts]))
    ours = {name for name in below(Table) | below(StreamSource) if name[:1] != "_"}
    assert ours - {"Table", "StreamSource", "LineSource"} == set(READERS)
    tables = _tables(tmp_path / "tables", Marks())
    assert {table for table in READERS.values() if table} <= set(tables)


def test_what_a_redis_stream_holds_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values of its entries, which are fields that nobody declared; without a server."""
    marks = Marks()
    entry = [b"1-1", [marks.head.encode(), marks.body.encode(), b"age", marks.body.encode(), b"stay", b"\xff"]]
    monkeypatch.setattr(RedisSource, "_check", lambda _: None)
    replies = iter([[[b"events", [entry] * 3]], None, None])
    monkeypatch.setattr(RedisSource, "_ask", lambda *_, **__: next(replies))
    source = RedisSource("redis://127.0.0.1:1/0", "events", ["age", "ward", "stay"])
    stream = text_doors.stream()

    def take() -> Any:
        stream.partial_fit(source.empty())
        for batch in source.batches():
            stream.partial_fit(batch.table)
        return stream.position_, repr(source.schema), repr(batch), repr(batch.table.schema)

    refused, everything = heard(take)
    assert not refused
    assert "(3, " in everything
    assert not marks.found(everything)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_names_of_a_text_file_enter_no_release(tmp_path: Path, suffix: str) -> None:
    """Of a prepared matrix nobody declares columns: a release named them by the first line, which may be a record."""
    marks, mark = Marks(), "\t" if suffix == ".tsv" else ","
    path = tmp_path / f"matrix{suffix}"
    lines = [(marks.head, f"{marks.head} Meier", "stay"), *[("0.5", "0.25", "1")] * 40]
    path.write_text("".join(f"{mark.join(line)}\n" for line in lines))
    domain = hb.Domain(row_norm=2.0, target={"stay": (0, 30)})
    model = hb.LinearRegression(budget=text_doors.BUDGET, domain=domain, solver="moments").fit(path)
    flow = hb.streaming.IncrementalRegression(budget=text_doors.BUDGET, domain=domain, horizon=40, every=40)
    flow.fit(path)
    for one in (model, flow.model_at()):
        one.save(tmp_path / "model.json")
        card = hb.report.card(one).to_json()
        shown = f"{(tmp_path / 'model.json').read_text()} {one.summary()} {card} {vars(one)}"
        assert not marks.found(shown)
        assert one.feature_names_out_.tolist() == ["x0", "x1"]
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    table = pd.read_csv(path, sep=mark)
    np.testing.assert_array_equal(model.predict(path), model.predict(table[table.columns[:2]].to_numpy()))
    named = hb.LinearRegression(budget=text_doors.BUDGET, domain=domain, solver="moments").fit(table)
    assert named.feature_names_in_.tolist() == list(table.columns[:2]), "a dataframe's names are its declared schema"


def test_every_command_has_a_line() -> None:
    assert {name for name, _ in text_doors.commands()} == set(text_doors.LINES)
    assert set(text_doors.ALSO) <= set(text_doors.LINES)
    for name, inner in text_doors.commands():
        known = {option for one in inner.params for option in (*one.opts, *one.secondary_opts)}
        assert {word for line in _lines(name) for word in line.split() if word.startswith("--")} <= known, name


def _tables(folder: Path, marks: Marks) -> dict[str, Callable[[], Any]]:
    folder.mkdir()
    files = {name: (lambda path=path: path) for name, path in write_files(folder, marks).items()}
    return {**files, **in_memory(marks)}


def _through_doors(tmp_path: Path, share: int) -> int:
    """Every table through every door, or each `share`-th of the pairs, in two worlds; gives how many calls were heard."""
    worlds = [(marks, _tables(tmp_path / name, marks)) for name, marks in (("one", Marks()), ("two", OTHERS))]
    pairs = list(product(text_doors.DOORS, worlds[0][1]))[::share]
    count = 0
    for door, table in pairs:
        said = []
        for place, (marks, tables) in enumerate(worlds):
            shows = marks.head if door in TEMPLATES else None
            for call in text_doors.DOORS[door](tables[table]()):
                refused, everything = heard(call)
                count += 1
                assert not set(marks.found(everything)) - {shows}, f"{door} of {table}: {everything[-3000:]}"
                said.append((place, refused.replace(str(tmp_path / ("one", "two")[place]), "FOLDER")))
        one, two = ([refused for other, refused in said if other == place] for place in (0, 1))
        assert one == two, f"{door} of {table} is refused in other words when other texts stand in the same places"
    return count


def test_no_text_of_a_table_is_heard_by_who_passes_it(tmp_path: Path) -> None:
    assert _through_doors(tmp_path, 17) > 250


@pytest.mark.slow
def test_no_text_of_any_table_is_heard_by_anybody(tmp_path: Path) -> None:
    assert _through_doors(tmp_path, 1) > 4000


# ---- the command line -------------------------------------------------------------------------------------------------------


def _lines(command: str) -> list[str]:
    return [text_doors.LINES[command], *text_doors.ALSO.get(command, ())]


def _table_lines() -> list[str]:
    return [line for command in text_doors.LINES for line in _lines(command) if "TABLE" in line]


def _through_commands(desk: Path, lines: list[tuple[str, str]]) -> int:
    worlds = []
    for name, marks in (("one", Marks()), ("two", OTHERS)):
        (desk / name).mkdir()
        worlds.append((desk / name, marks, write_files(desk / name, marks)))
    count = 0
    for line, table in lines:
        said = []
        for folder, marks, tables in worlds:
            shows = marks.head if line.startswith(TEMPLATES) else None
            declared = "n.toml" in line and ".parquet" in table  # whose names are a declared schema, as a release says
            if declared:
                continue
            shutil.copytree(folder, desk / "tables")
            path = str(Path("tables") / tables[table].relative_to(folder))
            code, err, everything = run([path if word == "TABLE" else word for word in line.split()])
            shutil.rmtree(desk / "tables")
            count += 1
            assert not set(marks.found(everything)) - {shows}, f"{line} of {table}: {everything[-3000:]}"
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", everything.replace("\\u", "")), f"{line} of {table}"
            said.append((code, err if code else ""))
        assert said[:1] == said[1:], f"{line} of {table}: {said}"
    return count


def _all_lines(desk: Path) -> list[tuple[str, str]]:
    (desk / "names").mkdir()
    return list(product(_table_lines(), write_files(desk / "names", Marks())))


def test_no_command_says_what_stands_in_a_table(desk: Path) -> None:
    assert _through_commands(desk, _all_lines(desk)[::23]) > 40


@pytest.mark.slow
def test_no_command_says_what_stands_in_any_table(desk: Path) -> None:
    assert _through_commands(desk, _all_lines(desk)) > 900


def _with_files(desk: Path, lines: list[list[str]], odd: tuple[str, ...]) -> int:
    """A file of records in every place of a command's line: as the domain, the model, the grid, an entry of a card."""
    (desk / "files").mkdir()
    marks, count = Marks(), 0
    files = {name: path for name, path in write_files(desk / "files", marks).items() if name in odd}
    (desk / "files" / "records.toml").write_text(f"[{marks.head}]\nx = 1\n[{marks.head}]\n'{marks.body}' = [")
    (desk / "files" / "records.json").write_text(json.dumps({marks.head: {marks.body: [marks.body]}}))
    (desk / "files" / "torn.json").write_text(
        f'{{"format": "hullabaloo model", "format_version": 1, "{marks.head}": {marks.body}'
    )
    (desk / "files" / "lines.json").write_bytes(json.dumps([marks.head]).encode() + b"\xff" + marks.body.encode())
    for path in (*files.values(), *(desk / "files").glob("records.*"), *(desk / "files").glob("*.json")):
        for line in lines:
            words = [word.replace("WORD", str(path.relative_to(desk))).replace("TABLE", "sound.csv") for word in line]
            allowed = {marks.head} if line[:2] == ["domain", "template"] else set()
            _, _, everything = run(words)
            count += 1
            assert not set(marks.found(everything)) - allowed, f"{words}: {everything[-3000:]}"
    return count


FILES = (".csv: no names", ".jsonl: torn lines", ".parquet: no Parquet", ".parquet: other names", ".csv: not UTF-8")


def _file_places() -> list[list[str]]:
    """The places in which a command expects a file."""
    return [line for line in everywhere() if not any(word.startswith("--") and word.endswith("=WORD") for word in line)]


def test_a_file_of_records_in_another_files_place_is_not_quoted(desk: Path) -> None:
    assert _with_files(desk, _file_places()[::19], FILES[:1]) > 35


@pytest.mark.slow
def test_a_file_of_records_in_any_place_is_not_quoted(desk: Path) -> None:
    assert _with_files(desk, _file_places(), FILES) > 1500


# ---- the type ------------------------------------------------------------------------------------------------------------------


def test_a_text_of_a_table_is_matched_and_never_formatted() -> None:
    name, text = FileText("Anna Meier"), "Anna Meier"
    assert name == text
    assert text == name
    assert name != "Anna"
    assert {name: 1}[text] == 1  # type: ignore[index]  # found by its text
    assert {name, FileText(text)} == {text}
    assert (name,) == (text,)
    assert not isinstance(name, str)
    for shown in (
        str(name),
        repr(name),
        f"{name}",
        f"{name!r:>9}",
        f"{[name]}",
        ascii(name),
        format(name, "s"),
        str({name: 1}),
    ):
        assert "Anna" not in shown
        assert SHOWN.rstrip(")")[:9] in shown
    refused: tuple[Callable[[], Any], ...] = (
        lambda: "".join([name]),  # type: ignore[list-item]
        lambda: name + "",  # type: ignore[operator]
        lambda: "" + name,  # type: ignore[operator]
        lambda: name[0],  # type: ignore[index]
        lambda: list(name),  # type: ignore[call-overload]
        lambda: len(name),  # type: ignore[arg-type]
        lambda: sorted([name, FileText("b")]),  # type: ignore[type-var]
        lambda: json.dumps([name]),
        lambda: pickle.dumps(name),
        lambda: copy.copy(name),
        lambda: copy.deepcopy(name),
        lambda: vars(name),
        lambda: Path(name),  # type: ignore[arg-type]
        lambda: bytes(name, "utf-8"),  # type: ignore[arg-type, call-overload]
        lambda: re.match("A", name),  # type: ignore[call-overload]
        lambda: FileText(3),  # type: ignore[arg-type]
    )
    for number, call in enumerate(refused):
        with pytest.raises(TypeError) as said:
            call()
        assert "Anna" not in str(said.value), number


def test_a_schema_takes_no_name_that_could_be_formatted_and_no_type_but_a_word() -> None:
    with pytest.raises(TypeError, match="FileText"):
        TableSchema(("age",), ("int64",), ("number",))  # type: ignore[arg-type]
    odd = [
        "struct<Anna: int64>",
        "Anna Meier",
        "",
        "[('Anna', '<i4')]",
        "timestamp[us, tz=Anna]",
        "int64Anna",
        "extension<Anna>",
    ]
    schema = TableSchema(hidden(["Anna"] * len(odd)), tuple(odd), ("number",) * len(odd))
    assert "Anna" not in repr(schema)
    assert all(type_word(declared) == word for declared, word in zip(odd, schema.types, strict=True))
    assert {word.lower() for word in schema.types} <= TYPES | {"of another kind"}


def test_texts_are_revealed_in_a_short_list_of_files() -> None:
    """Nobody else calls `revealed`, and nobody reaches for the text behind it."""
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert "_FileText__text" not in text, path
        if "revealed" in text and any(getattr(node, "attr", "") == "revealed" for node in ast.walk(ast.parse(text))):
            found.add(str(path.relative_to(SOURCE)))
    assert found == set(REVEALED_BY)
