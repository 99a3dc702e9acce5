"""From the texts of `hullabaloo stream` to a source of records and a private stream."""

import inspect
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli import build
from hullabaloo.cli.options import Calibration, Estimator, Solver
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.data import Domain
    from hullabaloo.data.sources import StreamSource
    from hullabaloo.ledger import Ledger


class Format(StrEnum):
    """How records are written, by the names on the command line."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    REDIS = "redis"


class Rule(StrEnum):
    """How often a stream fits again where it is left open."""

    CONVEX = "convex"
    STRONGLY_CONVEX = "strongly-convex"
    WIDTH = "width"


class Method(StrEnum):
    """What is learned from a stream, and how."""

    INCREMENTAL = "incremental"
    SKETCHED = "sketched"
    PERIODIC = "periodic"


CLASSES = {
    Method.INCREMENTAL: "IncrementalRegression",
    Method.SKETCHED: "SketchedRegression",
    Method.PERIODIC: "PeriodicERM",
}
# The options of one method or another, by the parameter that each sets.
OWN = {
    "mechanism": "--mechanism",
    "window": "--window",
    "half_life": "--half-life",
    "sketch_size": "--sketch-size",
    "max_nonzeros": "--max-nonzeros",
    "rule": "--rule",
}
SUFFIXES = {
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".txt": Format.CSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
}
SCHEMES = ("redis://", "rediss://", "unix://")


def format_of(source: str, given: Format | None) -> Format:
    """The format asked for, or told by the address or the suffix."""
    if source.startswith(SCHEMES):
        return Format.REDIS
    suffix = Path(source).suffix.lower()
    if given is not None:
        if suffix != ".txt" and SUFFIXES.get(suffix, given) is not given:
            raise InvalidParameter(
                f"--format {given.value} was given, and {source} ends in {suffix}. Records of another format would be taken with nothing but "
                "missing cells. Leave --format out, or give the file the suffix of what it holds."
            )
        return given
    if source == "-":
        raise InvalidParameter(
            "Standard input has no suffix that tells its format. Pass --format csv or --format jsonl."
        )
    found = Format.PARQUET if Path(source).is_dir() else SUFFIXES.get(suffix)
    if found is None:
        raise InvalidParameter(
            f"The suffix of {source} tells no format. Pass --format csv, jsonl or parquet; a Redis server is named as redis://host:6379/0."
        )
    return found


def source(
    address: str,
    *,
    given: Format | None,
    domain: "Domain",
    target: str | None,
    follow: bool,
    key: str | None,
) -> "StreamSource":
    """The source at an address; its columns, and what is a record of a CSV file, are taken from the domain."""
    from hullabaloo.data import sources

    kind = format_of(address, given)
    columns = _columns(domain, target)
    if (key is not None) != (kind is Format.REDIS):
        raise InvalidParameter(
            "--key names the Redis stream to read, and goes with an address such as redis://host:6379/0; "
            + (
                "it was given for another source. Leave it out."
                if key is not None
                else "it is missing. Pass --key NAME."
            )
        )
    if kind is Format.CSV:
        return sources.CsvSource(address, follow=follow, columns=columns, quoted_line_breaks=domain.quoted_line_breaks)
    if kind is Format.PARQUET:
        if follow or address == "-":
            raise InvalidParameter(
                "A Parquet file is complete when it is written: it can be neither followed nor read from standard input. Leave --follow "
                "out, or write CSV or JSON Lines; further files are taken by running the command on them with --continues."
            )
        return sources.ParquetSource(address, columns=columns)
    if columns is None:
        raise InvalidParameter(
            f"The domain declares a row norm and no features, so which keys to read from {kind.value} records is not known. Declare "
            "features, or write CSV or Parquet."
        )
    if kind is Format.JSONL:
        return sources.JsonLinesSource(address, columns, follow=follow)
    return sources.RedisSource(address, str(key), columns, follow=follow)


def _columns(domain: "Domain", target: str | None) -> list[str] | None:
    """The columns that the domain uses; None for all there are."""
    targets = [target] if target is not None else [str(one.column) for one in domain.targets if one.column is not None]
    weight = [] if domain.weight is None else [domain.weight[0]]
    return [*domain.feature_names, *targets, *weight] if domain.features else None


def every(text: str) -> int | tuple[int, ...] | str:
    """The releases of `--every`: auto, a number of records, or rising positions."""
    parts = [part.strip() for part in text.split(",")]
    if text == "auto":
        return text
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise InvalidParameter(
            f"Releases every {text!r} records were asked for. Pass a whole number, rising positions such as 1000,5000,20000, or auto."
        )
    return int(parts[0]) if len(parts) == 1 else tuple(map(int, parts))


def stream(
    method: Method,
    *,
    kind: Estimator | None,
    constraint: str | None,
    penalty: str | None,
    ledger: "Ledger | None",
    dataset: str | None,
    own: Mapping[str, Any],
    **shared: Any,
) -> Any:
    """The unopened stream that the options describe; `own` are settings of some methods, None where not given."""
    from hullabaloo import streaming
    from hullabaloo.geometry import penalty_from_text, set_from_text

    cls = getattr(streaming, CLASSES[method])
    given = {name: value for name, value in own.items() if value is not None}
    known = inspect.signature(cls).parameters
    foreign = [OWN[name] for name in given if name not in known]
    if kind is not None and method is not Method.PERIODIC:
        foreign = ["--estimator"]
    if foreign:
        raise InvalidParameter(
            f"{foreign[0]} was given, and the method {method.value} has no such setting. Leave it out, or choose another --method; "
            "`hullabaloo stream --help` says whose option it is."
        )
    if method is Method.PERIODIC:
        model = build.estimator(
            Estimator.LINEAR if kind is None else kind,
            domain=shared["domain"],
            budget=shared["budget"],
            constraint=constraint,
            penalty=penalty,
            solver=Solver.AUTO,
            neighbours=shared["neighbours"],
            intercept=shared["fit_intercept"],
            ledger=ledger,
            dataset=dataset,
            calibration=Calibration.EXACT,
            own={},
        )
        return cls(model, **{name: value for name, value in shared.items() if name in known}, **given)
    return cls(
        constraint=None if constraint is None else set_from_text(constraint),
        penalty=None if penalty is None else penalty_from_text(penalty),
        ledger=ledger,
        dataset=dataset,
        **{**shared, "neighbours": shared["neighbours"].value},
        **given,
    )
