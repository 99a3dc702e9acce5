"""Records of a Redis stream, in the order of their ids.

Every entry is one record, whatever it holds: a field that it lacks is a missing cell, other fields are ignored, of a field that occurs
twice the last counts, a field without a value is missing, and bytes that are no UTF-8 become U+FFFD. Answers are taken as bytes whatever
the address asks for (``decode_responses``), for a client that decodes them stops at an entry that it cannot decode.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from time import sleep
from typing import Any
from urllib.parse import urlsplit

from hullabaloo.data.given import names_of
from hullabaloo.data.records import RecordTable
from hullabaloo.data.sources.base import BATCH, Gap, Mark, Portion, SourceChanged, SourceLost, StreamSource
from hullabaloo.data.table import cells_schema
from hullabaloo.errors import InvalidParameter, bare, library

BEGINNING = "0-0"
PATIENCE = (0.1, 0.3, 1.0, 3.0, 0.0)  # seconds after each failure to reach the server


class RedisSource(StreamSource):
    """The entries of a Redis stream (XADD), each one record; a field that an entry lacks is a missing cell.

    Args:
        url: redis://host:6379/0, rediss://… or unix:///path/to/socket; a password in it is never shown.
        stream: the stream's key.
        fields: the fields to read; they are declared, not looked up in the entries.
        follow: wait for new entries, until the reading is stopped.
    """

    def __init__(self, url: str, stream: str, fields: Sequence[str], *, follow: bool = False) -> None:
        redis = library("redis", "hullabaloo[stream]", "Reading a Redis stream")
        for what, one in (("address", url), ("stream's key", stream)):
            if not isinstance(one, str):
                raise InvalidParameter(
                    f"The {what} of a Redis stream is a text, and an object of {type(one).__name__} was given. Pass redis://host:6379/0 and a key."
                )
        names = names_of(fields, "fields")
        self._broken = (redis.ConnectionError, redis.TimeoutError, OSError)
        self._refused = redis.RedisError
        self._shown = _shown(url)
        self._stream = stream
        self._names = names
        self.schema = cells_schema(names, len(names))
        self._keys = [name.encode("utf-8", "surrogatepass") for name in names]
        self._follow = follow
        try:
            self._client: Any = redis.Redis.from_url(url, protocol=2)
            self._client.connection_pool.connection_kwargs.update(protocol=2, decode_responses=False)
        except ValueError:
            bare(
                InvalidParameter(
                    f"The address {self._shown} is none of a Redis server. Write redis://host:6379/0 or unix:///path/to/socket."
                )
            )
        self._go(BEGINNING)
        self._check()

    def _check(self) -> None:
        try:
            kind = self._ask("TYPE", self._stream).decode()
        except SourceChanged as failure:
            raise InvalidParameter(f"{failure} Check the address, the password and that the server runs.") from None
        if kind != "stream" and not (kind == "none" and self._follow):
            found = "no key of that name" if kind == "none" else f"a {kind} of that name"
            raise InvalidParameter(
                f"The stream {self._stream!r} was asked of {self._shown}, which holds {found}. Check the name; nothing was read or spent."
            )

    def _find(self, mark: Mark, continues: bool) -> bool:
        server, stream, last = map(mark.place.get, ("server", "stream", "id"))
        if (server, stream) != (self._shown, self._stream) or not isinstance(last, str):
            return False
        if last != BEGINNING and not self._ask("XRANGE", self._stream, last, last):
            raise SourceChanged(
                f"The stream {self._stream!r} no longer holds the last entry that was taken, and entries after it may have been deleted as "
                "well. Nothing was taken. Trim a stream only up to the last entry that was read; to go on with what is left all the "
                "same, give it another key (RENAME) and name that with --continues."
            )
        self._go(last)
        return True

    def _rewind(self, start: int) -> int:
        facts = self._facts() if start else {}
        if int(facts.get("entries-added", 0)) > int(facts.get("length", 0)):
            raise SourceChanged(
                f"Entries of the stream {self._stream!r} were deleted, so the {start:,} that were taken cannot be counted in it, and where "
                "to go on is not known. Nothing was taken. Where the stream begins with the first entry not taken, pass --continues."
            )
        self._go(BEGINNING)
        return 0

    def _place(self) -> Mapping[str, Any]:
        return {"server": self._shown, "stream": self._stream, "id": self._last}

    def _facts(self) -> dict[str, str]:
        """What the server says of the stream, if there is one; only Redis 7 and later say how many entries there were ever."""
        if self._ask("TYPE", self._stream) != b"stream":
            return {}
        found = self._ask("XINFO", "STREAM", self._stream)
        return {_text(name): _text(value) for name, value in zip(found[::2], found[1::2], strict=True)}

    def _go(self, last: str) -> None:
        self._last = last
        self._kept: list[Any] = []

    def _next(self, most: int) -> Portion | Gap:
        if not self._kept:
            reply = self._ask("XREAD", "COUNT", BATCH, "STREAMS", self._stream, self._last, pauses=PATIENCE)
            if not reply:
                return Gap.IDLE if self._follow else Gap.END
            self._kept = list(reply[0][1])
        found, self._kept = self._kept[:most], self._kept[most:]
        self._last = found[-1][0].decode()
        return Portion(len(found), partial(self._table, found))

    def _ask(self, *words: Any, pauses: Sequence[float] = (0.0,)) -> Any:
        """The server's answer, as bytes; asked again after each pause where it cannot be reached."""
        for pause in pauses:
            try:
                return self._answer(*words)
            except self._broken:
                sleep(pause)
            except self._refused:
                break
        raise SourceLost(f"The Redis server at {self._shown} could not be asked for the stream {self._stream!r}.")

    def _answer(self, *words: Any) -> Any:
        link = self._client.connection_pool.get_connection()
        try:
            link.send_command(*words)
            return link.read_response()
        except BaseException:
            link.disconnect()  # what it still has to say would be taken for the next answer
            raise
        finally:
            self._client.connection_pool.release(link)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _table(self, entries: Sequence[Any]) -> RecordTable:
        named = [dict(zip(fields[::2], fields[1::2], strict=False)) for _, fields in entries]
        columns = [[_cell(one.get(key)) for one in named] for key in self._keys]
        return RecordTable(columns, self._names, len(entries))


def _cell(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _shown(url: str) -> str:
    """The address without a user's name and password, and without options that may hold them."""
    try:
        parts = urlsplit(url)
    except ValueError:  # its words hold the address
        bare(
            InvalidParameter(
                "The address of a Redis server cannot be read, and is not shown as it may hold a password. Write redis://host:6379/0 or unix:///path/to/socket."
            )
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
