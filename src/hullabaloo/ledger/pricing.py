"""Between rows and filters: what was spent, what a charge would cost, and whether it fits.

What was spent is an exact sum (rationals) that is carried from row to row and hashed with each, so it is part of the rows and no
balance beside them. A charge holds the dataset's copy of it against the last row; `verify` adds every row up again.
"""

from dataclasses import replace

from hullabaloo.errors import BudgetExhausted
from hullabaloo.ledger.records import Dataset, PricedQuery, Remaining
from hullabaloo.privacy import Budget, Cost, Event, Totals, filter_named

CUSTOMARY = 1e-6
"""The δ at which ε is told where a dataset's budget states none."""


def remaining(dataset: Dataset, totals: Totals) -> Remaining:
    """Say what is left after the charges recorded."""
    left, sentence = filter_named(dataset.filter).remaining(dataset.capacity, totals), ""
    epsilon, delta = dataset.budget.pair or (0.0, CUSTOMARY)
    if left.amounts[0] > 0.0 and (left.budget is None or left.budget.pair is None):
        # at one Rényi order and δ what is allowed and ε differ by a constant
        epsilon = left.budget.epsilon_at(delta) if left.budget else epsilon - left.limits[0] + left.amounts[0]
        sentence = f" One release of all of it is ({epsilon:.4g}, {delta:.3g})-differentially private."
    said = left.sentence + sentence
    return Remaining(dataset.name, dataset.filter, dataset.charges, left.amounts, left.limits, said, left.budget)


def price(dataset: Dataset, totals: Totals, event: Event, budget: Budget) -> Cost:
    """Price one more charge.

    Raises EventRefused (the filter cannot price the event, or it costs more than declared) and BudgetExhausted.
    """
    rule = filter_named(dataset.filter)
    cost = rule.cost(event, budget, dataset.capacity)
    if not rule.admits(dataset.capacity, totals, cost):
        left = remaining(dataset, totals)
        raise BudgetExhausted(
            f"A release was asked for that takes {in_words(dataset.filter, cost)} of dataset {dataset.name!r}, but after "
            f"{left.charges} charge(s) only this is left: {left.sentence} Nothing was read or charged. Ask for less, or stop: "
            "a budget that could be raised afterwards would protect nobody."
        )
    return cost


def quote(dataset: Dataset, totals: Totals, event: Event, budget: Budget) -> PricedQuery:
    """Price one more charge and say what would be left; raises what `price` raises."""
    cost = price(dataset, totals, event, budget)
    after = replace(dataset, charges=dataset.charges + 1), filter_named(dataset.filter).add(totals, cost)
    return PricedQuery(dataset.name, cost, remaining(dataset, totals), remaining(*after))


def in_words(filter_name: str, cost: Cost) -> str:
    """Name the numbers of a cost."""
    if filter_name == "basic":
        return f"epsilon {cost[0]:.6g} and delta {cost[1]:.6g}"
    return f"{'mu' if filter_name == 'gdp' else 'Rényi divergence'} {cost[0]:.6g}"
