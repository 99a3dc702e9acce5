"""Names of datasets and streams: one spelling each, and no two that people take for one."""

import unicodedata

from hullabaloo.errors import InvalidParameter, passwords_in

_LATIN = str.maketrans(
    # Letters and dashes that are drawn as Latin ones (Unicode TR 39): Cyrillic, Greek, Armenian, small capitals; folded to lower case.
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    "\u0585\u057d\u0570\u0578\u1d04\u1d0f\u1d20\u1d21\u1d22\ua731\u0131\u0251\u0261\u2212\u2019\u2018\u02bc",
    "abekmhopctyxijshdqwl" "abezhikmvoptyx" "ouhncovwzsiag-'''",
)  # fmt: skip
_UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}
_UNSEEN_LETTERS = {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2800", "\u180b", "\u180c", "\u180d", "\u180f",
                   *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0xE0100, 0xE01F0))}  # fmt: skip


def require_line(name: str, text: object) -> None:
    """Refuse what is not one line of printable text."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > 500:
        raise InvalidParameter(
            f"{name}={text!r} is to be kept in a ledger for good, where people must be able to read and repeat it: it must be "
            "one line of printable text, 1 to 500 characters."
        )
    if passwords_in(text):
        raise InvalidParameter(
            f"{name}={text!r} is to be kept in a ledger for good, where people read it, and it holds a password. Nothing was written. An "
            "address goes before the name: Ledger(address).create(name, ...), or `hullabaloo ledger create ADDRESS NAME`."
        )


def storable(name: str) -> bool:
    """Whether databases and files can be given a text: it has no half of a pair of code units, and no end."""
    return not any("\ud800" <= letter <= "\udfff" or letter == "\0" for letter in name)


def spelled(name: str) -> str:
    """The one spelling of a name: composed letters (NFC), no blanks around it."""
    return unicodedata.normalize("NFC", name).strip()


def recordable(what: str, name: str) -> str:
    """The spelling of a line of text, whose composed letters may be more."""
    require_line(what, name)
    require_line(what, spelled(name))
    return spelled(name)


def skeleton(name: str) -> str:
    """What two names have in common that people take for one: they differ in case, blanks, unseen letters, or alphabets only.

    Letters are taken apart last, so that a mark counts the same on a letter of any alphabet; the dot of an i is drawn once.
    """
    folded = unicodedata.normalize("NFKC", name.replace("\u03f2", "c").replace("\u03f9", "c")).casefold()
    kept = (one for one in unicodedata.normalize("NFKD", folded) if unicodedata.category(one) not in _UNSEEN)
    drawn = "".join("-" if unicodedata.category(one) == "Pd" else one for one in kept if one not in _UNSEEN_LETTERS)
    return unicodedata.normalize("NFD", drawn).translate(_LATIN).replace("i\u0307", "i").replace("j\u0307", "j")


def shown(name: object) -> str:
    """A stored name, if it is one that this library would have stored; any other cell is not repeated."""
    fine = isinstance(name, str) and name.isprintable() and len(name) <= 500 and not passwords_in(name)
    return repr(name) if fine else "whose name cannot be shown"
