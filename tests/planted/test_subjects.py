"""Audits of every solver and stream find nothing on the clean library, whatever the key; with a bug some of them find it."""

import pytest

from hullabaloo.noise import TestKey
from tests.planted.clean import alarms, audited
from tests.planted.subjects import QUICK, SUBJECTS

KEY = TestKey(bytes(range(32)))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", QUICK)
def test_a_quick_audit_finds_nothing(name: str) -> None:
    """A false alarm has probability at most 1e-8 (`hb.audit`)."""
    assert not audited(name, KEY)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in QUICK])
def test_an_audit_finds_nothing(name: str) -> None:
    """A false alarm has probability at most 1e-8 (`hb.audit`)."""
    assert not audited(name, KEY)


@pytest.mark.slow
def test_a_thousand_clean_runs_raise_no_alarm() -> None:
    """Each with a fixed key of its own, so that it passes or fails for good; of any other keys a false alarm has probability at most 1e-5."""
    assert not alarms(1000)
