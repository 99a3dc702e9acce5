"""Every bug that is planted."""

from tests.planted.bug import Bug
from tests.planted.bugs.books import BOOKS
from tests.planted.bugs.drawing import DRAWING
from tests.planted.bugs.durability import DURABILITY
from tests.planted.bugs.fits import FITS
from tests.planted.bugs.keeping import KEEPING
from tests.planted.bugs.queries import QUERIES
from tests.planted.bugs.questions import QUESTIONS
from tests.planted.bugs.records import RECORDS
from tests.planted.bugs.rims import RIMS
from tests.planted.bugs.strangers import STRANGERS
from tests.planted.bugs.streams import STREAMS

BUGS: tuple[Bug, ...] = (
    *QUERIES, *DRAWING, *RECORDS, *FITS, *BOOKS, *STREAMS, *QUESTIONS, *STRANGERS, *RIMS, *DURABILITY, *KEEPING,
)  # fmt: skip


def named(name: str) -> Bug:
    """The bug of a name."""
    for bug in BUGS:
        if bug.name == name:
            return bug
    raise LookupError(f"No planted bug is called {name!r}; `python -m tests.planted` lists them.")
