"""Numbers in sentences of the documentation that are those of a record: `docs/execute.py --tables` fills them in, `tests/test_docs.py` compares them.

A sentence stands here as its page has it, `{}` in the place of each number, which holds no blank; line breaks are the page's. A sentence that a page has no more is an error,
so that a page is not reworded into what nothing holds to a record. Where words rest on numbers, as "short of", a claim beside the sentence has to hold of them.
"""

import math
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import record  # noqa: E402

Line = Mapping[str, Any]
BLANKS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten"}


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a page.

    Attributes:
        page: its path from the root.
        sentence: with `{}` for each number.
        numbers: what they are, as text, from the records.
        holds: what the words say of the records; True where they say nothing.
    """

    page: str
    sentence: str
    numbers: Callable[[], Iterable[object]]
    holds: Callable[[], bool] = lambda: True

    def found(self, text: str) -> re.Match[str]:
        """The sentence in the page's text.

        Raises:
            LookupError: it is not there, or more than once.
        """
        words = [re.escape(part).replace(r"\ ", r"\s+") for part in self.sentence.split("{}")]
        found = list(re.finditer(r"([^\s|]+?)".join(words), text))
        if len(found) == 1:
            return found[0]
        raise LookupError(f"{self.page} does not say, or says more than once: {self.sentence}")

    def filled(self, text: str) -> str:
        """The text of the page with today's numbers in the sentence, as many as it has places."""
        found = self.found(text)
        for place, number in reversed(list(zip(range(1, found.re.groups + 1), self.numbers(), strict=True))):
            text = text[: found.start(place)] + str(number) + text[found.end(place) :]
        return text


@cache
def results(name: str) -> Any:
    """What is recorded of a benchmark."""
    kept = record.kept(name)
    assert kept is not None
    return kept["results"]


def lines(name: str, of: str, **wanted: Any) -> list[Line]:
    """The lines of a record's list that have these values."""
    return [one for one in results(name)[of] if all(one[key] == value for key, value in wanted.items())]


def percent(share: float, digits: int = 0) -> str:
    """A share in per cent, a half rounded up."""
    return f"{math.floor(100.0 * share * 10**digits + 0.5) / 10**digits:.{digits}f}".replace("-", "−")


def nearly(share: float) -> str:
    """A share in per cent, of which 100 is not said where it is less."""
    return percent(share, 1 if 0.995 <= share < 1.0 else 0)


def shares(found: Iterable[float], digits: int = 0) -> list[str]:
    """Shares in per cent."""
    return [percent(one, digits) for one in found]


def word(number: int) -> str:
    """A small number in letters."""
    return BLANKS.get(number, f"{number:,}")


# ---- intervals ------------------------------------------------------------------------------------------------------

REPORT = {"half": "report", "bounds": "expert"}


def pooled(found: Sequence[Line]) -> float:
    """Of all told intervals the share that hold."""
    told = [one["told"] * one["slopes"] * one["draws"] for one in found]
    return sum((one["cover"] or 0.0) * many for one, many in zip(found, told, strict=True)) / sum(told)


def intervals(epsilon: float, half: str = "report") -> list[Line]:
    """The lines of a half under an expert's bounds."""
    return lines("inference", "lines", epsilon=epsilon, half=half, bounds="expert")


def fewest(epsilon: float) -> list[Line]:
    """Of the report half those that tell intervals, beginning with the one of which fewest hold."""
    return sorted((one for one in intervals(epsilon) if one["cover"] is not None), key=lambda one: float(one["cover"]))


def medians(key: str) -> list[float]:
    """Of the report half under an expert's bounds, at both budgets."""
    return [line[key] for line in lines("inference", "medians", **REPORT)]


def held(epsilon: float) -> list[str]:
    """The least and the greatest share of a table's intervals that hold."""
    found = fewest(epsilon)
    return shares((found[0]["cover"], found[-1]["cover"]))


def forecast_of(what: str, key: str) -> list[float]:
    """Of both halves, the development half first."""
    return [lines("inference", "forecasts", half=half, **{"forecast of": what})[0][key] for half in HALVES]


def totals() -> list[Line]:
    """Lines that tell how often totals held."""
    return [one for one in results("inference")["lines"] if one["total held"] is not None]


HALVES = ("development", "report")
INTERVALS = (
    Said(
        "docs/around-the-fit.md",
        "the median table tells {} % at ε = 1 and {} % at ε = 3. The intervals are {} and {} times as wide as those without privacy.",
        lambda: [*shares(medians("strong")), *(f"{one:.1f}" for one in medians("width"))],
    ),
    Said(
        "docs/around-the-fit.md",
        "Of all intervals told, at the level of 95 %, {} % hold at ε = 1 and {} % at ε = 3; by tables {} to {} % and {} to {} %.",
        lambda: [*shares((pooled(intervals(1.0)), pooled(intervals(3.0))), 1), *held(1.0), *held(3.0)],
    ),
    Said(
        "docs/around-the-fit.md",
        "The table of which fewest hold at ε = 3 is {} ({} %); of the others {} % do.",
        lambda: [f"`{fewest(3.0)[0]['table']}`", percent(fewest(3.0)[0]["cover"]), percent(pooled(fewest(3.0)[1:]), 1)],
    ),
    Said(
        "docs/measured.md",
        "{} % of the report half's intervals hold at ε = 1 and {} % at ε = 3, of the development half's {} and {} %. At ε = 3 the report half is short of what is said",
        lambda: shares(
            [pooled(intervals(epsilon, half)) for half in ("report", "development") for epsilon in (1.0, 3.0)], 1
        ),
        lambda: pooled(intervals(3.0)) < 0.94,
    ),
    Said(
        "docs/measured.md",
        "The four tables of which fewest hold there are `{}` ({} %), `{}` ({} %), `{}` ({} %) and `{}` ({} %); at ε = 1 it is `{}` ({} %).",
        lambda: [
            text
            for epsilon, many in ((3.0, 4), (1.0, 1))
            for one in fewest(epsilon)[:many]
            for text in (one["table"], percent(one["cover"]))
        ],
    ),
    Said(
        "docs/measured.md",
        "Of {} lines that tell totals, those of {} held within two of their errors in all draws, and those of the other {} in nine of ten.",
        lambda: [
            len(totals()),
            sum(one["total held"] == 1.0 for one in totals()),
            word(sum(one["total held"] < 1.0 for one in totals())),
        ],
        lambda: all(one["total held"] in (0.9, 1.0) for one in totals()),
    ),
    Said(
        "docs/planning.md",
        "the middle is within a factor 2 on {} % of the {} lines of the development half and {} % of the {} of the report half (asked were 80), the range holds {} and {} %.",
        lambda: [
            *(
                one
                for pair in zip(
                    shares(forecast_of("errors told", "within 2")), forecast_of("errors told", "lines"), strict=True
                )
                for one in pair
            ),
            *shares(forecast_of("errors told", "in range")),
        ],
    ),
    Said(
        "docs/planning.md",
        "of a class its share) the middle is within 2 on {} % of the {} lines of the development half and {} % of the {} of the report half (asked were 80), within 5 on {} and {} %, and the range, a factor of 2 to 4 either way, holds {} and {} %",
        lambda: [
            *(
                one
                for pair in zip(
                    shares(forecast_of("total mean known", "within 2")),
                    forecast_of("total mean known", "lines"),
                    strict=True,
                )
                for one in pair
            ),
            *shares(forecast_of("total mean known", "within 5")),
            *shares(forecast_of("total mean known", "in range")),
        ],
    ),
    Said(
        "docs/planning.md",
        "the middle is within 2 on {} and {} %, and the range holds {} and {} %. So what is missing is public knowledge",
        lambda: shares([*forecast_of("errors told known", "within 2"), *forecast_of("errors told known", "in range")]),
    ),
    Said(
        "docs/planning.md",
        "Of the {} lines whose fits tell no error a price said so beforehand on {}.",
        lambda: [len(untold()), sum(one["forecast errors"] is None for one in untold())],
    ),
    Said(
        "docs/planning.md",
        "holds what fits then say on {} % of the {} lines of the development half that tell it, and {} % of the {} of the report half; its middle is within 2 on {} and {} %; "
        "with known deviations {} and {} %, and {} and {} %.",
        lambda: [
            *(
                one
                for pair in zip(shares(forecast_of("total", "in range")), forecast_of("total", "lines"), strict=True)
                for one in pair
            ),
            *shares(
                [
                    *forecast_of("total", "within 2"),
                    *forecast_of("total known", "in range"),
                    *forecast_of("total known", "within 2"),
                ]
            ),
        ],
    ),
    Said(
        "docs/planning.md",
        "no farther from 1 than its upper end in {} and {} % of these fits.",
        lambda: shares(forecast_of("total", "no farther than its end")),
    ),
)


def untold() -> list[Line]:
    """Lines whose fits tell no error in half of the draws or more."""
    return [one for one in results("inference")["lines"] if not one["errors told"]]


# ---- planning -------------------------------------------------------------------------------------------------------


NARROW = "appliances"


def above(**wanted: Any) -> list[Line]:
    """Lines of solvers by name that lose more than 1.02 times what the private constant does."""
    return [one for one in lines("floors", "tables", **wanted) if one["over the constant"] > 1.02]


def elsewhere() -> int:
    """Of them those on no table of the two that have most."""
    return len(above()) - len(above(table="claims")) - len(above(table=NARROW))


def within(one: float, other: float, factor: float = 2.0, floor: float = 0.01) -> bool:
    """Whether two shares are within a factor, neither told apart below the floor."""
    one, other = max(one, floor), max(other, floor)
    return max(one / other, other / one) <= factor


def real(key: str, *, lost: bool) -> list[float]:
    """Of both halves of real tables, how often a forecast is within 2 of the share that is kept, or lost."""
    turned = (lambda share: 1.0 - share) if lost else (lambda share: share)
    halves = [lines("real_forecasts", "problems", half=half) for half in HALVES]
    return [statistics.mean(within(turned(one[key]), turned(one["kept"])) for one in half) for half in halves]


def designs() -> dict[str, tuple[float, float, str]]:
    """Of each design at ε = 1: the distance of "auto", the least by name, and whose that is."""
    found: dict[str, tuple[float, float, str]] = {}
    for name in {one["design"] for one in results("consistency")["lines"]}:
        asked = lines("consistency", "lines", design=name, epsilon=1.0)
        (auto,) = [one for one in asked if one["asked"] == "auto"]
        best = min((one for one in asked if one["asked"] != "auto"), key=lambda one: one["distance"])
        found[name] = auto["distance"], best["distance"], best["asked"]
    return found


def at_most() -> dict[str, float]:
    """Of each design the distance of "auto" at the largest budget."""
    return {one["design"]: one["distance"] for one in lines("consistency", "lines", epsilon=50.0, asked="auto")}


def farther() -> dict[str, tuple[float, float, str]]:
    """Designs on which "auto" is more than 1.2 times as far as the best by name."""
    return {name: one for name, one in designs().items() if one[0] > 1.205 * one[1]}


def bare(table: str) -> list[Line]:
    """Lines of rows of which a norm alone is declared, at ε = 0.1."""
    return lines("bare_norm", "tables", table=table, epsilon=0.1)


def over(table: str) -> list[str]:
    """The loss of "auto" there over that of the constant, in both relations."""
    found = {one["neighbours"]: one["loss"] / one["constant"] for one in bare(table)}
    return [f"{found[relation]:.2f}" for relation in ("replace-one", "add-or-remove")]


FARTHER = ("costs", "rare class", "quantile, mixed columns")
PLANNING = (
    Said(
        "docs/planning.md",
        "{} of {} lines are above 1.02 (96 before names were held up by the constant), {} of them on `claims` ({} of 26 lines) and `appliances` ({}).",
        lambda: [
            len(above()),
            len(results("floors")["tables"]),
            len(above()) - elsewhere(),
            len(above(table="claims")),
            len(above(table=NARROW)),
        ],
    ),
    Said(
        "docs/planning.md",
        'Of the other {}, {} are on `concrete` (824 records); {} of all are of `moments`, and {} of "auto"',
        lambda: [
            elsewhere(),
            len(above(table="concrete")),
            len(above(asked="moments")),
            word(len(above(asked="auto"))) if len(above(asked="auto")) > 1 else "one",
        ],
    ),
    Said(
        "docs/planning.md",
        "A chosen solver is within 1.5 times the best one's excess risk in {} % of the problems, where 90 % were the goal, and a prediction within a factor 3 in {} %, where 80 % were; "
        "the worst choice loses {} times as much as the best.",
        lambda: [
            *shares(results("planner")["summary"][one] for one in ("chosen_within_1.5_of_best", "prediction_within_3")),
            f"{results('planner')['summary']['worst_choice']:.1f}",
        ],
    ),
    Said(
        "docs/planning.md",
        "is within 2 of the share kept on {} and {} % of the 52 problems of each half; the price's middle, asked of the same plans beside the same fits, on {} and {} % "
        "(of the share lost on {} and {}, and {} and {} %).",
        lambda: shares(
            [
                *real("line", lost=False),
                *real("forecast", lost=False),
                *real("line", lost=True),
                *real("forecast", lost=True),
            ]
        ),
    ),
    Said(
        "docs/planning.md",
        'On {} of seven designs "auto" is then at most 1.2 times as far from the optimum',
        lambda: [word(len(designs()) - len(farther()))],
        lambda: len(designs()) == 7 and len(farther()) == len(FARTHER),
    ),
    *(
        Said(
            "docs/planning.md",
            f"| {name} | {{}} | {{}}, `{{}}` |",
            lambda name=name: [*(f"{one:.1f}" for one in designs()[name][:2]), designs()[name][2]],
            lambda name=name: name in farther(),
        )
        for name in FARTHER
    ),
    Said(
        "docs/planning.md",
        'At ε = 50 "auto" is within {} errors on all but the 0.9 quantile, of which it is {} away.',
        lambda: [
            f"{max(one for name, one in at_most().items() if 'quantile' not in name):.1f}",
            f"{at_most()['quantile, mixed columns']:.1f}",
        ],
    ),
    Said(
        "docs/planning.md",
        "{}, {} and {} % are kept in the median at ε = 0.1, 1 and 3 (replace-one), {}, {} and {} % under add-or-remove.",
        lambda: [nearly(one) for line in lines("bare_norm", "summary", tables="all") for one in line["median share"]],
    ),
    Said(
        "docs/planning.md",
        "on `concrete` (824 records) it loses {} times what the constant does under replace-one and {} times under add-or-remove, on `claims`, of which a model explains {} %, {} and {} times.",
        lambda: [
            *over("concrete"),
            percent(1.0 - bare("claims")[0]["non_private"] / bare("claims")[0]["constant"], 1),
            *over("claims"),
        ],
        lambda: all(one["loss"] < one["constant"] for one in results("bare_norm")["tables"] if one["epsilon"] >= 1.0),
    ),
)


# ---- many columns ---------------------------------------------------------------------------------------------------


def auto(half: str, neighbours: str) -> list[float]:
    """Median shares that "auto" keeps at ε = 1 and 3."""
    found = {
        one["epsilon"]: one["auto"]
        for one in lines("high_dimension", "medians of auto", half=half, neighbours=neighbours)
    }
    return [found[1.0], found[3.0]]


def wide(epsilon: float) -> list[Line]:
    """Lines of plans on the tables that medians are taken of."""
    return [one for one in lines("high_dimension", "plans", epsilon=epsilon) if one["table"] != "permeability"]


def kept(table: str, neighbours: str, *epsilons: float) -> list[str]:
    """What "auto" keeps of a table, in per cent."""
    found = {
        one["epsilon"]: one["auto"] for one in lines("high_dimension", "plans", table=table, neighbours=neighbours)
    }
    return [percent(found[epsilon]) for epsilon in epsilons]


def few_records(neighbours: str) -> dict[str, float]:
    """What is left of the null model's excess at ε = 1 by each solver, of 500 records and 1000 columns."""
    found = [one for one in results("high_dimension")["synthetic"] if "n = 500," in one["design"]]
    return {one["solver"]: one["left"] for one in found if one["neighbours"] == neighbours and one["epsilon"] == 1.0}


MANY = (
    Said(
        "docs/high-dimension.md",
        'of the six tables it was chosen on "auto" keeps {} and {} % at ε = 1 and 3 under replace-one and {} and {} % under add-or-remove, of the five others {} and {} %, and {} and {} %.',
        lambda: [
            nearly(one)
            for half in ("chosen on", "others")
            for relation in ("replace-one", "add-or-remove")
            for one in auto(half, relation)
        ],
    ),
    Said(
        "docs/high-dimension.md",
        "{} of the {} lines are left at the private constant, and {} lose more than 1.02 times what that does.",
        lambda: [
            sum(one["taken"] == "constant" for one in wide(0.1)),
            len(wide(0.1)),
            word(
                sum(one["above 1.02"] for one in results("high_dimension")["medians of auto"] if one["epsilon"] == 0.1)
            ),
        ],
    ),
    Said(
        "docs/high-dimension.md",
        "Only two lines gain there, under add-or-remove: {} % of grants and {} % of `basehock` by norm alone.",
        lambda: [
            *kept("grants_unimelb", "add-or-remove", 0.1),
            *kept("news20_basehock, by norm alone", "add-or-remove", 0.1),
        ],
        lambda: sum(one["auto"] > 0.02 for one in wide(0.1)) == 2,
    ),
    Said(
        "docs/high-dimension.md",
        "which keeps {} and {} % at ε = 1 and 3 under replace-one and {} and {} % under add-or-remove",
        lambda: [*kept("dexter", "replace-one", 1.0, 3.0), *kept("dexter", "add-or-remove", 1.0, 3.0)],
    ),
    Said(
        "docs/high-dimension.md",
        "at ε = 3 alone, where that keeps {} % (replace-one) and {} % (add-or-remove).",
        lambda: [*kept("permeability", "replace-one", 3.0), *kept("permeability", "add-or-remove", 3.0)],
    ),
    Said(
        "docs/high-dimension.md",
        "the greedy selection leaves {} % of the null model's excess risk at ε = 1 under replace-one, and {} % under add-or-remove. The other methods leave {} % or more under replace-one.",
        lambda: [
            *shares(few_records(one)["greedy_selection"] for one in ("replace-one", "add-or-remove")),
            percent(
                min(
                    left for name, left in few_records("replace-one").items() if not name.startswith("greedy_selection")
                )
            ),
        ],
    ),
)


# ---- speed and memory -----------------------------------------------------------------------------------------------


def grown(key: str, *names: str) -> list[str]:
    """Exponents of processor seconds over the last tenfold growth."""
    return [f"{results('growth')[key][name]['of the last two']:.2g}" for name in names]


def passes(*names: str) -> list[str]:
    """Processor seconds of a pass."""
    return [f"{results('scan')['passes'][name]['cpu']:.2f}" for name in names]


def from_disk(name: str) -> list[str]:
    """Processor seconds and gigabytes of sparse rows on disk."""
    found = results("sparse")["from disk"][name]
    return [f"{found['processor seconds']:.0f}", f"{found['GiB at most']:.1f}"]


RECORDS, FEATURES = "records, of 20 features", "features, of 20000 records"
OURS = ("moments", "preconditioned gradient", "logistic, preconditioned gradient")
THEIRS = ("scikit-learn: Ridge", "scikit-learn: LogisticRegression", "scikit-learn: Lasso")
BIG = "docs/larger-than-memory.md"
SIDES = {
    "this library, in parts": "in parts",
    "this library, in memory": "in memory",
    "this library, by Spark": "Spark",
    "MLlib, not private": "MLlib, not private",
    "scikit-learn, not private": "scikit-learn, not private",
    "diffprivlib": "diffprivlib",
}
ENGINES = ("dask, 2 workers", "spark, 2 threads")


def two_workers(key: str) -> list[str]:
    """How many times faster two Dask workers are than one."""
    return [f"{one[key]:.2f}" for one in results("engines")["two Dask workers over one"].values()]


SPEED = (
    Said(
        "docs/cluster.md",
        "a question of a small table cost {} ms by Dask with two workers and {} ms by Spark with two threads",
        lambda: [f"{results('engines')['engines'][name]['milliseconds of a question']:.0f}" for name in ENGINES],
    ),
    Said(
        "docs/cluster.md",
        "two workers are {} times as fast as one by `moments` and {} times by the preconditioned gradient, whose parts are kept; with equal shares {} and {} times.",
        lambda: [*two_workers("times faster"), *two_workers("times faster, shared alike")],
    ),
    Said(
        BIG,
        "| from Parquet (a bare scan by PyArrow that sums the columns: {}) | {} | {} |",
        lambda: passes("bare scan", "disk: moments", "disk: step"),
    ),
    Said(BIG, "| from the folder | {} | {} |", lambda: passes("cache: moments", "cache: step")),
    Said(BIG, "| from memory | {} | {} |", lambda: passes("memory: moments", "memory: step")),
    Said(
        BIG,
        "two gradients that each read all anew took {} processor seconds in all and {} GiB at most; ten of kept rows (`keep_bytes=3 * 10**9`) {} and {} GiB (`python",
        lambda: [*from_disk("read anew"), *from_disk("kept in memory")],
    ),
    Said(
        BIG,
        "its processor seconds grow by the exponent {} (`moments`), {} (`preconditioned_gradient`) and {} (logistic); scikit-learn's by {} (Ridge), {} (LogisticRegression) and {} (Lasso). "
        "From 100 to 1 000 features of 20 000 records: {}, {} and {}; theirs {}, {} and {}. **Beside",
        lambda: [*grown(RECORDS, *OURS, *THEIRS), *grown(FEATURES, *OURS, *THEIRS)],
    ),
    *(
        Said(
            "docs/cluster.md",
            f"| {shown} | {{}} |",
            lambda name=name: [f"{results('side_by_side')['rows'][name]['processor seconds']:g}"],
        )
        for shown, name in SIDES.items()
    ),
)


# ---- a public table -------------------------------------------------------------------------------------------------

KINDS = ("without", "right", "shuffled", "elsewhere", "permuted", "rescaled", "constant")
WRONG, ALLOWED = KINDS[2:], {0.1: 0.05, 0.3: 0.02, 1.0: 0.02}


def fallen(epsilon: float) -> list[tuple[str, str]]:
    """Tables and kinds of wrong ones that cost more than is allowed; claims left out."""
    found = [one for one in lines("public", "tables", epsilon=epsilon) if one["table"] != "claims"]
    return [
        (one["table"], kind)
        for one in found
        for kind in WRONG
        if one["share"][kind] < one["share"]["without"] - ALLOWED[epsilon]
    ]


def claims(epsilon: float) -> float:
    """What is kept of claims without a public table."""
    return float(lines("public", "tables", epsilon=epsilon, table="claims")[0]["share"]["without"])


PUBLIC = (
    *(
        Said(
            "docs/public.md",
            f"| {one['tables']}, {one['count']} | {one['kind']} | {one['epsilon']:g} |" + " {} |" * len(KINDS),
            lambda one=one: shares(one["median share"][kind] for kind in KINDS),
        )
        for one in results("public")["summary"]
    ),
    Said("docs/public.md", "{} medians in 60 at ε = 0.1 fell by more than 5 points", lambda: [word(len(fallen(0.1)))]),
    Said(
        "docs/public.md",
        "{} in 60 at ε = 0.3 by more than 2",
        lambda: [word(len(fallen(0.3)))],
        lambda: not fallen(1.0),
    ),
    Said(
        "docs/public.md",
        "claims, which lose {} times the gain without a public table at ε = 0.1 and keep {} % at 0.3",
        lambda: [f"{-claims(0.1):.0f}", percent(claims(0.3))],
    ),
)


# ---- other pages ----------------------------------------------------------------------------------------------------


def tuned(key: str) -> list[str]:
    """Median shares kept at the three budgets."""
    return [
        f"{statistics.median(one[key] for one in lines('tuning', 'worth', epsilon=epsilon)):.2f}"
        for epsilon in (0.5, 1.0, 3.0)
    ]


def areas() -> list[float]:
    """How often intervals of areas held, by line and relation."""
    return [one[key] for one in results("evaluation")["areas"] for key in ("held, replace-one", "held, add-or-remove")]


def structured(*names: str) -> list[str]:
    """The least and the greatest ratio of risks by the best rule."""
    found = [
        one["ratio"] for one in results("structured_sparsity")["risk by the best rule"] if one["structure"] in names
    ]
    return [f"{min(found):.2f}", f"{max(found):.2f}"]


OTHERS = (
    Said(
        "docs/around-the-fit.md",
        "the search was ahead of an honest grid in {} of {} cases, and ahead of the untuned default, which had the whole budget, in {} of them.",
        lambda: [
            sum(one["search"] > one["grid"] for one in lines("tuning", "worth")),
            len(lines("tuning", "worth")),
            sum(one["search"] > one["default"] for one in lines("tuning", "worth")),
        ],
    ),
    Said(
        "docs/around-the-fit.md",
        "default {}, {} and {}, search {}, {} and {}, grid {}, {} and {}. Search when",
        lambda: [*tuned("default"), *tuned("search"), *tuned("grid")],
    ),
    Said(
        "docs/measured.md",
        "{} to {} % of 95 % intervals held the held-out half's own, {} % in the median; {} of the {} lines were below 93 %.",
        lambda: [
            *shares((min(areas()), max(areas()))),
            percent(statistics.median(areas()), 1),
            sum(one < 0.93 for one in areas()),
            len(areas()),
        ],
    ),
    Said(
        "docs/around-the-fit.md",
        'at most {} % of what "fdr" kept was 0, and "bound" kept any such column in at most {} % of fits.',
        lambda: shares(
            (
                results("lasso_selection")[one]
                for one in ("largest share false, fdr", "largest chance of any false, bound")
            ),
            1,
        ),
    ),
    Said(
        "docs/around-the-fit.md",
        'beside the lasso without privacy "fdr" finds {} of the columns in the median of its synthetic tables, and {} of its real ones (an elastic net {})',
        lambda: [
            f"{results('lasso_selection')[one]:.2f}"
            for one in (
                "power beside the lasso without privacy, median of synthetic tables",
                "of real tables",
                "of real tables, elastic net",
            )
        ],
    ),
    Said(
        "docs/structured-sparsity.md",
        "{} to {} of it with groups, windows and the tree.",
        lambda: structured("groups of 10", "windows of 6", "windows of 2×2", "tree"),
    ),
    Said(
        "docs/structured-sparsity.md",
        "With intervals and rectangles by half-planes it is {} to {},",
        lambda: structured("intervals", "rectangles"),
    ),
    Said(
        "docs/streams.md",
        "{} against {} % at 300 columns and ε = 1",
        lambda: shares(
            lines("sketch", "simulated", p=300, epsilon=1.0, model=model)[0]["kept"] for model in ("sketched", "full")
        ),
    ),
)

SAID = (*INTERVALS, *PLANNING, *MANY, *SPEED, *PUBLIC, *OTHERS)


def fill(root: Path = ROOT) -> None:
    """Write today's numbers into the sentences of every page."""
    for page in sorted({one.page for one in SAID}):
        path = root / page
        text = path.read_text(encoding="utf-8")
        for one in SAID:
            text = one.filled(text) if one.page == page else text
        path.write_text(text, encoding="utf-8")
