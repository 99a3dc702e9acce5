import json

import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Neighbours


def test_names_and_spellings() -> None:
    for value in (Neighbours.REPLACE_ONE, "replace-one", "replace_one", " Replace-One "):
        assert Neighbours.parse(value) is Neighbours.REPLACE_ONE
    assert Neighbours.parse("add-or-remove") is Neighbours.ADD_OR_REMOVE
    assert Neighbours.parse(json.loads(json.dumps(Neighbours.ADD_OR_REMOVE))) is Neighbours.ADD_OR_REMOVE


@pytest.mark.parametrize("value", [None, "", "both", 1, True, "replace"])
def test_anything_else_is_refused_with_both_names(value: object) -> None:
    with pytest.raises(InvalidParameter, match=r"replace-one.*add-or-remove"):
        Neighbours.parse(value)
