"""What a private evaluation gives: numbers with intervals, the statement that belongs to them, and no records."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from hullabaloo.codec import arguments
from hullabaloo.data.documents import Format
from hullabaloo.model_selection.metrics import Bin, Measured
from hullabaloo.release import PrivacyStatement
from hullabaloo.tables import Printed, html_paragraphs, html_table, text_table, wrapped

FORMAT = Format("hullabaloo evaluation", "evaluation", "Evaluation.save(path)")


@final
@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Printed):
    """How good a model is on sensitive records; prints as text, shows as HTML in a notebook.

    Attributes:
        model: the kind of model, by name.
        values: each metric by its name.
        calibration: the rows of the calibration table; empty where none was asked for.
        confidence: of all intervals.
        statement: the guarantee.
        notes: what intervals mean.
    """

    model: str
    values: Mapping[str, Measured]
    calibration: tuple[Bin, ...]
    confidence: float
    statement: PrivacyStatement
    notes: tuple[str, ...]

    @property
    def _percent(self) -> str:
        return f"{100 * self.confidence:g}% interval"

    def _metrics(self) -> tuple[list[str], list[list[str]]]:
        body = [
            [name, f"{one.value:.4g}", _interval(one), _error(one.privacy_error), _error(one.sampling_error)]
            for name, one in self.values.items()
        ]
        return ["metric", "value", self._percent, "privacy s.e.", "sampling s.e."], body

    def _bins(self) -> tuple[list[str], list[list[str]]]:
        several = len({row.target for row in self.calibration}) > 1
        head = ["predicted", "records", "mean prediction", "mean outcome", self._percent]
        body = [
            [
                *([row.target] if several else []),
                f"{row.low:.4g} to {row.high:.4g}",
                f"{row.count:.0f} ± {row.count_error:.2g}",
                f"{row.prediction:.4g}",
                f"{row.outcome.value:.4g}",
                _interval(row.outcome),
            ]
            for row in self.calibration
        ]
        return [*(["target"] if several else []), *head], body

    def tables(self) -> list[tuple[list[str], list[list[str]]]]:
        """Heads and bodies, as text: of the metrics, and of the calibration table."""
        return [table for table in (self._metrics(), self._bins()) if table[1]]

    def __str__(self) -> str:
        lines = [f"Private evaluation of {self.model}", ""]
        for table in self.tables():
            lines += [*text_table([table[0], *table[1]], right=True, ruled=True), ""]
        return "\n".join([*lines, *wrapped((" ".join(f"{note}." for note in self.notes), str(self.statement)))])

    def _repr_html_(self) -> str:
        tables = "".join(html_table(*table) for table in self.tables())
        notes = html_paragraphs(f"{note}." for note in self.notes)
        return html_paragraphs([f"Private evaluation of {self.model}"]) + tables + notes + self.statement._repr_html_()

    def card_entry(self) -> dict[str, Any]:
        """What a card shows of it: a title, sentences, one table."""
        head, body = next(iter(self.tables()), self._bins())
        lines = [*self.notes]
        if self.values and self.calibration:
            lines += [
                f"Predicted {row.low:.4g} to {row.high:.4g}: {row.outcome.value:.4g} on average, {self._percent} {_interval(row.outcome)}, "
                f"{row.count:.0f} records (± {row.count_error:.2g})"
                for row in self.calibration
            ]
        table = {"head": head, "body": body}
        return {"title": f"Private evaluation of {self.model}", "lines": lines, "table": table}

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; what is infinite is None."""
        return {**FORMAT.head, **arguments(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Evaluation":
        """Read what `to_dict` wrote.

        Raises:
            InvalidParameter: it is no evaluation, or of another version.
        """
        FORMAT.check(data)
        made = cls(
            model=str(data["model"]),
            values={name: Measured.from_dict(one) for name, one in data["values"].items()},
            calibration=tuple(Bin.from_dict(row) for row in data["calibration"]),
            confidence=float(data["confidence"]),
            statement=PrivacyStatement.from_dict(data["statement"]),
            notes=tuple(map(str, data["notes"])),
        )
        str(made), made.card_entry()  # what cannot be shown was changed
        return made

    def save(self, path: str | Path) -> None:
        """Write it as JSON, atomically: numbers, intervals and the statement, no records."""
        FORMAT.write(self.to_dict(), path)

    @classmethod
    def load(cls, path: str | Path) -> "Evaluation":
        """Read what `save` wrote.

        Raises:
            InvalidParameter: the file is missing, damaged, or something else.
        """
        return FORMAT.read(path, cls.from_dict)


def _error(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else "drowned"


def _interval(one: Measured) -> str:
    low = "-inf" if one.low == -math.inf else f"{one.low:.4g}"
    return f"[{low}, {one.high:.4g}]"
