"""Which URLs are ledgers, and what is shown of them."""

import copy
import os
import pickle
from contextlib import suppress
from pathlib import Path

import pytest

from hullabaloo.errors import InvalidParameter, LedgerUnreachable
from hullabaloo.ledger import Ledger
from hullabaloo.ledger.address import parse


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite://", "forgotten"),
        ("sqlite:///:memory:", "forgotten"),
        ("sqlite:///file:x?mode=memory&uri=true", "options"),
        ("sqlite:///file:x", "forgotten"),
        ("sqlite://host/privacy.db", "three slashes"),
        ("sqlite:///privacy.db?timeout=1", "options"),
        ("mysql://u@h/d", "mysql"),
        ("postgresql+psycopg2://u@h/d", "psycopg"),
        ("postgresql://u@h", "names no database"),
        ("privacy.db", "not a database URL"),
        ("", "not a database URL"),
    ],
)
def test_urls_that_are_no_ledger_are_refused_with_a_sentence(url: str, says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        Ledger(url)


@pytest.mark.parametrize("place", ["a{}b.db", "a{}", "{}b.db", "a{}b/c.db", "a{}b=c.db", "a{0}{0}b.db"])
def test_an_address_means_the_file_that_stands_in_it_or_none(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever character a name has: from a question mark without a value on it was cut off, and charges went into another file."""
    monkeypatch.chdir(tmp_path)
    for character in (*map(chr, range(1, 0x180)), "\u2028", "\ufeff", "\U0001f600"):
        name = place.format(character)
        for said in (name, f"{tmp_path}/{name}"):
            with suppress(InvalidParameter):
                assert parse(f"sqlite:///{said}").path == Path(said).expanduser().resolve(), ascii(said)


@pytest.mark.parametrize("prefix", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgres_goes_through_psycopg_and_hides_the_password(prefix: str) -> None:
    ledger = Ledger(f"{prefix}://user:s3cr%40t@host:5433/db?sslpassword=hush&sslmode=require")
    assert ledger.url.startswith("postgresql+psycopg://user:s3cr%40t@host:5433/db")
    for shown in (repr(ledger), str(ledger), ledger.address, f"{[ledger]}"):
        assert "s3cr" not in shown
        assert "hush" not in shown
        assert "user:***@host:5433/db" in shown


def test_a_bad_url_with_a_password_is_not_repeated() -> None:
    with pytest.raises(InvalidParameter) as caught:
        Ledger("postgresql://user:s3cret@host:port/db")
    assert "s3cret" not in str(caught.value)


def test_a_relative_path_means_the_folder_in_which_the_ledger_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("sqlite:///privacy.db")
    monkeypatch.chdir("/")
    assert ledger.url == f"sqlite:///{tmp_path}/privacy.db"
    assert Ledger(ledger.url) == ledger


def test_copies_are_the_same_ledger_and_hold_only_the_url(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/a b%25#?.db".replace("?", ""))
    assert copy.deepcopy(ledger) == copy.copy(ledger) == pickle.loads(pickle.dumps(ledger)) == ledger
    assert hash(copy.deepcopy(ledger)) == hash(ledger)
    assert len(pickle.dumps(ledger)) < 300 + len(str(tmp_path))
    with pytest.raises(AttributeError):
        ledger.url = "sqlite:///other.db"  # type: ignore[misc]


def test_making_the_object_touches_nothing(tmp_path: Path) -> None:
    Ledger(f"sqlite:///{tmp_path}/privacy.db")
    Ledger("postgresql://nobody@127.0.0.1:1/none")
    assert os.listdir(tmp_path) == []


def test_only_create_makes_a_file(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/privacy.db")
    for look in (
        ledger.datasets,
        ledger.upgrade,
        ledger.verify,
        lambda: ledger.remaining("x"),
        lambda: ledger.charges("x"),
    ):
        with pytest.raises(LedgerUnreachable, match=r"file does not exist.*Ledger\.create"):
            look()
    assert os.listdir(tmp_path) == []


def test_an_address_whose_password_ends_nowhere_is_refused_and_not_shown() -> None:
    for text in ("postgresql://ann:hu@sh@host/db", "postgresql://ann@home:hush@sh@host/db"):
        with pytest.raises(InvalidParameter, match="%40") as caught:
            Ledger(text)
        assert "sh@" not in str(caught.value)
    assert "sh" not in Ledger("postgresql://ann:hu%40sh@host/db").address.replace("host", "")
