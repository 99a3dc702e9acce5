"""`python -m tests.planted`: the bugs; `… run NAME [TEST …]`: plant one and run tests (those that catch it) on it."""

import sys

from tests.planted.bugs import BUGS, named
from tests.planted.nursery import Nursery, serve


def main(words: list[str]) -> int:
    if words[:1] == ["serve"]:
        serve()
        return 0
    if words[:1] == ["run"] and len(words) > 1:
        bug = named(words[1])
        with Nursery() as nursery:
            found = nursery.run(bug, tuple(words[2:]) or bug.caught_by, whole=True)
        print(found.output)
        print(
            f"{bug.name}: {found.fault or f'{len(found.failed)} failed, {found.passed} passed'}, {found.seconds:.1f} s"
        )
        for test, seconds in sorted(found.failed.items(), key=lambda one: one[1]):
            print(f"{seconds:7.2f} s  {test}")
        return 0 if found.caught else 1
    for bug in BUGS:
        print(f"{bug.name:34} {bug.module:34} {bug.wrong}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
