"""Laws of what is read from a state file whose checksum is right: it is that of a stream or search like this at its position, or is refused in a sentence, and nothing is spent."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.durable.sealed import UNLIKE, Snapshot, from_bytes, to_bytes
from hullabaloo.errors import HullabalooError, StateError
from hullabaloo.noise.continual.base import Half
from hullabaloo.streaming import IncrementalRegression, PeriodicERM, SketchedRegression
from tests import sampling
from tests.linear_model import examples
from tests.noise.continual.zoo import SAMPLES, label

BUDGET = hb.Budget(8.0, 1e-6)
FRAME = examples.table(60)
USUAL: dict[str, Any] = {"budget": BUDGET, "horizon": 60, "every": 5}
PERSONS: dict[str, Any] = {"unit": "job", "records_per_unit": 2, "records": 60}
NUMBERS: dict[str, Any] = {
    "features": {"age": (18, 90), "hours": (0, 80)},
    "target": {"cost": (-20, 20)},
    "indicators": False,
}


def sums(domain: Any = None, **more: Any) -> Callable[..., Any]:
    return lambda **on: IncrementalRegression(
        **{**USUAL, **more}, domain=domain or examples.domain_for("LinearRegression"), **on
    )


def fits(**about: Any) -> Callable[..., Any]:
    def made(*, state: Path | None = None, **on: Any) -> Any:
        domain = hb.Domain(**NUMBERS, **about)
        model = hb.LinearRegression(budget=BUDGET, domain=domain, solver="gradient", **on)
        return PeriodicERM(model, horizon=60, every=20, state=state)

    return made


STREAMS: dict[str, Callable[..., Any]] = {
    "auto": sums(),
    "tree": sums(mechanism="tree"),
    "window": sums(window=15),
    "half-life": sums(half_life=20.0),
    "endless": sums(horizon=None),
    "persons": sums(hb.Domain(**NUMBERS, **PERSONS)),
    "sketch": lambda **on: SketchedRegression(**USUAL, domain=hb.Domain(**NUMBERS), constraint=hb.L1Ball(2.0), sketch_size=2, **on),
    "fits": fits(),
    "fits of persons": fits(**PERSONS),
}  # fmt: skip


def others(one: np.ndarray) -> Iterator[np.ndarray]:
    """Arrays of another shape or type than this one."""
    flat = one.ravel()
    alike = [
        flat[:0],
        flat[:1],
        flat[:-1],
        np.concatenate([flat, flat]),
        one[None],
        one[..., None],
        one.T,
        one.astype("f4"),
    ]
    alike += [
        one.astype("f8" if one.dtype.kind == "i" else "i8"),
        *([one[:-1], one[0]] if one.ndim and len(one) else []),
    ]
    yield from (np.ascontiguousarray(a) if a.ndim else a for a in alike if (a.shape, a.dtype) != (one.shape, one.dtype))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_goes_on_from_arrays_of_its_own_shapes_and_types_alone(name: str, tmp_path: Path) -> None:
    """Kernels rely on them: of fewer nodes than there are, or at another step, they wrote to memory that was not theirs."""
    path, ledger = tmp_path / "state", f"sqlite:///{tmp_path / 'ledger.db'}"
    unit = {"unit": "job", "records_per_unit": 2} if "persons" in name else {}
    hb.Ledger(ledger).create("people", hb.Budget(1000.0, 1e-3), **unit)
    on = {"state": path, "ledger": ledger, "dataset": "people"}
    with STREAMS[name](**on) as stream:
        stream.partial_fit(FRAME.iloc[:23]).checkpoint()
    state = from_bytes(path.read_bytes(), None, path)
    assert state.snapshot is not None
    arrays, numbers = state.snapshot.arrays, state.snapshot.numbers
    edited = [Snapshot(numbers, {k: v for k, v in arrays.items() if k != left}) for left in arrays]
    edited += [Snapshot(numbers, {**arrays, key: other}) for key, one in arrays.items() for other in others(one)]
    clocks = [key for key in arrays if key.split("/")[-1].split(".")[-1] in ("position", "clock", "step", "epochs")]
    assert clocks or "fits" in name
    edited += [Snapshot(numbers, {**arrays, key: arrays[key] + by}) for key in clocks for by in (-30, -5, 5, 10**6)]
    edited += [
        Snapshot(numbers, {**arrays, key: np.full_like(one, -1)}) for key, one in arrays.items() if key == "counts"
    ]
    _, process = STREAMS[name]()._planned(None)
    for snapshot in edited:
        with pytest.raises(UNLIKE):
            process.restore(snapshot)
    for snapshot in (
        *edited[:: len(edited) // 5],
        *(Snapshot({**numbers, "position": at}, arrays) for at in (22, None)),
    ):
        path.write_bytes(to_bytes(replace(state, snapshot=snapshot), None))
        with pytest.raises(StateError, match="is damaged"):
            STREAMS[name](**on).begin()
    path.write_bytes(to_bytes(state, None))
    assert STREAMS[name](**on).partial_fit(FRAME.iloc[23:]).position_ == 60
    assert len(list(hb.Ledger(ledger).charges("people"))) == 1


@pytest.mark.parametrize("strategy", SAMPLES, ids=label)
@pytest.mark.few(12)
def test_no_half_goes_on_from_other_steps_or_arrays(strategy: Any) -> None:
    count = min(strategy.steps, 21)
    encoder, decoder = strategy.encoder(3), strategy.decoder(3)
    decoder.decode(encoder.encode(np.ones((count, 3))), count)
    for half, fresh in ((encoder, strategy.encoder), (decoder, strategy.decoder)):
        state = half.state()
        refused: list[tuple[Any, int]] = [(state, count + 1)]
        refused += [({**state, key: other}, count) for key, one in state.items() for other in others(one) if one.size]
        refused += [({**state, key: one * np.nan}, count) for key, one in state.items() if one.size]
        for wrong, step in refused:
            again: Half = fresh(3)
            with pytest.raises((ValueError, IndexError)):
                again.restore(wrong, step)


ODD: tuple[Any, ...] = (None, True, -1, 10**30, 1e308, float("nan"), "", "x", [], {}, [1], {"a": 1}, [[[]]])


@pytest.mark.few(1)
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["auto", "fits"])
def test_nothing_in_a_header_ends_in_a_traceback(name: str, every: int, tmp_path: Path) -> None:
    """Each field is something else: of all that is odd, or of every third, other ones for each field."""
    path, ledger = tmp_path / "state", f"sqlite:///{tmp_path / 'ledger.db'}"
    hb.Ledger(ledger).create("people", hb.Budget(1000.0, 1e-3))
    on = {"state": path, "ledger": ledger, "dataset": "people"}
    with STREAMS[name](**on) as stream:
        stream.partial_fit(FRAME.iloc[:23]).checkpoint()
    state = from_bytes(path.read_bytes(), None, path)
    fields = ("fingerprint", "stream", "position", "token", "previous", "dataset", "charge")
    for place, field in enumerate(fields):
        for odd in ODD[place % every :: every]:
            path.write_bytes(to_bytes(replace(state, **{field: odd}), None))
            with pytest.raises(HullabalooError) if field not in ("previous", "charge") else _OrNot():
                STREAMS[name](**on).begin().close()
            path.write_bytes(to_bytes(state, None))
    assert len(list(hb.Ledger(ledger).charges("people"))) == 1


class _OrNot:
    """What is public, and only told apart by the ledger, may be believed."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return isinstance(error, HullabalooError)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    within = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, one in within:
        yield (*path, key)
        yield from _places(one, (*path, key))


def _with(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = _with(value[path[0]], path[1:], odd)
    return copied


@pytest.mark.few(1)
@pytest.mark.parametrize("ended", [False, True])
def test_the_state_of_a_search_holds_a_search_or_is_refused(ended: bool, tmp_path: Path) -> None:
    """Each of its numbers replaced by something else; what a reader of the release can be told may be believed, and shown."""
    path, domain = tmp_path / "state", examples.domain_for("LogisticRegression")
    model = hb.LogisticRegression(domain=domain, solver="gradient")
    candidates = {"constraint": [hb.L2Ball(0.5), hb.L2Ball(2.0)]}

    def search() -> Any:
        return hb.PrivateSearchCV(model, candidates, budget=BUDGET, expected_candidates=2, state=path)

    search().fit(FRAME)
    state = from_bytes(path.read_bytes(), None, path, "search")
    assert state.snapshot is not None
    numbers = state.snapshot.numbers
    if not ended:
        numbers = {"secret": "1f" * 32, "ended": False, "best": None}
    rng = np.random.default_rng(1)
    for place in [*_places(dict(numbers))][:: 2 if sampling.FAST else 1]:
        for odd in rng.choice(np.array(ODD, dtype=object), 1):
            edited = replace(state, snapshot=Snapshot(_with(dict(numbers), place, odd), {}))
            path.write_bytes(to_bytes(edited, None, "search"))
            with _OrNot():
                str(search().fit(FRAME).best_estimator_.predict(FRAME.iloc[:2]))
