"""What a solver is handed is the same in all runs that are compared, down to how it lies in memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hullabaloo.solvers.moments import moments
from tests.replay import cases
from tests.replay.compare import Show, told_apart


def test_answers_lie_alike_in_runs_that_are_compared(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They did not: the curator's moments are parts of one array, and their copies lie more closely, so that once in a while the last
    digit of a solution differed."""
    handed: list[Any] = []
    real = moments.solve_moments

    def solve(answer: Any, problem: Any, **options: Any) -> Any:
        handed.append([(one.strides, one.flags.c_contiguous) for one in (answer.gram, answer.cross, answer.square)])
        return real(answer, problem, **options)

    def go(model: Any, table: Any) -> Mapping[str, Any]:
        return {**show(model, table), "handed": handed.pop()}

    monkeypatch.setattr(moments, "solve_moments", solve)
    model = cases.model("LinearRegression", "moments", "replace-one")
    others = {"all records": cases.others("replace-one")["all records"]}
    assert told_apart(go, model, cases.base(), others, tmp_path / "run") == {}
