"""The privacy boundary: the one room that reads rows, and answers queries with noise."""

from hullabaloo.curator.count import CountQuery
from hullabaloo.curator.curator import Curator
from hullabaloo.curator.descent import PartialQuery
from hullabaloo.curator.gradient import GradientQuery
from hullabaloo.curator.moments import MomentsQuery
from hullabaloo.curator.query import NoisySum, Query
from hullabaloo.curator.scales import ScalesQuery
from hullabaloo.curator.score import ScoreQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery, SecondMomentsQuery
from hullabaloo.curator.spread import SpreadQuery
from hullabaloo.curator.step import MeansQuery, StepQuery
from hullabaloo.curator.stream import StreamCurator
from hullabaloo.curator.stream_sum import StreamSumQuery

__all__ = [
    "CountQuery",
    "Curator",
    "GradientQuery",
    "LaplaceSecondMomentsQuery",
    "MeansQuery",
    "MomentsQuery",
    "NoisySum",
    "PartialQuery",
    "Query",
    "ScalesQuery",
    "ScoreQuery",
    "SecondMomentsQuery",
    "SpreadQuery",
    "StepQuery",
    "StreamCurator",
    "StreamSumQuery",
]
