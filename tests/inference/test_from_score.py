"""Estimates from a score that is made by hand, of records in which any of the columns may be constant."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.inference.from_score import FromScore
from hullabaloo.inference.identified import GUESS, reasons
from hullabaloo.losses import Logistic, Loss, Poisson, Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.solvers.score import step

N, NOISE = 500, 1e-3
CATEGORIES = {
    "none": {},
    "of a baseline": {"g": hb.Categorical(list("abcd"), baseline="a")},
    "of all levels": {"g": hb.Categorical(list("abcd"))},
    "of one level": {"g": hb.Categorical(["a"])},
    "of one level, a baseline": {"g": hb.Categorical(["a"], baseline="a")},
    "two": {"g": hb.Categorical(list("abcd"), baseline="a"), "h": hb.Categorical(["p", "q"])},
}


def scored(encoding: Any, constant: set[str], spread: float) -> NoisyScore:
    """Of records, whose gradients spread by `spread` of the curvature, whose `constant` columns are 0 (numbers in the middle of their bounds, levels that none has), seen as they are encoded."""
    rng, names = np.random.default_rng(0), list(encoding.feature_names_out)
    X = np.column_stack([*(rng.uniform(-1, 1, N) for _ in names), np.ones(N)])
    for block in encoding.layout.onehot:
        X[:, list(block.columns)] = 0.0
        among = [place for place in block.columns if names[place] not in constant]
        baseline = len(block.columns) < len(block.all_levels)
        drawn = rng.integers(len(among) + baseline, size=N) if len(among) + baseline else np.full(N, len(among))
        for index, place in enumerate(among):
            X[drawn == index, place] = 1.0
    for one in encoding.layout.numeric:
        if one.indicator >= 0:
            X[:, one.indicator] = rng.uniform(size=N) < 0.1
    X[:, [place for place, name in enumerate(names) if name in constant]] = 0.0
    gram, q = X.T @ X / N, X.shape[1]
    return NoisyScore(
        point=np.zeros(q),
        matrix=np.eye(q),
        score=gram @ np.full(q, 0.02),
        curvature=gram,
        spread=spread * gram,
        scale=np.ones(q),
        score_noise=NOISE,
        curvature_noise=NOISE,
        spread_noise=NOISE,
        excess=0.0,
        records=float(N),
        errors="robust",
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("indicators", [False, True], ids=["", "indicators"])
@pytest.mark.parametrize("category", CATEGORIES)
def test_a_constant_column_is_not_told_and_takes_no_other_with_it(category: str, indicators: bool, loss: Loss) -> None:
    """Each column in turn, all numbers, all missing values and one level of each category: nothing raises, and what varies is told as it is without a category beside it."""
    features = {"x": (-1, 1), "z": (-1, 1), **CATEGORIES[category]}
    target: dict[str, Any] = {"classes": {"y": [0, 1]}} if isinstance(loss, Logistic) else {"target": {"y": (0, 4)}}
    encoding = hb.Domain(features=features, indicators=indicators, **target).encoding()
    names = list(encoding.feature_names_out)
    statement = SimpleNamespace(query_noise=[])
    release = SimpleNamespace(plan={"settings": {"score_noise": NOISE}}, statement=statement)
    about: dict[str, Any] = {"release": release, "encoding": encoding, "loss": loss, "mean_noise": np.inf}
    posed: Any = SimpleNamespace(**about, constraint=None, penalty=hb.NoPenalty())
    several = [{"x", "z"}, {one for one in names if one.endswith("missing")}, {"x", "g=b", "h=q"}]
    for constant in [set[str](), *({one} for one in names), *several]:
        found = FromScore(posed, scored(encoding, constant, 1.0 if isinstance(loss, Logistic) else 0.04))
        told = found.intervals(np.eye(len(names) + 1), 1.96)
        known = np.isfinite(told.low) & np.isfinite(told.high)
        assert np.isfinite(found.theta).all()
        assert np.isfinite(found.covariance).all()
        assert not known[[place for place, name in enumerate(names) if name in constant]].any()
        assert known[[place for place, name in enumerate(names[:2]) if name not in constant]].all()
        if not constant and category in ("none", "of a baseline"):
            assert known.all()


@pytest.mark.parametrize("share", [0.0, step.GUESSED])
def test_what_rests_on_a_guess_of_hidden_directions_is_not_told(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Two of thirty columns whose sum noise hides: were nothing supposed of it, each would be told by how little the law leaves there; with it neither is, their difference and all others are, and the reason is given."""
    monkeypatch.setattr(step, "GUESSED", share)
    names, n = [f"x{j}" for j in range(30)], 30
    encoding = hb.Domain(features=dict.fromkeys(names, (-1, 1)), target={"y": (-1, 1)}, indicators=False).encoding()
    gram, along, apart = np.eye(31), np.zeros(31), np.zeros(31)
    along[:2], apart[:2] = 0.5**0.5, (1.0, -1.0)
    gram -= 0.995 * np.outer(along, along)
    noises = {"score_noise": 0.002, "curvature_noise": 0.01, "spread_noise": 1e-3}
    released: dict[str, Any] = {"score": np.zeros(31), "curvature": gram, "spread": 0.04 * gram, "scale": np.ones(31)}
    found = NoisyScore(np.zeros(31), np.eye(31), **released, **noises, excess=0.0, records=float(n), errors="robust")
    statement = SimpleNamespace(query_noise=[], budget=hb.Budget(1.0, 1e-6))
    release = SimpleNamespace(plan={"settings": {"score_noise": 0.002}}, statement=statement, moments=None)
    about: dict[str, Any] = {"release": release, "encoding": encoding, "loss": Squared(), "mean_noise": np.inf}
    about["neighbours"] = Neighbours.ADD_OR_REMOVE
    posed: Any = SimpleNamespace(**about, constraint=None, penalty=hb.NoPenalty())
    estimator = FromScore(posed, found)
    told = np.isfinite(estimator.intervals(np.vstack([np.eye(31), apart]), 1.96).low)
    assert told[2:].all()
    assert told[:2].all() == (share == 0.0)
    assert told[:2].any() == (share == 0.0)
    whys = reasons(posed, estimator)
    assert [why == GUESS for why in whys[:2]] == [share > 0.0] * 2
    assert GUESS not in whys[2:]
