"""What leaves the curator when it fails is the failure alone, whatever kind it is of."""

import pytest

from hullabaloo.curator.curator import sealed


@pytest.mark.parametrize("kind", [ValueError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_no_failure_carries_the_frames_in_which_numbers_lie(kind: type[BaseException]) -> None:
    @sealed
    def answer(exact: float) -> float:
        hidden = 2.0 * exact
        try:
            return hidden / 0.0
        except ZeroDivisionError as inner:
            raise kind from inner

    with pytest.raises(kind) as caught:
        answer(0.125)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    step = caught.tb
    while step is not None:
        assert "hidden" not in step.tb_frame.f_locals
        step = step.tb_next
