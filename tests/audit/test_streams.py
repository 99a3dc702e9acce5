"""`hb.audit` of streams: sound ones pass on canaries that realise what is claimed, and faults planted in the library are caught.

The verdict is at 1 − 1e-8: a false alarm has a probability below 1e-7 in all, and keys are fixed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.audit import streams
from hullabaloo.audit.canary import pairs
from hullabaloo.audit.streams import of_stream
from hullabaloo.curation import prefixes
from hullabaloo.curator import GradientQuery
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual import mechanism
from hullabaloo.noise.continual.mechanism import ContinualSum
from hullabaloo.privacy import Neighbours
from hullabaloo.streaming import refits
from tests.audit.faults import Bug, column_norm_forgotten, quieter

KEY = TestKey(bytes(range(32)))
MU = 2.0
DOMAIN = hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, target=(-1, 1), records=12)
PERSONS = hb.Domain.from_dict({**DOMAIN.to_dict(), "unit": "who", "records_per_unit": 2})
WIDE = hb.Domain(row_norm=("l2", 1.0), target=(-1, 1))
BUDGET = hb.Budget.gdp(MU)


def sums(neighbours: str, how: str, **other: Any) -> Any:
    about: dict[str, Any] = {"budget": BUDGET, "horizon": 24, "every": 2, "mechanism": how, "neighbours": neighbours}
    return hb.streaming.IncrementalRegression(**{"domain": DOMAIN, **about, **other})


def sketch(neighbours: str) -> Any:
    about: dict[str, Any] = {"budget": BUDGET, "horizon": 24, "every": 4, "neighbours": neighbours}
    return hb.streaming.SketchedRegression(
        domain=WIDE, constraint=hb.L1Ball(2.0), sketch_size=5, max_nonzeros=3, **about
    )


def again(neighbours: str, solver: str = "gradient", domain: hb.Domain = DOMAIN) -> Any:
    model = hb.LinearRegression(budget=BUDGET, domain=domain, neighbours=neighbours, solver=solver)
    return hb.streaming.PeriodicERM(model, horizon=12, every=6)


STREAMS: dict[str, tuple[Callable[[], Any], float]] = {
    "square root": (lambda: sums("replace-one", "square_root"), 0.999),
    "tree, absent": (lambda: sums("add-or-remove", "tree"), 0.999),
    "no end": (lambda: sums("replace-one", "hybrid", horizon=None), 0.99),
    "window": (lambda: sums("replace-one", "auto", window=6), 0.999),
    "forgetting": (lambda: sums("add-or-remove", "auto", half_life=4), 0.999),
    "sketch": (lambda: sketch("replace-one"), 0.999),
    "sketch, absent": (lambda: sketch("add-or-remove"), 0.999),
    "fits": (lambda: again("replace-one"), 0.6),
    "fits, absent": (lambda: again("add-or-remove"), 0.9),
    "fits of moments": (lambda: again("replace-one", "moments"), 0.999),
    "sums, persons": (lambda: sums("add-or-remove", "tree", domain=PERSONS), 0.999),
    "fits, persons": (lambda: again("replace-one", "moments", PERSONS), 0.999),
    "fits, persons absent": (lambda: again("add-or-remove", "gradient", PERSONS), 0.9),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", STREAMS)
def test_a_sound_stream_passes(name: str) -> None:
    made, realised = STREAMS[name]
    found = hb.audit(made(), runs=40, n_features=12, test_key=KEY)
    assert found.passed, str(found)
    assert realised * MU <= found.mu_realised <= MU * (1.0 + 1e-6)  # a weak canary would be weak, not passed


@pytest.mark.few(1)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.usefixtures("unrehearsed")
def test_an_audit_of_fits_writes_down_every_answer_that_was_bought(classes: int) -> None:
    """The one after the fit, about totals of several classes, too: what is not written down is not attacked."""
    domain = hb.Domain(features={"x": (-1, 1)}, indicators=False, classes=list("abc")[:classes], records=12)
    model = hb.LogisticRegression(budget=BUDGET, domain=domain, solver="gradient", multi_class="one-vs-rest")
    stream = hb.streaming.PeriodicERM(model, horizon=12, every=6)
    process = stream._open(domain.encoding())
    bought = [query.count for fit in process.refits.fits for query in fit.bought.queries]
    assert len(of_stream(stream, 1).log(0, KEY)) == sum(bought)


@pytest.mark.slow
def test_the_attacker_sees_what_there_is_to_see() -> None:
    assert hb.audit(sums("replace-one", "auto"), runs=800, test_key=KEY).mu_lower >= 0.8 * MU


def test_the_released_model_tells_less() -> None:
    found = hb.audit(sums("replace-one", "auto"), runs=60, method="released", test_key=KEY)
    assert not found.caught
    assert found.mu_lower <= MU


def test_a_canary_of_tables_is_refused() -> None:
    canary = next(pairs(DOMAIN, Neighbours.REPLACE_ONE, 1))
    with pytest.raises(InvalidParameter, match="leave canary out"):
        hb.audit(sums("replace-one", "auto"), runs=4, canary=canary)


def redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every release draws the noise of all nodes anew: averaging releases takes it away."""
    plain, kept = ContinualSum.add, {}

    def add(whole: ContinualSum, x: np.ndarray) -> np.ndarray:
        inside = {name: getattr(whole, f"_ContinualSum__{name}") for name in ("strategy", "sigma", "bound", "key")}
        steps = [] if whole.step == 0 else kept[id(whole)]
        kept[id(whole)], out = steps, np.empty(x.shape)
        for i, row in enumerate(x):
            steps.append(row)
            key = None if inside["key"] is None else inside["key"].derive(f"release {len(steps)}")
            fresh = ContinualSum(inside["strategy"], inside["sigma"], length=x.shape[1], bound=inside["bound"], key=key)
            out[i] = plain(fresh, np.array(steps))[-1]
        whole._ContinualSum__last, whole._ContinualSum__step = out[-1].copy(), len(steps)  # type: ignore[attr-defined]
        return out

    monkeypatch.setattr(ContinualSum, "add", add)


def one_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """All encoded vectors share the noise of the first."""
    derive = TestKey.derive
    monkeypatch.setattr(TestKey, "derive", lambda key, label: derive(key, 0 if label in range(1, 12) else label))


def one_fit_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, uneven = refits.compose, refits.together
    monkeypatch.setattr(refits, "compose", lambda *events: plain(*events[:-1]))
    monkeypatch.setattr(refits, "together", lambda fits, heights: uneven(fits[:-1], heights[:-1]))


def half_of_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fit's gradients reckon with half of what a record can do."""
    plain = GradientQuery.record_sensitivity.func
    monkeypatch.setattr(GradientQuery, "record_sensitivity", property(lambda query: 0.5 * plain(query)))


def all_records_of_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those beyond the share count, too."""
    plain = prefixes.counting
    for module in (prefixes, streams):
        monkeypatch.setattr(module, "counting", lambda rows, share: plain(rows, 2 * share))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "bug", "runs"),
    [
        ("square root", quieter(mechanism, 0.9), 100),
        ("sketch", quieter(mechanism, 0.9), 60),
        ("tree, absent", column_norm_forgotten, 4),
        ("tree, absent", redrawn, 4),
        ("square root", one_draw, 60),
        ("fits", one_fit_not_charged, 4),
        ("fits, absent", half_of_a_record, 4),
        ("fits, persons", all_records_of_a_person, 4),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_planted_faults_are_caught(name: str, bug: Bug, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    found = hb.audit(STREAMS[name][0](), runs=runs, n_features=12, test_key=KEY)
    assert found.caught, str(found)
