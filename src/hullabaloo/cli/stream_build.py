"""From the texts of `hullabaloo stream` to a source of records and a private stream."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hullabaloo.cli import build
from hullabaloo.cli.options import PARAMETERS, ModelOptions, Relation, flag
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.data import Domain
    from hullabaloo.data.sources import StreamSource

CLASSES = {"incremental": "IncrementalRegression", "sketched": "SketchedRegression", "periodic": "PeriodicERM"}
SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
SCHEMES = ("redis://", "rediss://", "unix://")
SHARED = ("set_", "penalty", "intercept")
OWN = ("mechanism", "window", "half_life", "sketch_size", "max_nonzeros", "rule")
"""Options of one method or another, named as the parameters that they set."""


class StreamOptions(NamedTuple):
    """What is learned from a stream, and when; read by `stream`.

    Stream options:
        horizon N: The most records that the stream may take: noise is calibrated for them. Left out: unknown, and noise grows slowly.
        every K: A model after every K records, at positions such as 1000,5000,20000, or auto: about 1024 models.
        mechanism NAME: How noise is drawn for running sums; left out, or auto: the way with the least noise.
        window N: Only the latest N records count, in whole steps of --every; else all.
        half_life N: A record counts half after N later ones; else for ever.

    Model options:
        method: incremental: least squares from running sums; sketched: for very many columns, with a --set; periodic: any --estimator fitted
            again now and then.
        estimator: periodic: what is fitted again, as in `fit`.
        rule: periodic: how often it is fitted where --every is auto.
        sketch_size M: sketched: the numbers that a record is kept as.
        max_nonzeros S: sketched: records with more nonzero columns count for nothing.
    """

    horizon: int | None = None
    every: str = "auto"
    method: Literal["incremental", "sketched", "periodic"] = "incremental"
    estimator: str | None = None
    rule: Literal["convex", "strongly-convex", "width"] | None = None
    sketch_size: int | None = None
    max_nonzeros: int | None = None
    set_: str | None = None
    penalty: str | None = None
    intercept: bool = True
    mechanism: str | None = None
    window: int | None = None
    half_life: float | None = None


def format_of(source: str, given: str | None) -> str:
    """The format asked for, or told by the address or the suffix."""
    if source.startswith(SCHEMES):
        return "redis"
    suffix = Path(source).suffix.lower()
    if given is not None:
        if suffix != ".txt" and SUFFIXES.get(suffix, given) != given:
            raise InvalidParameter(
                f"--format {given} was given, and {source} ends in {suffix}. Records of another format would be taken with nothing but "
                "missing cells. Leave --format out, or give the file the suffix of what it holds."
            )
        return given
    if source == "-":
        raise InvalidParameter(
            "Standard input has no suffix that tells its format. Pass --format csv or --format jsonl."
        )
    found = "parquet" if Path(source).is_dir() else SUFFIXES.get(suffix)
    if found is None:
        raise InvalidParameter(
            f"The suffix of {source} tells no format. Pass --format csv, jsonl or parquet; a Redis server is named as redis://host:6379/0."
        )
    return found


def source(
    address: str, given: str | None, domain: "Domain", target: str | None, *, follow: bool, key: str | None
) -> "StreamSource":
    """The source at an address; its columns, and what is a record of a CSV file, are taken from the domain."""
    from hullabaloo.data import sources

    kind = format_of(address, given)
    columns = _columns(domain, target)
    if (key is not None) != (kind == "redis"):
        raise InvalidParameter(
            "--key names the Redis stream to read, and goes with an address such as redis://host:6379/0; "
            + (
                "it was given for another source. Leave it out."
                if key is not None
                else "it is missing. Pass --key NAME."
            )
        )
    if kind == "csv":
        return sources.CsvSource(address, follow=follow, columns=columns, quoted_line_breaks=domain.quoted_line_breaks)
    if kind == "parquet":
        if follow or address == "-":
            raise InvalidParameter(
                "A Parquet file is complete when it is written: it can be neither followed nor read from standard input. Leave --follow "
                "out, or write CSV or JSON Lines; further files are taken by running the command on them with --continues."
            )
        return sources.ParquetSource(address, columns=columns)
    if columns is None:
        raise InvalidParameter(
            f"The domain declares a row norm and no features, so which keys to read from {kind} records is not known. Declare "
            "features, or write CSV or Parquet."
        )
    if kind == "jsonl":
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
    asked: StreamOptions, files: Mapping[str, Path | None], *, domain: "Domain", neighbours: Relation, **terms: Any
) -> Any:
    """The unopened stream that the options describe; `files` its state and key file, `terms` its budget, ledger and dataset."""
    from hullabaloo import streaming

    cls = getattr(streaming, CLASSES[asked.method])
    given = {name: value for name in OWN if (value := getattr(asked, name)) is not None}
    known = inspect.signature(cls).parameters
    foreign = [flag(name) for name in given if name not in known]
    if asked.estimator is not None and asked.method != "periodic":
        foreign = ["--estimator"]
    if foreign:
        raise InvalidParameter(
            f"{foreign[0]} was given, and the method {asked.method} has no such setting. Leave it out, or choose another --method; "
            "`hullabaloo stream --help` says whose option it is."
        )
    if asked.rule is not None:
        given["rule"] = asked.rule.replace("-", "_")
    given |= {"horizon": asked.horizon, "every": every(asked.every)}
    if asked.method == "periodic":
        shared = {name: getattr(asked, name) for name in SHARED}
        options = ModelOptions(neighbours, asked.estimator or "linear")._replace(**shared)
        return cls(build.estimator(options, domain, **terms), **files, **given)
    settings = {PARAMETERS.get(name, name): build.setting(name, getattr(asked, name), domain) for name in SHARED}
    return cls(domain=domain, neighbours=neighbours, **settings, **terms, **files, **given)
