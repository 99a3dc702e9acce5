# fmt: off
# isort: off
from hullabaloo.geometry.width import Width, expected_largest, expected_largest_magnitude, expected_norm, measured_width
from hullabaloo.planning.theory.certified_width import certified_width
from hullabaloo.planning.theory.coordinate_bounds import convex_bound as coordinate_descent_bound
from hullabaloo.planning.theory.coordinate_bounds import strongly_convex_bound as strongly_convex_coordinate_descent_bound
from hullabaloo.planning.theory.coordinate_bounds import updates_that_halve, weighted_noise
from hullabaloo.planning.theory.fingerprinting import PackedLasso, PaddedModel, packed_lasso
from hullabaloo.planning.theory.hard_instances import HardLasso, hard_lasso, orthogonal_block, padded_code, tardos_code
from hullabaloo.planning.theory.lower_bound import LowerBound
from hullabaloo.planning.theory.lower_bounds import code_size, lasso_rate, lasso_reduction, two_points
from hullabaloo.planning.theory.lower_bounds import coordinate_wise as coordinate_wise_rate
from hullabaloo.planning.theory.lower_bounds import coordinate_wise_strongly_convex as coordinate_wise_strongly_convex_rate
from hullabaloo.planning.theory.lower_bounds import l2_ball as l2_ball_rate
from hullabaloo.planning.theory.lower_bounds import strongly_convex as strongly_convex_rate
from hullabaloo.planning.theory.theorems import (
    curvature_bound, frank_wolfe_bound, frank_wolfe_bound_by_width, lasso_bound, mirror_descent_bound,
    objective_perturbation_bound, records_for_free, strongly_convex_mirror_descent_bound,
)
from hullabaloo.solvers.perturbation.output_bounds import (
    gauge_rise, generalisation, loss_rise, penalised_rise, perturbed_rise, projected_rise, ridge_rise, risk_rise,
    uniform_deviation,
)
from hullabaloo.streaming.bounds import Shape as StreamShape
from hullabaloo.streaming.bounds import by_width as refit_by_width
from hullabaloo.streaming.bounds import convex as convex_refit
from hullabaloo.streaming.bounds import distortion, estimator_alpha, spectral
from hullabaloo.streaming.bounds import incremental as incremental_bound
from hullabaloo.streaming.bounds import refitted as refit_bound
from hullabaloo.streaming.bounds import sketched as sketch_bound
from hullabaloo.streaming.bounds import strongly_convex as strongly_convex_refit

__all__ = [
    "HardLasso", "LowerBound", "PackedLasso", "PaddedModel", "StreamShape", "Width", "certified_width", "code_size",
    "convex_refit", "coordinate_descent_bound", "coordinate_wise_rate", "coordinate_wise_strongly_convex_rate",
    "curvature_bound", "distortion", "estimator_alpha", "expected_largest", "expected_largest_magnitude",
    "expected_norm", "frank_wolfe_bound", "frank_wolfe_bound_by_width", "gauge_rise", "generalisation", "hard_lasso",
    "incremental_bound", "l2_ball_rate", "lasso_bound", "lasso_rate", "lasso_reduction", "loss_rise", "measured_width",
    "mirror_descent_bound", "objective_perturbation_bound", "orthogonal_block", "packed_lasso", "padded_code",
    "penalised_rise", "perturbed_rise", "projected_rise", "records_for_free", "refit_bound", "refit_by_width",
    "ridge_rise", "risk_rise", "sketch_bound", "spectral", "strongly_convex_coordinate_descent_bound",
    "strongly_convex_mirror_descent_bound", "strongly_convex_rate", "strongly_convex_refit", "tardos_code",
    "two_points", "uniform_deviation", "updates_that_halve", "weighted_noise",
]
# fmt: on
