"""The one decorator of compiled kernels: what is kept on disk is found again only by the very code that it was made from.

Numba's own cache knows the file that a kernel stands in. A kernel that compiles in a helper from another file is kept with that helper,
and goes on running it after the helper was mended, under a statement that names the new version. So kernels are kept here under a digest
of everything that they are made of: their own code and options, and those of every kernel and instruction that they call, however far
away, with the constants that they read. What cannot be put into the digest is compiled anew in every process.

The digest is of the code that was imported, not of files: it holds whatever an installer, an editor or a clock did to those.
"""

import hashlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache as remembered
from functools import partial
from io import BytesIO
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any
from uuid import uuid4

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import caching, config, environment, serialize, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numpy.typing import NDArray

Kernel = Callable[..., Any]  # its arguments have no types, but for some in their comments
Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
"""Arrays that kernels take, where their types are written."""

_PLACES = (caching.UserProvidedCacheLocator, caching.InTreeCacheLocator, caching.UserWideCacheLocator)
"""Where Numba would keep the kernels of a file: where the user says, beside the sources, or in the user's own folder."""

_VERSIONS = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
_SETTINGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")
_FOREIGN = ("builtins", "typing", "math", "numpy", "numba", "llvmlite")
"""Whose functions and types are told apart by name: their versions are in the digest."""

_CODE = ["co_code", "co_exceptiontable", "co_names", "co_varnames", "co_freevars", "co_cellvars"]
_CODE += ["co_argcount", "co_kwonlyargcount", "co_posonlyargcount"]

_PARTS = ["fndesc", "environment", "signature", "objectmode", "lifted", "type_annotation", "reload_init"]
_PARTS += ["referenced_envs"]
"""What `CompileResult._reduce` gives after the code."""


class _Unknown(Exception):
    """A kernel is made of something that no digest is known of."""


def njit(signature: Any = None, *, cache: bool = False, **options: Any) -> Callable[[Kernel], Kernel]:
    """Numba's `njit` with explicit options; `cache=True` keeps what was compiled, as this module says."""

    def compiled(function: Kernel) -> Any:
        made = numba.njit(**options)(function)
        if made is function:  # NUMBA_DISABLE_JIT
            return function
        if cache:
            made._cache = Kept(made)
        if signature is not None:
            made.compile(signature)
            made.disable_compile()
        return made

    return compiled


class Kept:
    """What was compiled of one kernel, a file for each signature; files of its older code are removed when a new one is written.

    **Guarantee.** Claim: `load_overload` gives what was compiled from the code that this process imported, under the same versions, settings
    and processor, or None, whoever else may write to the folder. Proof: the name of a file holds a digest of all of these, and the file one of its name and content; it takes its name
    in one step (`rename`), so that processes side by side read whole files. What may be of somebody else than this user, root or who may write to the sources is not read. A place that cannot be written to keeps nothing.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str | None:
        """The folder, or None where there is none that can be written to."""
        folder = _folder(inspect.getfile(self._kernel.py_func), getattr(config, "CACHE_DIR", ""))
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept for the signature; None where nothing was."""
        if path := self._path(sig, target_context.codegen()):
            # What was kept may name a module or kernel that is gone, or another Numba's: it is compiled again, whatever fails.
            with suppress(Exception):
                kept = _own(path, inspect.getfile(self._kernel.py_func))
                return _rebuilt(target_context, *_Unpickler(BytesIO(kept)).load())
        _say()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for the signature, where that is possible."""
        path = self._path(sig, data.codegen)
        if path is None or data.lifted or data.library.has_dynamic_globals:
            return
        body = serialize.dumps(data._reduce())  # type: ignore[no-untyped-call]
        part = path.with_name(f"{path.name}.{uuid4().hex}")
        with suppress(OSError):
            try:
                with open(part, "xb", opener=partial(os.open, mode=0o644)) as file:
                    file.write(hashlib.sha256(path.name.encode() + body).digest() + body)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            for older in set(path.parent.glob(f"{path.name.rpartition('-')[0]}-*")) - {path}:
                older.unlink(missing_ok=True)

    def flush(self) -> None:
        """Nothing: what is kept is never out of date. (Numba calls this, and the two above.)"""

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        """The file of a signature: kernel, digest of what it is compiled for, digest of what it is made of."""
        folder, made_of = self.cache_path, digest(self._kernel)
        if folder is None or made_of is None:
            return None
        settings = [(name, str(getattr(config, name, None))) for name in _SETTINGS]
        made_for = _hash((str(sig), codegen.magic_tuple(), _VERSIONS, settings))
        file = Path(inspect.getfile(self._kernel.py_func)).stem
        return Path(folder) / f"{file}.{self._kernel.py_func.__qualname__}-{made_for[:24]}-{made_of[:40]}.nbc"


def _own(path: Path, source: str) -> bytes:
    """What is kept in a file that nobody may have written but this user, root and who may write to the source, who decide what runs anyway; nothing where it is another file's."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        found, code = os.fstat(file.fileno()), os.stat(source)
        user = getattr(os, "geteuid", int)()
        own = found.st_uid in (0, user, code.st_uid) and not found.st_mode & ~code.st_mode & 0o022
        check, body = (file.read(32), file.read()) if own else (b"", b"")
    return body if check == hashlib.sha256(path.name.encode() + body).digest() else b""


class _Library(JITCodeLibrary):
    """Machine code that was kept, with the bitcode that is read once another kernel is compiled with it."""

    bitcode: bytes

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self.bitcode)
        return self._shared_module


class _Unpickler(pickle.Unpickler):
    """Leaves out the modules of Numba's whose functions are part of a kernel: compiled code reads constants of theirs alone."""

    def find_class(self, module: str, name: str) -> Any:
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: Any, name: str) -> Any:
    if constants or environment.lookup_environment(name) is not None:  # type: ignore[no-untyped-call]
        return environment._rebuild_env(module, constants, name)  # type: ignore[no-untyped-call]
    made: Any = environment.Environment({"__name__": module})
    made.env_name = name
    environment.Environment._memo[name] = made
    return made


@remembered
def _name_functions() -> None:
    """Tell the linker where the functions are that kept code calls when it runs."""
    for name, address in _nrt_python.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _rebuilt(context: Any, code: Any, *parts: Any) -> Any:
    """What `CompileResult._reduce` was given. As Numba's `_rebuild`, which readies a compiler, reads all bitcode and lists its symbols: four fifths of the time that a first plan took to load its kernels."""
    _name_functions()
    name, _, (machine, bitcode) = code
    library: Any = _Library(context.codegen(), name)  # type: ignore[no-untyped-call]
    library.bitcode = bitcode
    library.enable_object_caching()
    library._set_compiled_object(machine)
    library._finalize_final_module()
    found = dict(zip(_PARTS, parts, strict=True))
    about = found["fndesc"]
    entries = about.llvm_func_name, about.llvm_cpython_wrapper_name, about.llvm_cfunc_wrapper_name
    library.codegen._engine._defined_symbols.update(one for one in entries if one.encode() in machine)
    found |= {"library": library, "entry_point": context.get_executable(library, about, found["environment"])}
    for each in found["referenced_envs"]:
        library.codegen.set_env(each.env_name, each)
    return compile_result(target_context=context, typing_context=context.typing_context, **found)  # type: ignore[no-untyped-call]


def digest(kernel: Any) -> str | None:
    """Of everything that a kernel is made of; None where that is not known."""
    try:
        return _hash(_described(kernel, {}))
    except (_Unknown, ValueError):  # ValueError: of a closure that is not filled yet
        return None


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


def _described(value: Any, seen: dict[int, int]) -> Any:  # noqa: PLR0911 - a table of kinds, one line each
    """A value as texts, bytes and tuples of them that are equal for equal values alone."""
    if value is None or value is Ellipsis or isinstance(value, bool | int | float | complex | str | bytes):
        return type(value).__qualname__, repr(value)
    if isinstance(value, tuple | list):
        return (type(value).__name__, *(_described(one, seen) for one in value))
    if isinstance(value, set | frozenset):
        return (type(value).__name__, *sorted(repr(_described(one, seen)) for one in value))
    if isinstance(value, dict):
        return "dict", _described(sorted(value.items(), key=repr), seen)
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return type(value).__name__, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, ModuleType | type | FunctionType | type(len) | np.ufunc) and _root(value) in _FOREIGN:
        return "foreign", getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)
    if isinstance(value, types.Number):
        return "type", str(value)
    if id(value) in seen:
        return "seen", seen[id(value)]
    seen[id(value)] = len(seen)
    if isinstance(value, Dispatcher):
        return "kernel", _described([value.py_func, dict(value.targetoptions), dict(value.locals)], seen)
    if isinstance(value, _Intrinsic):
        return "instruction", _described([value._defn, value._prefer_literal, value._ctor_kwargs], seen)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        given = _described([value.__defaults__, value.__kwdefaults__, cells], seen)
        return "function", given, _of_code(value.__code__, value.__globals__, seen)
    raise _Unknown


def _of_code(code: CodeType, space: dict[str, Any], seen: dict[int, int]) -> Any:
    """Instructions, constants, and what names stand for; a name that stands for nothing yet may be that of an attribute."""
    constants = [
        _of_code(one, space, seen) if isinstance(one, CodeType) else _described(one, seen) for one in code.co_consts
    ]
    meant = [(name, _described(space[name], seen)) for name in code.co_names if name in space]
    flags = code.co_flags | inspect.CO_OPTIMIZED  # which Numba clears of what is called under a profiler
    return [flags, *(getattr(code, name) for name in _CODE)], constants, meant


def _root(value: Any) -> str:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return ("numpy" if isinstance(value, np.ufunc) else name or "").partition(".")[0]


@remembered
def _say() -> None:
    """Once, to whoever sits before it: the first use of an installation takes a minute, and a fit seconds."""
    if hasattr(sys, "ps1") or sys.stderr.isatty():
        print("Hullabaloo compiles what it needs, once for this machine: about a minute.", file=sys.stderr)


@remembered
def _folder(file: str, chosen: str) -> Path | None:
    """Where Numba would keep the kernels of a file; `chosen` is its setting, which tests change."""

    def kernel() -> None:
        """Numba asks for a function of the file, of which it reads the number of a line."""

    for place in _PLACES:
        found = place.from_function(kernel, file)  # type: ignore[no-untyped-call]
        if found is not None:
            return Path(found.get_cache_path())
    return None
