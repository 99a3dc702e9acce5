"""The installed code is the code that runs: what is kept of a compiled kernel is never met again by other code."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching, config
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

import hullabaloo
from hullabaloo import compiled
from hullabaloo.compiled import Kept, digest, njit

SOURCE = Path(hullabaloo.__file__).parent
HOME = SOURCE / "compiled.py"
MAY_IMPORT = {"types", "boolean", "float64", "int64", "uint16", "uint64", "intrinsic", "cgutils"}
"""Of Numba, everywhere but in the decorator's own file: names of types, and what instructions are written with."""

Node = tuple[str, str]
"""A module and a name in it."""


# ---- every kernel goes through the one decorator -----------------------------------------------------------------------


def undecorated(text: str) -> list[str]:
    """What in a module's source goes round the library's decorator."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.partition(".")[0] == "numba"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numba":
            found += [alias.name for alias in node.names if alias.name not in MAY_IMPORT]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "njit":
            if not any(word.arg == "cache" and ast.unparse(word.value) == "True" for word in node.keywords):
                found.append("njit without cache=True")
        elif isinstance(node, ast.FunctionDef) and any(ast.unparse(one) == "njit" for one in node.decorator_list):
            found.append("njit without options")
    return found


def test_every_kernel_goes_through_the_one_decorator() -> None:
    texts = {str(path): path.read_text() for path in SOURCE.rglob("*.py") if path != HOME}
    found = {path: undecorated(text) for path, text in texts.items() if "numba" in text or "njit" in text}
    assert found, "there are kernels"
    assert {path: what for path, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "text",
    [
        "from numba import njit\n@njit(cache=True)\ndef f(): pass",
        "import numba\n@numba.njit(cache=True)\ndef f(): pass",
        "import numba.core.decorators as d\n@d.njit(cache=True)\ndef f(): pass",
        "from numba.core.decorators import njit as kernel\n@kernel(cache=True)\ndef f(): pass",
        "from numba import vectorize",
        "from numba.extending import overload, register_jitable",
        "from hullabaloo.compiled import njit\n@njit\ndef f(): pass",
        "from hullabaloo.compiled import njit\n@njit(nogil=True)\ndef f(): pass",
    ],
)
def test_a_kernel_that_goes_round_it_is_found(text: str) -> None:
    assert undecorated(text)


# ---- the digest is of everything that a kernel is made of ----------------------------------------------------------------


@cache
def modules() -> dict[str, Any]:
    """Every module of the library that has a kernel, and every module that those import from, by name."""
    found: dict[str, Any] = {}
    waiting = [
        ".".join(("hullabaloo", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in sorted(SOURCE.rglob("*.py"))
        if re.search(r"import .*\bnjit\b", path.read_text()) and path != HOME
    ]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = importlib.import_module(name)
            waiting += [
                node.module
                for node in ast.walk(tree(name))
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hullabaloo.")
                if node.module != "hullabaloo.compiled"
            ]  # type: ignore[misc]  # the module of such an import is a text
    return found


@cache
def tree(name: str) -> ast.Module:
    place = SOURCE.parent / Path(*name.split("."))
    return ast.parse((place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text())


def kernels() -> dict[Node, Any]:
    """Every kernel, where it is defined."""
    return {
        (name, one): value
        for name, module in modules().items()
        for one, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == name
    }


@cache
def reads() -> dict[Node, set[Node]]:
    """By name in a module, the names that its definition reads, followed through imports: from the sources alone."""
    home: dict[Node, Node] = {}
    found: dict[Node, set[Node]] = {}
    for name in modules():
        for node in tree(name).body:
            if isinstance(node, ast.ImportFrom) and node.module in modules():
                home |= {(name, alias.asname or alias.name): (node.module, alias.name) for alias in node.names}  # type: ignore[misc]
    for name in modules():
        for node in tree(name).body:
            parts = [*node.body, *node.args.defaults] if isinstance(node, ast.FunctionDef) else [node]
            names = {
                one.id
                for part in parts
                for one in ast.walk(part)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
            }
            met = {home.get((name, one), (name, one)) for one in names}
            for one in defined(node):
                found[name, one] = met - {(name, one)}
    return found


def defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def reached(start: Node) -> set[Node]:
    found, waiting = set(), [start]
    while waiting:
        for one in reads().get(waiting.pop(), ()):
            if one not in found and one in reads():
                found.add(one)
                made = isinstance(getattr(modules()[one[0]], one[1]), int | float | tuple)  # read as what it has become
                waiting += [] if made else [one]
    return found


def altered(patch: pytest.MonkeyPatch, node: Node, value: Any) -> None:
    """Change a kernel, an instruction or a number, wherever it is known."""
    function = getattr(value, "py_func", None) or getattr(value, "_defn", value)
    if hasattr(function, "__code__"):
        code = function.__code__
        patch.setattr(function, "__code__", code.replace(co_consts=(*code.co_consts, "another constant")))
        return
    assert isinstance(value, int | float | tuple), node
    other = (*value, 1) if isinstance(value, tuple) else value + 1
    for module in modules().values():
        if getattr(module, node[1], None) is value:
            patch.setattr(module, node[1], other)


def test_every_kernel_has_a_digest_of_its_own() -> None:
    digests = {node: digest(kernel) for node, kernel in kernels().items()}
    assert digests, "there are kernels"
    assert None not in digests.values()
    assert len(set(digests.values())) == len(digests)
    assert {type(kernel._cache) for kernel in kernels().values()} == {Kept}


def test_whatever_a_kernel_reads_changes_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names a kernel reads is found here from the sources, there from the code that was imported."""
    before = {node: digest(kernel) for node, kernel in kernels().items()}
    users: dict[Node, list[Node]] = {}
    for kernel in before:
        for node in {kernel, *reached(kernel)}:
            users.setdefault(node, []).append(kernel)
    pairs = 0
    for node, those in users.items():
        value = getattr(modules()[node[0]], node[1])
        if getattr(value, "__module__", "").startswith("numba") or "types" in type(value).__module__:
            continue  # Numba's own
        with monkeypatch.context() as patch:
            altered(patch, node, value)
            same = [kernel for kernel in those if digest(kernels_at(kernel)) == before[kernel]]
        assert same == [], f"{node} changes, and these kernels do not notice"
        pairs += len(those)
    assert pairs > len(before), "kernels read one another"
    assert {node: digest(kernel) for node, kernel in kernels().items()} == before


def kernels_at(node: Node) -> Any:
    return getattr(modules()[node[0]], node[1])


@pytest.mark.parametrize("option", ["error_model", "fastmath", "inline", "boundscheck"])
def test_options_of_a_helper_change_the_digest(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = kernels_at(("hullabaloo.losses.kernels", "clipped"))
    caller = kernels_at(("hullabaloo.erm.smooth_kernels", "slopes"))
    before = digest(caller)
    monkeypatch.setitem(helper.targetoptions, option, "another")
    assert digest(caller) != before


def test_whatever_a_closure_holds_changes_the_digest() -> None:
    def holding(held: Any) -> Any:
        @njit(cache=True)
        def kernel(x: float) -> Any:
            return held, x

        return kernel

    helpers = (
        kernels_at(("hullabaloo.losses.kernels", "clipped")),
        kernels_at(("hullabaloo.erm.smooth_kernels", "slopes")),
    )
    held = (1, 2, 1.0, (1, 2), *helpers)
    assert len({digest(holding(one)) for one in held}) == len(held)
    assert [digest(holding(one)) for one in held] == [digest(holding(one)) for one in held]


def test_what_no_digest_is_known_of_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    from hullabaloo.losses import kernels as whole

    @njit(cache=True)
    def through_a_module(x: float) -> Any:
        return whole.clipped(whole.SQUARED, np.zeros(1), x, 0.0, 1.0)

    assert digest(through_a_module) is None
    assert through_a_module(3.0) == 1.0
    assert list(tmp_path.rglob("*.nb*")) == []


# ---- what is found again ---------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel whose every use is compiled or found in a folder of its own, and how often it was found."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def make() -> Any:
        @njit(cache=True)
        def twice(x: float) -> float:
            return x + x

        return twice

    return make


def found(kernel: Any, x: Any = 1.5) -> bool:
    assert kernel(x) == x + x
    return bool(kernel.stats.cache_hits)


def test_the_same_code_is_found_again(kept: Any) -> None:
    assert not found(kept())
    assert found(kept())
    assert not found(kept(), 3)  # another signature


@pytest.mark.parametrize("what", ["versions", "settings", "processor"])
def test_what_code_is_compiled_for_is_part_of_its_name(what: str, kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def name() -> Any:
        return kept()._cache._path((numba.float64,), cpu_target.target_context.codegen())

    before = name()
    assert before is not None
    assert name() == before
    if what == "versions":
        assert {sys.version, numba.__version__, np.__version__} < set(compiled._VERSIONS)
        monkeypatch.setattr(compiled, "_VERSIONS", (*compiled._VERSIONS[:-1], "another"))
    elif what == "settings":
        monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    else:
        codegen = type(cpu_target.target_context.codegen())
        monkeypatch.setattr(codegen, "magic_tuple", lambda self: ("another", "processor", ""))
    assert name() != before


@pytest.mark.parametrize("damage", ["torn", "emptied", "changed", "of another signature", "of a module that is gone"])
def test_what_is_damaged_is_compiled_again(damage: str, kept: Any, tmp_path: Path) -> None:
    """A module that was renamed with its kernels unchanged stopped every kernel that calls them, until the cache was deleted."""
    assert not found(kept())
    (file,) = tmp_path.rglob("*.nbc")
    whole = file.read_bytes()
    if damage == "of another signature":
        assert not found(kept(), 3)
        (other,) = set(tmp_path.rglob("*.nbc")) - {file}
        whole = other.read_bytes()
    if damage == "of a module that is gone":
        body = b"chullabaloo.gone\nkernel\n."
        whole = sha256(file.name.encode() + body).digest() + body
    file.write_bytes(
        {"torn": whole[:-9], "emptied": b"", "changed": whole[:-1] + bytes([whole[-1] ^ 1])}.get(damage, whole)
    )
    assert not found(kept())
    assert found(kept())


@pytest.mark.parametrize("by", ["group", "anybody", "another owner", "a pipe", "another kernel's name"])
def test_what_somebody_else_may_have_put_there_is_not_run(
    by: str, kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kept kernel is code. Whoever may write to a folder that several people share could have any of them run theirs."""
    assert not found(kept())
    (file,) = tmp_path.rglob("*.nbc")
    assert not file.stat().st_mode & 0o022, "whatever the umask"
    if by == "another owner":
        real = os.fstat

        def owned(number: int) -> Any:
            told = list(real(number))
            return os.stat_result([*told[:4], 12345, *told[5:]])

        monkeypatch.setattr(os, "fstat", owned)
    elif by == "a pipe":
        file.unlink()
        os.mkfifo(file)
    elif by == "another kernel's name":
        other = njit(cache=True)(lambda x: x * x + 7.0)
        other(1.5)
        (another,) = set(tmp_path.rglob("*.nbc")) - {file}
        another.replace(file)
    else:
        more = 0o020 if by == "group" else 0o002
        file.chmod(0o644 | more)
        if Path(__file__).stat().st_mode & more:  # who may write to the source may as well
            assert found(kept())
            return
    assert not found(kept())


def test_what_root_or_the_owner_of_the_sources_wrote_is_found(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation is often another user's than who runs it, its kernels compiled beforehand."""
    assert not found(kept())
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert found(kept())


def test_where_nothing_can_be_written_everything_still_runs(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    assert not found(kept())
    assert list(tmp_path.rglob("*.nb*")) == []
    monkeypatch.setattr(compiled, "_PLACES", ())
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "another"))
    assert kept()._cache.cache_path is None
    assert not found(kept())


def test_caches_of_other_peoples_kernels_are_as_numba_makes_them() -> None:
    @numba.njit(cache=True)
    def theirs(x: float) -> float:
        return x

    assert isinstance(theirs._cache, caching.FunctionCache)


# ---- from end to end ---------------------------------------------------------------------------------------------------------

RUNS = """
import os, shutil, sys
import numpy as np
import numba

numba.njit("f8(f8[::1])")(lambda x: x[0] + x.size)  # the compiler is started once; no process but the children meets the library

PACKAGE = sys.argv[1]
HELPER = PACKAGE + "/hullabaloo/losses/kernels.py"
OLD = "    return min(max(d, -clip), clip)"

def run(bytecode=False):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        sys.dont_write_bytecode = not bytecode
        from hullabaloo.erm.smooth_kernels import slopes
        first, second = np.empty(1), np.empty(1)
        slopes(np.array([9.0]), np.zeros(1), np.zeros(0), 1.0, 0, np.zeros(1), first, second)
        print(first[0], sum(slopes.stats.cache_hits.values()), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def edit(new):
    before = os.stat(HELPER)
    text = open(HELPER).read()
    place = text.index("    if math.isnan(d):\\n        return 0.0\\n") + len("    if math.isnan(d):\\n        return 0.0\\n")
    text = text[:place] + new + text[place + len(OLD):]
    open(HELPER, "w").write(text)
    os.utime(HELPER, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(HELPER).st_size == before.st_size

sys.path.insert(0, PACKAGE)
assert OLD in open(HELPER).read()
run()
run()
edit("    return min(max(d, -clip), 2.00)")
run()
run(bytecode=True)
edit("    return min(max(d, -clip), 3.00)")
run()  # Python itself goes by size and time, and runs its bytecode of the line before
shutil.rmtree(os.path.dirname(HELPER) + "/__pycache__")
run()
"""


@pytest.mark.slow
def test_an_edit_of_a_helper_in_another_file_is_seen(tmp_path: Path) -> None:
    """It was not: a kernel that compiles in a helper from another file was kept by the date and size of its own file alone."""
    shutil.copytree(SOURCE, tmp_path / "hullabaloo", ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("", "curator"):  # what else a room imports takes a second a run
        (tmp_path / "hullabaloo" / room / "__init__.py").write_text('__version__ = "0"\n')
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-c", RUNS, str(tmp_path)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == ["1.0 0", "1.0 1", "2.0 0", "2.0 1", "2.0 1", "3.0 0"]
    left = [path.name.partition("-")[0] for path in (tmp_path / "kept").rglob("*.nb*")]
    assert left == ["smooth_kernels.slopes"], "code that was edited since is removed"


OTHERS = """
import sys
import numpy as np

sys.path.insert(0, sys.argv[1])
import kernels

first = kernels.turned(np.arange(4.0)), kernels.factorial(5)
hits = sum(kernels.turned.stats.cache_hits.values()), sum(kernels.factorial.stats.cache_hits.values())
try:
    kernels.turned(np.zeros(9))
except ValueError as error:
    said = str(error)
loaded = "numba.np.arrayobj" in sys.modules
print([*first[0].tolist(), first[1]], hits, said, loaded, kernels.total(np.arange(4.0)), kernels.asked(kernels.turned))
"""
KERNELS = """
import numba
import numpy as np
from hullabaloo.compiled import njit

@njit(cache=True)
def turned(x):
    if x.size > 8:
        raise ValueError("too many")
    return np.zeros(x.size) + np.sort(x)[::-1]

@njit(cache=True)
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

@numba.njit
def total(x):
    return turned(x).sum() + factorial(x.size)

@numba.njit
def asked(function):
    return function(np.ones(2)).sum()
"""


@pytest.mark.slow
def test_what_is_found_runs_without_a_compiler_and_is_compiled_into_what_is_new(tmp_path: Path) -> None:
    """Memory that it allocates, errors that it raises, calls of itself; and, once there is a compiler, callers that were not kept, and itself as an argument."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(SOURCE.parent)}
    run = [sys.executable, "-c", OTHERS, str(tmp_path)]
    said = [subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    told = "[3.0, 2.0, 1.0, 0.0, 120] ({0}, {0}) too many {1} 30.0 2.0\n"
    assert said == [told.format(0, True), told.format(1, False)]
