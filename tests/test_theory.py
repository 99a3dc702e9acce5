"""`hb.theory`: every name is documented, and says which item of which paper it is; the poster's identity of clips is wrong."""

import inspect
import re

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.planning.theory.lower_bounds import coordinate_wise, l2_ball, strongly_convex
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.solvers.coordinate.coordinate_rule import Schedule as Rounds

OWN = {"two_points", "loss_rise", "ridge_rise", "projected_rise", "measured_width"}
RECORDS = {"HardLasso", "LowerBound", "StreamShape", "Width", "PackedLasso", "PaddedModel"}
TAG = re.compile(r"^ *Source: 00[0-4], [^;\n]+(; 00[0-4], [^;\n]+)*\.$", re.MULTILINE)


def test_every_name_is_documented_with_its_source() -> None:
    for name in hb.theory.__all__:
        said = inspect.getdoc(getattr(hb.theory, name))
        assert said, name
        assert name in OWN | RECORDS or TAG.search(said), f"{name} does not say its source"
    assert set(hb.theory.__all__) >= OWN


def test_the_posters_clips_do_not_have_the_norm_that_it_says() -> None:
    """`C_j = C√(M_j/tr M)` has ‖C_j‖_{M⁻¹} = C√(p/tr M), not C: M = (4, 1, 1), C = 1 is a counterexample, M of trace p none."""
    for constants in (np.array([4.0, 1.0, 1.0]), np.array([0.5, 2.0, 0.5])):
        clips = Rounds(1, 1, False, 1.0, clip=1.0).clips(constants, intercept=False)
        square = hb.theory.weighted_noise(clips, constants)
        assert square == pytest.approx(3.0 / constants.sum())
        assert (square == pytest.approx(1.0)) == (constants.sum() == 3.0)
        assert np.linalg.norm(clips) == pytest.approx(1.0)  # in the Euclidean norm it is C


def test_an_intercept_stands_outside_the_trace_of_m() -> None:
    """Of a user's C as of the rule's: the slopes' clips are as without it, its own is `middle √bend`."""
    rounds, slopes = Rounds(1, 1, False, 1.0, clip=2.0, middle=0.7), np.array([4.0, 1.0])
    found = rounds.clips(np.append(slopes, 100.0), intercept=True, bend=0.25)
    assert found[:2] == pytest.approx(rounds.clips(slopes, intercept=False))
    assert found[2] == pytest.approx(0.35)


def test_lower_bounds_are_functions_of_epsilon() -> None:
    """`at` is what the same bound, asked for at another ε, says; in every regime."""
    for neighbours in Neighbours:
        pair = hb.theory.two_points(500, 1.0, 1e-7, lipschitz=2.0, radius=0.5, neighbours=neighbours)
        for epsilon in (0.001, 0.1, 3.0, 50.0):
            other = hb.theory.two_points(500, epsilon, 1e-7, lipschitz=2.0, radius=0.5, neighbours=neighbours)
            assert pair.at(epsilon) == other.value
    small = hb.theory.two_points(10**6, 0.01, 0.0, lipschitz=1.0, radius=1.0)
    assert float(small.law.split("near ")[1].split("/ε")[0]) / 0.01 == pytest.approx(small.value, rel=0.1)
    for make in (
        lambda e: l2_ball(100, 9, e, lipschitz=1.0, radius=2.0),
        lambda e: strongly_convex(100, 9, e, lipschitz=1.0, strength=0.1, radius=3.0),
        lambda e: coordinate_wise(100, 9, e, lipschitz=0.5, radius=2.0),
        lambda _: hb.theory.lasso_rate(100),
    ):
        for epsilon in (1e-3, 0.2, 1.0):
            assert make(1.0).at(epsilon) == pytest.approx(make(epsilon).value)
    assert l2_ball(100, 9, 1.0, lipschitz=1.0, radius=2.0).law == "min{2, 0.06/ε}"


def test_alpha_is_the_largest_excess_between_releases_too() -> None:
    """Definition 1, by hand: releases at 4, 8 and 10 of 10 records, a bound that grows with t, and 2 a record between."""
    asked = []

    def bound(at: int, failure: float) -> float:
        asked.append((at, failure))
        return 3.0 * at

    assert hb.theory.estimator_alpha(bound, Schedule(10, 4), 10, 0.03, 2.0) == max(6.0, 12.0 + 6.0, 24.0 + 2.0, 30.0)
    assert asked == [(4, pytest.approx(0.01)), (8, pytest.approx(0.01)), (10, pytest.approx(0.01))]
    assert hb.theory.estimator_alpha(bound, Schedule(10, 4), 3, 0.03, 2.0) == 6.0  # before the first release
