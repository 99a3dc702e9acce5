"""Convex quadratics over sets and with penalties, minimised to the last digits: pure mathematics, no data, no noise."""

from hullabaloo.quadratic.minimise import QuadraticSolution, Status, minimise_quadratic

__all__ = ["QuadraticSolution", "Status", "minimise_quadratic"]
