"""Papers reproduced: their rates, formulas and experiments on synthetic or public tables, with a verdict on each claim."""

from hullabaloo.lazy import callable_as
from hullabaloo.reproduce.claims import Claim, Reproduction
from hullabaloo.reproduce.papers import reproduce

__all__ = ["Claim", "Reproduction", "reproduce"]

callable_as(__name__, reproduce)
