"""What a guarantee means, in sentences for people: a function of the statement and of its readings."""

from collections.abc import Mapping
from typing import Any

from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.privacy.schedule import FOREVER
from hullabaloo.release import NOT_PRIVATE, NOT_RECORDED, PrivacyStatement
from hullabaloo.report.numbers import one_in, percent, up

WEAK_GUESS = 0.9


def budget_text(budget: Budget) -> str:
    """A budget in words."""
    if budget.kind != "dp" or not budget.is_private:
        return budget.describe()
    return f"ε = {up(budget.epsilon)}, δ = {up(budget.delta)}"


def is_replaced(statement: PrivacyStatement) -> bool:
    """Whether neighbouring tables differ by a replacement."""
    return statement.neighbours is Neighbours.REPLACE_ONE


def of_stream(statement: PrivacyStatement) -> bool:
    """Whether the release is one of a stream, all of whose releases the guarantee covers together."""
    return statement.horizon is not None


def place(statement: PrivacyStatement) -> str:
    """What holds the records."""
    return "stream" if of_stream(statement) else "table"


def span_text(statement: PrivacyStatement) -> str:
    """What the guarantee of a stream spans; "" for a table."""
    if statement.horizon is None:
        return ""
    known = statement.horizon < FOREVER
    return f"a stream of up to {statement.horizon:,} records" if known else "a stream of unknown length"


def by_person(statement: PrivacyStatement) -> bool:
    """Whether the unit is more than a record."""
    return statement.unit != "record"


def as_parsed(statement: PrivacyStatement) -> str:
    """What is added to "record" where one may be several lines of a CSV file."""
    return " as parsed" if statement.quoted_line_breaks else ""


def unit_text(statement: PrivacyStatement) -> str:
    """The unit of privacy."""
    if not by_person(statement):
        return f"one record{as_parsed(statement)}"
    return f"all records of one {statement.unit} (at most {statement.records_per_unit} of them are used)"


def relation_text(statement: PrivacyStatement) -> str:
    """The neighbouring relation."""
    whose = f"record{as_parsed(statement)}" if not by_person(statement) else f"{statement.unit}'s records"
    if of_stream(statement):
        change = "replaced in its place by any other" if is_replaced(statement) else "present or absent in its place"
        return f"{statement.neighbours}: two streams are neighbours when they differ in one {whose}, {change}, all others in theirs"
    if is_replaced(statement):
        return f"replace-one: two tables are neighbours when one {whose} in one of them is replaced by any other in the other"
    return f"add-or-remove: two tables are neighbours when one of them has one {whose} that the other lacks"


def records_text(statement: PrivacyStatement) -> str:
    """What is said about the number of records."""
    if of_stream(statement):
        return f"{span_text(statement)}, for all of whose models together the guarantee holds; how many came is public"
    if records_public(statement):
        return f"{statement.records:,} (public under this relation)"
    return f"hidden; {statement.records:,} is a nominal number declared beforehand"


def records_public(statement: PrivacyStatement) -> bool:
    """Whether the number of records is part of what is published."""
    return of_stream(statement) or (is_replaced(statement) and not by_person(statement))


def headline(statement: PrivacyStatement, readings: Mapping[str, Any] | None) -> str:
    """The guarantee in one sentence."""
    if readings is None:
        return "Nothing is guaranteed to anybody whose records went into this model."
    guess = readings["best_guess"]
    if guess < 0.6:
        degree = "almost the same"
    elif guess < WEAK_GUESS:
        degree = "similar"
    else:
        return (
            "This guarantee is weak: what one person contributed can change the model noticeably, and an attacker who knows "
            "the rest can often see it."
        )
    whose = "record" if not by_person(statement) else "records"
    change = (
        f"had their {whose} said anything else"
        if is_replaced(statement)
        else f"had their {whose} not been in the {place(statement)}"
    )
    return f"For every person in the {place(statement)}: a model like this would have come out with {degree} probability {change}."


def guess_text(statement: PrivacyStatement, readings: Mapping[str, Any]) -> str:
    """ε as the success of the best attacker."""
    if is_replaced(statement):
        game = (
            "two possibilities for what that person's record says"
            if not by_person(statement)
            else ("two possibilities for what that person's records say")
        )
    else:
        game = f"whether that person is in the {place(statement)} or not"
    return (
        f"An attacker who already knows every other record, gives even odds to {game}, and then sees this model names the "
        f"right one at most {percent(readings['best_guess'])} of the time, whatever their method. Blind guessing is right "
        f"50 % of the time."
    )


def belief_text(readings: Mapping[str, Any]) -> str:
    """ε as a change of belief after one look."""
    even = next(one for one in readings["beliefs"] if one["before"] == 0.5)
    chance = readings["exception_probability"]
    return (
        f"Counting unlucky noise as well: except with probability {up(chance)} ({one_in(chance)}), an attacker who gave even "
        f"odds before is at most {percent(even['after'])} sure of the truth after."
    )


def cannot_learn(statement: PrivacyStatement) -> list[str]:
    """What somebody who sees the model cannot learn, beyond the stated odds."""
    what = (
        "what any one record says" if not by_person(statement) else f"what the records of any one {statement.unit} say"
    )
    if is_replaced(statement):
        lines = [f"With more confidence than the odds above: {what}."]
    else:  # two values of a record are two steps apart: one removal, one addition
        lines = [
            f"With more confidence than the odds above: whether somebody is in the {place(statement)} at all."
            + ("" if of_stream(statement) else " The number of records is hidden too."),
            f"With more confidence than the row for 2 in the table below: {what}, for somebody known to be in the {place(statement)}.",
        ]
    lines += [
        "More by joining the model with anything else they know: the odds hold for an attacker who knows all other records.",
        "More by computing on the released numbers, however cleverly: what is derived from them has the same guarantee.",
    ]
    return lines


def can_learn(statement: PrivacyStatement) -> list[str]:
    """What somebody who sees the model can learn."""
    lines = [
        "What holds for people in general, which is the purpose of the model. If it shows that one group has a higher value, "
        f"that is learnt about everybody in the group, in the {place(statement)} or not.",
        "What was declared without looking at the records: the names of columns, their bounds and levels.",
    ]
    if of_stream(statement):
        lines.append("How many records came and when models were released: positions in a stream are public.")
    elif records_public(statement):
        lines.append(f"The number of records, {statement.records:,}, which this relation treats as public.")
    whose = "several records" if not by_person(statement) else f"records under several values of {statement.unit!r}"
    lines.append(
        f"More than the odds above about somebody with {whose} in the {place(statement)}; how much more is in the table below."
    )
    lines.append("More than the odds above from other releases of the same records; each one adds to what is known.")
    return lines


def delta_text(statement: PrivacyStatement) -> str:
    """Why there is a δ."""
    delta = statement.delta
    text = (
        f"δ = {up(delta)} ({one_in(delta)}) is there because noise of this kind has no hard edge: very rarely it lands so far out "
        "that the bound ε is exceeded. Exceeded does not mean exposed: a slightly larger ε then still holds, as the table of "
        "ε at smaller δ shows."
    )
    if statement.budget.kind != "dp":
        text += f" The budget was stated as {budget_text(statement.budget)}; this δ was chosen to quote an ε for it."
    return text


def warnings(statement: PrivacyStatement, readings: Mapping[str, Any] | None) -> list[dict[str, str]]:
    """What has to be read first, gravest first."""
    if not statement.private or readings is None:
        reason = NOT_PRIVATE[statement.not_private or "epsilon"].partition(": ")[2]
        return [
            _warning(
                "not-private", "NOT PRIVATE",
                f"This model has no privacy guarantee: {reason}. Do not share it if the records are sensitive.",
            )
        ]  # fmt: skip
    found = []
    if statement.ledger is None:
        found.append(_warning(
            "not-recorded", "Not recorded",
            f"This {'stream' if of_stream(statement) else 'fit'} is {NOT_RECORDED}. The guarantee below is that of this one "
            f"{'stream' if of_stream(statement) else 'release'} alone.",
        ))  # fmt: skip
    if readings["best_guess"] >= WEAK_GUESS:
        found.append(_warning(
            "weak", "Weak guarantee",
            f"The best attacker may guess right up to {percent(readings['best_guess'])} of the time. A smaller ε protects better.",
        ))  # fmt: skip
    if statement.delta * statement.records >= 1.0:
        found.append(_warning(
            "large-delta", "δ is large",
            f"δ = {up(statement.delta)} is not below one over the number of records ({statement.records:,}): a release that published "
            "a whole record now and then would satisfy it too. Choose one over the number of records squared, or less.",
        ))  # fmt: skip
    return found


def _warning(kind: str, head: str, text: str) -> dict[str, str]:
    return {"kind": kind, "head": head, "text": text}
