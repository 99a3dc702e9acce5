"""A TOML template of a domain, from column names and declared types only, and a domain as TOML text that `Domain.from_toml` reads back."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hullabaloo.data.declarations import PLACEHOLDER
from hullabaloo.data.readers.opening import describe_table
from hullabaloo.data.schema import NO_WIDTH
from hullabaloo.data.table import NUMBER, REFUSED
from hullabaloo.errors import SchemaError

_HEAD = f"""\
# What is declared here is public and decides the noise: narrower bounds, fewer columns, less noise. Fill in every
# "{PLACEHOLDER} ..." from what is known without looking at the records (a questionnaire, a law of nature, a code book),
# never from the records themselves, and delete the columns that the model does not need.

# The target: its bounds, for example target = {{ los = [0, 30] }}, or instead its classes, for example
# classes = {{ outcome = ["no", "yes"] }}. Delete the target's line among the features, and `records` where the number
# of records is public and each person has one.
target = "{PLACEHOLDER}: bounds or classes of the column to predict"
records = "{PLACEHOLDER}: a rough number of records that may be public"

[features]
"""


def domain_template(table: Any) -> str:
    """TOML text to fill in, from the names and declared types of a table; no value is read, not even counted.

    Loading it with a placeholder left is a ``DomainError`` that says which.
    """
    schema = describe_table(table, count=False)
    if schema.width is None:
        raise SchemaError(NO_WIDTH)
    names = [name.revealed() for name in schema.names or ()] or [f"x{i}" for i in range(schema.width)]
    lines = [_line(*column) for column in zip(names, schema.types, schema.kinds, strict=True)]
    return _HEAD + "\n".join(lines) + "\n"


def _line(name: str, declared: str, kind: str) -> str:
    key, text = toml_key(name), declared
    if kind == REFUSED:
        return f"# {key}: the declared type {text} has no rule; derive a number or a level from it first"
    if kind == NUMBER and declared.lower() in {"bool", "boolean"}:
        return f"{key} = [false, true]"
    if kind == NUMBER:
        return f'{key} = ["{PLACEHOLDER} lower bound", "{PLACEHOLDER} upper bound"]  # {text}'
    if text == "unknown":
        return f'{key} = "{PLACEHOLDER}: [lower, upper] of a number, or a list of levels"'
    return f'{key} = ["{PLACEHOLDER} the levels"]  # {text}'


def toml_key(name: str) -> str:
    """A TOML key: bare where that is allowed, else a quoted string."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return toml_string(name)


def toml_string(text: str) -> str:
    """A TOML string in one line of printable characters, so that no text of a table can act on a terminal."""
    quoted = json.dumps(text.encode("utf-8", "replace").decode("utf-8"), ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in quoted)


if TYPE_CHECKING:
    from hullabaloo.data.domain import Domain


def domain_text(domain: "Domain", comment: Sequence[str] = ()) -> str:
    """The declaration, one line for each feature, after comment lines."""
    declared = domain.to_dict()
    features = declared.pop("features", {})
    lines = [f"# {' '.join(line.split())}" for line in comment]
    lines += [f"{key} = {_value(value)}" for key, value in declared.items()]
    if features:
        lines += ["", "[features]"]
        lines += [f"{toml_key(name)} = {_value(_short(one))}" for name, one in features.items()]
    return "\n".join(lines) + "\n"


def _short(declared: Mapping[str, Any]) -> Any:
    """Bounds alone are a pair."""
    return [declared["lo"], declared["hi"]] if set(declared) == {"lo", "hi"} else declared


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(str(key))} = {_value(one)}" for key, one in value.items()) + " }"
    return "[" + ", ".join(_value(one) for one in value) + "]"
