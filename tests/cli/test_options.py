"""Options follow from signatures and docstrings: each is described once, belongs to somebody, and is shown whole."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
import hullabaloo.cli
from hullabaloo import linear_model, streaming
from hullabaloo.cli import options
from hullabaloo.cli.fit import candidates
from hullabaloo.cli.options import ESTIMATORS, ModelOptions
from hullabaloo.cli.stream import OWN, StreamOptions, made_stream
from hullabaloo.errors import InvalidParameter
from tests.cli.conftest import Run
from tests.laws.text_doors import commands

COMMANDS = dict(commands())
# What an estimator takes from other options, or not from a command line.
ELSEWHERE = {"budget", "domain", "ledger", "dataset", "test_key", "loss"}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_page_of_80_columns_breaks_no_word(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Choices were listed beside the names, so that examples had no room: 'polytope:0,0;1,0;0,1' was cut in its middle."""
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*name.split(), "--help")
    assert done.code == 0
    assert f"hullabaloo {name}" in done.out
    shown = set(done.out.replace("│", " ").split())
    for parameter in COMMANDS[name].params:
        assert parameter.help, f"{parameter.name} says nothing"
        assert set(parameter.help.split()) <= shown
        assert "…" not in "".join(shown) or "…" in str([one.help for one in COMMANDS[name].params])


def test_every_description_is_of_a_parameter() -> None:
    names = {parameter.name for command in COMMANDS.values() for parameter in command.params}
    for module in pkgutil.walk_packages(hullabaloo.cli.__path__, "hullabaloo.cli."):
        if module.name.endswith("__main__"):
            continue
        for thing in vars(importlib.import_module(module.name)).values():
            if callable(thing) and getattr(thing, "__module__", "") == module.name:
                assert set(options.described(getattr(thing, "__wrapped__", thing))[1]) <= names


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_speaks_of_tables_in_parts_where_it_reads_them(name: str) -> None:
    """The help of `search`, `domain template` and `domain check` offered JSON Lines files and addresses "in parts", and had no such option."""
    told = any("in parts" in (one.help or "") for one in COMMANDS[name].params)
    assert told == any(one.name == "in_parts" for one in COMMANDS[name].params)


def test_every_parameter_of_an_estimator_is_an_option_of_fit() -> None:
    known = {options.parameter(name) for name in ModelOptions._fields} - {"estimator"}
    of_estimators = {
        name
        for kind in ESTIMATORS.values()
        for name in getattr(linear_model, kind)().get_params()
        if name not in ELSEWHERE
    }
    assert set(ESTIMATORS.values()) == set(linear_model.ESTIMATORS)
    assert of_estimators == known


def test_every_option_of_a_stream_is_a_parameter_of_one() -> None:
    of_streams: set[Any] = {
        *streaming.IncrementalRegression().get_params(),
        *streaming.SketchedRegression().get_params(),
    }
    of_streams |= {"rule"}
    assert {options.parameter(name) for name in (*OWN, "horizon", "every")} <= of_streams
    assert {*OWN, "horizon", "every", "method"} == set(StreamOptions._fields)
    assert (
        {one.name for one in COMMANDS["fit"].params}
        >= set(ModelOptions._fields)
        <= {one.name for one in COMMANDS["stream"].params}
    )


def test_a_grid_says_one_vs_rest_as_fit_does(tmp_path: Path) -> None:
    """`multi-class = ["one-vs-rest"]` was handed on as "one_vs_rest", which no estimator knows."""
    path = tmp_path / "grid.toml"
    path.write_text('multi-class = ["one-vs-rest"]\nsolver = ["frank-wolfe"]\nset = ["l1:1"]\ngroup = [[["a", "b"]]]\n')
    found = candidates(path, None)  # type: ignore[arg-type]
    assert (found["multi_class"], found["solver"], found["groups"]) == (
        ["one-vs-rest"],
        ["frank_wolfe"],
        [[["a", "b"]]],
    )
    assert found["constraint"][0].radius == 1.0


def test_options_need_no_docstrings() -> None:
    """`python -OO` leaves them out: only the help is empty then."""
    code = "from hullabaloo.cli.app import app; import typer; print(len(typer.main.get_command(app).commands['fit'].params))"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(COMMANDS["fit"].params)


def test_a_periodic_stream_takes_the_options_of_fit() -> None:
    domain = hb.Domain(features={"a": (0, 1), "years": (0.1, 5)}, target={"y": (0, 9)}, indicators=False)
    asked, files = StreamOptions(horizon=100, every="50", method="periodic"), {"state": None, "key_file": None}
    about: dict[str, Any] = {"domain": domain, "budget": hb.Budget(1.0, 1e-6)}
    for given, name, value in (
        ({"estimator": "poisson", "exposure": "years"}, "exposure", "years"),
        ({"estimator": "quantile", "quantile": 0.9}, "quantile", 0.9),
        ({"estimator": "group-lasso", "group": ["a, years"]}, "groups", [["a", "years"]]),
        ({"estimator": "structured-sparse-regression", "structure": "intervals"}, "structure", "intervals"),
    ):
        made = made_stream(asked, ModelOptions(**given), files, **about)
        assert getattr(made.estimator, name) == value
        with pytest.raises(InvalidParameter, match="the method incremental has no such setting"):
            made_stream(asked._replace(method="incremental"), ModelOptions(**given), files, **about)
