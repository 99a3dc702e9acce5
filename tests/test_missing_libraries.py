"""What needs a library that is not installed says which, and how it is installed."""

import re
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.errors import MissingLibrary, library
from hullabaloo.planning.table import PlanTable
from hullabaloo.streaming import RedisSource

ROOT = Path(__file__).resolve().parents[1]
BUDGET = hb.Budget(1.0, 1e-6)
DOMAIN = hb.Domain({"a": (0, 1)}, target={"y": (0, 1)}, indicators=False)
FRAME = pd.DataFrame({"a": [0.2, 0.4, 0.9], "y": [0.0, 1.0, 0.5]})


def fitted(**given: Any) -> Any:
    model = hb.Ridge(domain=DOMAIN, budget=BUDGET, solver="moments", **given)
    return model.fit(np.array([[0.2], [0.4], [0.9]]), np.array([0.0, 1.0, 0.5]))


DOORS: dict[str, tuple[str, Callable[[], Any]]] = {
    "a Parquet file": ("pyarrow.dataset", lambda: DOMAIN.check_schema("table.parquet")),
    "parts": ("pyarrow", lambda: hb.scan(lambda: iter([]))),
    "an address": ("fsspec.core", lambda: hb.scan("memory://table.parquet")),
    "a Redis stream": ("redis", lambda: RedisSource("redis://localhost", "events", ["a"])),
    "a dataframe": ("pandas", lambda: fitted().summary().to_dataframe()),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_missing_library_is_named_with_its_command(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever catches errors of schemas, parameters or modules catches it."""
    module, opened = DOORS[door]
    monkeypatch.chdir(tmp_path)
    FRAME.to_parquet("table.parquet")
    monkeypatch.setitem(sys.modules, module, None)
    name = module.partition(".")[0]
    with pytest.raises(
        MissingLibrary, match=rf'needs the library {name}, which is not .* pip install "[\w\[\]]+"$'
    ) as said:
        opened()
    assert isinstance(said.value, hb.errors.InvalidParameter)
    assert isinstance(said.value, ModuleNotFoundError)
    assert said.value.name == name


PICTURES: dict[str, Callable[[], Any]] = {
    "PlanTable": lambda: PlanTable("", "", "", (), (), ()).plot(),
    "CoefficientDisplay": lambda: hb.report.CoefficientDisplay([]).plot(),
    "CalibrationDisplay": lambda: hb.report.CalibrationDisplay([]).plot(),
    "ResidualDisplay": lambda: hb.report.ResidualDisplay([]).plot(),
}


def test_every_picture_is_looked_at() -> None:
    """Classes with a `plot`, and public functions of a picture, are those of the table."""
    files = [path for path in sorted((ROOT / "src").rglob("*.py")) if re.search(r"def plot\(", path.read_text())]
    rooms = [import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts)) for path in files]
    classes = {
        name for room in rooms for name, one in vars(room).items() if isinstance(one, type) and hasattr(one, "plot")
    }
    functions = {name for name in hb.report.__all__ if name.endswith("_plot")}
    assert {name for name in classes if not name.startswith("_")} | functions == set(PICTURES)


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_without_matplotlib_says_what_to_install(
    picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingLibrary, match=r'^A picture needs the library matplotlib, .*"hullabaloo\[report\]"$'):
        PICTURES[picture]()


def test_a_library_that_is_there_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what it needs itself is missing, that is named."""
    (tmp_path / "is_there.py").write_text("import is_not_there.part")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingLibrary, match="needs the library is_not_there, which is not") as said:
        library("is_there", "hullabaloo[report]", "A picture")
    assert said.value.name == "is_not_there"


def test_what_is_to_be_installed_is_there() -> None:
    """Every extra that a sentence names is one of the package's."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    files = [path.read_text() for path in sorted((ROOT / "src").rglob("*.py"))]
    named = {
        extra for text in files for found in re.findall(r"hullabaloo\[([a-z,]+)\]", text) for extra in found.split(",")
    }
    assert {"parquet", "remote", "dask", "stream", "report"} <= named <= set(extras)
