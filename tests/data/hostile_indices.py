"""Every compiled function over sparse rows, on tables whose indices lie anywhere: run by itself, as a fault would end the process.

Prints as JSON which compiled functions take rows by their indices, and which of them were called.
"""

import faulthandler
import json
import pkgutil
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba.core.registry import CPUDispatcher

import hullabaloo
from hullabaloo.curation.sketch import Sketch
from hullabaloo.curator import Curator
from hullabaloo.data import Domain, Encoding
from hullabaloo.data.source import Rows
from hullabaloo.geometry import L1Ball, NoPenalty, PenaltyWithFreeIntercept, SquaredL2Penalty, separable_form
from hullabaloo.losses import Logistic, MultinomialLogistic, Squared
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.losses.scores import Moments, SquaredError
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.selection.sparse_scores import SparseScores

N, P = 60, 6
PLACES = [-(2**63), -(2**31), -P - 1, -1, *range(P), P, P + 1, 2**31 - 1, 2**31, 2**40, 2**63 - 1]


def hostile(rng: np.random.Generator, form: str) -> Any:
    """A matrix of a format, its indices put there behind the back of its constructor."""
    made = getattr(sp, form)(sp.csr_array(rng.normal(size=(N, P))))
    name = form[:3]
    places = np.array(PLACES, dtype=np.int64)
    if name in {"csr", "csc"}:
        made.indices = rng.choice(places, made.indices.size)
    else:
        made.coords = (rng.choice(places, made.nnz), rng.choice(places, made.nnz))
    return made


def ask(encoding: Encoding, rows: Rows) -> None:
    """Put every kind of question to rows."""
    prices = PricedQueries(encoding.facts, Neighbours.REPLACE_ONE, N)
    p, k = encoding.facts.width, len(encoding.facts.targets)
    theta = np.linspace(-1.0, 1.0, p)
    bowl = PenaltyWithFreeIntercept(SquaredL2Penalty(0.1))
    common: dict[str, Any] = {"feasible": None, "penalty": NoPenalty(), "mu": 0.5, "clip": 1.0, "ridge": 0.1}
    reading = Reading(Reads.NUMBERS, (-1.0,), (1.0,), ("y",), (4.0,))
    if k > 1:
        both = [
            prices.price("gradient", loss=MultinomialLogistic(), clip=1.0, mu=0.5, count=1),
            prices.price("output_perturbation", loss=MultinomialLogistic(), **{**common, "clip": 9.0}),
        ]
        curator = Curator(rows, both)
        curator.answer("gradient", np.zeros((p, k)))
        curator.answer("output_perturbation")
        return
    curator = Curator(
        rows,
        [
            prices.price("gradient", loss=Squared(), clip=1.0, mu=0.5, count=1),
            prices.price("centred_gradient", loss=Squared(), mu=0.5, count=2),
            prices.price("norm_histogram", loss=Squared(), bins=3, mu=0.5, count=1),
            prices.price("covariance", mu=0.5),
            prices.price("means", mu=0.5),
            prices.price("moments", mu=0.5, target_scale=1.0),
            prices.price("second_moments", mu=0.5),
            prices.price("coordinate_gradient", loss=Logistic(), mu=0.5, count=3 * p),
            prices.price("score", reading=reading, tallies=[Moments(SquaredError(0, 4.0))], mu=0.5),
            prices.price("output_perturbation", loss=Logistic(), **common),
        ],
    )
    centre = np.zeros(p)
    curator.answer("gradient", theta)
    curator.answer("centred_gradient", theta, centre=centre, intercept_weight=1.0, clip_norm=1.0)
    curator.projected(np.eye(p)).answer("centred_gradient", theta, centre=centre, intercept_weight=1.0, clip_norm=1.0)
    curator.answer("norm_histogram", theta, centre=centre, intercept_weight=1.0, edges=np.array([0.1, 0.5]))
    curator.answer("covariance", centre=centre[:-1], clip_norm=1.0)
    curator.answer("means")
    curator.answer("moments")
    curator.answer("second_moments")
    form = separable_form(bowl, None, p)
    order = np.tile(np.arange(p), 3)
    curator.answer("coordinate_gradient", theta, order=order, clips=np.ones(p), steps=np.full(p, 0.5), form=form)
    curator.answer("score", theta[:, None])
    curator.answer("output_perturbation")
    bare = PricedQueries(replace(encoding.facts, intercept=False), Neighbours.REPLACE_ONE, N)
    chosen: Any = bare.price("vertex", constraint=L1Ball(1.0), loss=Squared(), clip=1.0, epsilon=0.5, count=2)
    SparseScores(chosen, rows).at(theta)
    Sketch(p - 1, 2, 7, 3, None).rows(rows, encoding.facts)


def main() -> None:
    """Ask everything of every format; a fault ends the process with a signal."""
    faulthandler.enable()
    rng = np.random.default_rng(11)
    y = rng.uniform(-1.0, 1.0, N)
    labels = rng.integers(0, 3, N)
    for name in ("csr", "csc", "coo"):
        for kind in ("array", "matrix"):
            table = hostile(rng, f"{name}_{kind}")
            for domain, target in (
                (Domain(row_norm=1.0, target=(-1, 1)), y),
                (Domain(row_norm=1.0, classes=[0, 1, 2]), labels),
            ):
                encoding = domain.encoding_for(table, target)
                rows = encoding.encode(table, target)
                if (name, kind) in {("csr", "matrix"), ("csc", "array")}:  # once read, all are of one kind
                    ask(encoding, rows)
                encoding.predictions(table, np.ones((P + 1, 1)))
            declared = Domain(features={f"x{j}": (-1, 1) for j in range(P)}).encoding()
            declared.features(table)
    found, called = [], []
    for module in pkgutil.walk_packages(hullabaloo.__path__, "hullabaloo."):
        if (
            module.name.split(".")[1] in {"data", "curator", "selection", "erm", "curation"}
            and "for_river" not in module.name
        ):
            for made in vars(import_module(module.name)).values():
                if isinstance(made, CPUDispatcher) and made.py_func.__module__ == module.name:
                    inlined = (
                        made.targetoptions.get("inline") == "always"
                    )  # compiled where it is called from, never by itself
                    if "indptr" in made.py_func.__code__.co_varnames and not inlined:
                        found.append(made.py_func.__name__)
                        called += found[-1:] if made.signatures else []
    print(json.dumps({"found": sorted(found), "called": sorted(called)}))


if __name__ == "__main__":
    main()
