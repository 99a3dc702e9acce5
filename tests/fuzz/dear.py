"""All dear doors, and how many times as dear as the others some are."""

from tests.fuzz.asked import ASKED
from tests.fuzz.currents import CURRENTS
from tests.fuzz.doors import Door
from tests.fuzz.pictures import PICTURES
from tests.fuzz.rooms import ROOMS

DEAR: dict[str, Door] = {**ROOMS, **ASKED, **PICTURES, **CURRENTS}
DEAREST = (
    "hb.plan",
    "streaming.plan",
    "report.card",
    "streaming.PeriodicERM",
    "hb.audit",
)
"""Doors of which an input costs some tenths of a second: a tenth as many for each."""
