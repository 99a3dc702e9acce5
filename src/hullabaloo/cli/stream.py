"""`hullabaloo stream`: a private model that is current while records arrive, charged once, resumed after anything."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli import build, charge, stream_build, stream_price
from hullabaloo.cli.boundary import Stopped
from hullabaloo.cli.options import BudgetOptions, FileOptions, LedgerOptions, Relation, command
from hullabaloo.cli.output import Output
from hullabaloo.cli.stream_build import StreamOptions
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.privacy import Budget
    from hullabaloo.privacy.schedule import Schedule


@command
def stream(
    source: str,
    *,
    domain: Path,
    target: str | None = None,
    files: FileOptions,
    budget: BudgetOptions,
    neighbours: Relation = "replace-one",
    asked: StreamOptions,
    ledger: LedgerOptions,
    price: bool = False,
    columns: int | None = None,
    json_: bool = False,
) -> None:
    """Learn from records as they arrive: a private model after every K of them.

    One charge, made before the first record, pays for all models up to the horizon, however often they are read.

    With --state the same command goes on where the last run stopped, whatever stopped it; exit code 130: interrupted.

    Args:
        source SOURCE: A CSV, JSON Lines or Parquet file, - for standard input, or redis://host:6379/0.
        price: Say what the stream would cost and gain; reads and spends nothing.
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
    made = stream_build.stream(asked, kept, domain=declared, neighbours=neighbours, **terms)
    output = Output("stream", json_)
    if price:
        stream_price.say(output, made, columns)
    else:
        _run(output, made, source, target, files)


def _run(output: Output, stream: Any, address: str, target: str | None, files: FileOptions) -> None:
    from hullabaloo.cli import stream_loop
    from hullabaloo.cli.stream_files import ModelFiles
    from hullabaloo.streaming import new_key_file

    models, state = ModelFiles(files.models, files.out), files.state
    if files.continues and state is None:
        raise InvalidParameter(
            "--continues was given without --state, so there is nothing that the source could continue. Leave it out, or name the state "
            "of the stream that goes on."
        )
    if files.new_key and (state is None or files.key_file is None):
        raise InvalidParameter(
            "--new-key makes the file of --key-file, which encrypts that of --state. Pass both with it, or neither."
        )
    fresh = state is None or not state.exists()
    if fresh:
        models.refuse_old()
    reader = stream_build.source(address, files.format_, stream.domain, target, follow=files.follow, key=files.key)
    with reader as source, stream_loop.stopping() as stop, stream:
        if fresh and files.new_key:
            new_key_file(stream.key_file)
        stream.partial_fit(source.empty(), target)  # checks, charges, restores; takes nothing
        schedule, before = stream._schedule, stream.position_
        say = stream_loop.as_json if output.as_json else stream_loop.line

        if not output.as_json:
            print(_opening(schedule, before, stream.budget), flush=True)
        stream_loop.feed(stream, source, target, models, files, stop, say)
        _end(output, stream, schedule, before, stopped=stop.is_set(), state=state)


def _opening(schedule: "Schedule", position: int, budget: "Budget") -> str:
    number = "as they come" if schedule.horizon is None else f"{schedule.steps:,} up to record {schedule.horizon:,}"
    where = f"Going on after record {position:,}" if position else "Beginning"
    first = "" if position else f", the first after record {schedule.position(1):,}"
    return f"{where}; releases: {number}{first}. Spent on all of them together, once: {budget.describe()}."


def _end(output: Output, stream: Any, schedule: "Schedule", before: int, *, stopped: bool, state: Path | None) -> None:
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
    output.result(
        {
            "ended": "horizon" if full else "end of the source",
            "position": position,
            "taken": position - before,
            "released_at": released,
            "statement": statement and statement.to_dict(),
            "guarantee": statement and statement.lines(),
        },
        *([charge.guarantee(stream.statement_)] if released else ["Nothing was released yet."]),
        f"The horizon of {position:,} records is reached: the stream takes no more."
        if full
        else f"The source ends after record {position:,}. {kept}",
    )
