"""What leaves: the release and its privacy statement; and the order in which a fit or a question gets there."""

from hullabaloo.release.release import (
    AS_PARSED,
    NO_COPY_IS_NOTICED,
    NOT_PRIVATE,
    NOT_RECORDED,
    PrivacyStatement,
    Release,
    large_delta,
)

__all__ = [
    "AS_PARSED",
    "NOT_PRIVATE",
    "NOT_RECORDED",
    "NO_COPY_IS_NOTICED",
    "PrivacyStatement",
    "Release",
    "large_delta",
]
