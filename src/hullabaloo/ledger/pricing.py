"""Between rows and filters: what was spent, what a charge would cost, and whether it fits.

The rows are the only book: sums are formed from them at every charge, exactly (rationals), with equal costs counted
together by the database. There is no stored balance that could disagree with them.
"""

from collections.abc import Sequence

from hullabaloo.errors import BudgetExhausted
from hullabaloo.ledger.records import Dataset, Quote, Remaining
from hullabaloo.privacy import Budget, Event
from hullabaloo.privacy.filters import Cost, filter_named

Spent = Sequence[tuple[Cost, int]]
"""Each cost that occurs, and how often."""


def remaining(dataset: Dataset, spent: Spent) -> Remaining:
    """Say what is left after the charges recorded."""
    left = filter_named(dataset.filter).remaining(dataset.capacity, spent)
    count = sum(count for _, count in spent)
    return Remaining(dataset.name, dataset.filter, count, left.amounts, left.limits, left.sentence, left.budget)


def price(dataset: Dataset, spent: Spent, event: Event, budget: Budget) -> Cost:
    """Price one more charge.

    Raises EventRefused (the filter cannot price the event, or it costs more than declared) and BudgetExhausted.
    """
    rule = filter_named(dataset.filter)
    cost = rule.cost(event, budget, dataset.capacity)
    if not rule.admits(dataset.capacity, spent, cost):
        left = remaining(dataset, spent)
        raise BudgetExhausted(
            f"A release was asked for that takes {in_words(dataset.filter, cost)} of dataset {dataset.name!r}, but after "
            f"{left.charges} charge(s) only this is left: {left.sentence} Nothing was read or charged. Ask for less, or stop: "
            "a budget that could be raised afterwards would protect nobody."
        )
    return cost


def quote(dataset: Dataset, spent: Spent, event: Event, budget: Budget) -> Quote:
    """Price one more charge and say what would be left; raises what `price` raises."""
    cost = price(dataset, spent, event, budget)
    return Quote(dataset.name, cost, remaining(dataset, spent), remaining(dataset, (*spent, (cost, 1))))


def in_words(filter_name: str, cost: Cost) -> str:
    """Name the numbers of a cost."""
    if filter_name == "basic":
        return f"epsilon {cost[0]:.6g} and delta {cost[1]:.6g}"
    return f"{'mu' if filter_name == 'gdp' else 'Rényi divergence'} {cost[0]:.6g}"
