"""A query works out its price once, and an answer calls few functions: otherwise prices are worked out again at every step."""

import pytest
from benchmarks.calls import gradient, moments

STEP, FIT = 66, 2300
"""What a step of the gradient solver and a fit by moments may call, of ours and of others."""


def test_a_gradient_step_calls_few_functions() -> None:
    """It called 103 to 165 of them while sensitivities were worked out for every answer. Of the rest 22 are the AES binding's own, for a cipher under the key of one answer."""
    found, steps = gradient(None)
    assert found.total() <= STEP * steps
    priced = [name for name in found if name.endswith((".sensitivity", ".record_sensitivity", ".event", ".sigma"))]
    assert all(found[name] <= 1 for name in priced)


def test_a_fit_by_moments_calls_few_functions() -> None:
    """It called 2656 of them when every property of a query was worked out each time that it was asked for."""
    found = moments()
    assert found.total() <= FIT
    assert max(found[name] for name in found if ".curator." in name) <= 8


@pytest.mark.parametrize("what", ["sensitivity", "sigma", "event"])
def test_a_query_keeps_what_it_works_out(what: str) -> None:
    from hullabaloo.queries import QUERIES

    assert all(not isinstance(getattr(kind, what, None), property) for kind in QUERIES.values())
