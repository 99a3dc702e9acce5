"""Dear doors of streams: their sources, river's adapter, and fits again and again."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import hullabaloo as hb
from hullabaloo import streaming
from tests.fuzz.asked import calmer
from tests.fuzz.doors import Door, arguments
from tests.fuzz.garbage import SECRET, Garbage
from tests.fuzz.rooms import BUDGET, folder, records, table_bytes
from tests.linear_model import examples


@cache
def _lines() -> bytes:
    frame = examples.table(40)
    frame["job"] = SECRET
    return b"".join(json.dumps(one).encode() + b"\n" for one in frame.to_dict("records"))


def _content(kind: str) -> bytes:
    return _lines() if kind == ".jsonl" else table_bytes(kind)


SOURCE: dict[str, Door] = {
    "columns": lambda g: g.one((["age", "hours", "job", "cost"], g.sequence(g.text), "age")),
    "quoted_line_breaks": lambda g: g.chance(0.5), "follow": lambda g: False,
}  # fmt: skip


def source(suffix: str, kind: Callable[..., Any]) -> Door:
    """Stream a file that was damaged, read by a source with garbage for options."""

    def take(g: Garbage) -> None:
        g = calmer(g)
        path = folder() / f"stream{suffix}"
        path.write_bytes(g.torn(_content(suffix)) if g.chance(0.7) else _content(suffix))
        given = {**arguments(g, kind, SOURCE), "path": g.mostly(lambda: path)}
        given.pop("follow", None)
        if isinstance(given["path"], str) and given["path"] == "-":
            given["path"] = path
        with kind(**given) as found:
            stream = _stream()
            for batch in found.batches(g.mostly(lambda: g.one((0, 0, 5)))):
                assert batch.count > 0
                if batch.position + batch.count <= 100:
                    stream.partial_fit(batch.table)

    return take


def _stream(**more: Any) -> Any:
    usual = {"budget": BUDGET, "domain": examples.domain_for("LinearRegression"), "horizon": 100, "every": 20}
    return streaming.IncrementalRegression(**{**usual, **more})


def redis_source(g: Garbage) -> None:
    """Name a server that is not there: no address of a network is asked."""
    usual: dict[str, Door] = {
        "url": lambda g: g.one((f"unix://{folder() / 'nobody.sock'}", "x://a", "", "redis", "unix://", g.text().replace("redis", ""))),
        "stream": Garbage.text, "fields": lambda g: g.one((["age"], g.sequence(g.text))), "follow": lambda g: g.chance(0.5),
    }  # fmt: skip
    streaming.RedisSource(**arguments(g, streaming.RedisSource, usual))


def for_river(g: Garbage) -> None:
    """Learn and predict as a regressor of river."""
    kind = g.one(("LinearRegression", "LogisticRegression"))
    model = streaming.RiverRegressor(g.mostly(lambda: _stream(domain=examples.domain_for(kind), horizon=10, every=2)))
    for _ in range(4):
        one = g.mostly(lambda: {"age": g.anything(), "hours": g.real(), "job": SECRET, g.text(): g.anything()})
        model.learn_one(one, g.anything())
        model.predict_one(one)
    model.clone()


AGAIN: dict[str, Door] = {
    "estimator": lambda g: getattr(hb, g.one(("LinearRegression", "LogisticRegression", "Ridge", "Lasso"))),
    "horizon": lambda g: g.one((60, g.count())), "every": lambda g: g.one((20, "auto", (20, 40), g.count())),
    "rule": lambda g: g.one(("convex", "strongly_convex", "width", g.text())), "state": lambda g: None, "key_file": lambda g: None,
}  # fmt: skip


def again(g: Garbage) -> None:
    """Fit again and again."""
    given = {"horizon": 60, "every": 20, **arguments(calmer(g), streaming.PeriodicERM, AGAIN)}
    kind = given["estimator"]
    if isinstance(kind, type) and hasattr(hb, kind.__name__):
        relation = g.one(("replace-one", "replace-one", "add-or-remove"))
        given["estimator"] = kind(budget=BUDGET, domain=examples.domain_for(kind.__name__), neighbours=relation)
    stream = streaming.PeriodicERM(**{**given, "state": None, "key_file": None})
    for _ in range(3):
        stream.partial_fit(records(g))
    stream.predict_one({"age": g.anything()})
    stream.model_at().predict(examples.table(3))


CURRENTS: dict[str, Door] = {
    "streaming.CsvSource": source(".csv", streaming.CsvSource),
    "streaming.JsonLinesSource": source(".jsonl", streaming.JsonLinesSource),
    "streaming.ParquetSource": source(".parquet", streaming.ParquetSource),
    "streaming.RedisSource": redis_source,
    "streaming.RiverRegressor": for_river,
    "streaming.PeriodicERM": again,
}
