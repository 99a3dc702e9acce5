"""Names of datasets and streams: one spelling each, and no two that people take for one."""

import unicodedata

from hullabaloo.errors import passwords_in

_LATIN = str.maketrans(
    # Letters of the Cyrillic and Greek alphabets that are drawn as Latin ones (Unicode TR 39), folded to lower case.
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
    "abekmhopctyxijshdqwl" "abezhikmvoptyx",
)  # fmt: skip
_UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}
_UNSEEN_LETTERS = {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2800", *map(chr, range(0xFE00, 0xFE10))}


def spelled(name: str) -> str:
    """The one spelling of a name: composed letters (NFC), no blanks around it."""
    return unicodedata.normalize("NFC", name).strip()


def skeleton(name: str) -> str:
    """What two names have in common that people take for one: they differ in case, blanks, unseen letters, or alphabets only."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    kept = (one for one in folded if unicodedata.category(one) not in _UNSEEN and one not in _UNSEEN_LETTERS)
    return "".join(kept).translate(_LATIN)


def shown(name: object) -> str:
    """A stored name, if it is one that this library would have stored; any other cell is not repeated."""
    fine = isinstance(name, str) and name.isprintable() and len(name) <= 500 and not passwords_in(name)
    return repr(name) if fine else "whose name cannot be shown"
