"""Clean runs: the statistical detectors on the library as it is, each run with a key of its own; what they say is a false alarm."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.planted.subjects import RUNS, SUBJECTS

PROCESSES, FITS = 2, 10


def audited(name: str, key: object, runs: int = RUNS) -> tuple[str, ...]:
    """What an audit of a subject holds against it, with noise of a given key."""
    import hullabaloo as hb

    return hb.audit(SUBJECTS[name](), runs=runs, n=50, test_key=key).faults  # type: ignore[arg-type]


def alarms(count: int) -> list[tuple[str, int, str]]:
    """False alarms of `count` clean runs: subject, number of the run, and what was said."""
    names = list(SUBJECTS)
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        found = pool.map(_run, [names[run % len(names)] for run in range(count)], range(count), chunksize=8)
        return [one for one in found if one is not None]


def _run(name: str, run: int) -> tuple[str, int, str] | None:
    from hullabaloo.noise import TestKey

    said = audited(name, TestKey(bytes(32)).derive(f"clean run {run}"), FITS)
    return (name, run, said[0]) if said else None
