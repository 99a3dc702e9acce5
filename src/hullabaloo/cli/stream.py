"""`hullabaloo stream`: a private model that is current while records arrive, charged once, resumed after anything."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hullabaloo.cli import build, options, paid, stream_build, stream_price
from hullabaloo.cli.boundary import Stopped
from hullabaloo.cli.stream_build import Format, Method, Rule
from hullabaloo.cli.voice import Voice
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.privacy import Budget
    from hullabaloo.privacy.schedule import Schedule

_STREAM, _FILES = "Stream", "Files"


@options.grouped
def stream(
    *,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A CSV, JSON Lines or Parquet file, - for standard input, or redis://host:6379/0.",
        ),
    ],
    domain: options.DomainFile,
    target: options.Target = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=_STREAM,
            help="The most records that the stream may take: noise is calibrated for them. Left out: unknown, and noise grows slowly.",
        ),
    ] = None,
    every: Annotated[
        str,
        typer.Option(
            metavar="K",
            rich_help_panel=_STREAM,
            help="A model after every K records, at positions such as 1000,5000,20000, or auto: about 1024 models.",
        ),
    ] = "auto",
    models: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            rich_help_panel=_FILES,
            help="A file for the model of each release, written once: 'models/{position}.json'.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=_FILES, help="A file that holds the latest model.")
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_FILES,
            help="Where the stream is kept between runs: it goes on from there after an interruption or a crash. Private data.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=_FILES, help="A key that the state is encrypted with."),
    ] = None,
    new_key: Annotated[
        bool,
        typer.Option(
            "--new-key",
            rich_help_panel=_FILES,
            help="Make the key file, for a new stream. Keep it apart from the state; without it the stream cannot go on.",
        ),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", rich_help_panel=_FILES, help="Wait for more at the end of the source.")
    ] = False,
    continues: Annotated[
        bool,
        typer.Option(
            "--continues",
            rich_help_panel=_FILES,
            help="The source begins with the first record not taken yet (the next file, a live pipe); else it begins with the "
            "stream's first record, and those already taken are passed over.",
        ),
    ] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", rich_help_panel=_FILES, help="How records are written; else told by the suffix."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="NAME", rich_help_panel=_FILES, help="redis: the stream's key.")
    ] = None,
    spend: options.Spend,
    neighbours: Annotated[
        options.Relation,
        typer.Option(
            rich_help_panel="Privacy",
            help="What is hidden: one record replaced by any other, or one record being there at all; in its place in both.",
        ),
    ] = options.Relation.REPLACE_ONE,
    method: Annotated[
        Method,
        typer.Option(
            rich_help_panel="Model",
            help="incremental: least squares from running sums; sketched: for very many columns, with a --set; periodic: any "
            "--estimator fitted again now and then.",
        ),
    ] = Method.INCREMENTAL,
    kind: Annotated[
        options.Estimator | None,
        typer.Option("--estimator", rich_help_panel="Model", help="periodic: what is fitted again, as in `fit`."),
    ] = None,
    rule: Annotated[
        Rule | None,
        typer.Option("--rule", rich_help_panel="Model", help="periodic: how often it is fitted where --every is auto."),
    ] = None,
    sketch_size: Annotated[
        int | None,
        typer.Option(metavar="M", rich_help_panel="Model", help="sketched: the numbers that a record is kept as."),
    ] = None,
    max_nonzeros: Annotated[
        int | None,
        typer.Option(
            metavar="S", rich_help_panel="Model", help="sketched: records with more nonzero columns count for nothing."
        ),
    ] = None,
    constraint: options.Set = None,
    penalty: options.Penalty = None,
    intercept: options.Intercept = True,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=_STREAM,
            help="How noise is drawn for running sums; left out, or auto: the way with the least noise.",
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=_STREAM,
            help="Only the latest N records count, in whole steps of --every; else all.",
        ),
    ] = None,
    half_life: Annotated[
        float | None,
        typer.Option(
            metavar="N", rich_help_panel=_STREAM, help="A record counts half after N later ones; else for ever."
        ),
    ] = None,
    book: options.Book,
    price: Annotated[
        bool,
        typer.Option("--price", "--dry-run", help="Say what the stream would cost and gain; reads and spends nothing."),
    ] = False,
    columns: Annotated[
        int | None,
        typer.Option(
            "--columns", metavar="P", help="For --price, where the domain is a row norm only: how many columns."
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON objects for scripts, one on each line: every release, then the result."
        ),
    ] = False,
) -> None:
    """Learn from records as they arrive: a private model after every K of them.

    One charge, made before the first record, pays for all models up to the horizon, however often they are read.

    With --state the same command goes on where the last run stopped, whatever stopped it; exit code 130: interrupted.
    """
    build.places(state, key_file)
    if key_file is not None and state is None:
        raise InvalidParameter("--key-file encrypts the file of --state, and none was given. Pass both, or neither.")
    declared = build.read_domain(domain)
    target = build.target(declared, target)
    if horizon is None and every == "auto" and method is not Method.PERIODIC:
        raise InvalidParameter(
            "Neither --horizon nor --every was given, so when to release models is not known. Pass --horizon N, the most records that the "
            "stream may take (noise is then least), or --every K alone where no end is in sight."
        )
    made = stream_build.stream(
        method,
        kind=kind,
        constraint=constraint,
        penalty=penalty,
        ledger=build.ledger(*book),
        dataset=book.dataset,
        own={
            "mechanism": mechanism,
            "window": window,
            "half_life": half_life,
            "sketch_size": sketch_size,
            "max_nonzeros": max_nonzeros,
            "rule": None if rule is None else rule.value.replace("-", "_"),
        },
        budget=build.budget(*spend),
        domain=declared,
        horizon=horizon,
        every=stream_build.every(every),
        fit_intercept=intercept,
        neighbours=neighbours,
        state=state,
        key_file=key_file,
    )
    voice = Voice("stream", as_json)
    if price:
        stream_price.say(voice, made, columns)
        return
    _run(
        voice,
        made,
        target=target,
        opened={"address": source, "given": format_, "follow": follow, "key": key},
        files=(models, out, state),
        continues=continues,
        new_key=new_key,
    )


def _run(
    voice: Voice,
    stream: Any,
    *,
    target: str | None,
    opened: dict[str, Any],
    files: tuple[str | None, Path | None, Path | None],
    continues: bool,
    new_key: bool,
) -> None:
    from hullabaloo.cli import stream_loop
    from hullabaloo.cli.stream_files import ModelFiles
    from hullabaloo.streaming import new_key_file

    pattern, out, state = files
    models = ModelFiles(pattern, out)
    if continues and state is None:
        raise InvalidParameter(
            "--continues was given without --state, so there is nothing that the source could continue. Leave it out, or name the state "
            "of the stream that goes on."
        )
    if new_key and (state is None or stream.key_file is None):
        raise InvalidParameter(
            "--new-key makes the file of --key-file, which encrypts that of --state. Pass both with it, or neither."
        )
    fresh = state is None or not state.exists()
    if fresh:
        models.refuse_old()
    with (
        stream_build.source(domain=stream.domain, target=target, **opened) as source,
        stream_loop.stopping() as stop,
        stream,
    ):
        if fresh and new_key:
            new_key_file(stream.key_file)
        stream.partial_fit(source.empty(), target)  # checks, charges, restores; takes nothing
        schedule, before = stream._schedule, stream.position_

        def show(model: Any, path: Path | None) -> None:
            made = (
                stream_loop.as_json(model, path) if voice.as_json else stream_loop.line(model, path, schedule.horizon)
            )
            print(made, flush=True)

        if not voice.as_json:
            print(_opening(schedule, before, stream.budget), flush=True)
        stream_loop.feed(
            stream,
            source,
            schedule,
            target=target,
            models=models,
            state=state,
            continues=continues,
            stop=stop,
            show=show,
        )
        _end(voice, stream, schedule, before, stopped=stop.is_set(), state=state)


def _opening(schedule: "Schedule", position: int, budget: "Budget") -> str:
    number = "as they come" if schedule.horizon is None else f"{schedule.steps:,} up to record {schedule.horizon:,}"
    where = f"Going on after record {position:,}" if position else "Beginning"
    first = "" if position else f", the first after record {schedule.position(1):,}"
    return f"{where}; releases: {number}{first}. Spent on all of them together, once: {budget.describe()}."


def _end(voice: Voice, stream: Any, schedule: "Schedule", before: int, *, stopped: bool, state: Path | None) -> None:
    position, released = stream.position_, stream.released_at_
    kept = (
        f"Saved in {state}; the same command goes on from there."
        if state is not None
        else "Without --state the stream has ended here; its charge stays."
    )
    full = position == schedule.horizon
    if stopped and not full:
        raise Stopped(f"Interrupted after record {position:,}. {kept}")
    statement = stream.statement_ if released else None
    voice.result(
        {
            "ended": "horizon" if full else "end of the source",
            "position": position,
            "taken": position - before,
            "released_at": released,
            "statement": statement and statement.to_dict(),
            "guarantee": statement and statement.lines(),
        },
        *([paid.guarantee(stream.statement_)] if released else ["Nothing was released yet."]),
        f"The horizon of {position:,} records is reached: the stream takes no more."
        if full
        else f"The source ends after record {position:,}. {kept}",
    )
