"""Planting: a finder, asked before all others, that loads one module from its source with the bug in it.

That source lies in a folder of its own, so that what is kept of its kernels (beside the source) never takes the place of the real
module's. Kernels which others compile in are different: whoever calls them would be kept with the bug in it, beside *its* real
source, in the place of the good one. Then everything is kept in the folder.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import final

from tests.planted.bug import SOURCE, Bug


@final
class Finder(MetaPathFinder):
    """Finds one module at another place."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path = name, path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        inside = list(path or ()) if self._path.name == "__init__.py" else None
        package = inside and [str(Path(inside[0]) / fullname.rpartition(".")[2])]
        return importlib.util.spec_from_file_location(fullname, self._path, submodule_search_locations=package)


def plant(bug: Bug, folder: Path) -> None:
    """Have this process import the library with the bug; it must not have imported the module yet."""
    if bug.imported in sys.modules:
        raise RuntimeError(f"{bug.imported} was imported before the bug {bug.name!r} could be planted in it.")
    path = folder / bug.path.relative_to(SOURCE)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(bug.source(), encoding="utf-8")
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, Finder(bug.imported, path))
    if _compiled_in(bug):
        from numba.core import config

        config.CACHE_DIR = str(folder / "numba")


def _compiled_in(bug: Bug) -> bool:
    """Whether kernels of other modules call the module's."""
    if not bug.module.endswith("kernels"):
        return False
    called = f"from {bug.imported} import"
    return any(called in path.read_text(encoding="utf-8") for path in SOURCE.rglob("*kernels.py"))
