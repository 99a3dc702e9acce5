"""Privacy cards and plots: what a release guarantees, for people who did not make it."""

from hullabaloo.report.cards import Card as Card
from hullabaloo.report.cards import card as card
from hullabaloo.report.cards import card_from_json as card_from_json
from hullabaloo.report.cards import schema as schema
from hullabaloo.report.coefficients import CoefficientDisplay as CoefficientDisplay
from hullabaloo.report.entries import entry_from_json as entry_from_json
from hullabaloo.report.evaluations import CalibrationDisplay as CalibrationDisplay
from hullabaloo.report.evaluations import ResidualDisplay as ResidualDisplay
from hullabaloo.report.plots import budget_plot as budget_plot
from hullabaloo.report.plots import coefficient_plot as coefficient_plot
from hullabaloo.report.plots import privacy_profile_plot as privacy_profile_plot
from hullabaloo.report.plots import trade_off_plot as trade_off_plot
