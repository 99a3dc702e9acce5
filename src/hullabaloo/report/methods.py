"""A paragraph for a methods section, and the sources that it names."""

from collections.abc import Mapping, Sequence
from typing import Any

from hullabaloo.release import PrivacyStatement
from hullabaloo.report import words
from hullabaloo.report.numbers import shown, up

_PARTS = ("methods_fit", "methods_relation", "", "methods_accounting", "methods_recording", "methods_intervals")


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


def sources(statement: PrivacyStatement) -> list[str]:
    """What the paragraph rests on."""
    return words.lines("sources", asked(statement))


def asked(statement: PrivacyStatement) -> dict[str, bool]:
    """By which mechanisms the release is private."""
    names = {str(query["name"]) for query in statement.query_noise}
    return {
        "selections": bool(names & {"vertex", "select"}),
        "objective": "perturbed_minimizer" in names,
        "gaussian": statement.mu is not None,
    }


def _noise(queries: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> str:
    sums = [
        f"{one['asks']} ({_answers(one)}, L2 sensitivity {shown(one['sensitivity_l2'])}, standard deviation of the noise "
        f"{shown(one['noise_std'])}, on the scaled columns)"
        for one in queries
        if not one["how"]
    ]
    others = [f"{one['asks']} ({_answers(one)}; {one['how']})" for one in queries if one["how"]]
    sentences = [f"Gaussian noise was added to {'; and to '.join(sums)}."] if sums else []
    if others:
        sentences.append(f"Released by a private mechanism: {'; and '.join(others)}, all on the scaled columns.")
    return " ".join([*sentences, words.text("methods_exact", known)]) if sentences else ""


def _answers(query: Mapping[str, Any]) -> str:
    count = query["answers"]
    return "released once" if count == 1 else f"released {count:,} times"
