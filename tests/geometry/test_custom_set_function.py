"""Set functions given as callables: what is checked, how it is said, and what cannot be done with them."""

import math
import pickle
import re

import numpy as np
import pytest

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import CustomSetFunction, SubmodularBall, SubmodularPenalty
from tests.geometry.submodular_oracles import rooted


def root(columns):
    return len(columns) ** 0.5


@pytest.mark.parametrize("p", [1, 2, 5, 12, 13, 40])
def test_a_submodular_callable_is_accepted(p):
    function = CustomSetFunction(root, p)
    assert function.value(np.arange(p) < 1) == 1.0
    assert function.dimension == p
    assert function.gains(np.arange(p)).sum() == pytest.approx(p**0.5)


@pytest.mark.parametrize("p", [5, 20])
@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda a: 1.0 + len(a), "gives 1.0 for the empty set"),
        (lambda a: float(0 not in a and len(a) > 0), "gives 0.0 for the column 0 alone"),
        (lambda a: float(len(a) ** 2), "not submodular: for A = {"),
        (lambda a: max(a) - min(a) + 1.0 if a else 0.0, "not submodular"),  # the plain length
        (lambda a: min(len(a), 7 - len(a)) if a else 0.0, "falls when column|gives -"),
        (lambda a: len(a) if len(a) < 2 else math.nan, "gave nan"),
        (lambda a: "much", "gave 'much'"),
        (lambda a: None, "gave None"),
    ],
)
def test_a_callable_that_is_no_set_function_is_refused_with_its_sets(function, sentence, p):
    with pytest.raises(InvalidParameter, match=sentence):
        CustomSetFunction(function, p)


def test_the_two_sets_named_break_the_inequality():
    def function(a):
        return float(len(a)) + 3.0 * (a >= {1, 3})

    with pytest.raises(InvalidParameter, match="not submodular") as refusal:
        CustomSetFunction(function, 6)
    a, b = (frozenset(map(int, found.split(","))) for found in re.findall(r"{([\d, ]+)}", str(refusal.value)))
    assert function(a) + function(b) < function(a | b) + function(a & b)


def test_a_fault_of_one_pair_is_found_on_few_columns_and_may_be_missed_on_many():
    def function(a):
        return float(len(a)) + 0.5 * (a == {2, 5})

    with pytest.raises(InvalidParameter, match=r"submodular|falls"):
        CustomSetFunction(function, 8)
    assert CustomSetFunction(function, 40).p == 40  # a sample of sets cannot show it


def test_check_false_asks_nothing():
    def forbidden(columns):
        raise AssertionError

    assert CustomSetFunction(forbidden, 5, check=False).p == 5


def test_the_check_draws_the_same_sets_each_time():
    seen = []
    for _ in range(2):
        asked = []
        CustomSetFunction(lambda a, asked=asked: asked.append(a) or root(a), 30)
        seen.append(asked)
    assert seen[0] == seen[1]
    assert len({len(a) for a in seen[0]}) > 20  # sets of all sizes


def test_a_value_that_is_no_number_is_refused_also_later():
    function = CustomSetFunction(lambda a: math.inf if len(a) == 3 else root(a), 5, check=False)
    with pytest.raises(InvalidParameter, match=r"gave inf for the columns {0, 1, 2}"):
        function.value(np.arange(5) < 3)


@pytest.mark.parametrize("p", [0, -1, 2.5, True])
def test_p_is_a_whole_number(p):
    with pytest.raises(InvalidParameter, match="whole number"):
        CustomSetFunction(root, p)


def test_what_is_no_callable_is_refused():
    with pytest.raises(InvalidParameter, match="callable"):
        CustomSetFunction(3.0, 5)


def test_equality_hash_print_and_pickle_are_those_of_callable_and_p():
    function = CustomSetFunction(root, 5)
    assert function == CustomSetFunction(root, 5, check=False)
    assert hash(function) == hash(CustomSetFunction(root, 5))
    assert function != CustomSetFunction(root, 6)
    assert function != CustomSetFunction(rooted, 5)
    assert repr(SubmodularBall(function, 2.0)) == "SubmodularBall(function=CustomSetFunction(root, p=5), radius=2.0)"
    assert pickle.loads(pickle.dumps(function)) == function


def test_a_callable_cannot_be_written_down_and_the_remedy_is_named():
    function = CustomSetFunction(root, 5)
    for held in (function, SubmodularBall(function, 1.0), SubmodularPenalty(function, 1.0)):
        with pytest.raises(CapabilityError, match=r"cannot be written down.* named set function"):
            held.to_dict()


def test_what_a_callable_raises_is_a_sentence():
    with pytest.raises(InvalidParameter, match=r"raised ZeroDivisionError for the columns \{\}.*check the callable"):
        CustomSetFunction(lambda columns: 1 / len(columns), 3)


@pytest.mark.parametrize("weight", [1e3, 1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("size", [5e-324, 1e-160, 1.0])
def test_a_huge_weight_takes_everything_to_zero(weight, size):
    """No product leaves the floats on the way."""
    penalty = SubmodularPenalty(CustomSetFunction(root, 4), weight)
    assert not penalty.prox(size * np.array([1.0, -2.0, 0.0, 1.0]), 1.0).any()
