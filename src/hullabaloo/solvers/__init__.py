"""One algorithm a file, over one shared loop; solvers see public facts and private answers only."""

from hullabaloo.solvers.base import Answers, Menu, Plan, Problem, Quote, Solution, Solver

__all__ = ["Answers", "Menu", "Plan", "Problem", "Quote", "Solution", "Solver"]
