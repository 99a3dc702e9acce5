"""Saved models: versioned JSON that holds parameters, the release and its statement, and never a record."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hullabaloo._version import __version__
from hullabaloo.data import Domain, Format
from hullabaloo.errors import InvalidParameter
from hullabaloo.linear_model import own
from hullabaloo.losses import loss_from_dict
from hullabaloo.planning.named import solver_from_dict, solver_to_dict
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.release import Release, label_of
from hullabaloo.structure import structure_files

FORMAT = Format("hullabaloo model", "saved model", "model.save(path)")
KINDS: dict[str, type] = {}
"""The estimators that files may name, by what files call them; filled where they are all known, in `linear_model`."""


def save(model: Any, path: Path) -> None:
    """Write the model atomically: a reader sees the old file or the new one."""
    encoding = model.encoding_
    parameters: dict[str, Any] = {
        "budget": model.budget.to_dict(),
        "domain": model.domain.to_dict(),
        **{
            name: own.own_to_dict(shape, partial(structure_files.shape_to_dict, shape, encoding))
            for name, shape in (("constraint", model.constraint), ("penalty", model.penalty))
        },
        "solver": own.own_to_dict(model.solver, partial(solver_to_dict, model.solver)),
        "neighbours": str(Neighbours.parse(model.neighbours)),
        "fit_intercept": bool(model.fit_intercept),
        "ledger": model.release_.statement.ledger,
        "dataset": model.dataset,
        "calibration": str(Calibration.parse(model.calibration)),
    }
    unsaid = {*parameters, "test_key", "public"}
    more = {name: value for name, value in model.get_params(deep=False).items() if name not in unsaid}
    if "structure" in more:
        more["structure"] = structure_files.structure_to_dict(more["structure"], encoding)
    if more.get("loss") is not None:
        more["loss"] = more["loss"].to_dict()
    parameters |= {name: value.item() if isinstance(value, np.generic) else value for name, value in more.items()}
    document: dict[str, Any] = {
        **FORMAT.head,
        "library_version": __version__,
        "estimator": label_of(model),
        "parameters": parameters,
        "columns": encoding.columns_to_dict(hasattr(model, "feature_names_in_")),
        "release": model.release_.to_dict(),
    }
    FORMAT.write(document, path)


def load(path: str | Path, expected: type | None = None, *, known: Iterable[type] = ()) -> Any:
    """Read a saved model; refuses what it does not know rather than guessing.

    Args:
        path: the file that `model.save` wrote.
        expected: the estimator that it has to be of; None for any.
        known: classes of sets, penalties, set functions and solvers of your own that the model was fitted with. A file holds no code and none is
            imported by a name in one: without its class such a model predicts as before, and says what is missing where it is fitted again.
    """
    classes = own.by_name(known)

    def build(document: dict[str, Any]) -> Any:
        kind = KINDS.get(str(document.get("estimator")))
        if kind is not None and expected in (None, kind):
            return _build(kind, document, classes)
        wanted = "a known estimator" if expected is None else f"a {expected.__name__}"
        raise InvalidParameter(
            f"{path} holds a model of kind {document.get('estimator')!r}, but {wanted} was asked for. Load it with hb.load(path), which gives the class that wrote it."
        )

    return FORMAT.read(path, build)


def _build(kind: type, document: dict[str, Any], known: dict[str, type]) -> Any:
    given, columns = document["parameters"], document["columns"]
    parameters = {
        **given,
        "budget": Budget.from_dict(given["budget"]),
        "domain": Domain.from_dict(given["domain"]),
        "constraint": own.own_from_dict(given["constraint"], known, own.SetNotLoaded, structure_files.set_in_file),
        "penalty": own.own_from_dict(given["penalty"], known, own.PenaltyNotLoaded, structure_files.penalty_in_file),
        "solver": own.own_from_dict(given["solver"], known, own.SolverNotLoaded, solver_from_dict),
        # none of them is guessed
        **{name: given[name] for name in ("neighbours", "fit_intercept", "ledger", "dataset")},
    }
    if "structure" in given:
        parameters["structure"] = structure_files.structure_from_dict(given["structure"])
    if given.get("loss") is not None:
        parameters["loss"] = loss_from_dict(given["loss"])
    model = kind(**parameters)
    encoding = model._encoding(columns["names"], columns["n_features"])
    release = Release.from_dict(document["release"], encoding.domain.weight is not None).of_width(encoding.facts.width)
    if "unit" in (given.get("errors"), release.score and release.score.errors) and model.domain.unit is None:
        raise InvalidParameter(
            "The file says that errors are clustered by a unit, and its domain declares none. It was changed after it was written; restore the original file."
        )
    model._adopt(release, encoding, bool(columns["named"]))
    model._fitted()  # what a summary could not say was changed
    return model
