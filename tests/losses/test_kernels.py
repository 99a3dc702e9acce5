"""The compiled derivatives are those of the loss objects, and say 0 where there is none."""

import math

import numpy as np
import pytest
from numba import njit

from hullabaloo.losses import KernelCode, kernels
from tests.laws import loss_zoo, zoo

LOSSES = loss_zoo.scalar_losses()


@njit
def compiled(code, numbers, z, y, clip):
    out = np.empty((2, z.size))
    for i in range(z.size):
        out[0, i] = kernels.derivative(code, numbers, z[i], y[i])
        out[1, i] = kernels.clipped(code, numbers, z[i], y[i], clip)
    return out


def test_codes_are_those_of_the_losses():
    for code in KernelCode:
        assert getattr(kernels, code.name) == code


@pytest.mark.parametrize("loss", LOSSES, ids=zoo.short)
def test_derivatives_agree(loss):
    z, y = np.meshgrid(np.append(np.linspace(-6, 6, 241), [-1e3, 1e3]), np.linspace(-1.0, 1.0, 41))
    z, y = z.ravel(), y.ravel()
    plain, clipped = compiled(int(loss.kernel_code), np.atleast_1d(loss.kernel_parameter), z, y, 0.4)
    expected = loss.derivative(z, y)
    np.testing.assert_allclose(plain, expected, rtol=1e-14)
    np.testing.assert_allclose(clipped, np.clip(expected, -0.4, 0.4), rtol=1e-14)


@pytest.mark.parametrize("loss", LOSSES, ids=zoo.short)
def test_a_clipped_derivative_is_a_bounded_number_whatever_the_prediction(loss):
    z, y = np.meshgrid([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324], [-1.0, 0.0, 1.0])
    clipped = compiled(int(loss.kernel_code), np.atleast_1d(loss.kernel_parameter), z.ravel(), y.ravel(), 0.4)[1]
    assert (np.abs(clipped) <= 0.4).all()
    assert (clipped[np.isnan(z.ravel())] == 0.0).all()


def test_an_unknown_code_counts_as_nothing():
    assert compiled(99, np.zeros(1), np.ones(1), np.ones(1), 1.0)[1].tolist() == [0.0]
