"""The privacy boundary: the one room that reads rows, and answers queries with noise."""

from hullabaloo.curator.coordinate_gradient import CoordinateGradientQuery as CoordinateGradientQuery
from hullabaloo.curator.curator import Curator as Curator
from hullabaloo.curator.gradient import GradientQuery as GradientQuery
from hullabaloo.curator.moments import MomentsQuery as MomentsQuery
from hullabaloo.curator.query import Query as Query
from hullabaloo.curator.score import ScoreQuery as ScoreQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery as LaplaceSecondMomentsQuery
from hullabaloo.curator.stream import StreamCurator as StreamCurator
from hullabaloo.curator.stream import StreamSumQuery as StreamSumQuery
