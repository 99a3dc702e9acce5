"""Bounds without looking at the records: private quantiles, and the domain that they make."""

from hullabaloo.bounds.private import private_bounds
from hullabaloo.bounds.record import PrivateBounds

__all__ = ["PrivateBounds", "private_bounds"]
