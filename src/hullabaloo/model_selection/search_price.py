"""What a search costs beside the honest cost of trying everything."""

import math
from dataclasses import dataclass
from typing import Any, final

from hullabaloo.codec import arguments
from hullabaloo.curation.searching import SearchPlan
from hullabaloo.privacy import Allowance, GaussianEvent, epsilon_of, gdp_epsilon
from hullabaloo.tables import Printed


@final
@dataclass(frozen=True, slots=True, repr=False)
class SearchPrice(Printed):
    """Spend of a search, from public facts; reads and charges nothing.

    Attributes:
        epsilon, delta: of the release, however many candidates there are.
        candidates: how many there are.
        expected_runs, shape: of the number of runs.
        chance: the probability that a given candidate is tried at all.
        run_mu, run_epsilon: of one run: its fit and its score each have all of it.
        alone_epsilon: what one fit without a search would have.
        grid_mu, grid_epsilon: what each candidate has where all are fitted and scored, everything may be shown, and the costs add up
            (Gaussian composition).
        trained, held: records to train on and to compare by.
        solvers: of each candidate.
        score_error: the privacy error of a score, as far as public facts tell it, in units of the metric.
        metric: its name.
    """

    epsilon: float
    delta: float
    candidates: int
    expected_runs: float
    shape: float | str
    chance: float
    run_mu: float
    run_epsilon: float
    alone_epsilon: float
    grid_mu: float
    grid_epsilon: float
    trained: int
    held: int
    solvers: tuple[str, ...]
    score_error: float
    metric: str

    @property
    def grid_is_better(self) -> bool:
        """Whether trying everything leaves each candidate more than the search does: so for few candidates."""
        return self.grid_mu > self.run_mu

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return "spend: no privacy at all (epsilon is infinite); every candidate is tried"
        tried = f"{100 * self.chance:.0f} %"
        lines = [
            f"spend: epsilon = {self.epsilon:.4g} at delta = {self.delta:.3g}, once, for the best of {self.expected_runs:g} expected runs",
            f"run:   epsilon = {self.run_epsilon:.4g} (mu = {self.run_mu:.4g}) for a fit on {self.trained} records and a score on {self.held}; "
            f"a fit without a search would have {self.alone_epsilon:.4g}",
            f"grid:  epsilon = {self.grid_epsilon:.4g} (mu = {self.grid_mu:.4g}) would be left to each of all {self.candidates} candidates, were "
            "all fitted, scored and shown",
            f"score: {self.metric}, with a privacy error of about {self.score_error:.3g}",
            f"luck:  a given candidate is tried at all with probability {tried}",
        ]
        if self.grid_is_better:
            lines.append(
                "note:  so few candidates are better tried all: fit and evaluate each with its share of the budget, and choose then"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; infinity is None."""
        return arguments(self)


def price_search(plan: SearchPlan, sizes: tuple[int, int]) -> SearchPrice:
    """Read the price off a plan."""
    terms, count = plan.terms, len(plan.contenders)
    budget = terms.budget
    delta = budget.delta if budget.kind == "dp" and budget.delta > 0.0 else 1e-6
    private = budget.is_private
    alone = Allowance(budget, terms.allowance().filter).mu
    grid = alone / math.sqrt(count)
    return SearchPrice(
        epsilon=epsilon_of(plan.event, delta) if private else math.inf,
        delta=delta,
        candidates=count,
        expected_runs=plan.repeats.expected,
        shape=plan.repeats.shape,
        chance=1.0 if not private else plan.repeats.chance(count),
        run_mu=plan.mu,
        run_epsilon=gdp_epsilon(plan.mu, delta) if private else math.inf,
        alone_epsilon=gdp_epsilon(alone, delta) if private else math.inf,
        grid_mu=grid,
        grid_epsilon=epsilon_of(GaussianEvent(1.0 / grid), delta) if private else math.inf,
        trained=sizes[0],
        held=sizes[1],
        solvers=tuple(one.fit.plan.solver for one in plan.contenders),
        score_error=max(one.error for one in plan.contenders),
        metric=plan.contenders[0].metric,
    )
