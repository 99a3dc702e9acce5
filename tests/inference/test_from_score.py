"""Estimates from a score that is made by hand, of records in which any of the columns may be constant."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.inference.from_score import FromScore
from hullabaloo.losses import Logistic, Loss, Poisson, Squared
from hullabaloo.privacy.answers import NoisyScore

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
