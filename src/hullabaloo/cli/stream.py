"""`hullabaloo stream`: a private model that is current while records arrive, charged once, resumed after anything."""

import inspect
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import hullabaloo as hb
from hullabaloo.cli import build, options
from hullabaloo.cli.boundary import Stopped
from hullabaloo.cli.output import NOTHING, Output, facts, guarantee
from hullabaloo.cli.plan import deviation, expected, spend
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.data.sources import StreamSource
    from hullabaloo.privacy.schedule import Schedule

FAR = 1_000_000  # records at which a stream without a horizon is priced last
CLASSES = {"incremental": "IncrementalRegression", "sketched": "SketchedRegression", "periodic": "PeriodicERM"}
SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
SCHEMES = ("redis://", "rediss://", "unix://")
OWN = ("rule", "sketch_size", "max_nonzeros", "mechanism", "window", "half_life")
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
            again now and then, with its options, as in `fit`.
        rule: periodic: how often it is fitted where --every is auto.
        sketch_size M: sketched: the numbers that a record is kept as.
        max_nonzeros S: sketched: records with more nonzero columns count for nothing.
    """

    horizon: int | None = None
    every: str = "auto"
    method: Literal["incremental", "sketched", "periodic"] = "incremental"
    rule: Literal["convex", "strongly-convex", "width"] | None = None
    sketch_size: int | None = None
    max_nonzeros: int | None = None
    mechanism: str | None = None
    window: int | None = None
    half_life: float | None = None


@options.command
def stream(
    source: str,
    *,
    domain: Path,
    target: str | None = None,
    files: options.FileOptions,
    budget: options.BudgetOptions,
    asked: StreamOptions,
    model: options.ModelOptions,
    ledger: options.LedgerOptions,
    price: bool = False,
    known: list[str] | None = None,
    columns: int | None = None,
    json_: bool = False,
) -> None:
    """Learn from records as they arrive: a private model after every K of them.

    One charge, made before the first record, pays for all models up to the horizon, however often they are read.

    With --state the same command goes on where the last run stopped, whatever stopped it; exit code 130: interrupted.

    Args:
        source SOURCE: A CSV, JSON Lines or Parquet file, - for standard input, or redis://host:6379/0.
        price: Say what the stream would cost and gain; reads and spends nothing.
        known NAME=NUMBER: For --price, a standard deviation that is publicly known, of a column or of what is left of the target, or the target's mean ("mean of Y=2.5"); may be repeated.
        columns P: For --price, where the domain is a row norm only: how many columns.
        json_: Print JSON objects for scripts, one on each line: every release, then the result.

    Privacy options:
        neighbours: What is hidden: one record replaced by any other, or one record being there at all; in its place in both.
    """
    build.places(files.state, files.key_file)
    if files.key_file is not None and files.state is None:
        raise InvalidParameter("--key-file encrypts the file of --state, and none was given. Pass both, or neither.")
    declared = build.read_domain(domain)
    target = build.target(declared, target)
    if asked.horizon is None and asked.every == "auto" and asked.method != "periodic":
        raise InvalidParameter(
            "Neither --horizon nor --every was given, so when to release models is not known. Pass --horizon N, the most records that the "
            "stream may take (noise is then least), or --every K alone where no end is in sight."
        )
    terms, kept = build.terms(budget, ledger), {"state": files.state, "key_file": files.key_file}
    made = made_stream(asked, model, kept, domain=declared, **terms)
    output = Output("stream", json_)
    if price or known is not None:
        _price(output, made, columns, dict(map(deviation, known or ())))
    else:
        _run(output, made, source, target, files)


def _run(output: Output, stream: Any, address: str, target: str | None, files: options.FileOptions) -> None:
    """Open the source and the stream, take records as long as there are any, and say how it ended."""
    from hullabaloo.cli import stream_loop

    models, state = stream_loop.ModelFiles(files.models, files.out), files.state
    if files.continues and state is None:
        raise InvalidParameter(
            "--continues was given without --state, so there is nothing that the source could continue. Leave it out, or name the state of the stream that goes on."
        )
    if files.new_key and (state is None or files.key_file is None):
        raise InvalidParameter("--new-key makes the file of --key-file, which encrypts that of --state. Pass both too.")
    fresh = state is None or not state.exists()
    if fresh:
        models.refuse_old()
    with open_source(address, files, stream.domain, target) as source, stream_loop.stopping() as stop, stream:
        if fresh and files.new_key:
            hb.streaming.new_key_file(stream.key_file)
        stream.partial_fit(source.empty(), target)  # checks, charges, restores; takes nothing
        before = stream.position_
        if not output.as_json:
            where = f"Going on after record {before:,}" if before else "Beginning"
            spent = f"Spent on all of them together, once: {stream.budget.describe()}."
            print(f"{where}; releases: {_releases(stream._schedule)}. {spent}", flush=True)
        say = stream_loop.as_json if output.as_json else stream_loop.line
        stream_loop.feed(stream, source, target, models, files, stop, say)
        _end(output, stream, before, stop.is_set(), state)


def _end(output: Output, stream: Any, before: int, stopped: bool, state: Path | None) -> None:
    position, released, full = stream.position_, stream.released_at_, stream.position_ == stream._schedule.horizon
    more = " (a next file: with --continues)" * (not stopped)
    kept = f"Saved in {state}; the same command goes on from there{more}."
    kept = kept if state is not None else "Without --state the stream has ended here; its charge stays."
    if stopped and not full:
        raise Stopped(f"Interrupted after record {position:,}. {kept}")
    statement = stream.statement_ if released else None
    taken = {"position": position, "taken": position - before, "released_at": released}
    said = {"statement": statement and statement.to_dict(), "guarantee": statement and statement.lines()}
    reached = f"The horizon of {position:,} records is reached: the stream takes no more."
    output.result(
        {"ended": "horizon" if full else "end of the source", **taken, **said},
        guarantee(statement) if statement else "Nothing was released yet.",
        reached if full else f"The source ends after record {position:,}. {kept}",
    )


def _price(output: Output, stream: Any, columns: int | None, known: Mapping[str, float]) -> None:
    """Print the plan of a stream that was not begun: its cost, its releases, and noise and gain at some of them."""
    build.width(stream.domain, columns)
    encoding, process = stream._planned(columns)
    schedule = process.schedule
    last = schedule.steps if schedule.horizon is not None else max(1, FAR // schedule.position(1))
    # The first release, one between, and the last
    places = [schedule.position(step) for step in dict.fromkeys((1, max(1, round(math.sqrt(last))), last))]
    prices = [stream._price_at(position, known, encoding, process) for position in places]
    names = dict.fromkeys(error.name for one in prices for error in one.errors)
    told = [{error.name: error.range for error in one.errors} for one in prices]
    lines = [[name, *(one.get(name, "not told") for one in told)] for name in names]
    said = expected(" after so many records", ["", *(f"after {position:,}" for position in places)], lines)
    said += [f"After {at:,} records: {one.expectation}" for at, one in zip(places, prices, strict=True)]
    # The first note says of which release this is.
    said += [f"Note: {note}." for note in (*prices[-1].withheld, *prices[-1].notes[1:])]
    about = facts({"spend": f"{spend(prices[-1])}, once, for all releases together", "releases": _releases(schedule)})
    steps = None if schedule.horizon is None else schedule.steps
    output.result({"releases": steps, "prices": [one.to_dict() for one in prices]}, about, *said, NOTHING)


def _releases(schedule: "Schedule") -> str:
    if schedule.horizon is None:
        return f"one after every {schedule.every:,} records without an end"
    return f"{schedule.steps:,} up to record {schedule.horizon:,}, the first after record {schedule.position(1):,}"


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
        raise InvalidParameter("Standard input has no suffix to tell its format. Pass --format csv or --format jsonl.")
    found = "parquet" if Path(source).is_dir() else SUFFIXES.get(suffix)
    if found is None:
        raise InvalidParameter(
            f"The suffix of {source} tells no format. Pass --format csv, jsonl or parquet; a Redis server is named as redis://host:6379/0."
        )
    return found


def open_source(address: str, files: options.FileOptions, domain: "hb.Domain", target: str | None) -> "StreamSource":
    """The source at an address; its columns, and what is a record of a CSV file, are taken from the domain."""
    from hullabaloo.data import sources

    kind, follow, key = format_of(address, files.format_), files.follow, files.key
    used = [name for name, use in build.uses(domain, target) if use != "unit"]
    columns = used if domain.features else None  # None: all there are
    if (key is not None) != (kind == "redis"):
        wrong = "it is missing. Pass --key NAME." if key is None else "it was given for another source. Leave it out."
        raise InvalidParameter(
            f"--key names the Redis stream to read, and goes with an address such as redis://host:6379/0; {wrong}"
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
            f"The domain declares a row norm and no features, so which keys to read from {kind} records is not known. Declare features, or write CSV or Parquet."
        )
    if kind == "jsonl":
        return sources.JsonLinesSource(address, columns, follow=follow)
    return sources.RedisSource(address, str(key), columns, follow=follow)


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


def made_stream(
    asked: StreamOptions,
    model: options.ModelOptions,
    files: Mapping[str, Path | None],
    *,
    domain: "hb.Domain",
    **terms: Any,
) -> Any:
    """The unopened stream that the options describe; `files` its state and key file, `terms` its budget, ledger and dataset."""
    cls, periodic = getattr(hb.streaming, CLASSES[asked.method]), asked.method == "periodic"
    given = asked._asdict() | {"rule": asked.rule and asked.rule.replace("-", "_")}
    own = {name: given[name] for name in OWN if given[name] is not None}
    given_of_fit = {} if periodic else model._asdict()
    of_fit = {name: one for name, one in given_of_fit.items() if one != model._field_defaults[name]}
    build.refuse_foreign((*of_fit, *own), inspect.signature(cls).parameters, "method", asked.method, "stream")
    own |= {"horizon": asked.horizon, "every": every(asked.every)}
    if periodic:
        return cls(build.estimator(model, domain, **terms), **files, **own)
    settings = {options.parameter(name): build.setting(name, value, domain) for name, value in of_fit.items()}
    return cls(domain=domain, **settings, **terms, **files, **own)
