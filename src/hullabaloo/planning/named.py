"""Solvers by name: what a user may write, what a plan's line says, and what a saved model keeps."""

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from hullabaloo import solvers
from hullabaloo.errors import InvalidParameter

_KINDS = (
    solvers.MomentsSolver, solvers.GradientSolver, solvers.AdaptiveGradientSolver, solvers.PreconditionedGradientSolver,
    solvers.CoordinateDescentSolver, solvers.GreedySelectionSolver, solvers.GreedyCoordinateDescentSolver,
    solvers.SubspaceDescentSolver, solvers.MirrorDescentSolver, solvers.FrankWolfeSolver, solvers.DualFrankWolfeSolver,
    solvers.ObjectivePerturbationSolver, solvers.OutputPerturbationSolver, solvers.ConstantSolver,
)  # fmt: skip
SOLVERS: Mapping[str, solvers.Solver] = MappingProxyType({kind.name: kind() for kind in _KINDS})
"""Every solver with its usual options."""
LABORIOUS, POINT = "preconditioned_gradient", 0.01
"""The solver that is taken in place of adaptive steps, which are more passes over the table, where it promises as much within a point of the constant's loss. On the 104 lines of `benchmarks/real_forecasts.py` "auto" then takes what is
within 1.2 times the best on as many lines of the development half (0.865), and on 0.81 of the report half (0.79 without)."""


def solver_named(asked: str | solvers.Solver) -> solvers.Solver:
    """The solver of that name, with its usual options; a solver itself stays as it is.

    Raises:
        InvalidParameter: no solver of that name.
    """
    if isinstance(asked, solvers.Solver):
        return asked
    if asked not in SOLVERS:
        known = ", ".join(repr(known) for known in ("auto", *SOLVERS))
        raise InvalidParameter(f"The solver {asked!r} was asked, but there are {known}; pass one of these.")
    return SOLVERS[asked]


def name_of(asked: str | solvers.Solver) -> str:
    """The name, of a solver or "auto"."""
    return asked.name if isinstance(asked, solvers.Solver) else asked


def solver_to_dict(asked: str | solvers.Solver) -> str | dict[str, Any]:
    """A name as it is, a solver as its name and options: JSON-ready."""
    if isinstance(asked, str):
        return asked
    options = asdict(asked)  # type: ignore[call-overload]
    # As states from before there was such an option were written.
    return {"name": asked.name, **{name: value for name, value in options.items() if (name, value) != ("brief", False)}}


def solver_from_dict(written: str | Mapping[str, Any]) -> str | solvers.Solver:
    """What `solver_to_dict` was given.

    Raises:
        InvalidParameter: an unknown name, or options that this solver has not.
    """
    if isinstance(written, str):
        return written
    if not isinstance(written.get("name"), str):
        raise InvalidParameter(f"A solver is written as its name, or name and options, but {dict(written)!r} was read.")
    options = {option: value for option, value in written.items() if option != "name"}
    if options.get("curvatures") == "chosen":  # of versions in which greedy coordinate descent had another way, too
        del options["curvatures"]
    kind = type(solver_named(written["name"]))
    try:
        return kind(**options)
    except TypeError:
        raise InvalidParameter(
            f"The solver {written['name']!r} was written with the options {', '.join(sorted(options))}, which are not those that it has in this version. Use the version of the library that wrote them."
        ) from None
