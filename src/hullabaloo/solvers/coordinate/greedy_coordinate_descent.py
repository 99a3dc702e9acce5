"""Greedy coordinate descent (DP-GCD): each step moves the coordinate with the largest partial derivative, chosen privately, by a noisy one.

Mangold, Bellet, Salmon and Tommasi (2023), Algorithm 1: j = argmax |∂_j f + noise|/√M_j, then `θ_j ← prox_{ψ_j/M_j}(θ_j − (∂_j f + noise)/M_j)`. Here the choice is
the exponential mechanism, which composes as ε₀²/8-zCDP where noise on every score costs eight times that, and the derivative that is
used is a Gaussian release of one number, clipped at its own size.
"""

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

from hullabaloo.geometry.separable import separable_form
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.coordinate import greedy_search as greedy
from hullabaloo.solvers.options import WHOLE, check_options
from hullabaloo.solvers.reference import Reference

SHARES = greedy.Parts(choices=0.65, partials=0.3, squares=0.04, lengths=0.01, refit=0.0)
FREE = 1000
"""Steps without noise."""
UNFINISHED = 0.15
"""Share of what was selected that single steps along each coordinate leave (measured on two designs, of as many steps as the rule takes)."""


@dataclass(frozen=True, slots=True)
class GreedyCoordinateDescentSolver(Solver):
    """One model of at most T coefficients that are not 0, by T private steps; for penalties and sets that are sums over coordinates.

    `GreedySelectionSolver` spends less on what was chosen and refits it: it is the more accurate one nearly everywhere. This one is the paper's,
    and takes any separable penalty. M_j is released of chosen columns alone and scores are compared as they are, which is the rule for columns declared on
    the same range: the paper divides them by √M_j, of all columns, whose noise grows with √p.

    Attributes:
        steps: T; None for the public rule of `greedy_search.py`.

    **Guarantee.** The plan buys T selections of range ε₀, T partial derivatives (and the intercept's), second moments and a histogram; the allowance takes
    their composition.
    """

    steps: int | None = None
    name: ClassVar[str] = "greedy_coordinate_descent"

    def __post_init__(self) -> None:
        check_options(self, steps=WHOLE)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """T selections and updates.

        Raises:
            CapabilityError: several targets, or a set or penalty that ties coordinates together.
            CalibrationError: a budget of δ = 0.
        """
        greedy.check(problem, "Greedy coordinate descent")
        separable_form(problem.regulariser, problem.feasible, problem.dimension)
        count = self.steps or (greedy.picks(problem, allowance, SHARES.choices) if allowance.is_private else FREE)
        parts = greedy.prices_of(allowance, SHARES, count)
        search, queries = greedy.bought(problem, prices, parts, count, window=0, again=True)
        reason = f"{count} steps, each along a coordinate chosen privately"
        return Plan(self.name, tuple(queries), asdict(search), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Choose and move, T times."""
        search = greedy.GreedySearch(problem, greedy.Search(**plan.settings), curator)
        search.walk()
        return Solution(search.theta[:, None], trace=({"selected": list(search.picked), "cut of scores": search.clip},))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """What is not selected (`expected_loss`), what single steps leave, and their noise: `½ Σ_j M_j L (noise_j)²` at M_j = b²/9, residuals a quarter of theirs."""
        search, signal = greedy.Search(**plan.settings), Reference.of(problem).signal
        missed = greedy.expected_loss(problem, search, signal)
        missed += UNFINISHED * (0.5 * signal - missed)
        square = problem.norm_linf**2 / 9.0  # of a column that fills a third of its range
        clip = 0.25 * search.slope * greedy.CUT * math.sqrt(problem.norm_linf * math.sqrt(square))
        noise = search.partial_noise * clip / (search.smoothness * square)
        return missed + 0.5 * search.picks * search.smoothness * problem.norm_linf**2 / 9.0 * noise**2
