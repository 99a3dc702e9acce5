"""Planted bugs: which tests and audits catch each of them, and how many false alarms the detectors give on the clean library."""

from typing import Any

SOURCES = ["src/hullabaloo", "tests/planted"]

CLEAN_RUNS = 1000


def run() -> dict[str, Any]:
    """Every bug against its quickest test, and a thousand clean runs; a bug that nobody catches is raised."""
    from tests.planted.bugs import BUGS
    from tests.planted.clean import FITS, alarms
    from tests.planted.matrix import matrix

    rows = matrix(BUGS)
    missed = [row["name"] for row in rows if not (row["caught"] and row["passes_without"])]
    if missed:
        raise RuntimeError(
            f"These planted bugs are not caught, or their tests fail without them: {missed}. Nothing is recorded."
        )
    false = alarms(CLEAN_RUNS)
    return {
        "planted": len(rows),
        "caught": sum(row["caught"] for row in rows),
        "clean_runs": CLEAN_RUNS,
        "fits_in_clean_runs": CLEAN_RUNS * FITS,
        "false_alarms": len(false),
        "alarms": [list(one) for one in false],
        "bugs": rows,
    }
