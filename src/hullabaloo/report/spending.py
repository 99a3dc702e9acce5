"""What the ledger says: the dataset's terms, the charges so far, what is left. Read-only."""

from collections.abc import Sequence
from typing import Any

from hullabaloo.errors import InvalidParameter, LedgerError
from hullabaloo.ledger import Charge, Ledger, Remaining
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.privacy import compose, event_from_dict
from hullabaloo.release import PrivacyStatement
from hullabaloo.report.guarantee import cost, finite
from hullabaloo.report.words import book, budget_text, down, facts_of, shown


def spending(model: PrivateLinearModel, ledger: Ledger | str | None) -> dict[str, Any]:
    """The ledger section of a card; a ledger passed by the caller must hold the model's charge."""
    statement = model.statement_
    if statement.ledger is None or statement.dataset is None or statement.charge is None:
        if ledger is not None:
            raise InvalidParameter(
                "A card was asked for with a ledger, but this model was fitted without one, so none of the ledger's charges is "
                "its own. Leave the ledger out: the card then says first that the fit was not recorded."
            )
        return _section("not recorded", statement)
    if ledger is not None:
        section = _read(Ledger(ledger) if isinstance(ledger, str) else ledger, statement)
        if section["status"] == "mismatch":
            raise InvalidParameter(
                f"The ledger that was passed has no charge {statement.charge} on dataset {statement.dataset!r} with this model's event: a card "
                f"must not describe another release's budget. Pass the ledger that the model names, {statement.ledger}."
            )
        return section
    known = model.ledger if model.ledger is not None else statement.ledger
    try:
        return _read(Ledger(known) if isinstance(known, str) else known, statement)
    except (LedgerError, InvalidParameter):
        return _section("unreachable", statement)


def _section(status: str, statement: PrivacyStatement, **read: Any) -> dict[str, Any]:
    """What is known without the ledger, and what was `read` in it."""
    text = book()["ledger_status"][status].format_map(facts_of(statement))
    known = {"address": statement.ledger, "dataset": statement.dataset, "charge": statement.charge}
    nothing: dict[str, Any] = {"remaining_amounts": [], "shares": None, "together": None, "charges": []}
    unknown = {"budget": None, "budget_text": "", "filter": None, "remaining": "", **nothing}
    return {"status": status, "text": text, **known, **unknown, **read}


def _read(ledger: Ledger, statement: PrivacyStatement) -> dict[str, Any]:
    assert statement.dataset is not None
    terms, charges = ledger.dataset(statement.dataset), ledger.charges(statement.dataset)
    mine = [one for one in charges if one.number == statement.charge and statement.head in (None, one.head)]
    # Equal events may be of two releases: so heads, too.
    if not mine or dict(mine[0].event) != statement.event.to_dict():
        return _section("mismatch", statement)
    left = ledger.remaining(statement.dataset)
    return _section(
        "read",
        statement,
        budget=terms.budget.to_dict(),
        budget_text=budget_text(terms.budget),
        filter=terms.filter,
        remaining=remaining_text(left),
        remaining_amounts=[finite(value) for value in left.amounts],
        shares=shares(left, charges, statement.charge),
        together=cost(compose(*(event_from_dict(dict(one.event)) for one in charges)), statement.delta),
        charges=[_charge(one) for one in charges],
    )


def remaining_text(left: Remaining) -> str:
    """What is left, rounded down, in the amounts that the filter adds up (the room kept for cut tails is left out)."""
    names = {"basic": ("ε", "δ"), "gdp": ("μ",), "renyi": ("Rényi divergence",)}[left.filter]
    pairs = zip(names, left.amounts, left.limits, strict=False)
    return ", ".join(f"{name} = {down(amount)} of {shown(limit)}" for name, amount, limit in pairs)


def shares(left: Remaining, charges: Sequence[Charge], number: int | None) -> dict[str, float]:
    """Parts of the budget that one charge took, the others took, and that is left, in what the dataset's filter adds up.

    Costs add up as they are, and under the gdp filter as squares. Where the filter adds two amounts, such as ε and δ, the
    one that is nearer to its limit is shown.
    """
    power = 2 if left.filter == "gdp" else 1
    pairs = zip(left.amounts, left.limits, strict=True)
    free = [(amount / limit) ** power if limit > 0.0 else 1.0 for amount, limit in pairs]
    place = min(range(len(free)), key=lambda i: free[i])
    rest = min(1.0, max(0.0, free[place]))
    costs = [one.cost[place] for one in charges if one.number == number]
    own = min(1.0 - rest, sum((cost / left.limits[place]) ** power for cost in costs))
    return {"this": own, "others": 1.0 - rest - own, "left": rest}


def _charge(charge: Charge) -> dict[str, Any]:
    said = {"number": charge.number, "charged_at": charge.charged_at, "what": charge.what}
    cost = [finite(value) for value in charge.cost]
    return {**said, "budget": charge.budget.to_dict(), "budget_text": budget_text(charge.budget), "cost": cost}
