"""From a fitted model to the card's document: plain JSON values, nothing that the release does not already hold."""

import math
import shlex
from collections.abc import Sequence
from typing import Any

from hullabaloo._version import __version__
from hullabaloo.bounds.record import PrivateBounds
from hullabaloo.data import UNNAMED, Format
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import NoPenalty, SubmodularBall, SubmodularPenalty
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.shared import chosen
from hullabaloo.linear_model.structured_sparse import StructuredSparse
from hullabaloo.privacy import ACCOUNTING_VERSION
from hullabaloo.release import PrivacyStatement
from hullabaloo.release.parameters import found as named
from hullabaloo.report import entries, guarantee, words
from hullabaloo.report.mechanism import asked, methods, queries
from hullabaloo.report.released import WITHHELD, coefficients, domain_notes, domain_rows
from hullabaloo.report.spending import spending
from hullabaloo.report.words import up
from hullabaloo.streaming.model import StreamModel
from hullabaloo.structure.structure_files import function_in_words

FORMAT = Format("hullabaloo privacy card", "privacy card of Hullabaloo", "card.to_json(path)")
Document = dict[str, Any]


def document(model: PrivateLinearModel, ledger: Ledger | str | None, others: Sequence[entries.Entry] = ()) -> Document:
    """Every section of a card."""
    if not hasattr(model, "release_"):
        raise InvalidParameter(
            f"A card was asked for {named(model)} that has not been fitted, so there is no release that a guarantee "
            "could be stated for. Fit it first; model.price(n=…) says what a fit would cost."
        )
    statement = model.statement_
    readings = guarantee.readings(statement.event, statement.delta) if statement.private else None
    facts = words.facts_of(statement, readings)
    numbers, about = coefficients(model), _about(model)
    rows, money, also = queries(statement), spending(model, ledger), entries.section(statement, others)
    before = [one["what"] for one in money["charges"] if one["number"] < statement.charge]
    facts["bought"] = "private_bounds" in before or any(isinstance(one, PrivateBounds) for one in others)
    return {
        **FORMAT.head,
        "title": _title(about, facts),
        "private": statement.private,
        "not_private": statement.not_private,
        "warnings": words.pieces("warnings", facts) + entries.warnings(also) + _ledger_warnings(money),
        "model": {**about, "intervals": None if numbers is None else numbers["confidence"]},
        "plain": {
            **{name: words.text(name, facts) for name in ("headline", "guess", "belief")},
            **{name: words.lines(name, facts) for name in ("cannot", "can")},
            "delta": words.text("delta_text", facts),
        },
        "guarantee": _guarantee(statement, readings, facts),
        "trust": {
            "model": "central",
            "model_text": words.text("model_text", facts),
            **{name: words.lines(name, facts) for name in ("assumptions", "covered", "not_covered")},
            "randomness": words.text("randomness", facts),
        },
        "mechanism": {"queries": rows},
        "coefficients": numbers,
        "coefficients_text": "" if numbers is not None else WITHHELD,
        "ledger": money,
        "also": also,
        "domain": {"rows": domain_rows(model.domain), "notes": domain_notes(model.domain, statement.public)}
        if model.domain
        else None,
        "check": _commands(statement),
        "methods": methods(statement, facts, {**about, "intervals": _interval_level(numbers)}, rows, money),
        "sources": words.lines("sources", asked(statement)),
        "versions": {"library": statement.version, "card_library": __version__, "accounting": ACCOUNTING_VERSION},
    }


def _commands(statement: PrivacyStatement) -> list[dict[str, str]]:
    """How a reader checks a card: each with what it shows and what to type."""
    mu, epsilon = statement.mu, statement.epsilon()
    exact = mu is not None and math.isfinite(mu) and math.isfinite(epsilon)
    facts: Document = {"private": statement.private, "recorded": statement.ledger is not None, "exact": exact, "mu": mu}
    facts |= {"ledger": shlex.quote(statement.ledger or ""), "delta": up(statement.delta), "epsilon": epsilon}
    said = words.pieces("check", facts)
    return [{"shows": one.pop("shows").format_map(facts), "type": one.pop("text"), **one} for one in said]


def _about(model: PrivateLinearModel) -> Document:
    release, encoding = model.release_, model.encoding_
    constraint, penalty = chosen(model, encoding)
    settings = release.plan.get("settings", {})
    if isinstance(model, StreamModel):
        settings = {**settings, "position": model.position, "horizon": model.schedule.horizon, **model.settings}
    return {
        "estimator": _estimator(model),
        "targets": list(encoding.facts.targets),
        "predicts": [UNNAMED if target.column is None else target.column for target in encoding.targets],
        "form": words.book()["forms"].get(_estimator(model), "a linear model"),
        "features": [str(name) for name in encoding.feature_names_in or encoding.feature_names_out],
        "columns": [str(name) for name in encoding.facts.columns],
        "intercept": bool(encoding.facts.intercept),
        "solver": str(release.plan.get("solver", "")),
        "reason": str(release.plan.get("reason", "")),
        "settings": {str(k): v for k, v in settings.items() if v is None or isinstance(v, str | int | float | bool)},
        "refitted": "refit" in release.plan,
        "regularisation": _regularisation(model, constraint, penalty),
        "made": release.statement.made,
    }


def _estimator(model: Any) -> str:
    """The class that made the release; the model of a stream is a frozen record that names it."""
    return model.estimator if isinstance(model, StreamModel) else type(model).__name__


def _regularisation(model: PrivateLinearModel, constraint: Any, penalty: Any) -> str:
    both = [(constraint, "constraint")] if constraint is not None else []
    both += [] if isinstance(penalty, NoPenalty) else [(penalty, "penalty")]
    return " and ".join(_shape_in_words(model, *one) for one in both) or "no constraint or penalty declared"


def _shape_in_words(model: PrivateLinearModel, chosen: Any, kind: str) -> str:
    # Of a callable, perhaps, which has no form as plain data.
    if isinstance(chosen, SubmodularBall | SubmodularPenalty):
        size = f"radius {chosen.radius:g}" if isinstance(chosen, SubmodularBall) else f"strength {chosen.strength:g}"
        inside = f"{size}; {function_in_words(chosen.function)}"
        if isinstance(model, StructuredSparse):
            inside = model._structure_in_words()
    else:
        sizes = {key: value for key, value in chosen.to_dict().items() if isinstance(value, int | float)}
        inside = ", ".join(f"{key} {value:g}" for key, value in sizes.items())
    return f"{kind} {type(chosen).__name__}" + (f" ({inside})" if inside else "")


def _title(about: Document, facts: Document) -> str:
    place = f" in {facts['dataset']}" if facts["dataset"] else ""
    where = f", {facts['span']}" if facts["stream"] else ""
    return f"{about['estimator']} model of {', '.join(about['predicts'])}{place}{where}"


def _guarantee(statement: PrivacyStatement, readings: Document | None, facts: Document) -> Document:
    private = readings is not None
    event, delta = statement.event, statement.delta
    return {
        "epsilon": guarantee.finite(statement.epsilon()) if private else None,
        "delta": delta if private else None,
        "mu": guarantee.finite(statement.mu),
        "budget": statement.budget.to_dict(),
        "budget_text": facts["budget"],
        "neighbours": str(statement.neighbours),
        **{name: facts[name] for name in ("relation_text", "unit", "unit_text")},
        "records_per_unit": statement.records_per_unit,
        "records": statement.records,
        "records_public": facts["public"],
        "records_text": facts["records_text"],
        "readings": readings,
        "groups": guarantee.groups(event, delta) if private else [],
        "other_deltas": guarantee.other_deltas(event, delta) if private else [],
        "event": event.to_dict() if statement.not_private != "epsilon" else {"kind": "not-private"},
        "statement": statement.lines(),
    }


def _ledger_warnings(money: Document) -> list[dict[str, str]]:
    heads = {"unreachable": "Ledger not read", "mismatch": "Not in the ledger"}
    status = money["status"]
    return [{"kind": f"ledger-{status}", "head": heads[status], "text": money["text"]}] if status in heads else []


def _interval_level(numbers: Document | None) -> float | None:
    if numbers is None or all(row["low"] is None for row in numbers["rows"]):
        return None
    return float(numbers["confidence"])
