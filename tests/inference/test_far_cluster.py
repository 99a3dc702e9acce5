"""A few records in a thousand far off, of large residuals or of the class that is unlikely there: intervals allow for what shortening takes of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import hullabaloo as hb
from hullabaloo.inference.from_score import FromScore
from hullabaloo.noise import TestKey

N, KEY, BOUNDS = 20_000, TestKey(bytes(range(32))), dict.fromkeys("abc", (-4, 4))


def population(share: float, classes: bool) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Columns of which two go together, targets, and their slopes; a `share` of records lies ten deviations off along the difference of the two and has the target that is least likely there."""
    rng = np.random.default_rng(11)
    both = rng.normal(size=4 * N)
    X = np.column_stack(
        [both + 0.3 * rng.normal(size=4 * N), both + 0.3 * rng.normal(size=4 * N), rng.normal(size=4 * N)]
    )
    z = X @ [2.0, -1.5, 1.0]
    y = rng.random(4 * N) < 1.0 / (1.0 + np.exp(1.5 - z)) if classes else 0.1 * z + 0.1 * rng.normal(size=4 * N)
    stray = rng.random(4 * N) < share
    X[stray] += np.outer(2.1 + 0.3 * rng.normal(size=int(stray.sum())), [1, -1, 0])
    X, y = np.clip(X, -4.0, 4.0), np.where(stray, -0.8 * (not classes), np.clip(y, -1.0, 1.0))
    A, theta = np.column_stack([X, np.ones(4 * N)]), np.zeros(4)
    for _ in range(12):
        p = 1.0 / (1.0 + np.exp(-A @ theta)) if classes else A @ theta
        bend = p * (1.0 - p) if classes else np.ones(4 * N)
        theta -= np.linalg.solve((A * bend[:, None]).T @ A, A.T @ (p - y))
    return X, y, theta[:3]


@pytest.mark.parametrize("classes", [True, False])
def test_a_cluster_far_off_does_not_make_intervals_wrong(classes: bool) -> None:
    """Four parts in a thousand: in four samples each no slope that the cluster moves is more than two half widths off (without the allowance 3.8, and 27 in two of four). Keys are fixed."""
    X, y, slopes = population(0.004, classes)
    about = {"classes": {"y": [0, 1]}} if classes else {"target": {"y": (-1, 1)}}
    estimator = hb.LogisticRegression if classes else hb.LinearRegression
    ratios = []
    for seed in range(4):
        rows = np.random.default_rng(seed).integers(0, len(X), N)
        frame = pd.DataFrame(X[rows], columns=list("abc")).assign(y=y[rows].astype(int) if classes else y[rows])
        domain = hb.Domain(features=BOUNDS, indicators=False, **about)
        asked = {"solver": "preconditioned_gradient", "budget": hb.Budget(3.0, 1e-9), "domain": domain}
        made = estimator(**asked, test_key=KEY.derive(seed)).fit(frame)._fitted()
        told = FromScore(made, made.release.scores[0]).intervals(np.eye(4), 1.96)
        ratios.append(np.abs(told.estimate[:2] / 4.0 - slopes[:2]) / ((told.high - told.low)[:2] / 8.0))
    assert np.max(ratios) < 2.0
