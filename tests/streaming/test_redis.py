"""Records from a real Redis server: its entries in order, each once, from any id; what it deleted is not guessed."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from hullabaloo.cli.app import app
from hullabaloo.data.sources import Mark, RedisSource, SourceChanged, redis_stream
from hullabaloo.errors import InvalidParameter
from tests.commands import CliRunner
from tests.streaming import redis_server

pytestmark = pytest.mark.redis
FIELDS = ("age", "ward", "stay")
Records = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    try:
        with redis_server.server() as found:
            yield found
    except redis_server.NoServer as reason:
        if os.environ.get("HULLABALOO_REQUIRE_REDIS"):
            pytest.fail(str(reason))
        pytest.skip(str(reason))


@pytest.fixture
def client(url: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(url) as made:
        made.flushall()
        yield made


def fill(client: "redis.Redis", count: int, first: int = 0, key: str = "events") -> None:
    pipeline = client.pipeline(transaction=False)
    for i in range(first, first + count):
        pipeline.xadd(key, {"age": i, "ward": f"w{i % 3}", "stay": i / 7, "other": "x"})
    pipeline.execute()


def expected(start: int, stop: int) -> Records:
    return [(float(i), f"w{i % 3}", i / 7) for i in range(start, stop)]


def cells(table: Any) -> Records:
    age, stay = table.numbers([0, 2]).T.tolist()
    return list(zip(age, table.cells(1), stay, strict=True))


def read(source: RedisSource, **options: Any) -> Records:
    with source:
        return [record for batch in source.batches(**options) for record in cells(batch.table)]


def test_all_entries_in_order_over_several_requests(url: str, client: "redis.Redis") -> None:
    fill(client, 10_000)
    assert read(RedisSource(url, "events", FIELDS)) == expected(0, 10_000)


def test_resumed_at_every_cut_by_mark_and_by_counting(url: str, client: "redis.Redis") -> None:
    fill(client, 40)
    marks = [Mark(0)]
    with RedisSource(url, "events", FIELDS) as source:
        for batch in source.batches(cut=lambda position: position + 1):
            marks.append(Mark(batch.mark.position, json.loads(json.dumps(batch.mark.place))))
    assert [mark.position for mark in marks] == list(range(41))
    for mark in marks[1:]:
        assert read(RedisSource(url, "events", FIELDS), start=mark.position, mark=mark) == expected(mark.position, 40)
        assert read(RedisSource(url, "events", FIELDS), start=mark.position) == expected(mark.position, 40)
    with pytest.raises(SourceChanged, match="holds fewer"):
        read(RedisSource(url, "events", FIELDS), start=41)


def test_an_entry_of_any_fields_is_one_record(url: str, client: "redis.Redis") -> None:
    for fields in (
        {"age": "n/a", "ward": "a", "stay": "1e999"},
        {"stay": "3"},
        {"nothing": "1"},
        {b"age": b"\xff\xfe", b"ward": b"\xff", b"stay": b""},
        {"age": " 4 ", "ward": "", "stay": "+5"},
    ):
        client.xadd("events", fields)  # type: ignore[arg-type]
    client.execute_command("XADD", "events", "*", "age", "1", "age", "2")
    (batch,) = RedisSource(url, "events", FIELDS).batches()
    assert repr(batch.table.numbers([0, 2]).tolist()) == repr(
        [[nan, inf], [nan, 3.0], [nan, nan], [nan, nan], [4.0, 5.0], [2.0, nan]]
    )
    assert batch.table.cells(1) == ["a", None, None, "\ufffd", "", None]


nan, inf = float("nan"), float("inf")


def test_followed_while_another_writes(url: str, client: "redis.Redis") -> None:
    source, stop, found = RedisSource(url, "events", FIELDS, follow=True), threading.Event(), list[Any]()
    writer = threading.Thread(target=lambda: [fill(client, 30, 30 * i) for i in range(20)])
    writer.start()
    for batch in source.batches(stop=stop):
        found += cells(batch.table)
        if len(found) == 600:
            stop.set()
    writer.join()
    assert found == expected(0, 600)


def test_the_connection_may_break_meanwhile(url: str, client: "redis.Redis", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_stream, "PATIENCE", (0.0, 0.0, 0.0))
    fill(client, 9_000)
    source, found = RedisSource(url, "events", FIELDS), list[Any]()
    for batch in source.batches():
        found += cells(batch.table)
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert found == expected(0, 9_000)


def test_a_trimmed_stream_is_not_guessed(url: str, client: "redis.Redis") -> None:
    fill(client, 100)
    batch = next(RedisSource(url, "events", FIELDS).batches(cut=lambda position: position + 50))
    client.xtrim("events", maxlen=51, approximate=False)
    assert read(RedisSource(url, "events", FIELDS), start=50, mark=batch.mark) == expected(50, 100), (
        "the last one read is kept"
    )
    client.xtrim("events", maxlen=30, approximate=False)
    with pytest.raises(SourceChanged, match="no longer holds the last entry"):
        read(RedisSource(url, "events", FIELDS), start=50, mark=batch.mark)
    assert read(RedisSource(url, "events", FIELDS), start=50, continues=True) == expected(70, 100)


def test_entries_that_were_deleted_cannot_be_counted(
    url: str, client: "redis.Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(client, 60)
    client.xtrim("events", maxlen=55, approximate=False)
    facts = RedisSource._facts
    # Redis 7 says how many entries there were; the server at hand may be older.
    monkeypatch.setattr(RedisSource, "_facts", lambda self: {**facts(self), "entries-added": "60"})
    with pytest.raises(SourceChanged, match="cannot be counted"):
        read(RedisSource(url, "events", FIELDS), start=20)
    assert read(RedisSource(url, "events", FIELDS)) == expected(5, 60)


def test_what_is_no_stream_is_refused_in_a_sentence(
    url: str, client: "redis.Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_stream, "PATIENCE", (0.0,))
    client.set("text", "Mrs Miller")
    for key, said in (("nothing", "no key of that name"), ("text", "a string of that name")):
        with pytest.raises(InvalidParameter, match=said) as refused:
            RedisSource(url, key, FIELDS)
        assert "Miller" not in str(refused.value)
    for address in ("redis://me:hush@127.0.0.1:1/0", "redis://127.0.0.1:port/0", "http://me:hush@server"):
        with pytest.raises(InvalidParameter) as refused:
            RedisSource(address, "events", FIELDS)
        assert "hush" not in str(refused.value)


def test_a_stream_still_to_be_made_is_waited_for(url: str, client: "redis.Redis") -> None:
    source, stop = RedisSource(url, "events", FIELDS, follow=True), threading.Event()
    writer = threading.Timer(0.1, fill, [client, 3])
    writer.start()
    batches = source.batches(stop=stop)
    found = cells(next(batches).table)
    while len(found) < 3:
        found += cells(next(batches).table)
    writer.join()
    assert found == expected(0, 3)
    stop.set()


def test_a_server_that_goes_away_is_a_sentence(client: "redis.Redis", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_stream, "PATIENCE", (0.0,))
    with redis_server.server() as other:
        with redis.Redis.from_url(other) as filled:
            fill(filled, 5000)
        batches = RedisSource(other, "events", FIELDS, follow=True).batches()
        assert next(batches).count == 4096
    with pytest.raises(SourceChanged, match="could not be asked"):
        for _ in batches:
            pass


def test_the_command_takes_up_a_stream_where_it_was_left(
    url: str, client: "redis.Redis", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "domain.toml").write_text(
        'target = { stay = [0, 30] }\n[features]\nage = [0, 95]\nward = ["w0", "w1"]\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    words = [
        "stream",
        url,
        "--key",
        "events",
        "--domain",
        "domain.toml",
        "--epsilon",
        "1",
        "--delta",
        "1e-8",
        "--horizon",
        "1000",
    ]
    words += ["--every", "50", "--models", "{position}.json", "--state", "s.state"]
    fill(client, 170)
    assert CliRunner().invoke(app, words).exit_code == 0
    fill(client, 100, 170)
    client.xtrim("events", maxlen=101, approximate=False)
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert done.stdout.startswith("Going on after record 170;")
    assert sorted(int(path.stem) for path in tmp_path.glob("[0-9]*.json")) == [50, 100, 150, 200, 250]
