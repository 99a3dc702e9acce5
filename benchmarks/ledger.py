"""Budgets under concurrency: 8 processes × 200 charges, and 100 kills at random instants, in SQLite and PostgreSQL.

1600 charges are tried against a budget that holds 1500. PostgreSQL is a private server with its normal durability
(fsync on), or the one named in HULLABALOO_TEST_POSTGRES.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

SPEED = True
PROCESSES, CHARGES, ROOM, KILLS = 8, 200, 1500, 100


def run() -> dict[str, Any]:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "ledger"))
    try:
        return {"sqlite": _sqlite(), "postgresql": _postgres()}
    finally:
        del sys.path[0]


def _sqlite() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return _measure(f"sqlite:///{folder}/charges.db", f"sqlite:///{folder}/kills.db")


def _postgres() -> dict[str, Any]:
    from pg_cluster import NoServer, fresh_schema, server

    try:
        with server(durable=True) as url, fresh_schema(url) as charges, fresh_schema(url) as kills:
            return _measure(charges, kills)
    except NoServer as reason:
        return {"skipped": str(reason)}


def _measure(charges: str, kills: str) -> dict[str, Any]:
    from ledger_harness import charge_together, kill_at_random

    from hullabaloo.ledger import Ledger
    from hullabaloo.privacy import Budget, SelectionEvent

    ledger, part = Ledger(charges), Budget(1.0 / ROOM, 0.0)
    ledger.create("clinic", Budget(1.0, 1e-6), neighbours="replace-one")
    accepted, seconds = charge_together(ledger, SelectionEvent(1.0 / ROOM), part, processes=PROCESSES, charges=CHARGES)
    rows = ledger.charges("clinic")
    kept = sum(row.number == place for place, row in enumerate(rows, start=1))

    killed = Ledger(kills)
    killed.create("clinic", Budget(1.0, 1e-6), neighbours="replace-one")
    with tempfile.TemporaryDirectory() as folder:
        found = kill_at_random(killed, Path(folder, "releases"), kills=KILLS, seed=0)
    return {
        "processes": PROCESSES,
        "tried": PROCESSES * CHARGES,
        "room": ROOM,
        "accepted": sum(accepted),
        "overspent": max(0, len(rows) - ROOM),
        "lost_rows": sum(accepted) - kept,
        "seconds": round(seconds, 2),
        "charges_per_second": round(sum(accepted) / seconds, 1),
        "kills": KILLS,
        "releases": found.releases,
        "charges_after_kills": found.charges,
        "releases_without_charge": found.releases_without_charge,
        "rows_lost_by_kills": found.gaps,
        "verify": [ledger.verify().status, killed.verify().status],
    }
