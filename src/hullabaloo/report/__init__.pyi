# fmt: off
# isort: off
from hullabaloo.report.cards import Card, card, card_from_json, schema
from hullabaloo.report.displays import CalibrationDisplay, CoefficientDisplay, ResidualDisplay
from hullabaloo.report.entries import entry_from_json

__all__ = [
    "CalibrationDisplay", "Card", "CoefficientDisplay", "ResidualDisplay", "card", "card_from_json", "entry_from_json", "schema",
]
# fmt: on
