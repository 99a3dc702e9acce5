# fmt: off
# isort: off
from hullabaloo.report.cards import Card, card, card_from_json, schema
from hullabaloo.report.displays import CalibrationDisplay, CoefficientDisplay, ResidualDisplay
from hullabaloo.report.entries import entry_from_json
from hullabaloo.report.plots import budget_plot, privacy_profile_plot, trade_off_plot

__all__ = [
    "CalibrationDisplay", "Card", "CoefficientDisplay", "ResidualDisplay", "budget_plot", "card", "card_from_json",
    "entry_from_json", "privacy_profile_plot", "schema", "trade_off_plot",
]
# fmt: on
