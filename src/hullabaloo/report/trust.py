"""Trust model, assumptions, and side channels covered and not: after NIST SP 800-226 (2025)."""

from typing import Any

from hullabaloo.release import PrivacyStatement
from hullabaloo.report.words import by_person, of_stream, place, records_public

CENTRAL = (
    "Central model: a trusted curator holds the records in clear and publishes noisy answers only. The guarantee protects "
    "against everybody who sees the release, not against the curator or those who run the curator's machine."
)
RANDOMNESS = (
    "Noise bits come from AES-256 in counter mode under a fresh key from the operating system for every release, so the "
    "guarantee is computational: it holds against everybody who cannot break AES-256. No seed is accepted from the user "
    "and no key is stored."
)
NOT_RANDOM = {
    "epsilon": "No noise was drawn.",
    "test_key": "Noise bits come from AES-256 in counter mode under a test key. Whoever has the key can subtract the noise.",
}


def trust(statement: PrivacyStatement) -> dict[str, Any]:
    """The part of a card that says what the guarantee rests on."""
    private = statement.private
    return {
        "model": "central",
        "model_text": CENTRAL if private else "None applies: nothing protects the records from whoever sees the model.",
        "assumptions": assumptions(statement) if private else [],
        "covered": covered(statement) if private else [],
        "not_covered": not_covered(statement) if private else [],
        "randomness": RANDOMNESS if private else NOT_RANDOM[statement.not_private],
    }


def assumptions(statement: PrivacyStatement) -> list[str]:
    """What has to be true for the guarantee to mean what it says."""
    lines = [
        "Bounds, levels and the choice of columns were declared from knowledge that does not come from these records."
    ]
    if by_person(statement):
        lines.append(f"The column {statement.unit!r} gives all records of a person the same value.")
    else:
        lines.append(
            f"Each person has one record in the {place(statement)}. For somebody with k records read the row k of the table."
        )
    if statement.ledger:
        lines.append(
            "Every other release of these records is charged to the same ledger, and the ledger has not been altered."
        )
    else:
        what = "the stream" if of_stream(statement) else "the fit"
        lines.append(f"This is the only release of these records. Nothing checks that, as {what} was not recorded.")
    lines.append(
        "The library that ran is the one named below, unaltered, and the operating system's source of randomness is sound."
    )
    return lines


def covered(statement: PrivacyStatement) -> list[str]:
    """Side channels that the implementation closes."""
    lines = [
        "Rounding of floating-point numbers: sums over records are exact, and noise is drawn exactly on a lattice, so the last "
        "digits of a released number hold nothing but noise.",
        "Predictable or repeated noise: a fresh key for each release, also in forked processes and after a restart.",
        "Errors, warnings and missing values: no value of a record can raise an error or change a message.",
        "Number of steps, order of questions and stopping rules: all fixed before the records are read.",
    ]
    if not records_public(statement):
        lines.append("The number of records: nothing published depends on it.")
    return lines


def not_covered(statement: PrivacyStatement) -> list[str]:
    """Side channels that stay open."""
    lines = [
        "Elapsed time, power and traffic in caches and memory while the fit ran.",
        "Access to the machine: its memory, swap, disk, backups, and the records themselves.",
        "Other releases of the same records "
        + (
            "that were not charged to the ledger."
            if statement.ledger
            else "(nothing was recorded, so none are counted)."
        ),
        "Choices made after looking at the records: which columns, which bounds, whether to publish.",
    ]
    if records_public(statement):
        lines.append("The number of records, which is public under this relation.")
    return lines
