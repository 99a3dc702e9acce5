"""Audits of every solver and stream find nothing on the clean library, whatever the key; with a bug some of them find it."""

import pytest

from hullabaloo.noise import TestKey
from tests.planted.clean import audited
from tests.planted.subjects import QUICK, SUBJECTS

KEY = TestKey(bytes(range(32)))


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_audit_finds_nothing(name: str) -> None:
    """A false alarm has probability at most 1e-8 (`hb.audit`)."""
    assert not audited(name, KEY)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in QUICK])
def test_an_audit_finds_nothing(name: str) -> None:
    """A false alarm has probability at most 1e-8 (`hb.audit`)."""
    assert not audited(name, KEY)
