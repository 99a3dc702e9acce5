"""Where a ledger lives: one database URL, checked, made absolute, and shown without its password."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from hullabaloo.errors import InvalidParameter, bare
from hullabaloo.ledger.names import storable

_SQLITE = {"sqlite", "sqlite+pysqlite"}
_POSTGRES = {"postgres", "postgresql", "postgresql+psycopg"}


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A checked address of a ledger.

    `url` is complete (a password included) and absolute, so that a process started in another folder, a clone or
    a worker reaches the same ledger. `shown` is for people: messages, cards, saved models.
    """

    url: URL

    @property
    def is_sqlite(self) -> bool:
        """True for a file, false for a PostgreSQL server."""
        return self.url.drivername == "sqlite"

    @property
    def path(self) -> Path:
        """The file of an SQLite ledger."""
        return Path(self.url.database or "")

    @property
    def shown(self) -> str:
        """The address with *** for the password and for every option that may hold one."""
        secret = {name: "***" for name in self.url.query if "password" in name.lower()}
        return self.url.update_query_dict(secret).render_as_string(hide_password=True).replace("%2A%2A%2A", "***")

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def parse(text: object) -> Address:
    """Check a URL; a relative SQLite path is taken from the current folder. Raises InvalidParameter (which never repeats the URL's password)."""
    try:
        if isinstance(text, str) and not storable(text):
            raise ValueError("no file and no server has such a name")
        url = make_url(text)  # type: ignore[arg-type]  # what is no text is refused
    except (ArgumentError, ValueError):
        example = _as_file(text) or "sqlite:///privacy.db"
        bare(
            InvalidParameter(
                "The ledger's address is not a database URL, and a ledger that cannot be found again protects nobody. "
                f'Write "{example}" for a file or "postgresql://user@host/database" for a server.'
            )
        )
    if url.drivername in _SQLITE:
        return Address(_sqlite(url, str(text)))
    if url.drivername in _POSTGRES:
        return Address(_postgres(url))
    raise InvalidParameter(
        f"A ledger was asked for at a {url.drivername!r} database, but its promises (an atomic, durable charge that "
        'concurrent processes cannot overspend) are proved for SQLite and PostgreSQL only. Use "sqlite:///privacy.db" '
        'or "postgresql://user@host/database" (driver psycopg).'
    )


def _as_file(text: object) -> str:
    """The URL of what looks like a path; "" for what may be a mistyped server, whose password must not be repeated."""
    path = str(text) if isinstance(text, str | PathLike) else ""
    return "" if not path or ":" in path or "@" in path else f"sqlite:///{path}"


def _sqlite(url: URL, text: str) -> URL:
    if url.host or url.username or url.password or url.port:
        raise InvalidParameter(
            f"The SQLite address names a host ({url.host!r}), but SQLite is a file on this machine. Write three slashes "
            'for a path relative to this folder ("sqlite:///privacy.db") and four for an absolute one.'
        )
    if "?" in text:  # an option without a value is none to SQLAlchemy, and no part of the name either
        raise InvalidParameter(
            "The SQLite address carries a question mark, behind which options stand, but a ledger sets its own: they decide "
            "whether a charge survives a power failure. Leave out everything from the question mark on, and name no file or folder with one."
        )
    name = url.database or ""
    if name in {"", ":memory:"} or name.startswith("file:"):
        raise InvalidParameter(
            f"A ledger was asked for in an SQLite database without a file of its own ({name or 'no path'!r}): it would "
            "be forgotten when the process ends, and the budget could be spent again. Name a file: "
            '"sqlite:///privacy.db".'
        )
    try:
        return URL.create("sqlite", database=str(Path(name).expanduser().resolve()))
    except (OSError, RuntimeError, ValueError):  # links in a circle, a user who is not there, a NUL
        bare(
            InvalidParameter(
                f"The SQLite address names {name!r}, which is no path that can be followed to a file (links in a circle, an unknown user after ~, or a "
                'character that no path has). Nothing was opened. Write the path out: "sqlite:////folder/privacy.db".'
            )
        )


def _postgres(url: URL) -> URL:
    if "@" in (url.host or ""):  # half a password, which would be shown
        raise InvalidParameter(
            "The PostgreSQL address has an @ too many, so what is its password and what its host cannot be told, and it is not shown. "
            "Write %40 for an @ in a user's name or password."
        )
    if not url.database:
        raise InvalidParameter(
            "The PostgreSQL address names no database, so the server would choose one by the user's name and two users "
            'would keep two ledgers. Write "postgresql://user@host/database".'
        )
    return url.set(drivername="postgresql+psycopg")
