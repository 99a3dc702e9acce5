"""Which process this is. The operating system's number alone comes again: in a namespace of its own, or after the end of who had it."""

import os

_forks = [0]
os.register_at_fork(after_in_child=lambda: _forks.append(_forks.pop() + 1))


def this_process() -> tuple[int, int]:
    """The process's number, and how many forks lie behind it.

    **Guarantee.** Claim: a child that Python forked never gives what a process gave whose memory it has a copy of. Proof: that one is
    an ancestor, and every fork adds one before the child goes on. Of a fork by other code, which Python is not told of, the number tells.
    """
    return os.getpid(), _forks[0]
