"""A planned fit on encoded rows, as part of what was charged as a whole: a release of a stream, a run of a search."""

from hullabaloo.data import Rows
from hullabaloo.noise import Key
from hullabaloo.release import Release
from hullabaloo.release.planned import PlannedFit
from hullabaloo.release.run import answered, stated


def answer(planned: PlannedFit, rows: Rows, key: Key | None = None) -> Release:
    """Carry a planned fit out; what it costs is part of what has been charged, or is not counted.

    `key` is for the noise in place of the task's: a secret one, from which a private fit can be drawn again, or one derived from the task's.
    """
    request = planned.task.request
    solution = answered(rows, planned.bought, planned.solve, request.key if key is None else key)
    return planned.release(solution, stated(request, planned.bought, None))
