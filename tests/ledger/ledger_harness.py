"""Many processes against one ledger: shared by the tests and by benchmarks/ledger.py."""

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from hullabaloo.ledger import Ledger
from hullabaloo.privacy import Budget, Event, SelectionEvent

WORKER = Path(__file__).with_name("ledger_worker.py")


@dataclass(frozen=True, slots=True)
class KillResult:
    """What is found after killing processes that charge and then release."""

    releases: int
    charges: int
    releases_without_charge: int
    gaps: int


def charge_together(
    ledger: Ledger, event: Event, budget: Budget, *, processes: int, charges: int
) -> tuple[list[int], float]:
    """Start processes at the same moment; give how many charges each was granted, and the seconds until the last was done."""
    children = [_child("charge", ledger, event, budget, str(charges)) for _ in range(processes)]
    for one in children:
        _expect_ready(one)
    started = time.perf_counter()
    for one in children:
        one.stdin.write("go\n")
        one.stdin.flush()
    counts = [int(one.communicate(timeout=900)[0]) for one in children]
    seconds = time.perf_counter() - started
    if any(one.returncode for one in children):
        raise RuntimeError("a charging process failed")
    return counts, seconds


def kill_at_random(ledger: Ledger, released: Path, *, kills: int, seed: int) -> KillResult:
    """Kill releasing processes at random instants, two running at any time, and compare releases with charges."""
    wait = random.Random(seed)
    event, budget = SelectionEvent(1e-9), Budget(1e-9, 0.0)
    running = [_child("release", ledger, event, budget, str(released)) for _ in range(2)]
    for _ in range(kills):
        running.append(_child("release", ledger, event, budget, str(released)))
        victim = running.pop(0)
        _expect_ready(victim)
        time.sleep(wait.uniform(0.0, 0.1))
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    for one in running:
        one.kill()
        one.communicate()
    rows = ledger.charges("clinic")
    charged = {f"{row.number} {row.what}" for row in rows}
    lines = released.read_text().splitlines() if released.exists() else []
    return KillResult(
        releases=len(lines),
        charges=len(rows),
        releases_without_charge=sum(line not in charged for line in lines),
        gaps=sum(row.number != place for place, row in enumerate(rows, start=1)),
    )


def _child(task: str, ledger: Ledger, event: Event, budget: Budget, argument: str) -> subprocess.Popen[str]:
    terms = json.dumps({"event": event.to_dict(), "budget": budget.to_dict()})
    return subprocess.Popen(
        [sys.executable, WORKER, task, ledger.url, "clinic", terms, argument],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _expect_ready(child: subprocess.Popen[str]) -> None:
    if child.stdout.readline() != "ready\n":
        raise RuntimeError("a child process failed before it could charge; its error is above")
