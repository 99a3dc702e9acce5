"""The privacy boundary: the one room that reads rows, and answers queries with noise."""

from hullabaloo.curator.centred_gradient import CentredGradientQuery as CentredGradientQuery
from hullabaloo.curator.centred_gradient import MeansQuery as MeansQuery
from hullabaloo.curator.coordinate_gradient import CoordinateGradientQuery as CoordinateGradientQuery
from hullabaloo.curator.curator import Curator as Curator
from hullabaloo.curator.gradient import GradientQuery as GradientQuery
from hullabaloo.curator.moments import MomentsQuery as MomentsQuery
from hullabaloo.curator.norm_histogram import NormHistogramQuery as NormHistogramQuery
from hullabaloo.curator.query import NoisySum as NoisySum
from hullabaloo.curator.query import Query as Query
from hullabaloo.curator.score import ScoreQuery as ScoreQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery as LaplaceSecondMomentsQuery
from hullabaloo.curator.second_moments import SecondMomentsQuery as SecondMomentsQuery
from hullabaloo.curator.shortened_moments import CovarianceQuery as CovarianceQuery
from hullabaloo.curator.stream import StreamCurator as StreamCurator
from hullabaloo.curator.stream import StreamSumQuery as StreamSumQuery
