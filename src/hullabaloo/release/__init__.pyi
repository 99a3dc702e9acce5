# fmt: off
# isort: off
from hullabaloo.release.estimator import RegressorMixin, warn_of_column
from hullabaloo.release.parameters import check_types, declared, found, label_of, one_of, positive, shown, terms_of, whole
from hullabaloo.release.planned import PlannedFit, Task, plan_context, prepare, problem_of
from hullabaloo.release.release import NOT_PRIVATE, NOT_RECORDED, PrivacyStatement, Release, large_delta
from hullabaloo.release.request import ReleaseRequest
from hullabaloo.release.run import Purchase, run_question, stated

__all__ = [
    "NOT_PRIVATE", "NOT_RECORDED", "PlannedFit", "PrivacyStatement", "Purchase", "RegressorMixin", "Release",
    "ReleaseRequest", "Task", "check_types", "declared", "found", "label_of", "large_delta", "one_of", "plan_context",
    "positive", "prepare", "problem_of", "run_question", "shown", "stated", "terms_of", "warn_of_column", "whole",
]
# fmt: on
