"""The law of names: whatever a table's columns are called, a fit has the bits of memory, or is refused in a sentence before any charge.

Names that a language of queries, a file format or a cluster may take for something else; each needed by the domain, and only beside what it needs.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import hullabaloo as hb
from hullabaloo.errors import HullabalooError

N, KEY = 60, bytes(range(3, 35))
TWINS = ("Age", "age", "AGE")
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
NAMES = (
    *(*TWINS, "İ", "ı", "i", "ß", "SS", COMPOSED, DECOMPOSED, "名前", "🙂"),  # alike to those who fold them
    *("a.b", ".", "a`b", "`", "`a`", 'a"b', "a'b", "a\\b", "a[0]", "a{b}", "${x}", "a,b", "a;b", "a/b", "a=b", "a:b"),
    *("*", "%", "#", "select", "from", "true", "NaN", "0", "-1", "x0", "c0", "C0", "c1", "row", "bucket", "piece"),
    *(
        "__filename",
        "__fragment_index",
        "__batch_index",
        "__last_in_fragment",
        "__index_level_0__",
        "index",
        "schema",
    ),  # libraries' own
    *("", " ", "a b", " a", "a\tb", "a\nb", "a\rb", "\x00", "n" * 5_000),
)
"""Names that are hostile to somebody; pairwise different."""


class Case(NamedTuple):
    """A domain and the names of a table's columns; some may be twice there."""

    domain: hb.Domain
    columns: tuple[str, ...]


def domain_of(features: Sequence[str], target: str = "y", **roles: Any) -> hb.Domain:
    return hb.Domain(dict.fromkeys(features, (-1, 1)), target={target: (-2, 2)}, records=N, indicators=False, **roles)


def cases(names: Sequence[str] = NAMES) -> dict[str, Case]:
    """Of all of these names together, and what they can be for."""
    plain, some = ("plain", "y"), names[: len(names) // 2]
    return {
        "needed": Case(domain_of(names), (*names, "y")),
        "not needed": Case(domain_of(["plain"]), (*plain, *names)),
        "some needed": Case(domain_of([*some, "plain"]), (*names, *plain)),
        "a target": Case(domain_of(["plain"], names[0]), (*names, *plain)),
        "a weight": Case(domain_of(["plain"], weight=(names[-1], 1.0)), (*plain, *names)),
        "of a unit": Case(domain_of(["plain"], unit=names[1 % len(names)], records_per_unit=2), (*plain, *names)),
        "twice, not needed": Case(domain_of(["plain"]), (names[0], *plain, names[0])),
        "twice, needed": Case(domain_of(names[:1]), (names[0], *plain, names[0])),
    }


def table_of(case: Case) -> pa.Table:
    """Numbers, and of a unit whole numbers."""
    rng = np.random.default_rng(3)
    units = {case.domain.unit}
    cells = [rng.integers(0, 20, N) if name in units else rng.uniform(-0.5, 1, N).round(3) for name in case.columns]
    return pa.table([pa.array(one) for one in cells], names=list(case.columns))


def model_of(case: Case, **terms: Any) -> Any:
    return hb.LinearRegression(domain=case.domain, solver="moments", budget=hb.Budget(0.5, 1e-7), **terms)


_OF_MEMORY: dict[str, bytes | None] = {}


def of_memory(case: Case, folder: Path) -> bytes | None:
    """The outcome of a case from memory, which every source is compared with."""
    told = repr(case)
    if told not in _OF_MEMORY:
        _OF_MEMORY[told] = outcome(case, lambda: table_of(case), folder)
    return _OF_MEMORY[told]


def outcome(case: Case, source: Callable[[], Any], folder: Path) -> bytes | None:
    """The bits of a fit, or None where it was refused; where nothing was charged."""
    try:
        return bytes(model_of(case, test_key=KEY).fit(source()).release_.theta.tobytes())
    except HullabalooError:
        pass
    (folder / "ledger.db").unlink(missing_ok=True)
    ledger = hb.Ledger(f"sqlite:///{folder}/ledger.db")
    ledger.create("records", hb.Budget(1.0, 1e-6))
    try:
        model_of(case, ledger=ledger, dataset="records").fit(source())
    except HullabalooError:
        assert not ledger.charges("records"), "it was charged, and released nothing"
        return None
    raise AssertionError("under a test key it was refused, and beside a ledger it was not")


def broken(
    source: Callable[[pa.Table], Any], folder: Path, tried: dict[str, Case], *, refuses: bool = True
) -> Iterator[str]:
    """The cases of which a source breaks the law; `refuses`: whether it may refuse what memory reads."""
    for name, case in tried.items():
        table = table_of(case)
        wanted = of_memory(case, folder)
        try:
            found = outcome(case, lambda table=table: source(table), folder)
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {str(error)[:200]}"
            continue
        if found != wanted and not (refuses and found is None):
            yield f"{name}: {'refused' if found is None else 'other bits'}"
