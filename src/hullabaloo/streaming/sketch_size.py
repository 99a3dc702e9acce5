"""How many coordinates a sketch needs: Gaussian widths of rows and models, and two rules that turn them into a number."""

import math

import numpy as np

from hullabaloo.curation.sketch import Sketch
from hullabaloo.data.source import RowFacts
from hullabaloo.geometry import ConvexSet

RESOLVED = 4.0
"""Coordinates for each unit of W². Half as many lose signal, more gained little on simulated streams: `python -m benchmarks sketch`."""
DISTORTION = 1.0
"""The constant of the paper's rule: largest m·D²/W² seen, D the largest distortion of an inner product (same command)."""
FAILURE = 0.01
"""β: how likely a sketch may distort more than it should."""
MOST = 1_000
"""Coordinates up to which eigenvalues, memory (m²/2 numbers a buffer) and noise take about a second a release."""


def row_width(norm_l1: float, norm_l2: float, columns: int) -> float:
    """An upper bound of the Gaussian width of {x ∈ R^p : ‖x‖₁ ≤ a, ‖x‖₂ ≤ b}.

    `⟨g, x⟩ ≤ a t + b ‖(|g| − t)₊‖₂` for every t ≥ 0, so `w ≤ min_t a t + b √(p E(|g| − t)₊²)`, with
    `E(|g| − t)₊² = 2[(1 + t²)Q(t) − t φ(t)]`. Rows with k nonzeros have `a ≤ √k b`: then w is about `b √(2k log(p/k))`.
    """
    from scipy.special import erfc

    t = np.linspace(0.0, 8.0, 1601)
    density, tail = np.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi), 0.5 * erfc(t / math.sqrt(2.0))
    beyond = np.maximum(2.0 * ((1.0 + t * t) * tail - t * density), 0.0)
    return float((norm_l1 * t + norm_l2 * np.sqrt(columns * beyond)).min())


def relative_width(about: RowFacts, body: ConvexSet, sketch: Sketch) -> float:
    """W = w(X)/‖X‖₂ + w(C)/‖C‖₂ of the slopes of kept rows and of the models: the same in all units."""
    p, constant = sketch.columns, float(about.intercept)
    long = sketch.facts(about).norm_l2
    norm = math.sqrt(max(long * long - constant, 0.0))
    sparse = math.sqrt(p if sketch.max_nonzeros is None else min(p, sketch.max_nonzeros)) * norm
    rows = row_width(min(about.norm_l1 - constant, sparse), norm, p)
    if sketch.inside is not None:
        rows = min(rows, sketch.inside.gaussian_width(p).high)
    return rows / max(norm, 1e-300) + body.gaussian_width(p).value / max(body.max_norm(2, p), 1e-300)


def resolved_size(width: float, records: int) -> int:
    """`RESOLVED · max(W², log(T/β))`: what keeps apart what rows and models can tell apart, however long the stream."""
    return math.ceil(RESOLVED * max(width**2, math.log(records / FAILURE)))


def paper_size(width: float, records: int) -> int:
    """`DISTORTION · max(W², log(T/β))/γ²`, γ = (W/T)^{1/3}: the rule of Kasiviswanathan, Nissim and Jin (2017), Algorithm 3."""
    gamma = float(np.cbrt(max(width, 1e-9) / records))  # a single row and a single model have width 0: keep all columns
    return math.ceil(DISTORTION * max(width**2, math.log(records / FAILURE)) / gamma**2)
