"""Matching a table's declared schema to a domain; all faults here are visible without reading a value."""

from collections.abc import Sequence
from typing import Any

from hullabaloo.data.domain import Domain
from hullabaloo.data.readers.opening import check_records, open_column
from hullabaloo.data.table import REFUSED, Table, TableSchema
from hullabaloo.errors import SchemaError

_NOT_SHOWN = (
    "The names in the table are not shown, as a line of names that is missing or damaged is a record; `hullabaloo domain "
    "template`, or hullabaloo.data.domain_template(table), writes them where they may be seen."
)
_SEPARATED = " A .csv file is read with commas: of one with semicolons pass the dataframe of pandas.read_csv(path, sep=';'), or write it with commas."


_SHORT = {"float", "float16", "float32", "half", "halffloat"}
"""What sources call floats of 32 bits and fewer."""
NO_WIDTH = (
    "A list of rows was passed, and neither it nor the domain declares how many columns there are: counting the cells of a row "
    "would tell of a record. Pass np.asarray(rows) with a shape that you know, or declare the features."
)


def column_of(schema: TableSchema, name: str, what: str, shown: str | None = None) -> int:
    """The position of a named column, which must occur once and have a type that a rule converts; errors call it `shown`."""
    shown = repr(name) if shown is None else shown
    if schema.names is None:
        raise SchemaError(
            f"The {what} {shown} is named, and the table has no column names. Pass a dataframe or a file, or pass the {what} as an array of its own."
        )
    found = schema.named(name)
    if len(found) != 1:
        what_found = "no such column" if not found else f"{len(found)} columns of that name"
        raise SchemaError(
            f"The {what} {shown} is declared in the domain, and the table has {what_found}. Rename the table's columns or correct the domain. {_NOT_SHOWN}{_SEPARATED if schema.from_text else ''}"
        )
    check_type(schema, found[0], f"The {what} {shown}", unit=what == "unit")
    return found[0]


def check_type(schema: TableSchema, position: int, what: str, *, unit: bool = False) -> None:
    """Refuse a declared type that no rule converts; of a unit short floats, too, in which two persons with whole numbers from 2^24 on may be one."""
    declared, kind = schema.column(position)
    if unit and not _SHORT.isdisjoint(declared.lower().split()):
        raise SchemaError(
            f"{what} has the declared type {declared}, which rounds whole numbers, so that two units may be one. Pass whole numbers or text, from where they are not yet rounded."
        )
    if kind == REFUSED:
        hint = (
            "Complex data not supported: pass" if "complex" in declared else "Convert the column first, for example to"
        )
        raise SchemaError(
            f"{what} has the declared type {declared}, which no rule turns into a number or a level. {hint} "
            f"real numbers, text or levels; derive what is meant from a date, list or struct (a year, a length). Files of one folder need the same columns."
        )


def check_width(found: int, expected: int) -> None:
    """Refuse a nameless table of the wrong width (in the words scikit-learn's users know)."""
    if found == 0 and expected > 0:
        raise SchemaError(
            f"Found array with 0 feature(s) (shape=(n, 0)) while a minimum of {expected} is required by the domain."
        )
    if found != expected:
        raise SchemaError(
            f"X has {found} features, but Domain is expecting {expected} features as input. Columns without names are matched by position, one for each declared feature."
        )


def feature_columns(schema: TableSchema, names: tuple[str, ...] | None, width: int, others: Sequence[str]) -> list[int]:
    """Positions of the feature columns: by name where both sides have names, else by position."""
    if names is not None and schema.names is not None:
        if names not in schema.matched:  # once for all parts of a wide table
            schema.matched[names] = [column_of(schema, name, "column") for name in names]
        return schema.matched[names]
    if schema.width is None:
        return list(range(width))
    positions = [i for i in range(schema.width) if schema.names is None or schema.names[i] not in others]
    check_width(len(positions), width)
    for position in positions if REFUSED in schema.kinds else ():
        check_type(schema, position, f"Column number {position + 1}")
    return positions


def target_columns(domain: Domain, y: Any) -> tuple[str, ...]:
    """The names of the target's columns in the table itself; empty when y is given apart, or there is no target.

    With several targets a list of as many texts as targets is their names, and any other list is of records: how many there are
    says which, not what they are.
    """
    if y is None:
        return tuple(str(t.column) for t in domain.targets) if domain.targets_named else ()
    if isinstance(y, str):
        return (str.__str__(y),)
    several = len(domain.targets) > 1  # with one target a list of texts is the target itself
    if several and isinstance(y, list | tuple) and len(y) == len(domain.targets):
        names = tuple(str.__str__(name) for name in y if issubclass(type(name), str))
        return names if len(names) == len(y) else ()
    return ()


def role_columns(domain: Domain, y: Any) -> tuple[str, ...]:
    """Names of the table's columns that are no features: target, unit and weight."""
    names = target_columns(domain, y)
    names += () if domain.unit is None else (domain.unit,)
    return names + (() if domain.weight is None else (domain.weight[0],))


def open_target(domain: Domain, table: Table, y: Any, count: int) -> tuple[Table, list[int]]:
    """The table that holds the target and its columns there, checked against the declared schema."""
    names = target_columns(domain, y)
    if names:
        if len(names) != count:
            raise SchemaError(f"{len(names)} target columns were named, and the domain declares {count} targets.")
        known = names if y is None or isinstance(y, str) else [target.column for target in domain.targets]
        # Or of records.
        shown = [repr(name) if name in known else f"number {i + 1} of y" for i, name in enumerate(names)]
        return table, [column_of(table.schema, name, "target", one) for name, one in zip(names, shown, strict=True)]
    if y is None:
        raise SchemaError(
            "No target was given, and the domain does not name its column. This estimator requires y to be passed, but "
            "the target y is None: pass y as an array or as a column's name (in a shell --target), or declare target={'column': (lo, hi)}."
        )
    opened = _given_apart(domain, y, "target")
    if opened.schema.width not in {count, None}:
        raise SchemaError(f"y has {opened.schema.width} columns for {count} declared target(s). Pass one for each.")
    places = _by_name(domain, opened.schema) if count > 1 else [0]
    for position in places:
        check_type(opened.schema, position, "The target")
    return opened, places


def _by_name(domain: Domain, schema: TableSchema) -> list[int]:
    """Where the declared targets are in a y of several columns: by name where it has names, else in the declared order."""
    if schema.names is None or not domain.targets_named:
        return list(range(len(domain.targets)))
    declared = [str(target.column) for target in domain.targets]
    if set(schema.names) != set(declared):
        raise SchemaError(
            f"The domain declares the targets {', '.join(map(repr, declared))}, and the columns of y have other names. Targets are matched by "
            "name, so that none is scaled by another's bounds: rename the columns, or pass an array without names in the declared order."
        )
    return [schema.named(name)[0] for name in declared]


def _given_apart(domain: Domain, values: Any, what: str) -> Table:
    opened = open_column(values, what, quoted_line_breaks=domain.quoted_line_breaks)
    check_records(opened, domain.quoted_line_breaks)
    return opened


def open_role(domain: Domain, table: Table, values: Any, name: str, what: str) -> tuple[Table, int]:
    """The table that holds a weight or unit: the column of that name, or an array given apart."""
    if values is None:
        return table, column_of(table.schema, name, what)
    opened = _given_apart(domain, values, what)
    if opened.schema.width not in {1, None}:
        raise SchemaError(f"The {what} needs one value for each record, and {opened.schema.width} columns were given.")
    check_type(opened.schema, 0, f"The {what}", unit=what == "unit")
    return opened, 0


def check_lengths(a: Table, b: Table) -> None:
    """Refuse a target, weight or unit with another number of records; the message holds neither number."""
    if a is not b and a.n_rows != b.n_rows:
        raise SchemaError(
            "Found input variables with inconsistent numbers of samples: the table and the target (or weight, or unit) must have one entry for each record, in the same order."
        )


def prepared_columns(schema: TableSchema, others: Sequence[str]) -> tuple[list[str] | None, int]:
    """Names, where they are a declared schema's, and number of the columns of a prepared matrix.

    The names in a text file may be a record, and what is released holds the names of columns: there they are left out,
    the columns are x0, x1, … and matched by position.
    """
    if schema.width is None:
        raise SchemaError(NO_WIDTH)
    kept = [i for i in range(schema.width) if schema.names is None or schema.names[i] not in others]
    if schema.names is None or schema.from_text:
        return None, len(kept)
    return [schema.names[i].revealed() for i in kept], len(kept)


Columns = tuple[Table, list[int]]
Column = tuple[Table, int]


def check_roles(
    domain: Domain, table: Table, y: Any, weight: Any, unit: Any
) -> tuple[Columns | None, Column | None, Column | None]:
    """Where target, weight and unit are, checked against the declared schema; None for what is not declared, or a weight left out."""
    target, weighing, owner = None, None, None
    if domain.targets:
        named = [name for name in target_columns(domain, y) if name in domain.feature_names]
        if named:
            raise SchemaError(f"The target {named[0]!r} is also a feature; a model would learn from its answer.")
        target = open_target(domain, table, y, len(domain.targets))
    if domain.weight is not None:
        left_out = weight is None and table.schema.names is None  # a nameless table: every record weighs 1
        weighing = None if left_out else open_role(domain, table, weight, domain.weight[0], "weight")
    elif weight is not None:
        raise SchemaError(
            "A weight was given, and the domain declares none. Its largest value multiplies the noise, so it has to be declared: Domain(weight=('weight', largest))."
        )
    if domain.unit is not None:
        owner = open_role(domain, table, unit, domain.unit, "unit")
    elif unit is not None:
        raise SchemaError("A unit was given, and the domain declares none. Declare Domain(unit='patient_id').")
    for role in (target, weighing, owner):
        if role is not None:
            check_lengths(table, role[0])
    return target, weighing, owner
