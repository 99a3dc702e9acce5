"""Convex quadratics over sets and with penalties, minimised to the last digits: pure mathematics, no data, no noise."""

from hullabaloo.quadratic.minimise import QuadraticSolution, QuadraticSolver, Status, minimise_quadratic

__all__ = ["QuadraticSolution", "QuadraticSolver", "Status", "minimise_quadratic"]
