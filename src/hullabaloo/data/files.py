"""Domains as text: read from TOML and JSON, written as TOML, and a TOML template of one, from column names and declared types only."""

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hullabaloo.data.declarations import PLACEHOLDER, refuse_unknown
from hullabaloo.data.domain import Domain
from hullabaloo.data.given import path_of
from hullabaloo.data.readers.opening import describe_table
from hullabaloo.data.schema import NO_WIDTH
from hullabaloo.data.table import NUMBER, REFUSED
from hullabaloo.errors import DomainError, SchemaError, bare, once


def check_keys(declared: object) -> dict[str, Any]:
    """The keywords of a domain from a mapping; refuses unknown ones."""
    known = [name for name in inspect.signature(Domain).parameters if name != "self"]
    if not isinstance(declared, Mapping):
        raise DomainError(f"A domain is a table of declarations, and {type(declared).__name__} was found.")
    if not {"features", "row_norm"} & set(declared):  # perhaps another file altogether, so its keys are not quoted
        raise DomainError(
            f"A domain declares `features` or `row_norm`, and neither was found: without one no noise level protects a record, and "
            f"bounds are never read from the data. Known keys are {', '.join(known)}."
        )
    refuse_unknown(declared, known, "domain")
    return {str(key): value for key, value in declared.items()}


def misplaced(declared: Mapping[str, Any], sentence: str) -> str:
    """A hint where a refused feature has the name of a domain's key: in TOML it belongs to the table above it."""
    features = declared.get("features")
    keys = set(inspect.signature(Domain).parameters) - {"self", "features"}
    for name in features if isinstance(features, Mapping) else ():
        if name in keys and sentence.startswith(f"Feature {name!r}:"):
            return f" If {name!r} is meant for the domain as a whole: in TOML, write it above the line [features]."
    return ""


def _parsed(source: str | Path, marks: tuple[str, ...], parse: Callable[[str], Any], what: str, noun: str) -> Any:
    text = _text(source, marks, noun)
    try:
        return parse(text)
    except (ValueError, RecursionError) as error:
        bare(DomainError(f"The {noun} is not valid {what}{place_in(error)}. Correct the file there."))


def read_toml(source: str | Path, noun: str = "domain") -> dict[str, Any]:
    """Parse a TOML file or text; `noun` says in sentences what it is."""
    return dict(_parsed(source, ("\n", "="), tomllib.loads, "TOML", noun))


def read_json(source: str | Path) -> Any:
    """Parse a JSON file or text."""
    return _parsed(source, ("{",), partial(json.loads, object_pairs_hook=once), "JSON", "domain")


def place_in(error: Exception) -> str:
    """Where a parser stopped. What it says beside that may quote the file, which may be another than was meant."""
    if isinstance(error, json.JSONDecodeError):
        return f" at line {error.lineno}, column {error.colno}"
    found = re.search(r"\(at (line \d+, column \d+|end of document|a key that is there twice)\)$", str(error))
    return f" at {'the ' if found[1].startswith('end') else ''}{found[1]}" if found else ""


def _text(source: str | Path, marks: tuple[str, ...], noun: str) -> str:
    if isinstance(source, str) and any(mark in source for mark in marks):
        return source
    path = path_of(source)
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        raise DomainError(f"The {noun} file {path} cannot be read. Check the path.") from None
    except UnicodeDecodeError:
        bare(DomainError(f"The {noun} file {path} is not text in UTF-8. Write it with a text editor."))


_HEAD = f"""\
# What is declared here is public and decides the noise: narrower bounds, fewer columns, less noise. Fill in every
# "{PLACEHOLDER} ..." from what is known without looking at the records (a questionnaire, a law of nature, a code book),
# never from the records themselves, and delete the columns that the model does not need.

# The target: its bounds, for example target = {{ los = [0, 30] }}, or instead its classes, for example
# classes = {{ outcome = ["no", "yes"] }}. Delete the target's line among the features, and `records` where the number
# of records is public and each person has one. Where targets may be missing, add missing_target = "drop".
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
    columns = zip(names, schema.types, schema.kinds, strict=True)
    # a dataframe's index, as pandas writes it into a Parquet file, is a row's place or key, and no feature
    lines = [_line(*column) for column in columns if not column[0].startswith("__index_level_")]
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
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_string(name)


def toml_string(text: str) -> str:
    """A TOML string in one line of printable characters, so that no text of a table can act on a terminal."""
    quoted = json.dumps(text.encode("utf-8", "replace").decode("utf-8"), ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in quoted)


def domain_text(domain: Domain, comment: Sequence[str] = ()) -> str:
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
