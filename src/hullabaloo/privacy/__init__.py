"""Privacy as arithmetic: budgets, neighbours, events, exact accounting, calibration, filters. Draws nothing, reads no data."""

# fmt: off
# isort: off
from hullabaloo.privacy.allowance import DRAWS, Allowance, Calibration
from hullabaloo.privacy.answers import NoisyMoments, NoisyScore
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.calibrate import gaussian_mu, paper_pair, selection_epsilon
from hullabaloo.privacy.composition import ComposedEvent, compose, compose_answers, event_from_dict
from hullabaloo.privacy.event_calibrate import (
    base_mu, objective_noise_multiplier, output_noise_multiplier, paper_objective_perturbation,
)
from hullabaloo.privacy.events import ACCOUNTING_VERSION, TAIL_MASS, Event, delta_of, epsilon_of, group
from hullabaloo.privacy.filters import NOTHING, Capacity, Cost, Totals, filter_named
from hullabaloo.privacy.gaussian_dp import gdp_delta, gdp_epsilon, gdp_mu
from hullabaloo.privacy.neighbours import Neighbours
from hullabaloo.privacy.noise_events import (
    GaussianEvent, LaplaceEvent, NotPrivateEvent, PermuteAndFlipEvent, SelectionEvent,
)
from hullabaloo.privacy.objective_events import ObjectivePerturbationEvent
from hullabaloo.privacy.repeats import Repeats
from hullabaloo.privacy.schedule import FOREVER, Schedule
from hullabaloo.privacy.tuned_events import TunedEvent

__all__ = [
    "ACCOUNTING_VERSION", "DRAWS", "FOREVER", "NOTHING", "TAIL_MASS", "Allowance", "Budget", "Calibration", "Capacity",
    "ComposedEvent", "Cost", "Event", "GaussianEvent", "LaplaceEvent", "Neighbours", "NoisyMoments", "NoisyScore",
    "NotPrivateEvent", "ObjectivePerturbationEvent", "PermuteAndFlipEvent", "Repeats", "Schedule", "SelectionEvent", "Totals",
    "TunedEvent", "base_mu", "compose", "compose_answers", "delta_of", "epsilon_of", "event_from_dict", "filter_named",
    "gaussian_mu", "gdp_delta", "gdp_epsilon", "gdp_mu", "group", "objective_noise_multiplier", "output_noise_multiplier",
    "paper_objective_perturbation", "paper_pair", "selection_epsilon",
]
# fmt: on
