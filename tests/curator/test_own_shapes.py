"""A set or penalty of a user's own is refused, before anything is charged, wherever it would meet exact numbers.

What was wrong: certified minimisers called its prox at every iterate, before any noise, so that one that raised above a threshold told on which
side of it a noise-free iterate was; a choice of a vertex gave it the exact gradient; a sketch gave it every record.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import ConvexSet, HasProximalForm, HasVertices, Penalty, Projectable, SetFunction
from hullabaloo.solvers import FrankWolfeSolver
from hullabaloo.streaming import Sketch
from tests.laws.spies import Heard, spied

N = 200
THRESHOLD = 0.3


class Telling:
    """An l1 penalty, ball and structure whose methods raise where the first coordinate is large."""

    strong_convexity, dimension = 0.0, None

    def __init__(self) -> None:
        self.ball, self.intervals = hb.L1Ball(10.0), hb.Intervals(2)

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__["intervals" if name in ("gains", "greedy") else "ball"]
        return getattr(inner, name)

    @staticmethod
    def _look(v: Any) -> None:
        if abs(float(np.ravel(v)[0])) > THRESHOLD:
            raise RuntimeError("the first coefficient, without noise, is above 0.3")

    def value(self, theta: Any) -> float:
        return float(self.intervals.value(theta)) if np.asarray(theta).dtype == bool else 0.0

    def prox(self, v: Any, step: float) -> Any:
        self._look(v)
        return np.array(v)

    def project(self, theta: Any) -> Any:
        self._look(theta)
        return self.ball.project(theta)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "telling"}


def shaped(shape: str, heard: Heard) -> dict[str, Any]:
    if shape == "a set":
        return {"constraint": spied(Telling(), heard, ConvexSet, Projectable)}
    if shape == "a penalty":
        return {"penalty": spied(Telling(), heard, Penalty)}
    function = spied(Telling(), heard, SetFunction, HasProximalForm)
    return {"penalty": hb.SubmodularPenalty(function, 0.1)}


def table(slope: float) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (N, 2))
    return X, slope * X[:, 0]


@pytest.mark.few(3)
@pytest.mark.parametrize("solver", ["output_perturbation", "objective_perturbation"])
@pytest.mark.parametrize("shape", ["a set", "a penalty", "a structure"])
def test_a_prox_that_raises_tells_nothing_of_a_noise_free_iterate(shape: str, solver: str, tmp_path: Path) -> None:
    """It raised for the one table and not for the other, once the charge was made."""
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'own.db'}")
    ledger.create("d", hb.Budget(1.0, 1e-6))
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1), indicators=False)
    for slope in (0.9, 0.0):
        heard: Heard = []
        about: dict[str, Any] = {
            "budget": hb.Budget(1.0, 1e-6),
            "domain": domain,
            "fit_intercept": False,
            "solver": solver,
        }
        model = hb.LinearRegression(**about, **shaped(shape, heard), ledger=ledger, dataset="d")
        with pytest.raises(CapabilityError, match=r"not the library's own code.*solver='gradient'"):
            model.fit(*table(slope))
        assert not [call for call in heard if call[0] in ("prox", "project")]
        assert not list(ledger.charges("d"))


def test_without_noise_a_shape_of_ones_own_is_minimised_over_as_before() -> None:
    """Nothing is promised there, so there is nothing to keep from it."""
    heard: Heard = []
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1), indicators=False)
    body = spied(hb.L1Ball(0.25), heard, ConvexSet, Projectable)
    model = hb.LinearRegression(
        budget=hb.Budget(float("inf")),
        domain=domain,
        fit_intercept=False,
        solver="output_perturbation",
        constraint=body,
    )
    found = model.fit(*table(0.9)).release_.theta
    assert found[:, 0] == pytest.approx([0.25, 0.0], abs=1e-6)
    assert heard


def test_a_vertex_is_chosen_in_a_set_of_the_library_alone() -> None:
    """`vertex_scores` of a user's own was given the exact gradient."""
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1), indicators=False)
    body = spied(hb.L1Ball(1.0), [], ConvexSet, HasVertices)
    about: dict[str, Any] = {
        "budget": hb.Budget(1.0, 1e-6),
        "domain": domain,
        "constraint": body,
        "fit_intercept": False,
    }
    with pytest.raises(CapabilityError, match=r"hb\.Polytope"):
        hb.LinearRegression(**about, solver=FrankWolfeSolver(form="polytope")).fit(*table(0.9))
    plain = hb.LinearRegression(**about, solver="frank_wolfe").fit(*table(0.9))
    assert plain.release_.plan["settings"]["form"] == "general"


def test_a_sketch_shows_records_to_no_set_of_ones_own() -> None:
    """`contains` was asked of every record as it is."""
    with pytest.raises(InvalidParameter, match="shown every record as it is"):
        Sketch(columns=3, size=2, inside=spied(hb.L1Ball(1.0), [], ConvexSet))
    with pytest.raises(InvalidParameter, match="made with <lambda>"):
        Sketch(columns=3, size=2, inside=hb.SubmodularBall(hb.CustomSetFunction(lambda a: float(len(a)), 3), 1.0))
    assert Sketch(columns=3, size=2, inside=hb.L1Ball(1.0)).selects


@pytest.mark.parametrize("what", ["a set", "a solver"])
def test_fits_of_a_stream_with_a_state_file_are_shown_to_nobody_before_they_are_saved(
    what: str, tmp_path: Path
) -> None:
    """After a crash between fit and save the same records are fitted with other noise: a set of one's own saw both answers."""
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target={"y": (-1, 1)}, indicators=False)
    body = spied(hb.L1Ball(1.0), [], ConvexSet, Projectable)
    own: dict[str, Any] = {"constraint": body, "solver": "gradient"} if what == "a set" else {"solver": Own()}
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, **own)
    with pytest.raises(InvalidParameter, match="leave the state file out"):
        hb.streaming.PeriodicERM(model, horizon=40, every=20, state=tmp_path / "s.state").begin()
    assert not (tmp_path / "s.state").exists()
    stream = hb.streaming.PeriodicERM(model, horizon=40, every=20)
    stream.begin()


class Own(type(hb.PreconditionedGradientSolver())):  # type: ignore[misc]
    """A solver of a user's own."""
