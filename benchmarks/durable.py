"""What durability costs a stream: the time of one save, by width, with and without a ledger and a key."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SPEED = True
WIDTHS, SAVES = (10, 100), 60


def run() -> dict[str, Any]:
    found: dict[str, Any] = {"saves": SAVES}
    for width in WIDTHS:
        for ledger in (False, True):
            for sealed in (False, True):
                name = f"width {width}, {'ledger' if ledger else 'no ledger'}, {'sealed' if sealed else 'plain'}"
                found[name] = _measure(width, ledger=ledger, sealed=sealed)
    return found


def _measure(width: int, *, ledger: bool, sealed: bool) -> dict[str, Any]:
    import hullabaloo as hb
    from hullabaloo.durable.journal import Journal
    from hullabaloo.streaming import IncrementalRegression, new_key_file

    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        book = hb.Ledger(f"sqlite:///{folder}/privacy.db")
        book.create("clinic", hb.Budget(1.0, 1e-6))
        names = [f"x{column}" for column in range(width)]
        times: list[float] = []
        real = Journal.commit

        def timed(self: Journal, *arguments: Any) -> None:
            started = time.perf_counter()
            real(self, *arguments)
            times.append(time.perf_counter() - started)

        Journal.commit = timed  # type: ignore[method-assign]
        try:
            with IncrementalRegression(
                budget=hb.Budget(1.0, 1e-6),
                domain=hb.Domain(features=dict.fromkeys(names, (-1, 1)), target=(-1, 1), indicators=False),
                horizon=10_000_000,
                every=1000,
                ledger=book if ledger else None,
                dataset="clinic" if ledger else None,
                state=folder / "state",
                key_file=new_key_file(folder / "key") if sealed else None,
            ) as stream:
                x = np.random.default_rng(0).uniform(-1, 1, (1000, width))
                for _ in range(SAVES):
                    stream.partial_fit(x, x[:, 0])
            size = (folder / "state").stat().st_size
        finally:
            Journal.commit = real  # type: ignore[method-assign]
    late = sorted(times[5:])
    tenth, median = (round(1e3 * late[len(late) * share // 10], 2) for share in (1, 5))
    return {"bytes": size, "fast_ms": tenth, "median_ms": median, "slowest_ms": round(1e3 * late[-1], 2)}
