"""Convex sets, penalties and what can be computed on them: pure mathematics, no data, no noise."""

# fmt: off
# isort: off
from hullabaloo.geometry.base import (
    ConvexSet, Face, HasComposite, HasFaces, HasGauge, HasMirrorMap, HasVertices, MirrorMap, Projectable,
)
from hullabaloo.geometry.box import Box, Simplex
from hullabaloo.geometry.elastic_ball import ElasticBall
from hullabaloo.geometry.intercept import PenaltyWithFreeIntercept, VerticesWithIntercept, WithIntercept, with_intercept
from hullabaloo.geometry.mirror import euclidean_map
from hullabaloo.geometry.norm_balls import L1Ball, L2Ball, LpBall, product_bound
from hullabaloo.geometry.penalty import (
    ElasticNetPenalty, GroupPenalty, HasElasticForm, L1Penalty, NoPenalty, NuclearPenalty, Penalty, SquaredL2Penalty,
)
from hullabaloo.geometry.polytope import Polytope
from hullabaloo.geometry.separable import SeparableForm, SeparablePenalty, separable_form
from hullabaloo.geometry.serialise import (
    penalty_from_dict, penalty_from_text, require, set_from_dict, set_from_text,
    set_function_from_dict, set_function_from_text,
)
from hullabaloo.geometry.size_balls import GroupBall, NuclearBall
from hullabaloo.geometry.submodular.base import HasGreedyForm, HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.cardinality import BoundedCardinality, Cardinality, ConcaveCardinality
from hullabaloo.geometry.submodular.custom import CustomSetFunction
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.geometry.submodular.norm import dual_omega, greedy_vertex, omega
from hullabaloo.geometry.submodular.shapes import SubmodularBall, SubmodularPenalty, SubmodularPolyhedron
from hullabaloo.geometry.submodular.tree_cover import TreeCover
from hullabaloo.geometry.width import Width, measured_width
from hullabaloo.geometry.within import prox_within, require_within

__all__ = [
    "BoundedCardinality", "Box", "Cardinality", "ConcaveCardinality", "ConvexSet", "CustomSetFunction", "ElasticBall",
    "ElasticNetPenalty", "Face", "GroupBall", "GroupCover", "GroupPenalty", "HasComposite", "HasElasticForm",
    "HasFaces", "HasGauge", "HasGreedyForm", "HasMirrorMap", "HasProximalForm", "HasVertices", "Intervals", "L1Ball",
    "L1Penalty", "L2Ball", "LpBall", "MirrorMap", "NoPenalty", "NuclearBall", "NuclearPenalty", "Penalty",
    "PenaltyWithFreeIntercept", "Polytope", "Projectable", "SeparableForm", "SeparablePenalty", "SetFunction",
    "Simplex", "SquaredL2Penalty", "SubmodularBall", "SubmodularPenalty", "SubmodularPolyhedron", "TreeCover",
    "VerticesWithIntercept", "Width", "WithIntercept", "dual_omega", "euclidean_map",
    "greedy_vertex", "measured_width", "omega", "penalty_from_dict", "penalty_from_text", "product_bound",
    "prox_within", "require", "require_within", "separable_form", "set_from_dict", "set_from_text",
    "set_function_from_dict", "set_function_from_text", "with_intercept",
]
# fmt: on
