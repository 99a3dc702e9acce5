"""What leaves: the release and its privacy statement; and the order in which a fit or a question gets there."""

# fmt: off
# isort: off
from hullabaloo.release.estimator import label_of
from hullabaloo.release.parameters import found, one_of, positive, whole
from hullabaloo.release.planned import PlannedFit, Task, prepare, problem_of
from hullabaloo.release.release import (
    AS_PARSED, NOT_PRIVATE, NOT_RECORDED, NO_COPY_IS_NOTICED, PrivacyStatement, Release, large_delta,
)
from hullabaloo.release.request import ReleaseRequest
from hullabaloo.release.run import stated

__all__ = [
    "AS_PARSED", "NOT_PRIVATE", "NOT_RECORDED", "NO_COPY_IS_NOTICED", "PlannedFit", "PrivacyStatement", "Release",
    "ReleaseRequest", "Task", "found", "label_of", "large_delta", "one_of", "positive", "prepare", "problem_of",
    "stated", "whole",
]
# fmt: on
