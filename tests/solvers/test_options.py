"""Options of solvers are checked where they are written."""

from dataclasses import fields, replace

import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.planning.named import SOLVERS

OPTIONS = [(one, option.name) for one in SOLVERS.values() for option in fields(one)]


@pytest.mark.parametrize(("solver", "option"), OPTIONS, ids=lambda x: getattr(x, "name", x))
@pytest.mark.parametrize(
    "wrong", ["typo", -1.0, float("nan"), [3], object()], ids=["word", "negative", "nan", "list", "object"]
)
def test_what_an_option_cannot_be_is_refused_in_a_sentence(solver: object, option: str, wrong: object) -> None:
    with pytest.raises(InvalidParameter, match=option):
        replace(solver, **{option: wrong})  # type: ignore[type-var]
