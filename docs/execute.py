"""Run what the documentation shows, and fill in the measured tables; `make docs`, `python docs/execute.py [PAGE…]`.

A block is run when its fence says so: ```python run, ```bash run (the word after the language). The blocks of a page share one
scratch folder, and its Python blocks one interpreter, in the order of the page. What happened is recorded in
`docs/executed.json` with the hash of what was run and of the signatures of the public names in it. A page is stale when either
has changed since: `make test` says so, and `make release` fails (`--stale`). What blocks print is private noise for the most part; it is kept to
be read, and never compared. Without a page the stale ones are run; with `--all`, all. A block whose fence says `run fails` has to end
with a nonzero status.
"""

import argparse
import hashlib
import importlib
import inspect
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "executed.json"
FENCE = re.compile(r"^```(?P<language>python|bash) run(?P<fails> fails)?[ ]*\n(?P<code>.*?)^```[ ]*$", re.M | re.S)
MEASURED = re.compile(r"(<!-- measured: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.S)
LONGEST_OUTPUT = 1500
SECONDS = 300


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a page that is run."""

    line: int
    language: str
    code: str
    fails: bool


def pages() -> list[Path]:
    """The pages whose marked blocks are run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The marked blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, found.start()) + 1, found["language"], found["code"], found["fails"] is not None)
        for found in FENCE.finditer(text)
    ]


def page_hash(page: Path) -> str:
    """The hash of what a page runs; prose may change without running it again."""
    parts = [[block.language, block.code, block.fails] for block in blocks(page)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def surface() -> dict[str, str]:
    """The exported names with their signatures, and those of their public methods: what the pages can break on."""
    package = importlib.import_module("hullabaloo")
    found: dict[str, str] = {}
    for name in sorted(package.__all__):
        thing = getattr(package, name)
        if inspect.isclass(thing):
            found[name] = _signature(thing)
            found |= {
                f"{name}.{method}": _signature(value)
                for method, value in inspect.getmembers(thing, inspect.isroutine)
                if not method.startswith("_") and (getattr(value, "__module__", "") or "").startswith("hullabaloo")
            }
        elif callable(thing):  # a function, or a room that is called as its function once it is imported
            found[name] = _signature(thing)
    return found | _commands()


def used(page: Path) -> dict[str, str]:
    """A digest of the signature of every public name and command of which all words stand in the blocks of a page."""
    words = set(re.findall(r"\w+", "\n".join(block.code for block in blocks(page))))
    return {name: digest(value) for name, value in surface().items() if words.issuperset(re.findall(r"\w+", name))}


def digest(text: str) -> str:
    """A few digits that name a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def recorded() -> dict[str, Any]:
    """What was run of each page, by its name."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else {}


def stale(page: Path) -> str:
    """Why what was run of a page is not what it shows, or not against today's public surface; empty when it is."""
    then = recorded().get(page.relative_to(ROOT).as_posix())
    if not blocks(page):
        return ""
    if then is None:
        return "its code was never run"
    if then["hash"] != page_hash(page):
        return "its code changed"
    now = used(page)
    changed = sorted(name for name in then["names"].keys() | now.keys() if then["names"].get(name) != now.get(name))
    return f"{', '.join(changed[:8])} changed" if changed else ""


def command(page: Path) -> str:
    """What runs a page again."""
    return f"python docs/execute.py {page.relative_to(ROOT).as_posix()}"


def _signature(thing: Any) -> str:
    """Names, kinds and defaults of parameters; annotations are left out."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return "?"
    return ", ".join(
        f"{p.kind.name}:{p.name}{'' if p.default is p.empty else '=' + repr(p.default)}" for p in parameters
    )


def _commands() -> dict[str, str]:
    """The commands with the names of their options."""
    main, app = importlib.import_module("typer.main"), importlib.import_module("hullabaloo.cli.app").app
    found: dict[str, str] = {}
    tree: Any = main.get_command(app)
    todo = [("hullabaloo", tree)]
    while todo:
        path, command = todo.pop()
        found[path] = " ".join(sorted("/".join(param.opts) for param in command.params))
        todo += [(f"{path} {name}", one) for name, one in getattr(command, "commands", {}).items()]
    return found


def execute(page: Path) -> list[dict[str, Any]]:
    """Run the blocks of a page in a scratch folder; gives what each did."""
    shown = blocks(page)
    if not shown:
        return []
    with tempfile.TemporaryDirectory(prefix="hullabaloo-docs-") as folder:
        script = Path(folder) / ".blocks.json"
        script.write_text(json.dumps([[block.language, block.code] for block in shown]), encoding="utf-8")
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "COLUMNS": "110",
            "NO_COLOR": "1",
            "LOGNAME": "reader",
        }
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, str(script)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{page.name}: the blocks could not be run at all:\n{done.stderr}")
        outcomes = json.loads((Path(folder) / ".outcomes.json").read_text(encoding="utf-8"))
    records = []
    for block, (status, output) in zip(shown, outcomes, strict=True):
        if (status != 0) != block.fails:
            wanted = "a failure" if block.fails else "success"
            raise RuntimeError(
                f"{page.name}, line {block.line}: {wanted} was expected, status {status} came:\n{output}"
            )
        shown_output = output.replace(folder, "…").replace(sys.prefix, "…")
        records.append(
            {
                "line": block.line,
                "language": block.language,
                "status": status,
                "output": shown_output[:LONGEST_OUTPUT] + " …" * (len(shown_output) > LONGEST_OUTPUT),
            }
        )
    return records


# Runs the blocks in its own process: Python ones in one namespace, others in a shell, each with its status and output.
DRIVER = """
import contextlib, io, json, subprocess, sys, traceback
outcomes, space = [], {"__name__": "__main__"}
for language, code in json.load(open(sys.argv[1])):
    if language == "python":
        out, status = io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                exec(compile(code, "<block>", "exec"), space)
            except BaseException:
                traceback.print_exc()
                status = 1
        outcomes.append([status, out.getvalue()])
    else:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        outcomes.append([done.returncode, done.stdout])
json.dump(outcomes, open(".outcomes.json", "w"))
"""


def write_tables() -> None:
    """Fill the measured tables of every page from the recorded results, and the numbers of sentences that are of a record."""
    sys.path.insert(0, str(ROOT / "docs"))
    tables, said = importlib.import_module("tables"), importlib.import_module("said")
    for page in pages():
        text = page.read_text(encoding="utf-8")
        filled = MEASURED.sub(lambda found: found[1] + tables.measured(found["name"]) + found[3], text)
        if filled != text:
            page.write_text(filled, encoding="utf-8")
    said.fill(ROOT)


def run(page: Path) -> None:
    """Run a page, and record what happened."""
    name = page.relative_to(ROOT).as_posix()
    now = {"date": datetime.now(UTC).date().isoformat(), "python": platform.python_version()}
    ran = {**now, "hash": page_hash(page), "names": used(page), "blocks": execute(page)}
    text = json.dumps(dict(sorted((recorded() | {name: ran}).items())), indent=1, ensure_ascii=False)
    RECORD.write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(ran['blocks'])} block(s) run", flush=True)


def main(words: list[str] | None = None) -> int:
    """Run pages, record what happened, fill in the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "page", nargs="*", help="pages to run, as README.md or docs/streams.md; those that are stale if none is named"
    )
    parser.add_argument("--all", action="store_true", help="run every page")
    parser.add_argument("--stale", action="store_true", help="only say which pages are stale; status 1 if any is")
    parser.add_argument("--tables", action="store_true", help="only fill in the measured tables")
    asked = parser.parse_args(words)
    known = {page.relative_to(ROOT).as_posix(): page for page in pages()}
    unknown = [name for name in asked.page if name not in known]
    if unknown:
        parser.error(f"there is no page {unknown[0]!r}; the pages are {', '.join(known)}")
    if asked.stale:
        found = {page: why for page in known.values() if (why := stale(page))}
        for page, why in found.items():
            print(f"{page.relative_to(ROOT).as_posix()}: {why}; run it again: {command(page)}")
        return 1 if found else 0
    if not asked.tables:
        for name, page in known.items():
            if blocks(page) and (name in asked.page if asked.page else asked.all or stale(page)):
                run(page)
    write_tables()
    return 0


if __name__ == "__main__":
    sys.exit(main())
