"""Imports go one way: the table of rooms in docs/architecture.md, checked on the code's syntax trees."""

import ast
import builtins
import contextlib
import importlib
import inspect
import pkgutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "hullabaloo"

# room -> rooms it may import; those of OPEN are open to all.
BELOW_FIT = {
    "geometry",
    "quadratic",
    "losses",
    "privacy",
    "noise",
    "data",
    "curator",
    "selection",
    "erm",
    "queries",
    "solvers",
    "planning",
    "ledger",
    "release",
}
LINEAR = BELOW_FIT | {"structure", "inference"}
UPPER = LINEAR | {"durable", "curation", "bounds", "linear_model", "streaming", "model_selection"}
ALLOWED = {
    "geometry": set(),
    "quadratic": {"geometry"},
    "losses": set(),
    "privacy": set(),
    "noise": {"privacy"},
    "data": {"losses"},
    "curator": {"data", "losses", "geometry", "privacy", "noise"},
    "selection": {"curator", "data", "losses", "geometry", "privacy", "noise"},
    "erm": {"curator", "data", "losses", "geometry", "quadratic", "privacy", "noise"},
    "queries": {"curator", "selection", "erm", "data", "privacy"},
    "solvers": {"geometry", "quadratic", "losses", "privacy"},
    "planning": {"solvers", "geometry", "losses", "privacy"},
    "ledger": {"privacy"},
    "durable": {"ledger", "data"},
    "release": BELOW_FIT,
    "structure": {"data", "geometry", "release"},
    "inference": BELOW_FIT,
    "bounds": BELOW_FIT,
    "linear_model": LINEAR,
    "curation": BELOW_FIT | {"durable"},
    "streaming": LINEAR | {"durable", "curation", "linear_model"},
    "model_selection": LINEAR | {"curation", "linear_model", "streaming"},
    "audit": UPPER,
    "report": UPPER,
    "theory": {"geometry", "planning", "solvers", "streaming"},
    "reproduce": UPPER | {"report"},
    "cli": UPPER | {"audit", "report", "reproduce"},
    "__main__": {"cli"},
}
BOUNDARY = {"curator", "selection", "erm", "queries"}
OPEN = {"errors", "codec", "foreign", "forks", "lazy", "compiled", "tables", "_version"}
# Public keys are configuration: an estimator stores one, and only the curator draws with it.
KEY_ONLY = {
    "release",
    "inference",
    "structure",
    "durable",
    "curation",
    "bounds",
    "linear_model",
    "streaming",
    "model_selection",
    "report",
    "cli",
}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> list[tuple[str, list[str]]]:
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1, f"{path}: an import of a parent room hides which room is used; write the full name"
            if node.level == 0:
                found.append((node.module or "", [alias.name for alias in node.names]))
    return [(name, names) for name, names in found if name.split(".")[0] == "hullabaloo"]


FILES = sorted(path for path in SOURCE.rglob("*.py") if path.name not in {"__init__.py"} or path.parent != SOURCE)


@pytest.mark.parametrize("room", sorted({room_of(path) for path in FILES}))
def test_files_of_a_room_import_only_rooms_below(room: str) -> None:
    for path in FILES:
        if room_of(path) == room:
            _imports_only_rooms_below(path, room)


def _imports_only_rooms_below(path: Path, room: str) -> None:
    if room in OPEN:
        assert not {module for module, _ in imports(path)} - {"hullabaloo.errors"}
        return
    for module, names in imports(path):
        rooms = [module.split(".")[1]] if "." in module else names
        for other in rooms:
            fine = other == room or other in OPEN or other in ALLOWED[room]
            assert fine, f"{path.relative_to(SOURCE)} ({room}) imports {module}: {room} may use {sorted(ALLOWED[room])}"
            if other == "noise" and room in KEY_ONLY:
                public = module == "hullabaloo.noise.public"  # numbers that everybody may know
                secret = {"Key", "ReleaseKey"} if room in {"release", "curation"} else set()
                assert public or set(names) <= {"TestKey", *secret}, (
                    f"{path.relative_to(SOURCE)} imports {names} from noise: only keys may leave"
                )
            if other == "curator" and room == "queries":
                assert "Curator" not in names, "prices are made without records"
            elif other in BOUNDARY - {"queries"} and room not in BOUNDARY:  # prices are made without records
                hinges = {
                    "release/run.py",
                    "release/rehearsal.py",
                    "curation/moments_process.py",
                    "curation/scoring.py",
                }
                assert room in {"audit", "reproduce"} or str(path.relative_to(SOURCE)) in hinges, (
                    f"{path} imports the curator: only {hinges} hand rows to it"
                )


def test_only_the_noise_room_draws_randomness() -> None:
    for path in FILES:
        # Waits between a ledger's retries are jittered, and its rows are salted.
        if room_of(path) == "noise" or str(path.relative_to(SOURCE)) in ("ledger/transact.py", "ledger/chain.py"):
            continue
        if (
            room_of(path) == "reproduce"
        ):  # synthetic tables, and the noise of methods that it compares with: it holds nobody's records
            continue
        # A caller's numpy Generator may be an argument (Monte Carlo of a width); nobody else may make or seed one.
        text = path.read_text().replace("np.random.Generator", "")
        for word in ("os.urandom", "secrets.", "np.random.", "numpy.random", "import random"):
            assert word not in text, f"{path.relative_to(SOURCE)} uses {word}: noise is drawn in one room"


def test_which_process_it_is_is_told_in_one_place() -> None:
    """The system's number comes again; what was asked of it alone took a child for its parent."""
    assert [str(path.relative_to(SOURCE)) for path in FILES if "getpid" in path.read_text()] == ["forks.py"]


def test_benchmarks_import_each_other_one_way() -> None:
    """Imports inside functions count: what is measured with what, reads from top to bottom."""
    home = SOURCE.parents[1] / "benchmarks"
    asks = {}
    for file in home.glob("*.py"):
        nodes = [node for node in ast.walk(parsed(file)) if isinstance(node, ast.ImportFrom)]
        named = [(node.module or "", alias.name) for node in nodes for alias in node.names]
        whole = {name for module, name in named if module == "benchmarks"}
        asks[file.stem] = whole | {
            module.removeprefix("benchmarks.") for module, _ in named if module.startswith("benchmarks.")
        }
    while leaves := {name for name, others in asks.items() if not others & asks.keys()}:
        asks = {name: others for name, others in asks.items() if name not in leaves}
    assert not asks


def test_files_stay_readable() -> None:
    long = [str(path.relative_to(SOURCE)) for path in FILES if path.read_text().count("\n") > 400]
    assert not long, f"files over 400 lines: {long}"


def test_the_package_imports_quickly_and_lazily() -> None:
    heavy = "sorted({'sklearn', 'scipy', 'numba', 'sqlalchemy', 'numpy'} & set(sys.modules))"
    code = f"import sys, hullabaloo; print({heavy})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_public_names_are_those_that_users_rely_on() -> None:
    import hullabaloo as hb

    for name in hb.__all__:
        assert getattr(hb, name) is not None
    with pytest.raises(AttributeError, match="public names are"):
        _ = hb.nonsense


# What others are made of: mixins and families without an abstract method; and a set, the terms of a release, those of a fit, and steps, which are whole and have a further kind.
PARTS = {
    "codec.Written", "curator.centred_gradient.CentredGradientQuery", "curator.centred_gradient.UnitSum", "data.engines.base.Parts", "geometry.intercept.WithIntercept",
    "linear_model.classification.LogisticClassifier", "linear_model.regression.LeastSquares", "linear_model.shared.NumberTargets",
    "linear_model.shared.PlainScore", "linear_model.own.NotLoaded", "model_selection.metrics._Within", "noise.continual.base.Half",
    "noise.continual.history._History", "noise.continual.hybrid._ByEpochs", "privacy.answers._Kept", "release.estimator.Estimator", "release.planned.Task",
    "release.request.ReleaseRequest", "report.displays.Display", "solvers.frank_wolfe.frank_wolfe_rule.Terms", "tables.Printed", "tables.PrintedRows",
}  # fmt: skip


def test_classes_are_abstract_or_final() -> None:
    classes = {}
    for found in pkgutil.walk_packages([str(SOURCE)], "hullabaloo."):
        if found.name != "hullabaloo.__main__":  # which runs on import
            with contextlib.suppress(ModuleNotFoundError):  # of a library that is not installed
                for one in vars(importlib.import_module(found.name)).values():
                    if inspect.isclass(one) and one.__module__ == found.name:
                        classes[one] = f"{found.name.removeprefix('hullabaloo.')}.{one.__qualname__}"
    bases = {base: one for one in classes for base in one.__bases__ if base in classes}
    whole = {base for base in bases if not inspect.isabstract(base) and not issubclass(base, Exception)}
    for base in whole:
        assert classes[base] in PARTS, f"{bases[base]} inherits from {base}, which is not abstract: {base} is final"
    assert {classes[base] for base in whole} == PARTS, "nobody inherits from some of PARTS: they are final now"


PLAIN = {"InvalidTag", "ModuleNotFoundError", "DomainError", "SchemaError", "SourceChanged"}
"""Errors whose words are a path, a module's name or a sentence of the library's own."""


@pytest.mark.parametrize(
    "room", ["curation", "curator", "data", "durable", "ledger", "linear_model", "release", "streaming"]
)
def test_what_an_error_came_from_is_dropped_where_it_may_hold_a_record_or_a_secret(room: str) -> None:
    """`from None` hides a context and keeps it, for whoever walks contexts: there it is for errors of files and of the library's own."""
    kept = []
    for path in (SOURCE / room).rglob("*.py"):
        for handler in ast.walk(parsed(path)):
            if isinstance(handler, ast.ExceptHandler) and handler.type is not None:
                names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
                attributes = {node.attr for node in ast.walk(handler.type) if isinstance(node, ast.Attribute)}
                raised = [one for one in ast.walk(handler) if isinstance(one, ast.Raise) and one.cause is not None]
                hidden = any(isinstance(one.cause, ast.Constant) for one in raised)
                files = {
                    name
                    for name in names
                    if isinstance(kind := getattr(builtins, name, None), type) and issubclass(kind, OSError)
                }
                kept += [f"{path.name}:{handler.lineno}"] if hidden and (attributes or names - files - PLAIN) else []
    assert not kept
