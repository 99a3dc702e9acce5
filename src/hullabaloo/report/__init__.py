"""Privacy cards and plots: what a release guarantees, for people who did not make it."""

from hullabaloo.report.cards import Card, card, card_from_json, schema
from hullabaloo.report.demonstration import error_against_epsilon_plot
from hullabaloo.report.entries import entry_from_json
from hullabaloo.report.plots import budget_plot, coefficient_plot, privacy_profile_plot, trade_off_plot

__all__ = [
    "Card",
    "budget_plot",
    "card",
    "card_from_json",
    "coefficient_plot",
    "entry_from_json",
    "error_against_epsilon_plot",
    "privacy_profile_plot",
    "schema",
    "trade_off_plot",
]
