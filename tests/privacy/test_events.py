import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import (
    ComposedEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    Neighbours,
    NotPrivateEvent,
    ObjectivePerturbationEvent,
    PermuteAndFlipEvent,
    SelectionEvent,
    compose,
    delta_of,
    epsilon_of,
    event_from_dict,
    events,
    gdp_delta,
    group,
)

scales = st.floats(0.05, 50.0)
atoms = st.one_of(
    st.builds(GaussianEvent, scales, st.integers(0, 10**6)),
    st.builds(LaplaceEvent, scales, st.integers(0, 10**6)),
    st.builds(SelectionEvent, st.floats(0.01, 3.0)),
    st.builds(PermuteAndFlipEvent, st.floats(0.01, 3.0)),
)
compositions = st.lists(st.tuples(atoms, st.integers(1, 5)), min_size=1, max_size=4).map(
    lambda parts: compose(*(compose(e, count=c) for e, c in parts))
)
law = settings(max_examples=25, derandomize=True, deadline=None)


def below(kind: type[Event]) -> set[type[Event]]:
    return set(kind.__subclasses__()).union(*map(below, kind.__subclasses__()))


def test_every_event_is_covered_here() -> None:
    classes = below(Event)
    kinds = {cls.kind for cls in classes if "kind" in vars(cls) and cls.__module__.startswith("hullabaloo.")}
    assert kinds == {
        "gaussian",
        "laplace",
        "selection",
        "permute-and-flip",
        "objective-perturbation",
        "tuned",
        "not-private",
        "composed",
    }


@law
@given(compositions)
def test_json_brings_every_float_back(event: Event) -> None:
    assert event_from_dict(json.loads(json.dumps(event.to_dict(), allow_nan=False))) == event
    assert pickle.loads(pickle.dumps(event)) == event
    assert hash(event_from_dict(event.to_dict())) == hash(event)


@law
@given(event=atoms, count=st.integers(1, 6))
def test_a_count_is_that_many_uses(event: Event, count: int) -> None:
    many = compose(event, count=count)
    assert many == compose(*([event] * count))
    assert compose(many, event) == compose(event, count=count + 1)
    for epsilon in (0.0, 0.7):
        assert many.profile(epsilon) == compose(*([compose(event)] * count)).profile(epsilon)
    assert many.renyi(3.0) == pytest.approx(count * event.renyi(3.0), rel=1e-12)
    assert many.delta0 == count * event.delta0


def test_a_composition_costs_what_its_parts_cost_together() -> None:
    """In numbers known beforehand: both sides of a law of compositions may forget the same count."""
    chosen, gaussian = compose(SelectionEvent(0.25), count=4), compose(GaussianEvent(2.0), count=4)
    assert chosen.pure_epsilon() == pytest.approx(1.0, rel=1e-12)
    assert chosen.zcdp_rho() == pytest.approx(4 * 0.25**2 / 8.0, rel=1e-12)
    assert gaussian.gdp_mu() == pytest.approx(1.0, rel=1e-12)
    assert compose(chosen, SelectionEvent(0.5)).pure_epsilon() == pytest.approx(1.5, rel=1e-12)
    assert compose(gaussian, GaussianEvent(1.0)).gdp_mu() == pytest.approx(math.sqrt(2.0), rel=1e-12)


@law
@given(compositions, compositions, compositions)
def test_order_and_grouping_do_not_matter(a: Event, b: Event, c: Event) -> None:
    assert compose(a, b, c) == compose(c, a, b) == compose(compose(a, b), c) == compose(a, compose(b, c))
    assert compose(compose(a, b), count=3) == compose(compose(a, count=3), compose(b, count=3))
    assert compose(a, compose()) == a


@law
@given(compositions, compositions, st.floats(0.0, 3.0))
def test_more_releases_never_cost_less(a: Event, b: Event, epsilon: float) -> None:
    both = compose(a, b)
    assert both.profile(epsilon) >= max(a.profile(epsilon), b.profile(epsilon)) * (1 - 1e-9) or isinstance(
        a, ComposedEvent
    )
    assert both.renyi(2.5) >= max(a.renyi(2.5), b.renyi(2.5))
    for event in (a, b):
        assert (both.gdp_mu() or 0.0) >= (event.gdp_mu() or 0.0)
        assert (both.zcdp_rho() or 0.0) >= (event.zcdp_rho() or 0.0)


@law
@given(compositions, st.floats(0.0, 5.0), st.floats(1.01, 3.0))
def test_profiles_are_probabilities_that_fall(event: Event, epsilon: float, more: float) -> None:
    assert 0.0 <= event.profile(epsilon * more) <= event.profile(epsilon) * (1 + 1e-9) <= 1.0 + 1e-9


@law
@given(compositions, st.floats(0.0, 5.0), st.floats(1e-15, 0.5), st.floats(0.999999, 1.000001))
def test_a_profile_that_is_only_compared_tells_the_same(
    event: Event, epsilon: float, asked: float, near: float
) -> None:
    """Also where the tail of the draws is what counts, and where what is asked is next to what it is."""
    for limit in (asked, event.profile(epsilon) * near):
        told = event.profile(epsilon, limit)
        assert event.profile(epsilon) <= told
        assert (told <= limit) == (event.profile(epsilon) <= limit)


@law
@given(compositions, st.floats(1e-12, 0.1))
def test_epsilon_is_certified_and_tight(event: Event, delta: float) -> None:
    epsilon = epsilon_of(event, delta)
    if math.isinf(epsilon):  # beyond ε = 80 the tail bound (1 + e^ε) delta0 allows nothing
        assert event.delta0 > 0.0
        assert delta_of(event, 80.0) > delta
        return
    assert delta_of(event, epsilon) <= delta
    if epsilon > 0:
        assert delta_of(event, epsilon * (1 - 1e-6)) > delta


@law
@given(atoms, st.floats(0.0, 3.0))
def test_every_curve_bounds_the_exact_profile(event: Event, epsilon: float) -> None:
    """GDP and Rényi are implied by what the profile says, so neither may promise less than the exact δ."""
    from hullabaloo.privacy.renyi import renyi_delta

    event = event_from_dict(event.to_dict() | ({"samples": 0} if event.delta0 else {}))
    exact = event.profile(epsilon)
    assert exact <= gdp_delta(event.gdp_mu() or 0.0, epsilon) * (1 + 1e-9)
    assert exact <= renyi_delta(event.renyi, epsilon) * (1 + 1e-9)
    for alpha in (1.01, 2.0, 30.0):
        assert event.renyi(alpha) <= alpha * (event.zcdp_rho() or 0.0) * (1 + 1e-12)
        assert event.renyi(alpha) <= event.pure_epsilon()


@law
@given(compositions, st.integers(2, 5), st.floats(0.0, 2.0))
def test_groups_of_records(event: Event, k: int, epsilon: float) -> None:
    assert group(event, 1) == event
    larger = group(event, k)
    assert larger.profile(epsilon) >= event.profile(epsilon) * (1 - 1e-9) or isinstance(event, ComposedEvent)
    assert larger.delta0 == event.delta0
    assert compose(group(event, k), count=2) == group(compose(event, count=2), k)


def test_group_of_gaussians_is_k_mu() -> None:
    event = compose(GaussianEvent(3.0), GaussianEvent(7.0), count=4)
    assert group(event, 5).gdp_mu() == pytest.approx(5 * (event.gdp_mu() or 0.0), rel=1e-12)
    assert group(GaussianEvent(10.0), 3).gdp_mu() >= 0.3
    # and never more than the bound for groups of any (ε, δ)-DP release: (kε, δ Σ e^{iε})
    single = GaussianEvent(5.0)
    for epsilon in (0.3, 0.8):
        generic = single.profile(epsilon) * (1 + math.exp(epsilon))
        assert group(single, 2).profile(2 * epsilon) <= generic
    for k in (0, -1, 1.5, True):
        with pytest.raises(InvalidParameter):
            group(event, k)  # type: ignore[arg-type]


def test_the_empty_composition_costs_nothing() -> None:
    nothing = compose()
    assert nothing == compose(GaussianEvent(1.0), count=0)
    assert (nothing.profile(0.0), nothing.renyi(2.0), nothing.gdp_mu(), nothing.delta0) == (0.0, 0.0, 0.0, 0.0)
    assert event_from_dict(nothing.to_dict()) == nothing


def test_not_private_costs_everything_in_any_company() -> None:
    for event in (
        NotPrivateEvent(),
        compose(NotPrivateEvent(), GaussianEvent(1e6)),
        compose(NotPrivateEvent(), count=3),
    ):
        assert event.profile(1e3) == 1.0
        assert event.gdp_mu() == event.renyi(2.0) == event.zcdp_rho() == event.pure_epsilon() == math.inf
        assert epsilon_of(event, 0.5) == math.inf
        assert group(event, 2).profile(5.0) == 1.0


def test_tails_are_added_and_bounded_for_large_epsilon() -> None:
    clean, cut = GaussianEvent(0.1), GaussianEvent(0.1, samples=10**6)
    assert cut.profile(10.0) == pytest.approx(clean.profile(10.0) + (1 + math.exp(10.0)) * 10**6 * 2.0**-130)
    quiet = GaussianEvent(5.0, samples=10**6)
    assert quiet.profile(5.0) == pytest.approx(GaussianEvent(5.0).profile(5.0) + (1 + math.exp(5)) * 10**6 * 2.0**-130)
    assert quiet.profile(1e3) < 1e-12
    assert quiet.profile(1e3) > 0.0
    assert GaussianEvent(1.0, samples=2**131).profile(1.0) == 1.0


WEAK: dict[str, Callable[[float], Event]] = {
    "gaussian": lambda epsilon: GaussianEvent(1.0 / epsilon),
    "gaussian, drawn": lambda epsilon: GaussianEvent(1.0 / epsilon, samples=3),
    "laplace": lambda epsilon: LaplaceEvent(1.0 / epsilon),
    "laplace, drawn": lambda epsilon: LaplaceEvent(1.0 / epsilon, samples=3),
    "selection": SelectionEvent,
    "permute-and-flip": PermuteAndFlipEvent,
    "objective-perturbation": lambda epsilon: ObjectivePerturbationEvent(1.0 / epsilon, 0.5, Neighbours.REPLACE_ONE),
    "composed": lambda epsilon: compose(SelectionEvent(epsilon), PermuteAndFlipEvent(epsilon)),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", WEAK)
def test_whatever_the_noise_its_profile_is_a_probability(kind: str) -> None:
    """Of next to no noise as well, where rounding up must not pass 1: what is bought is told once it has been charged."""
    for power in range(-8, 13):
        event = WEAK[kind](2.0**power)
        for epsilon in (0.0, 1e-9, 0.5 * 2.0**power, 2.0**power, 1e4):
            assert 0.0 <= event.profile(epsilon) <= 1.0
            assert delta_of(event, epsilon) == event.profile(epsilon)
        if power % 4 == 0:
            assert event.profile(min(epsilon_of(event, 1e-6), 1e9)) <= 1e-6 or math.isinf(epsilon_of(event, 1e-6))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None, True, [1.0]])
def test_costs_that_are_no_numbers_are_refused(bad: Any) -> None:
    for kind in (GaussianEvent, LaplaceEvent, SelectionEvent, PermuteAndFlipEvent):
        with pytest.raises(InvalidParameter):
            kind(bad)
    if not isinstance(bad, (float, int)) or bad != 0.0 or bad is True:
        with pytest.raises(InvalidParameter):
            GaussianEvent(1.0, samples=bad)
    with pytest.raises(InvalidParameter):
        GaussianEvent(1.0).profile(math.nan)
    for alpha in (1.0, 0.5, math.nan):
        with pytest.raises(InvalidParameter):
            GaussianEvent(1.0).renyi(alpha)


@pytest.mark.parametrize(
    "state",
    [{}, {"kind": "poisson"}, {"kind": "gaussian"}, {"kind": "gaussian", "noise_multiplier": 1.0, "free": 1},
     {"kind": "gaussian", "noise_multiplier": -1.0}, {"kind": "composed", "parts": [{"event": {"kind": "selection", "epsilon": 1.0}, "count": -1}]},
     {"kind": "composed"}, {"kind": "composed", "parts": 3}, {"kind": "composed", "parts": [{"event": 3, "count": 1}]}],
)  # fmt: skip
def test_unknown_events_are_never_skipped(state: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        event_from_dict(state)


def test_only_events_compose() -> None:
    with pytest.raises(InvalidParameter):
        compose(3)  # type: ignore[arg-type]
    for count in (-1, 1.5, True):
        with pytest.raises(InvalidParameter):
            compose(GaussianEvent(1.0), count=count)  # type: ignore[arg-type]


def test_a_profile_that_is_no_number_has_no_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is compared with it is false: the search ends at infinity, and so does one whose profile is that from somewhere on."""
    search = events._epsilon_of.__wrapped__
    for good in (0.0, 3.0):
        monkeypatch.setattr(
            events, "delta_of", lambda event, epsilon, asked=None, good=good: 0.5 if epsilon <= good else math.nan
        )
        assert search(GaussianEvent(1.0), 1e-6) == math.inf
