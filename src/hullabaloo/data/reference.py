"""Public facts about encoded columns: which belong to a feature, and how large they are on an evenly spread table."""

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.encoding import Encoding

Array = NDArray[np.float64]


def columns_of(encoding: Encoding, name: str) -> list[int]:
    """Places of the encoded columns of a feature, or of one encoded column; empty when there is no such name.

    An interaction is named as its column is (`a*b`); it belongs to neither feature.
    """
    layout = encoding.layout
    places: list[int] = []
    if layout is not None:
        for number in layout.numeric:
            if number.feature == name:
                places += [number.column, *([number.indicator] if number.indicator >= 0 else [])]
        for group in layout.onehot:
            if group.feature == name:
                places += [*group.columns, *([group.missing] if group.missing >= 0 else [])]
    if not places:
        places = [place for place, column in enumerate(encoding.feature_names_out) if column == name]
    return places


def reference_squares(encoding: Encoding) -> Array:
    """The mean of x_j² for each encoded column on a table that is spread evenly over the declared domain, shape (p,).

    Numbers are uniform between their bounds (scaled to [−1, 1]: 1/3), levels are equally frequent (1/number), products
    are independent, nothing is missing; a prepared matrix spreads its bound over its columns. Indicators of missing
    values would be 0 and their coefficients undetermined: they are taken as missing once in twenty records.
    """
    facts, layout = encoding.facts, encoding.layout
    squares = np.ones(facts.width)
    q = len(encoding.feature_names_out)
    if layout is None:
        bound = facts.norm_l2**2 - (1.0 if facts.intercept else 0.0)
        squares[:q] = bound / max(q, 1)
        return squares
    rare = 0.05
    for number in layout.numeric:
        lowest = -1.0 if encoding.fit_intercept else min(1.0, abs(number.bounds[0]) / number.half)
        squares[number.column] = 1.0 / 3.0 if lowest < 0 else (1.0 + lowest + lowest**2) / 3.0
        if number.indicator >= 0:
            squares[number.indicator] = rare
    for group in layout.onehot:
        squares[list(group.columns)] = 1.0 / (len(group.columns) + 1)
        if group.missing >= 0:
            squares[group.missing] = rare
    for product in layout.products:
        for column, (left, right) in zip(product.columns, product.factors, strict=True):
            squares[column] = squares[left] * squares[right]
    if facts.norm_l2**2 < squares.sum():  # the rows are clipped to a smaller norm than their columns would have
        shrunk = max(facts.norm_l2**2 - (1.0 if facts.intercept else 0.0), 0.0)
        squares[:q] *= shrunk / squares[:q].sum()
    return squares
