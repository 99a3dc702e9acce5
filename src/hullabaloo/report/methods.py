"""A paragraph for a methods section, and the sources that it names."""

from collections.abc import Mapping, Sequence
from typing import Any

from hullabaloo.release import PrivacyStatement
from hullabaloo.report.numbers import shown, up
from hullabaloo.report.words import as_parsed, by_person, is_replaced, of_stream, records_public, span_text

SOURCES = {
    "dp": "Dwork, McSherry, Nissim, Smith (2006), Calibrating noise to sensitivity in private data analysis.",
    "profile": "Balle, Wang (2018), Improving the Gaussian mechanism for differential privacy.",
    "gdp": "Dong, Roth, Su (2022), Gaussian differential privacy.",
    "renyi": "Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy.",
    "selection": "Dong, Durfee, Rogers (2020), Optimal differential privacy composition for exponential mechanisms.",
    "objective": "Kifer, Smith, Thakurta (2012), Private convex empirical risk minimization and high-dimensional regression.",
    "nist": "NIST Special Publication 800-226 (2025), Guidelines for evaluating differential privacy guarantees.",
}


_CHOICES = {"vertex", "select"}
_EXACT = (
    "Sums over records were computed exactly and the noise was drawn exactly on a lattice, with random bits from AES-256 in "
    "counter mode."
)


def methods(
    statement: PrivacyStatement,
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
    sentences = [_fit(statement, about), _relation(statement), _noise(queries), _accounting(statement)]
    sentences += [_recording(statement, ledger), _intervals(about)]
    return " ".join(sentence for sentence in sentences if sentence)


def sources(statement: PrivacyStatement) -> list[str]:
    """What the paragraph rests on."""
    asked = {str(query["name"]) for query in statement.query_noise}
    names = ["dp"]
    names += ["selection"] if asked & _CHOICES else []
    names += ["objective"] if "perturbed_minimizer" in asked else []
    names += ["profile", "gdp"] if statement.mu is not None else ["renyi"]
    return [SOURCES[name] for name in [*names, "nist"]]


def _fit(statement: PrivacyStatement, about: Mapping[str, Any]) -> str:
    gaussian = (
        "" if statement.mu is None else f" and {up(statement.mu)}-Gaussian differential privacy (Dong et al., 2022)"
    )
    target = ", ".join(about["predicts"])
    return (
        f"We fitted {about['form']} of {target} ({about['estimator']}, solver {about['solver']}; {about['regularisation']}) with "
        f"hullabaloo {statement.version} under (ε = {up(statement.epsilon())}, δ = {up(statement.delta)})-differential privacy "
        f"(Dwork et al., 2006){gaussian}, in the central model with a trusted curator."
    )


def _relation(statement: PrivacyStatement) -> str:
    unit = f"one record{as_parsed(statement)}" if not by_person(statement) else f"all records of one {statement.unit}"
    change = f"replacement of {unit} by any other" if is_replaced(statement) else f"addition or removal of {unit}"
    if of_stream(statement):
        count = f" at one position of {span_text(statement)}, and holds for all models released along it together"
    elif not records_public(statement):
        count = f"; the number of records is not published, and sums were scaled by a nominal {statement.records:,}"
    else:
        count = f"; the number of records, {statement.records:,}, is public"
    share = (
        f" At most {statement.records_per_unit} records of each {statement.unit} were used."
        if by_person(statement)
        else ""
    )
    return (
        f"The guarantee is for the {change}{count}.{share} All columns were clipped to bounds or levels declared without "
        "reference to the records, and encoded one record at a time."
    )


def _noise(queries: Sequence[Mapping[str, Any]]) -> str:
    sums = [
        f"{one['asks']} ({_answers(one)}, L2 sensitivity {shown(one['sensitivity_l2'])}, standard deviation of the noise "
        f"{shown(one['noise_std'])}, on the scaled columns)"
        for one in queries
        if not one["how"]
    ]
    others = [f"{one['asks']} ({_answers(one)}; {one['how']})" for one in queries if one["how"]]
    sentences = [f"Gaussian noise was added to {'; and to '.join(sums)}."] if sums else []
    sentences += (
        [f"Released by a private mechanism: {'; and '.join(others)}, all on the scaled columns."] if others else []
    )
    if not sentences:
        return ""
    return " ".join([*sentences, _EXACT])


def _answers(query: Mapping[str, Any]) -> str:
    count = query["answers"]
    return "released once" if count == 1 else f"released {count:,} times"


def _accounting(statement: PrivacyStatement) -> str:
    asked = {str(query["name"]) for query in statement.query_noise}
    if asked & _CHOICES:
        return "The privacy loss was accounted with bounds for the composition of exponential mechanisms (Dong, Durfee and Rogers, 2020)."
    if "perturbed_minimizer" in asked:
        return (
            "The privacy loss was accounted with the profile of objective perturbation (Kifer, Smith and Thakurta, 2012) that the "
            "software's documentation proves, and Rényi divergences (Canonne et al., 2020)."
        )
    if statement.mu is not None:
        return "The privacy loss was accounted with the exact profile of the Gaussian mechanism (Balle and Wang, 2018)."
    return "The privacy loss was accounted with Rényi divergences and their conversion (Canonne et al., 2020)."


def _recording(statement: PrivacyStatement, ledger: Mapping[str, Any]) -> str:
    if not statement.ledger:
        what = "stream" if of_stream(statement) else "fit"
        return f"This privacy loss is that of this one {what}; others on the same records were not counted by the software."
    text = f"The release was charged to a durable ledger (dataset {statement.dataset}, charge {statement.charge})"
    if ledger["status"] != "read":
        return text + "."
    made = len(ledger["charges"])
    return f"{text}, in which all charges on these records, {made:,} so far, are held within {ledger['budget_text']} (filter {ledger['filter']})."


def _intervals(about: Mapping[str, Any]) -> str:
    if about["intervals"] is None:
        return ""
    return (
        f"Intervals ({100 * about['intervals']:g} %) are normal and combine the sampling error estimated from the release with the "
        "known standard deviation of the privacy noise."
    )
