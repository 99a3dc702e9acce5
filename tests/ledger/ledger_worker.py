"""What a child process does in the concurrency and kill tests; run as a script, so that it shares nothing with its parent.

python ledger_worker.py charge URL DATASET EVENTS_JSON COUNT          -> prints how many charges were accepted
python ledger_worker.py release URL DATASET EVENTS_JSON FILE          -> charges and releases until it is killed
"""

import json
import os
import sys

from hullabaloo.errors import BudgetExhausted
from hullabaloo.ledger import Ledger
from hullabaloo.privacy import Budget, event_from_dict


def charge(url: str, dataset: str, terms: str, count: str) -> None:
    ledger, options = Ledger(url), _options(terms)
    accepted = 0
    ledger.remaining(dataset)  # imports what a charge needs
    print("ready", flush=True)
    sys.stdin.readline()  # every child starts when its parent says so
    for number in range(int(count)):
        try:
            ledger.charge(dataset, what=f"charge {number} of {os.getpid()}", **options)
        except BudgetExhausted:
            continue
        accepted += 1
    print(accepted)


def release(url: str, dataset: str, terms: str, path: str) -> None:
    ledger, options = Ledger(url), _options(terms)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    ledger.remaining(dataset)  # imports what a charge needs
    print("ready", flush=True)
    while True:
        made = ledger.charge(dataset, what=f"release by {os.getpid()}", **options)
        os.write(file, f"{made.number} {made.what}\n".encode())
        os.fsync(file)


def _options(terms: str) -> dict:
    given = json.loads(terms)
    return {
        "event": event_from_dict(given["event"]),
        "budget": Budget.from_dict(given["budget"]),
        "neighbours": "replace-one",
    }


if __name__ == "__main__":
    {"charge": charge, "release": release}[sys.argv[1]](*sys.argv[2:])
