"""Interval arithmetic of the transforms, on grids, and the kernel's agreement with their definition."""

import math

import numpy as np
import pytest

from hullabaloo.data import Domain, Numeric
from hullabaloo.data.kernels import scale_numeric
from hullabaloo.data.transforms import TRANSFORMS, image
from hullabaloo.errors import DomainError

INTERVALS = [(-0.9, 3.0), (0.5, 2.0), (0.0, 7.0), (-4.0, -1.0), (-2.0, 5.0), (1e-3, 1e6)]


def inside(name: str, lo: float) -> bool:
    transform = TRANSFORMS[name]
    return lo > transform.least if transform.open_end else lo >= transform.least


@pytest.mark.few(16)
@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(("lo", "hi"), INTERVALS)
def test_image_is_exact(name: str, lo: float, hi: float) -> None:
    if not inside(name, lo):
        with pytest.raises(DomainError, match="leave its domain"):
            image("a", name, lo, hi)
        return
    low, high = image("a", name, lo, hi)
    grid = [TRANSFORMS[name].value(v) for v in [*np.linspace(lo, hi, 2001), *([0.0] if lo <= 0 <= hi else [])]]
    assert low == pytest.approx(min(grid), abs=1e-12)
    assert high == pytest.approx(max(grid), abs=1e-12)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_kernel_applies_the_transform_and_fills_the_unit_interval(name: str) -> None:
    domain = Domain(features={"a": Numeric(0.5, 4.0, transform=name, indicator=False)})
    grid = np.linspace(0.5, 4.0, 101)
    x = domain.encoding(fit_intercept=False).encode(grid[:, None]).X[:, 0]
    centred = domain.encoding().encode(grid[:, None]).X[:, 0]
    values = np.array([TRANSFORMS[name].value(v) for v in grid])
    low, high = image("a", name, 0.5, 4.0)
    np.testing.assert_allclose(x, values / max(abs(low), abs(high)), atol=1e-14)
    np.testing.assert_allclose(centred, (values - (low + high) / 2) / ((high - low) / 2), atol=1e-14)
    assert (centred.min(), centred.max()) == pytest.approx((-1.0, 1.0), abs=1e-15)


@pytest.mark.parametrize(
    ("name", "lo", "hi"), [("square", 0, 1e60), ("log1p", 1e16, 1e16 + 2), ("square", 1e-90, 2e-90), ("cube", 0, 1)]
)
def test_images_that_cannot_be_scaled_are_refused(name: str, lo: float, hi: float) -> None:
    with pytest.raises(DomainError):
        Domain(features={"a": {"lo": lo, "hi": hi, "transform": name}})


def _scaled(code: int, v: float, lo: float, hi: float, mid: float, half: float, fill: float) -> float:
    """What `scale_numeric` says that it makes of one cell, in Python's own arithmetic."""
    if math.isnan(v):
        return fill
    clipped = min(max(v, lo), hi)
    return min(max(({one.code: one for one in TRANSFORMS.values()}[code].value(clipped) - mid) / half, -1.0), 1.0) + 0.0


@pytest.mark.few(2)
@pytest.mark.parametrize("codes", [(0, 0), (4, 5)], ids=["plain", "transformed"])
@pytest.mark.parametrize("alone", [True, False])
def test_a_scaled_cell_has_the_bits_of_the_formula_wherever_it_stands(codes: tuple[int, int], alone: bool) -> None:
    """Vector instructions take several cells at once and leave a few over: neither place nor neighbours change a bit."""
    rng, hostile = np.random.default_rng(7), [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1e308, 0.3]
    for m in range(1, 20):
        values = np.where(rng.random((40, m)) < 0.5, rng.choice(hostile, (40, m)), rng.normal(size=(40, m)))
        code = np.resize(np.array(codes), m)
        bounds = np.array([(0.0, 1.5, rng.normal(), 1.0 + rng.random(), rng.uniform(-1, 1)) for _ in range(m)])
        none = np.full(m, -1)
        places = np.stack([np.arange(m), none if alone else m + np.arange(m), none if alone else np.arange(m)], axis=1)
        out, filled = np.zeros((40, m if alone else 2 * m)), np.zeros((40, 0 if alone else m))
        scale_numeric(values, bounds, code, places, out, filled)
        wanted = np.array([[_scaled(code[j], row[j], *bounds[j]) for j in range(m)] for row in values.tolist()])
        missing = np.isnan(values)
        if not alone:
            assert filled.tobytes() == wanted.tobytes()
            assert out[:, m:].tobytes() == missing.astype(float).tobytes()
            wanted[missing] = 0.0
        assert np.ascontiguousarray(out[:, :m]).tobytes() == wanted.tobytes()
