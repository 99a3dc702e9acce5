"""No password of an address is repeated, wherever on a command line or in a call the address was put.

The command line refuses in sentences that quote what was given, and an address of a ledger given in the place of something else is that.
Every command's line is run with addresses of every form in the place of each argument and each option's value.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo import errors, linear_model, report, streaming
from hullabaloo.cli.app import app
from hullabaloo.cli.boundary import MISPLACED, repeatable
from hullabaloo.data import open_table, sources
from hullabaloo.data.given import path_of
from hullabaloo.errors import HullabalooError, passwords_in, without_passwords
from hullabaloo.geometry import penalty_from_text, set_from_text
from tests.commands import CliRunner
from tests.laws.hearing import everywhere, heard, run

HUSH = "".join(("hu", "SH", "hush"))  # made, as a traceback quotes the lines of a program
ADDRESSES = (
    f"postgresql://ann:{HUSH}@127.0.0.1:1/db",
    f"postgresql:/ann:{HUSH}@127.0.0.1:1/db",
    f"postgresql+psycopg://ann:{HUSH}-{HUSH}@127.0.0.1:1/db",
    f"postgresql://ann:4711{HUSH}@{HUSH}/@127.0.0.1:1/db",
    f"postgresql://ann:my {HUSH}@127.0.0.1:1/db",
    f"postgresql://ann:{HUSH},{HUSH};{HUSH}:{HUSH}@127.0.0.1:1/db",
    f"postgresql://ann:{HUSH}%40@127.0.0.1:1/db",
    f"postgresql://ann:{HUSH}",
    f"postgresql://ann@127.0.0.1:1/db?password={HUSH}",
    f"host=127.0.0.1 port=1 password='{HUSH}'",
    f"mysql://ann:{HUSH}@127.0.0.1:1/db",
    f"sqlite://ann:{HUSH}@127.0.0.1:1/db",
    f"redis://:{HUSH}@127.0.0.1:1/0",
    f"rediss://ann:{HUSH}@127.0.0.1:1/0?sslpassword={HUSH}",
    f"ann:{HUSH}@127.0.0.1/db",
)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("sentence", ["{}", "'{}'", "There is no file {}.", "(see {}), or mail to a@b.", "['{}', 'x']"])
@pytest.mark.few(25)
def test_an_address_is_shown_without_its_password(address: str, sentence: str) -> None:
    assert any(HUSH in secret for secret in passwords_in(address))
    shown = without_passwords(sentence.format(address))
    assert HUSH not in shown
    assert "***" in shown
    assert without_passwords(shown) == shown or HUSH not in without_passwords(shown)


@pytest.mark.parametrize(
    "text",
    [
        'Write "sqlite:///privacy.db" for a file or "postgresql://user@host/database" for a server.',
        "Write redis://host:6379/0 or unix:///path/to/socket.",
        "Names such as 'a@b' and 'tree;dose:age;ward:age' at 12:30, see https://example.org/a:b.",
        "The ledger sqlite:////home/ann/privacy.db failed. Write to ann@example.org.",
        "Pass postgresql://host:5432/db, redis://host:6379/0; or ann@host.",
        "",
    ],
)
def test_what_holds_no_password_is_shown_as_it_is(text: str) -> None:
    assert without_passwords(text) == text
    assert passwords_in(text) == set()


def test_every_error_of_the_library_leaves_passwords_out() -> None:
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, HullabalooError)]
    kinds += [sources.SourceChanged]
    assert len(kinds) > 15
    for kind in kinds:
        error = kind(f"The file {ADDRESSES[0]} is not there.")
        assert HUSH not in f"{error} {error!r} {error.args}"
        assert "not there" in str(error)


CALLS: dict[str, Callable[[str], Any]] = {
    "a ledger": lambda text: hb.Ledger(f"mysql+{text}"),
    "a dataset": lambda text: hb.Ledger("sqlite:///nowhere.db").create(text, hb.Budget(1.0, 1e-6)),
    "a unit": lambda text: hb.Ledger("sqlite:///nowhere.db").create("people", hb.Budget(1.0, 1e-6), unit=text),
    "a dataset to look at": lambda text: hb.Ledger("sqlite:///nowhere.db").remaining(text),
    "a table": open_table,
    "a path": lambda text: path_of(f"{text}\0"),
    "a model": hb.load,
    "a stream's model": streaming.load,
    "a card": report.card_from_json,
    "a domain": hb.Domain.from_json,
    "a CSV file": sources.CsvSource,
    "a Parquet file": sources.ParquetSource,
    "a Redis server": lambda text: sources.RedisSource(text, "key", ["a"]),
    "a Redis stream": lambda text: sources.RedisSource("redis://127.0.0.1:1/0", text, ["a"]),
    "a set": set_from_text,
    "a penalty": penalty_from_text,
    "a solver": lambda text: hb.LinearRegression(
        budget=hb.Budget(1.0), domain=hb.Domain(row_norm=1.0), solver=text
    ).price(9),
    "a relation": hb.privacy.Neighbours.parse,
    "a target": lambda text: hb.Domain(features={"a": (0, 1)}, target={"b": (0, 1)}).check_schema({"a": [1]}, text),
    "a metric": lambda text: linear_model.LinearRegression(
        calibration=text, budget=hb.Budget(1.0), domain=hb.Domain(row_norm=1.0)
    ).price(9),
}


def test_no_call_repeats_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole in a message, that is: a set's text is taken apart, and what it is made of is the caller's own."""
    monkeypatch.chdir(tmp_path)
    refusals: dict[str, int] = {}
    for what, call in CALLS.items():
        for address in (ADDRESSES[0], ADDRESSES[8], ADDRESSES[12]):
            refused, _ = heard(lambda: call(address))  # noqa: B023 - called at once
            refusals[what] = refusals.get(what, 0) + bool(refused)
            assert HUSH not in refused, f"{what}: {refused}"
    assert refusals == dict.fromkeys(CALLS, 3)
    assert not list(tmp_path.iterdir()), "a refused address leaves no ledger"


def _commands(addresses: tuple[str, ...], lines: list[list[str]]) -> int:
    count = 0
    for address in addresses:
        for line in lines:
            words = [word.replace("WORD", address).replace("TABLE", "sound.csv") for word in line]
            code, _, everything = run(words)
            count += 1
            assert HUSH.lower() not in everything.lower(), f"{code} {words}: {everything[-2000:]}"
    return count


def test_no_command_repeats_a_password(desk: Path) -> None:
    lines = everywhere()
    assert sum(_commands((address,), lines[place::67]) for place, address in enumerate(ADDRESSES)) >= 70


@pytest.mark.slow
def test_no_command_repeats_a_password_in_any_place(desk: Path) -> None:
    assert _commands(ADDRESSES, everywhere()) > 5000


def test_a_part_of_a_password_is_not_repeated_either() -> None:
    """A set's text is taken apart, and the parts are quoted."""
    words = ["fit", "t.csv", "--set", f"tree;x:{HUSH}@host"]
    assert repeatable(f"It names '{HUSH.upper()}' twice.", words) == MISPLACED
    assert HUSH not in repeatable(f"It names '{words[-1]}' twice.", words)
    assert repeatable("It names 'age' twice.", words) == "It names 'age' twice."


@pytest.mark.parametrize("value", ["", "0", "false", "False", "no", "off", " 0 "])
def test_tracebacks_are_off_where_that_is_said(desk: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Any text but an empty one switched them on, and a traceback may quote a record."""
    monkeypatch.setenv("HULLABALOO_DEBUG", value)

    def fail(*_: object) -> None:
        raise ValueError(f"could not convert string to float: {HUSH!r}")

    monkeypatch.setattr("hullabaloo.data.files.domain_template", fail)
    done = CliRunner().invoke(app, ["domain", "template", "sound.csv"])
    assert done.exit_code == 4
    assert isinstance(done.exception, SystemExit)
    assert HUSH not in done.output + done.stderr
    monkeypatch.setenv("HULLABALOO_DEBUG", "1")
    shown = CliRunner().invoke(app, ["domain", "template", "sound.csv"])
    assert isinstance(shown.exception, ValueError), "where it is asked for, the traceback is there"


def test_a_failure_of_the_machine_names_only_files_of_the_command_line(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder's files are found and not named by the caller, and the machine's own words may name them again."""
    inside = str(Path("tables") / f"{HUSH}.parquet")

    def fail(*_: object) -> None:
        raise PermissionError(13, f"Failed to open local file {inside!r}", inside)

    monkeypatch.setattr("hullabaloo.data.files.domain_template", fail)
    monkeypatch.setattr("hullabaloo.cli.build.existing", lambda path, _: path)
    done = CliRunner().invoke(app, ["domain", "template", "tables"])
    assert done.exit_code == 4
    assert HUSH not in done.stderr
    assert re.search(r"Permission denied \(tables\)", done.stderr)


LONG = ("x", "@", ":", "/", "x:", "a://", "a:b@", "password=", "password='", "a://b:c", "://x@ ", "-", "a.b")


@pytest.mark.parametrize(
    "text", [*((one * 20_000)[:20_000] for one in LONG), f"a://b:{'c' * 20_000}@", f"a://b:{'c' * 20_000} d@"]
)
def test_a_long_text_is_searched_in_time_that_grows_with_it(text: str) -> None:
    """A domain file with a text of 100 000 letters where a number belongs was refused after minutes."""
    begun = time.process_time()
    without_passwords(text)
    assert time.process_time() - begun < 1.0
