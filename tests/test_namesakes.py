"""Every module is named by a test: by its file name, by an import, by a planted bug, by a name that its room exports; or it serves one that is."""

import re
from pathlib import Path

from tests.planted.bugs import BUGS
from tests.test_architecture import FILES, SOURCE

TESTS = Path(__file__).resolve().parent
EXEMPT = {
    "hullabaloo.__main__": "commands in processes of their own run it, as python -m hullabaloo",
}


IMPORT = re.compile(r"^\s*from (hullabaloo[\w.]*) import (\([^)]*\)|.*)$|^\s*import (hullabaloo[\w.]*)", re.MULTILINE)
WORD = re.compile(r"[\w.]+")


def dotted(path: Path) -> str:
    return ".".join(("hullabaloo", *path.relative_to(SOURCE).with_suffix("").parts))


def imported(path: Path) -> set[str]:
    """Modules, and names in modules, that a file imports."""
    found = set()
    for module, names, whole in IMPORT.findall(path.read_text(encoding="utf-8")):
        found |= {module or whole} | {f"{module}.{name}" for name in WORD.findall(names)}
    return found


def told() -> tuple[set[str], set[str]]:
    """What tests import or patch, and every word of theirs: names are used as attributes and in texts (`getattr`), too."""
    files = list(TESTS.rglob("*.py"))
    words = {word for path in files for word in WORD.findall(path.read_text(encoding="utf-8"))}
    modules = {one for path in files for one in imported(path)}
    modules |= {word.rpartition(".")[0] for word in words if word.startswith("hullabaloo.")}
    return modules, {part for word in words for part in word.split(".")}


def exported() -> dict[str, set[str]]:
    """By module, the names that packages take from it."""
    found: dict[str, set[str]] = {}
    for name in (one for path in SOURCE.rglob("__init__.py*") for one in imported(path)):
        module, _, last = name.rpartition(".")
        found.setdefault(module, set()).add(last)
    return found


def test_every_module_is_named_by_a_test() -> None:
    """A module that nobody names, and that serves nobody who is named, could break and no test would notice."""
    modules, names = told()
    modules |= {bug.imported for bug in BUGS}
    stems = {path.stem.removeprefix("test_") for path in TESTS.rglob("test_*.py")}
    public = exported()
    files = {dotted(path): path for path in FILES if path.name != "__init__.py"}
    named = {
        name for name, path in files.items() if path.stem in stems or name in modules or public.get(name, set()) & names
    }
    news = named
    while news:
        news = {one for name in news for one in imported(files[name]) & files.keys()} - named
        named |= news
    missing = sorted(files.keys() - named - EXEMPT.keys())
    assert files.keys() >= EXEMPT.keys()
    assert not missing, f"no test names {missing}: write tests/…/test_<name>.py, or name it in the law that it keeps"
