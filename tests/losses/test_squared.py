import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import KernelCode, LossConstants, Squared, loss_from_dict


def test_the_table_of_the_squared_loss():
    loss = Squared()
    assert loss.name == "squared"
    assert loss.kernel_code is KernelCode.SQUARED == 0
    assert loss.value(np.array([3.0]), np.array([1.0])) == 2.0
    assert loss.derivative(np.array([3.0]), np.array([1.0])) == 2.0
    assert loss.constants(2.0, 1.0) == LossConstants(lipschitz=3.0, smoothness=1.0, strong_convexity=1.0)
    assert loss.curvature(2.0) == 16.0


def test_an_unknown_loss_is_refused_with_the_kinds():
    with pytest.raises(InvalidParameter, match="the kinds are huber, logistic"):
        loss_from_dict({"kind": "cubed"})
    with pytest.raises(InvalidParameter, match="to_dict"):
        loss_from_dict({"kind": "squared", "power": 2})
