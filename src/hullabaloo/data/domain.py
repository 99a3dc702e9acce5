"""`Domain`: what is declared about the rows without looking at them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hullabaloo.codec import plain, settle
from hullabaloo.data import declarations
from hullabaloo.data.declarations import Declaration, flag
from hullabaloo.data.targets import Target, TargetScale, declared_targets, targets_to_dict
from hullabaloo.errors import DomainError, SchemaError

if TYPE_CHECKING:
    from hullabaloo.data.encoding import Encoding
    from hullabaloo.data.table import Table


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Domain:
    """Declared bounds of the records: the only source of every scale, norm and clipping threshold.

    Parameters (all by keyword; nothing is ever read from records):

    - ``features``: name → bounds ``(lo, hi)``, levels ``["a", "b"]``, ``Numeric(...)``, ``Categorical(...)`` or their
      keywords as a mapping. Exactly two numbers are bounds. A nameless table (NumPy) is matched by position.
    - ``row_norm``: r (l2), or ``("l1" | "l2" | "linf", r)``. Alone: prepared matrices of any width, rows
      outside the ball rescaled onto it, then divided by r. With ``features``: the encoded row is clipped to that norm.
    - ``target``: bounds ``(lo, hi)``, or ``{"column": (lo, hi), ...}`` for named or several targets;
      ``classes``: the labels, or ``{"column": [labels]}``; ``target_fill``: what a missing target counts as
      (default: the middle of the bounds, the first class).
    - ``missing_target``: ``"fill"``, or ``"drop"``: a record whose target is missing, unreadable or of an undeclared class (of several
      targets, any of them) has the weight 0, as if it had been left out. How many records count is then private, and told with noise alone; under add-or-remove
      ``records`` is about how many of them have a target, and a release is that of a table of these alone.
    - ``transforms``: feature → log1p, log, log10, sqrt, square, abs or asinh, after clipping to the declared bounds.
    - ``interactions``: pairs of features whose encoded columns are multiplied.
    - ``indicators``: whether missing values get a column of their own (default yes; each feature may say otherwise).
    - ``unit``, ``records_per_unit``: the column that names a person, and how many records of a person count: of those with a
      positive weight the ones whose encoded row has the smallest BLAKE2, so that the table's order does not matter. Where it is missing, a float from 2^53 on, which may be a
      longer number rounded, or a text with U+FFFD, as which readers take bytes that are no UTF-8, so that two names may be one, the record is nobody's and counts for nothing.
    - ``weight``: ``(column, max)``: a weight per record, clipped to [0, max] and divided by max/2, which plans take to be the mean. A factor of all weights and of max changes nothing.
    - ``records``: a public nominal number of records, needed under add-or-remove and with several records a unit.
    - ``quoted_line_breaks``: of CSV files, whether a quoted cell may hold line breaks. By default a record is one line, and a quote
      that it leaves open ends with it; else records are as parsed, and one that closes no quote takes those after it with it.

    Raises ``DomainError`` when a declaration is incomplete or contradicts itself.
    """

    features: tuple[tuple[str, Declaration], ...]
    row_norm: tuple[str, float] | None
    targets: tuple[Target, ...]
    interactions: tuple[tuple[str, str], ...]
    missing_target: str
    indicators: bool
    unit: str | None
    records_per_unit: int
    weight: tuple[str, float] | None
    records: int | None
    quoted_line_breaks: bool

    def __init__(
        self,
        features: Mapping[str, Any] | None = None,
        *,
        row_norm: float | tuple[str, float] | None = None,
        target: Any = None,
        classes: Any = None,
        target_fill: Any = None,
        missing_target: str = "fill",
        transforms: Mapping[str, str] | None = None,
        interactions: Iterable[Sequence[str]] = (),
        indicators: bool = True,
        unit: str | None = None,
        records_per_unit: int | None = None,
        weight: tuple[str, float] | None = None,
        records: int | None = None,
        quoted_line_breaks: bool = False,
    ) -> None:
        declared = declarations.features(features, transforms)
        norm = declarations.row_norm(row_norm, beside=bool(declared))
        if not declared and norm is None:
            raise DomainError(
                "A domain needs `features` (bounds or levels of each column) or, for a prepared matrix, `row_norm` (a "
                "bound on the norm of a row). Without one no noise level protects a record, and bounds are never "
                "read from the data: declare them from what is known beforehand, or declare generous ranges and buy bounds with hb.private_bounds."
            )
        settle(
            self,
            features=tuple(declared.items()),
            row_norm=norm,
            targets=declared_targets(target, classes, target_fill),
            missing_target=missing_target,
            interactions=declarations.interactions(interactions, declared),
            indicators=flag(indicators, "indicators"),
            unit=declarations.column(unit, "unit"),
            records_per_unit=declarations.count(records_per_unit, "records_per_unit", default=1),
            weight=declarations.weight(weight),
            records=declarations.count(records, "records"),
            quoted_line_breaks=flag(quoted_line_breaks, "quoted_line_breaks"),
        )
        self._check_roles()

    def _check_roles(self) -> None:
        roles = [t.column for t in self.targets if t.column is not None]
        roles += [self.unit] if self.unit is not None else []
        roles += [self.weight[0]] if self.weight is not None else []
        doubled = [name for i, name in enumerate(roles) if name in roles[:i] or name in self.feature_names]
        why = ""
        if self.missing_target not in ("fill", "drop"):
            why = f"`missing_target` is 'fill' (a missing target counts as `target_fill`) or 'drop' (its record counts for nothing), not {self.missing_target!r}."
        elif self.drops and (not self.targets or any(one.fill is not None for one in self.targets)):
            why = "`missing_target='drop'` needs a `target` or `classes`, and no `target_fill`: a record without a target is left out, not filled. Leave one of them out."
        elif self.unit is None and self.records_per_unit > 1:
            why = "`records_per_unit` is declared without the `unit`, the column that says whose record it is. Declare unit='patient_id' (the column's name), or leave `records_per_unit` out."
        elif self.unit == "record":
            why = "The unit column is called 'record', which is the word for a guarantee that counts every row for itself: statements and ledgers could not tell the two apart. Rename the column, for example to 'person'."
        elif doubled:
            why = f"The column {doubled[0]!r} is declared in two roles (feature, target, unit or weight); a model would learn from its own answer or the unit would be released. Give each column one role."
        elif self.records_per_unit > 1 and self.records is None:
            why = "With several records a unit the number of records kept is private, so `records`, a public nominal number, has to be declared: results are divided by it. Any rough size known beforehand, of the records that count, will do."
        if why:
            raise DomainError(why)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The declared features in their declared order; empty for prepared matrices."""
        return tuple(name for name, _ in self.features)

    @property
    def drops(self) -> bool:
        """Whether records without a target have the weight 0."""
        return self.missing_target == "drop"

    @property
    def targets_named(self) -> bool:
        """Whether the target columns can be found in a table by their declared names."""
        return bool(self.targets) and all(t.column is not None for t in self.targets)

    def open(self, table: Any, *, parts: bool = False) -> "Table":
        """A table opened for reading, with the records that this domain declares; reads no value.

        Args:
            table: anything that `fit` takes.
            parts: whether it may be one that is read in parts (`hb.scan`).

        Raises:
            SchemaError: it is no table, was read from a CSV file with other records, or is read in parts where it may not be.
        """
        from hullabaloo.data.readers.opening import WHOLE, check_records, open_table

        opened = open_table(table, quoted_line_breaks=self.quoted_line_breaks)
        check_records(opened, self.quoted_line_breaks)
        if opened.parted and not parts:
            raise SchemaError(WHOLE)
        return opened

    def encoding(
        self,
        feature_names: Sequence[str] | None = None,
        n_features: int | None = None,
        *,
        fit_intercept: bool = True,
        scale: TargetScale = TargetScale.SYMMETRIC,
        exposure: str | None = None,
    ) -> "Encoding":
        """The public map from a table to encoded rows; prepared matrices need names or a number of columns.

        ``scale`` says how bounded targets are scaled; ``exposure`` names the feature that is an offset, not a column.
        """
        from hullabaloo.data.encoding import make_encoding

        return make_encoding(self, feature_names, n_features, fit_intercept, scale, exposure)

    def encoding_for(
        self, table: Any, y: Any = None, *, weight: Any = None, unit: Any = None, **how: Any
    ) -> "Encoding":
        """The encoding for a table, from its declared schema alone; raises all that ``Encoding.encode`` could raise. ``how``: keywords of ``encoding``."""
        from hullabaloo.data.encoding import encoding_for

        return encoding_for(self, table, y, weight=weight, unit=unit, options=how)

    def check_schema(self, table: Any, y: Any = None, *, weight: Any = None, unit: Any = None) -> None:
        """Raise ``SchemaError`` when the table's declared schema does not match; reads no value."""
        self.encoding_for(table, y, weight=weight, unit=unit)

    def describe(self, *, fit_intercept: bool = True) -> str:
        """A table of every scale factor, each column's share of the row norm, and what each choice costs in noise."""
        from hullabaloo.data.describe import describe

        return describe(self, fit_intercept)

    def to_dict(self) -> dict[str, Any]:
        """The declaration as JSON-ready values; ``Domain.from_dict`` reads it back."""
        declared = {
            "features": {name: one.to_dict() for name, one in self.features} or None,
            "row_norm": self.row_norm,
            **targets_to_dict(self.targets),
            "missing_target": "drop" if self.drops else None,
            "interactions": self.interactions or None,
            "indicators": None if self.indicators else False,
            "unit": self.unit,
            "records_per_unit": None if self.unit is None else self.records_per_unit,
            "weight": self.weight,
            "records": self.records,
            "quoted_line_breaks": self.quoted_line_breaks or None,
        }
        return {name: plain(value) for name, value in declared.items() if value is not None}

    @classmethod
    def from_dict(cls, declared: Mapping[str, Any]) -> Self:
        """Read the keywords of a domain from a mapping; an unknown key is refused."""
        from hullabaloo.data.files import check_keys, misplaced

        keys = check_keys(declared)
        try:
            return cls(**keys)
        except DomainError as error:
            raise DomainError(f"{error}{misplaced(keys, str(error))}") from None

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Read a domain from a TOML file, or from TOML text (a string with a line break or an equals sign)."""
        from hullabaloo.data.files import read_toml

        return cls.from_dict(read_toml(source))

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a domain from a JSON file, or from JSON text (a string that starts with a brace)."""
        from hullabaloo.data.files import read_json

        return cls.from_dict(read_json(source))

    def __repr__(self) -> str:
        return f"Domain({', '.join(f'{key}={value!r}' for key, value in self.to_dict().items())})"
