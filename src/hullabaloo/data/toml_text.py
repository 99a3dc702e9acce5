"""A domain as TOML text that `Domain.from_toml` reads back."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hullabaloo.data.template import toml_key, toml_string

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
