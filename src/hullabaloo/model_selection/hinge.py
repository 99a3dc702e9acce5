"""The hinge of model selection: private scores of coefficients on records that are encoded already."""

import numpy.typing as npt

from hullabaloo.curator import Curator, Query, ScoreQuery
from hullabaloo.curator.lottery import Lottery
from hullabaloo.data import Encoding, Rows
from hullabaloo.model_selection.heard import Noise
from hullabaloo.model_selection.scoring import Yardstick
from hullabaloo.noise import Key
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries

__all__ = ["Lottery", "lottery", "score_noise", "score_of", "score_quote"]


def score_quote(
    encoding: Encoding, yardstick: Yardstick, *, mu: float, neighbours: Neighbours, records: int
) -> ScoreQuery:
    """What one score costs: a query whose event is at most μ-GDP; `records` is public."""
    menu = PricedQueries(encoding.facts, neighbours, records)
    quote: ScoreQuery = menu.price("score", reading=yardstick.chosen.reading, tallies=yardstick.chosen.tallies, mu=mu)
    return quote


def score_noise(quote: Query) -> Noise:
    """The public facts by which an answer to it is read."""
    assert isinstance(quote, ScoreQuery)
    facts = quote.facts
    inflation = 1.0 if facts.alike else facts.max_weight * facts.records_per_unit
    return Noise(quote.sigma, quote.records, quote.count_weight, inflation)


def score_of(
    yardstick: Yardstick, quote: ScoreQuery, theta: npt.ArrayLike, rows: Rows, key: Key | None = None
) -> float:
    """A private score of released coefficients θ, (p, k), on encoded records; larger is better.

    **Guarantee.** One answer to the quote, which costs its event; θ is a function of public facts and earlier releases. What it
    costs has been charged, or is part of what was.
    """
    answer = Curator(rows, [quote], key=key).answer("score", theta)
    return yardstick.oriented(answer, score_noise(quote))


def lottery(key: Key) -> Lottery:
    """What a search draws: how many runs, which candidates, which part a record is in, and under which keys noise is drawn."""
    return Lottery(key)
