"""An interrupt at any line (Ctrl-C, no memory): what is shown afterwards is in the state file, and no file is closed twice."""

import os
import shutil
import sys
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.durable.state import StateFile
from hullabaloo.errors import HullabalooError
from hullabaloo.streaming import IncrementalRegression

DOMAIN = hb.Domain(features={"a": (0, 1)}, target=(0, 1), indicators=False)
X = np.linspace(0.0, 1.0, 12)[:, None]


def stream(path: Path) -> IncrementalRegression:
    return IncrementalRegression(budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, horizon=12, every=4, state=path)


class Interrupt:
    """Raises at the n-th line or return that is traced."""

    def __init__(self, file: str, number: int) -> None:
        self.file, self.left = os.sep + file, number

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.endswith(self.file):
            return None
        if event in ("line", "return"):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def shown(model: IncrementalRegression) -> tuple[Any, ...]:
    return model.released_at_, *model.coef_, model.intercept_


@pytest.mark.parametrize("apart", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_nothing_is_shown_that_is_not_saved(tmp_path: Path, apart: int) -> None:
    tried, refused = 0, 0
    for number in count(1, apart):
        tried += 1
        path, copy = tmp_path / f"{number}.state", tmp_path / f"{number}.copy"
        model = stream(path).partial_fit(X[:5], X[:5, 0])
        interrupt, before = Interrupt("intake.py", number), sys.gettrace()
        sys.settrace(interrupt)
        try:
            for i in range(5, 9):
                model.learn_one({"a": X[i, 0]}, X[i, 0])
            model.model_at()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        try:
            seen = shown(model)
        except HullabalooError:  # it goes no further: shows nothing
            refused += 1
        else:
            shutil.copy2(path, copy)
            with stream(copy) as again:
                assert shown(again.begin()) == seen, f"after an interrupt at traced line {number}"
        if interrupt.left > 0:
            break
    assert number > 60
    assert 0 < refused < tried / 2


def test_a_file_is_closed_once_wherever_closing_is_interrupted(tmp_path: Path) -> None:
    for number in range(1, 30):
        file = StateFile(tmp_path / f"{number}.state")
        assert file.open() is None
        kept = file._folder
        assert kept is not None
        interrupt, before = Interrupt("state.py", number), sys.gettrace()
        sys.settrace(interrupt)
        try:
            file.close()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        try:
            os.fstat(kept)
        except (
            OSError
        ):  # closed: the system may give the number to somebody else, whose file a second close would close
            assert file._folder is None
        else:
            file.close()
        if interrupt.left > 0:
            return
    raise AssertionError("closing is longer than that")
