"""Public facts about encoded columns: which belong to a feature, and how large they are on an evenly spread table."""

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.encoding import Encoding
from hullabaloo.data.layout import Layout

Array = NDArray[np.float64]

RARE = 0.05  # how often a value is missing in the reference table, where that has a column


def columns_of(encoding: Encoding, name: str) -> list[int]:
    """Places of the encoded columns of a feature, or of one encoded column; empty when there is no such name.

    An interaction is named as its column is (`a*b`); it belongs to neither feature.
    """
    layout = encoding.layout
    features = () if layout is None else layout.features
    places = [place for block in features if block.feature == name for place in block.places]
    return places or [place for place, column in enumerate(encoding.feature_names_out) if column == name]


def halves(encoding: Encoding) -> dict[str, float]:
    """Half the way between a number's bounds, in the units of its coefficient, by the column's name."""
    layout = encoding.layout
    return {layout.names[one.column]: one.half for one in layout.numeric} if layout else {}


def reference_gram(encoding: Encoding) -> Array:
    """The mean of x xᵀ over a table that is spread evenly over the declared domain, shape (p, p).

    Numbers are uniform between their bounds (scaled to [−1, 1]: second moment 1/3), levels are equally frequent, features
    are independent, and where a missing value has a column one record in twenty is missing; a prepared matrix spreads its
    bound over uncorrelated columns. What is true of every table is true here: levels without a baseline add up to the
    intercept, so that no price promises to tell them apart.
    """
    facts, layout = encoding.facts, encoding.layout
    q = len(encoding.feature_names_out)
    if layout is None:
        bound = facts.norm_l2**2 - (1.0 if facts.intercept else 0.0)
        return np.diag(np.append(np.full(q, bound / max(q, 1)), np.ones(facts.width - q)))
    mean, square, feature = _columns(encoding, layout)
    gram = np.outer(mean, mean)
    gram[feature[:, None] == feature[None, :]] = 0.0  # at most one column of a feature is nonzero
    np.fill_diagonal(gram, square)
    for block in layout.products:
        left, right = np.array(block.factors).T
        mean[list(block.columns)] = mean[left] * mean[right]
    products = [pair for block in layout.products for pair in zip(block.columns, block.factors, strict=True)]
    _fill_products(gram, mean, feature, products)
    room = facts.norm_l2**2 - (1.0 if facts.intercept else 0.0)
    if room < float(np.trace(gram[:q, :q])):  # the rows are clipped to a smaller norm than their columns would have
        shrink = np.append(np.full(q, np.sqrt(max(room, 0.0) / np.trace(gram[:q, :q]))), np.ones(facts.width - q))
        gram *= np.outer(shrink, shrink)
    return gram


def _columns(encoding: Encoding, layout: Layout) -> tuple[Array, Array, NDArray[np.int64]]:
    """Mean, mean square and number of the feature of each column; a product's are 0, 0 and its own until filled in."""
    width = encoding.facts.width
    mean, square = np.zeros(width), np.zeros(width)
    feature = np.arange(width)
    for number in layout.numeric:
        here = RARE if number.indicator >= 0 else 0.0
        lowest = -1.0 if encoding.fit_intercept else min(1.0, abs(number.bounds[0]) / number.half)
        square[number.column] = (1.0 - here) * (1.0 / 3.0 if lowest < 0 else (1.0 + lowest + lowest**2) / 3.0)
        if number.indicator >= 0:
            mean[number.indicator] = square[number.indicator] = RARE
            feature[number.indicator] = number.column
    for group in layout.onehot:
        share = (1.0 - (RARE if group.missing >= 0 else 0.0)) / len(group.all_levels)
        mean[list(group.columns)] = square[list(group.columns)] = share
        if group.missing >= 0:
            mean[group.missing] = square[group.missing] = RARE
        feature[list(group.places)] = group.places[0]
    if encoding.fit_intercept:
        mean[-1] = square[-1] = 1.0
    return mean, square, feature


def _fill_products(
    gram: Array, mean: Array, feature: NDArray[np.int64], products: list[tuple[int, tuple[int, int]]]
) -> None:
    """Second moments of products of two features' columns, from those of their factors: features are independent."""
    if not products:
        return
    columns = np.array([column for column, _ in products])
    a, b = np.array([factors for _, factors in products]).T
    base = np.setdiff1d(np.arange(len(mean)), columns)
    own = feature[b][:, None] == feature[base][None, :]
    one = np.where(own, gram[np.ix_(b, base)] * mean[a][:, None], gram[np.ix_(a, base)] * mean[b][:, None])
    crossed = (feature[a][:, None] == feature[b][None, :]) | (feature[b][:, None] == feature[a][None, :])
    ab, ba = gram[np.ix_(a, b)], gram[np.ix_(b, a)]
    gram[np.ix_(columns, columns)] = np.where(crossed, ab * ba, gram[np.ix_(a, a)] * gram[np.ix_(b, b)])
    gram[np.ix_(columns, base)], gram[np.ix_(base, columns)] = one, one.T


def undetermined(encoding: Encoding) -> list[str]:
    """Features whose levels all have a column beside an intercept: the columns add up to it, whatever the table holds."""
    if encoding.layout is None or not encoding.fit_intercept:
        return []
    return [group.feature for group in encoding.layout.onehot if len(group.columns) == len(group.all_levels)]
