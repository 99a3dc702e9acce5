"""The privacy boundary: the one room that reads rows, and answers queries with noise."""

from hullabaloo.curator.count import CountQuery
from hullabaloo.curator.curator import Curator
from hullabaloo.curator.descent import PartialQuery
from hullabaloo.curator.gradient import GradientQuery
from hullabaloo.curator.minimizer import MinimizerQuery
from hullabaloo.curator.moments import MomentsQuery
from hullabaloo.curator.perturbed_minimizer import PerturbedMinimizerQuery
from hullabaloo.curator.quantiles import QuantilesQuery
from hullabaloo.curator.query import NoisySum, Query
from hullabaloo.curator.scales import ScalesQuery
from hullabaloo.curator.score import ScoreQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery, SecondMomentsQuery
from hullabaloo.curator.select import SelectQuery
from hullabaloo.curator.spread import SpreadQuery
from hullabaloo.curator.step import MeansQuery, StepQuery
from hullabaloo.curator.stream import StreamCurator
from hullabaloo.curator.stream_sum import StreamSumQuery
from hullabaloo.curator.vertex import VertexQuery

__all__ = [
    "CountQuery",
    "Curator",
    "GradientQuery",
    "LaplaceSecondMomentsQuery",
    "MeansQuery",
    "MinimizerQuery",
    "MomentsQuery",
    "NoisySum",
    "PartialQuery",
    "PerturbedMinimizerQuery",
    "QuantilesQuery",
    "Query",
    "ScalesQuery",
    "ScoreQuery",
    "SecondMomentsQuery",
    "SelectQuery",
    "SpreadQuery",
    "StepQuery",
    "StreamCurator",
    "StreamSumQuery",
    "VertexQuery",
]
