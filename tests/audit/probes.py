"""One query as something to audit: a worst-case canary, encoded, for every question that can be bought.

Canaries of estimators (`canary.py`) go through tables in the user's units; these are encoded rows, made from the facts that a query is priced
by. Each kind of query is asked where one record can move its answer most: at points that drive derivatives to their clip, from
centres and at lengths that shorten every record.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np

from hullabaloo.audit.privacy_loss import Array, PrivacyLoss
from hullabaloo.audit.streams import longest_rows
from hullabaloo.audit.subject import Subject
from hullabaloo.audit.transcript import TracedTables
from hullabaloo.curator import Curator, Query
from hullabaloo.data import RowFacts, Rows
from hullabaloo.geometry import NoPenalty, separable_form
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Neighbours, compose

Ask = Callable[[Any], Any]
R = TypeVar("R")
FAR = (1e3, -1e3)
"""Multiples of a long row at which derivatives are asked: there most losses are at their clip."""
ENOUGH = 0.999
"""The share of what is allowed at which the search ends."""
_KEY = TestKey(bytes(32)).derive("where a question hurts")


def probe(query: Any, ask: Ask, tables: tuple[Rows, Rows], budget: Budget | None = None) -> Subject:
    """One query, asked by that call of a curator of two encoded tables that differ in one record or unit; ε is quoted at the budget's δ."""
    kept: dict[Any, Any] = {}

    def log(truth: int, key: TestKey | None) -> Sequence[PrivacyLoss]:
        traced = TracedTables((query,), tables, kept).traced(truth, key)
        ask(traced)
        return traced.log

    def released(truth: int, key: TestKey | None) -> Array:
        return np.ravel(np.asarray(ask(Curator(tables[truth], [query], key=key)), dtype=np.float64))

    cost = compose(query.event, count=query.count)
    return Subject(
        name=query.name,
        solver="no solver",
        neighbours=query.neighbours,
        unit="record" if query.facts.records_per_unit == 1 else "unit",
        records=int(query.records),
        words="the longest rows of the declared bounds",
        claim=cost,
        parts=cost,
        budget=budget or Budget(1.0, 1e-6),
        log=log,
        released=released,
        queries=(query,),
    )


def worst(query: Query) -> Subject:
    """The query where it realises most: among pairs of rows at the declared bounds, then among places to ask it."""
    places = asks(query)
    tables = _best((probe(query, places[0], tables), tables) for tables in pairs(query))
    # An audit begins with nothing.
    return probe(query, _best((probe(query, ask, tables), ask) for ask in places), tables)


def _best(tried: Iterator[tuple[Subject, R]]) -> R:
    best, most = None, -1.0
    for one, made in tried:
        told = max(one.log(0, _KEY), key=lambda answer: answer.realised)
        if told.realised > most:
            best, most = made, told.realised
        if most >= ENOUGH * told.allowed:
            break
    assert best is not None
    return best


def pairs(query: Query) -> Iterator[tuple[Rows, Rows]]:
    """Tables that differ in all records of one unit, at the bounds, alone or among others."""
    facts, removed = query.facts, query.neighbours is Neighbours.ADD_OR_REMOVE
    rows = _rows(facts)
    ends = [np.full(len(facts.targets), sign) for sign in (1.0, -1.0)]
    rest = max(query.records - facts.records_per_unit, 0)
    others = [(0, rows[0]), (rest, rows[-1]), (rest, rows[0])]
    for (x, y), (count, other) in product(product(rows, ends), others):
        if removed:
            yield _table(facts, x, y, count, other), _table(facts, None, y, count, other)
            continue
        for x2, y2 in product(rows, ends):
            if x2 is not x or y2 is not y:
                yield _table(facts, x, y, count, other), _table(facts, x2, y2, count, other)
        if facts.weighted:
            yield _table(facts, x, y, count, other), _table(facts, x, y, count, other, 0.0)


def _rows(facts: RowFacts) -> list[Array]:
    """Long rows, their opposites and one of mixed signs, rows of one column, and no features at all."""
    slopes, columns = facts.width - facts.intercept, np.arange(facts.width)
    rows = [sign * row for row in longest_rows(facts) for sign in (1.0, -1.0)]
    rows += [rows[0] * (-1.0) ** columns, rows[0] * (columns == slopes - 1), 0.0 * rows[0]]
    for row in rows:
        row[slopes:] = 1.0
    return _distinct(rows)


def _distinct(rows: Iterable[Array]) -> list[Array]:
    return list({row.tobytes(): row for row in rows}.values())


def _table(facts: RowFacts, row: Array | None, y: Array, count: int, other: Array, weight: float | None = None) -> Rows:
    copies = 0 if row is None else facts.records_per_unit
    X = np.array([row] * copies + [other] * count, dtype=np.float64).reshape(-1, facts.width)
    Y = np.array([y] * copies + [np.ones_like(y)] * count, dtype=np.float64).reshape(-1, len(facts.targets))
    W = np.full(copies + count, facts.max_weight)
    W[:copies] = facts.max_weight if weight is None else weight
    unit = np.append(np.zeros(copies, dtype=np.int64), 1 + np.arange(count) // facts.records_per_unit)
    return Rows(X, Y, W if facts.weighted else None, unit=unit if facts.records_per_unit > 1 else None)


def asks(query: Any) -> list[Ask]:
    """The question to a curator, at the places that are tried."""
    facts, name = query.facts, str(query.name)
    rows = _distinct(longest_rows(facts))
    nowhere = np.zeros(facts.width)
    if name == "covariance":
        return [_at("covariance", centre=far * row[: query.size], clip_norm=1e-3) for row in rows for far in (0.0, 1.0)]
    if name == "gradient_moments":
        about = {"intercept_weight": 1.0, "clip_norm": 1e-6}
        of_units = ("units",) if facts.records_per_unit > 1 else ()
        return [_at(name, nowhere, of=of, **about) for of in ("records", "gradients", *of_units)]
    if name == "coordinate_gradient":
        tiny, form = np.full(facts.width, 1e-6), separable_form(NoPenalty(), None, facts.width)
        return [_at("coordinate_gradient", nowhere, order=np.zeros(1, np.int64), clips=tiny, steps=tiny, form=form)]
    if name == "norm_histogram":
        edges = np.linspace(0.2, 0.8, query.bins - 1) * facts.norm_l2
        return [_at("norm_histogram", None, centre=nowhere, intercept_weight=1.0, edges=edges)]
    if name not in ("gradient", "score", "centred_gradient", "select", "vertex"):
        return [_at(name)]
    shapes = {"gradient": getattr(query, "shape", ()), "score": (facts.width, len(facts.targets))}
    shape = shapes.get(name, (facts.width,))
    view: dict[str, Any] = {}
    if name == "centred_gradient":
        view = {"centre": nowhere, "intercept_weight": 1.0, "clip_norm": 1e-6}
    points = [np.zeros(shape)]
    for row, far in product(rows, FAR):
        points.append(np.zeros(shape))
        points[-1].reshape(facts.width, -1)[:, 0] = far * row
    return [_at(name, point, **view) for point in points]


def _at(name: str, *given: Any, **named: Any) -> Ask:
    return lambda curator: curator.answer(name, *given, **named)
