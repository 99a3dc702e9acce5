"""Known faults of released versions, so that `verify` can name the releases that they touch.

`advisories.json` is shipped with the library:

    {"format": 1, "advisories": [{"id": "HB-2027-001", "versions": ["0.1.0", "0.1.1"], "events": ["gaussian"],
                                  "summary": "what was wrong", "remedy": "what to do"}]}

`versions` lists every faulty version (exact names, no ranges: a range is easy to read wrongly, a list is not);
`events` lists the kinds of event concerned, and is left out when all are.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from hullabaloo.errors import LedgerError, once


@dataclass(frozen=True, slots=True)
class Advisory:
    """One fault."""

    id: str
    versions: frozenset[str]
    summary: str
    remedy: str
    events: frozenset[str] | None = None

    def touches(self, version: str, kinds: frozenset[str]) -> bool:
        """True when a release of these kinds by this version is concerned."""
        return version in self.versions and (self.events is None or bool(self.events & kinds))


def read(text: str) -> tuple[Advisory, ...]:
    """Read the file's format; anything else is an error, because silence would read as an all-clear."""
    try:
        content = json.loads(text, object_pairs_hook=once)
        if content["format"] != 1:
            raise ValueError("unknown format")
        return tuple(
            Advisory(
                id=str(one["id"]),
                versions=frozenset(map(str, one["versions"])),
                summary=str(one["summary"]),
                remedy=str(one["remedy"]),
                events=frozenset(map(str, one["events"])) if "events" in one else None,
            )
            for one in content["advisories"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerError(
            f"The list of known faults (advisories.json) cannot be read ({error}), so nobody can say whether recorded "
            "releases are touched by one. Install hullabaloo again."
        ) from error


@lru_cache(maxsize=1)
def shipped() -> tuple[Advisory, ...]:
    """The list that came with this version of the library."""
    return read(files("hullabaloo.ledger").joinpath("advisories.json").read_text(encoding="utf-8"))
