"""Domains in TOML and JSON."""

import inspect
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hullabaloo.data.given import path_of
from hullabaloo.errors import DomainError


def check_keys(declared: object) -> dict[str, Any]:
    """The keywords of a domain from a mapping; refuses unknown ones."""
    from hullabaloo.data.domain import Domain

    known = [name for name in inspect.signature(Domain).parameters if name != "self"]
    if not isinstance(declared, Mapping):
        raise DomainError(f"A domain is a table of declarations, and {type(declared).__name__} was found.")
    if not {"features", "row_norm"} & set(declared):  # perhaps another file altogether, so its keys are not quoted
        raise DomainError(
            f"A domain declares `features` or `row_norm`, and neither was found: without one no noise level protects a record, and "
            f"bounds are never read from the data. Known keys are {', '.join(known)}."
        )
    unknown = sorted(str(key) for key in declared if key not in known)
    if unknown:
        raise DomainError(
            f"The key {unknown[0]!r} is not known in a domain, and an ignored key would be a promise not kept. Known "
            f"keys are {', '.join(known)}."
        )
    return {str(key): value for key, value in declared.items()}


def misplaced(declared: Mapping[str, Any], sentence: str) -> str:
    """A hint where a refused feature has the name of a domain's key: in TOML it belongs to the table above it."""
    from hullabaloo.data.domain import Domain

    features = declared.get("features")
    keys = set(inspect.signature(Domain).parameters) - {"self", "features"}
    for name in features if isinstance(features, Mapping) else ():
        if name in keys and sentence.startswith(f"Feature {name!r}:"):
            return f" If {name!r} is meant for the domain as a whole: in TOML, write it above the line [features]."
    return ""


def read_toml(source: str | Path) -> dict[str, Any]:
    """Parse a TOML file or text."""
    text = _text(source, ("\n", "="))
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DomainError(f"The domain is not valid TOML{place_in(error)}. Correct the file there.") from None


def read_json(source: str | Path) -> Any:
    """Parse a JSON file or text."""
    text = _text(source, ("{",))
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DomainError(f"The domain is not valid JSON{place_in(error)}. Correct the file there.") from None


def place_in(error: Exception) -> str:
    """Where a parser stopped. What it says beside that may quote the file, which may be another than was meant."""
    if isinstance(error, json.JSONDecodeError):
        return f" at line {error.lineno}, column {error.colno}"
    found = re.search(r"\(at (line \d+, column \d+|end of document)\)$", str(error))
    return f" at {'the ' if found[1].startswith('end') else ''}{found[1]}" if found else ""


def _text(source: str | Path, marks: tuple[str, ...]) -> str:
    if isinstance(source, str) and any(mark in source for mark in marks):
        return source
    path = path_of(source)
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        raise DomainError(f"The domain file {path} cannot be read. Check the path.") from None
    except UnicodeDecodeError:
        raise DomainError(f"The domain file {path} is not text in UTF-8. Write it with a text editor.") from None
