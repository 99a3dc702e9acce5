"""An address that cannot be taken apart is not repeated: Python's own error quotes it, password and all."""

import traceback

import pytest

from hullabaloo.data.sources import RedisSource
from hullabaloo.errors import InvalidParameter, without_passwords


@pytest.mark.parametrize("host", ["ex\u2100mple.com", "[bad"])
def test_no_password_of_a_broken_address_is_repeated(host: str) -> None:
    pytest.importorskip("redis")
    with pytest.raises(InvalidParameter) as caught:
        RedisSource(f"redis://ann:hush@{host}/0", "events", ["a"])
    shown = "".join(traceback.format_exception(caught.value))
    assert "ann:hush@ex" not in shown
    assert "hush" not in str(caught.value)


def test_a_password_with_any_mark_is_hidden_to_its_end() -> None:
    pytest.importorskip("redis")
    with pytest.raises(InvalidParameter) as caught:
        RedisSource("rediss-://ann:hu@sh@host/0", "events", ["a"])
    assert "sh@" not in str(caught.value)


def test_a_quoted_password_may_hold_blanks() -> None:
    """As in the words by which PostgreSQL's own tools are told where a server is."""
    assert without_passwords("host=h password='two \\'words' x") == "host=h password='***' x"
    assert without_passwords('password="two words"') == 'password="***"'
