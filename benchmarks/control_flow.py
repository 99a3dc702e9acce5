"""Which lines of Python inside the curator and the readers run another number of times on neighbouring tables, under the same key.

Elapsed time is outside of the guarantee; this says where a difference could come from. Noise is drawn by rejection, whose number of rounds
depends on the key alone as long as the questions are the same. Everything outside is compared by tests/replay, and is the same.
"""

from typing import Any


def fingerprint() -> dict[str, Any]:
    """The files that it names for two solvers; the numbers of lines are those of any edit."""
    return {solver: list(differing("LinearRegression", solver)) for solver in ("moments", "gradient")}


def run() -> dict[str, Any]:
    """By solver: the files whose lines run another number of times when one record is replaced, with the extra lines."""
    from tests.replay import cases

    return {solver: differing("LinearRegression", solver) for solver in cases.SOLVED if solver != "auto"}


def differing(estimator: str, solver: str) -> dict[str, int]:
    """The files, and by how many lines in all."""
    from tests.replay import cases
    from tests.replay.lines import SOURCE
    from tests.replay.seen import observe
    from tests.replay.tape import Tape

    from hullabaloo.noise import TestKey

    model = cases.model(estimator, solver, "replace-one").set_params(test_key=TestKey(bytes(32)))
    fitted = lambda table: {"theta": model.fit(table).release_.theta}  # noqa: E731
    tables, tape = (cases.base(), cases.others("replace-one")["one record"]), Tape()
    for table in tables:  # what runs at a first call alone is no difference
        observe(lambda table=table: fitted(table), Tape(), replay=False)  # type: ignore[misc]
    first = observe(lambda: fitted(tables[0]), tape, replay=False)["inside"]
    other = observe(lambda: fitted(tables[1]), tape, replay=True)["inside"]
    found: dict[str, int] = {}
    for place in first.keys() | other.keys():
        if apart := abs(first[place] - other[place]):
            name = place[0].removeprefix(SOURCE + "/").rpartition("site-packages/")[2]
            found[name] = found.get(name, 0) + apart
    return dict(sorted(found.items()))
