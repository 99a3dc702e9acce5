"""What was drawn: each query's sensitivity and noise, in one row of the card; and in a paragraph for a methods section."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hullabaloo.privacy import compose, event_from_dict
from hullabaloo.release import PrivacyStatement
from hullabaloo.report import words
from hullabaloo.report.guarantee import finite
from hullabaloo.report.words import book, shown, up

_PARTS = ("methods_fit", "methods_relation", "", "methods_accounting", "methods_recording", "methods_intervals")


def queries(statement: PrivacyStatement) -> list[dict[str, Any]]:
    """One row per query, from the statement's public description of it."""
    return [_row(one, statement.private) for one in statement.query_noise]


def _row(query: Mapping[str, Any], private: bool) -> dict[str, Any]:
    answers = int(query.get("answers", 1))
    event = event_from_dict(query["event"]) if private else None
    mu = None if event is None else compose(event, count=answers).gdp_mu()
    name = str(query["name"])
    spread = query.get("noise_std_of_sum", query.get("noise_std", query.get("noise_std_of_linear_term")))
    bounds = [f"sensitivity_{norm}{of}" for norm in ("l2", "l1") for of in ("_of_sum", "")]
    moved = next((query[bound] for bound in (*bounds, "lipschitz_per_record") if bound in query), None)
    return {
        "name": name,
        "asks": book()["queries"].get(name, name.replace("_", " ")),
        "how": _how(query) if private else "",
        "answers": answers,
        "coordinates": _number(query.get("coordinates")),
        "sensitivity_l2": _number(moved),
        "noise_std": _number(spread) if private else 0.0,
        "noise_multiplier": _number(query["event"].get("noise_multiplier")) if private else 0.0,
        "mu_of_all_answers": finite(mu),
        "details": {k: v for k, v in query.items() if k in {"clip", "target_scale"} and isinstance(v, int | float)},
    }


def _how(query: Mapping[str, Any]) -> str:
    """By what randomness an answer is private, where it is not Gaussian noise on a sum; "" where it is."""
    kind = query["event"].get("kind")
    if "mechanism" in query:
        spread = f"range ε₀ = {up(query['event'].get('epsilon'))}" if kind != "gaussian" else ""
        scores = f"scores of sensitivity {shown(_number(query.get('score_sensitivity_of_sum')))}"
        return f"{query['mechanism']}, {spread}, {scores}"
    if query["name"] in ("output_perturbation", "laplace_minimiser"):
        return f"{kind.capitalize()} noise on the minimiser, ridge {shown(_number(query.get('ridge')))}"
    if kind == "laplace":
        return "Laplace noise on the sum, the sensitivity in l1"
    if query["name"] == "objective_perturbation":
        return (
            f"objective perturbation: ridge {shown(_number(query.get('ridge_of_sum')))}, a Gaussian linear term, the minimiser within "
            f"{shown(_number(query.get('distance_to_minimiser')))} and Gaussian noise of standard deviation {shown(_number(query.get('noise_std_of_output')))} on it"
        )
    return ""


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float) else None


def methods(
    statement: PrivacyStatement,
    facts: Mapping[str, Any],
    about: Mapping[str, Any],
    queries: Sequence[Mapping[str, Any]],
    ledger: Mapping[str, Any],
) -> str:
    """The paragraph, ready to paste."""
    if not statement.private:
        return (
            f"The model ({about['estimator']}, hullabaloo {statement.version}) was fitted without privacy protection; it serves "
            "as a reference and makes no claim under differential privacy."
        )
    mu, level = statement.mu, about["intervals"]
    known = {
        **facts,
        **about,
        **asked(statement),
        "target": ", ".join(about["predicts"]),
        "epsilon": up(statement.epsilon()),
        "mu": None if mu is None else up(mu),
        "ledger_read": ledger["status"] == "read",
        "charges": len(ledger["charges"]),
        "ledger_budget": ledger["budget_text"],
        "ledger_filter": ledger["filter"],
        "intervals": level is not None,
        "intervals_percent": 100 * (level or 0.0),
    }
    said = [words.text(name, known) if name else _noise(queries, known) for name in _PARTS]
    return " ".join(sentence for sentence in said if sentence)


def asked(statement: PrivacyStatement) -> dict[str, bool]:
    """By which mechanisms the release is private."""
    names = {str(query["name"]) for query in statement.query_noise}
    return {
        "selections": bool(names & {"vertex", "select"}),
        "objective": "objective_perturbation" in names,
        "gaussian": statement.mu is not None,
    }


def _noise(queries: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> str:
    """Each kind of question once; how often, and with what noise, is in the card's table."""
    asks = list(dict.fromkeys(one["asks"] for one in queries))
    count = sum(one["answers"] for one in queries)
    said = f"Released were {count:,} noisy answers on the scaled columns, whose sensitivities and noise the privacy card lists: {'; '.join(asks)}."
    return f"{said} {words.text('methods_exact', known)}" if asks else ""
