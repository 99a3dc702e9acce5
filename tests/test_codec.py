"""Records as plain data and back: what was saved opens, and what is no such record is refused in a sentence."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hullabaloo.codec import Written, made, plain, table
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.serialise import PENALTIES, SET_FUNCTIONS, SETS
from hullabaloo.losses.serialise import KINDS
from hullabaloo.privacy.composition import ATOMS


@dataclass(frozen=True, slots=True)
class _Point(Written):
    at: float
    names: tuple[str, ...] = ()
    end: float | None = None
    kind = "point"


def test_a_float_is_written_as_one_and_infinity_as_null() -> None:
    text = json.dumps(_Point(1, ("a",), math.inf).to_dict(), allow_nan=False)
    assert text == '{"kind": "point", "at": 1.0, "names": ["a"], "end": null}'
    assert plain(np.arange(2)) == [0, 1]


FAR = [math.nan, math.inf, np.float64("nan"), np.float32("-inf"), np.array([1.0, math.inf]), np.array([None, math.nan])]


@pytest.mark.parametrize("far", FAR, ids=repr)
def test_what_is_not_finite_is_null_however_it_is_held(far: Any) -> None:
    """By itself, in lists, records and tables: NumPy's numbers and arrays were written as they were, and strict JSON has no word for these."""

    class Held:
        def to_dict(self) -> dict[str, Any]:
            return {"deep": [far]}

    for held in (
        far,
        [far],
        (far,),
        {"a": {"b": far}},
        Held(),
        [Held()],
        np.array([[far]], dtype=object),
        _Point(0.0, (far,)),
    ):
        text = json.dumps(plain(held), allow_nan=False)
        assert "null" in text


def test_what_is_written_is_read() -> None:
    assert made(table(_Point), _Point(0.5).to_dict() | {"names": ()}, "point") == _Point(0.5)


@pytest.mark.parametrize(
    ("data", "said"), [({}, "None is not the kind"), ({"kind": "point", "far": 1}, "cannot be made from")]
)
def test_another_word_or_argument_is_refused(data: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        made(table(_Point), data, "point")


def test_the_words_of_saved_records_never_change() -> None:
    """Models, ledgers and states hold them: a word may be added here, and none may be changed or go that a file can hold."""
    words = {"set": SETS, "penalty": PENALTIES, "set function": SET_FUNCTIONS, "loss": KINDS, "event": ATOMS}
    assert {what: " ".join(sorted(known)) for what, known in words.items()} == {
        "set": "box elastic-ball group-ball l1-ball l2-ball lp-ball nuclear-ball polytope simplex submodular-ball submodular-polyhedron",
        "penalty": "elastic-net group l1 none nuclear squared-l2 submodular",
        "set function": "bounded-cardinality cardinality concave-cardinality group-cover intervals tree-cover",
        "loss": "huber logistic margin_table multinomial_logistic pinball poisson residual_table smoothed_hinge squared squared_targets",
        "event": "gaussian laplace not-private objective-perturbation permute-and-flip selection tuned",
    }
