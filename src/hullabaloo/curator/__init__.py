"""The privacy boundary: the one room that reads rows, and answers queries with noise."""

from hullabaloo.curator.curator import Curator as Curator
from hullabaloo.curator.descent import PartialQuery as PartialQuery
from hullabaloo.curator.gradient import GradientQuery as GradientQuery
from hullabaloo.curator.moments import MomentsQuery as MomentsQuery
from hullabaloo.curator.moments import SpreadQuery as SpreadQuery
from hullabaloo.curator.query import NoisySum as NoisySum
from hullabaloo.curator.query import Query as Query
from hullabaloo.curator.scales import CountQuery as CountQuery
from hullabaloo.curator.scales import ScalesQuery as ScalesQuery
from hullabaloo.curator.score import ScoreQuery as ScoreQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery as LaplaceSecondMomentsQuery
from hullabaloo.curator.second_moments import SecondMomentsQuery as SecondMomentsQuery
from hullabaloo.curator.step import MeansQuery as MeansQuery
from hullabaloo.curator.step import StepQuery as StepQuery
from hullabaloo.curator.stream import StreamCurator as StreamCurator
from hullabaloo.curator.stream import StreamSumQuery as StreamSumQuery
