"""The page of the trusted base: which files stand between records and everybody else, by tier, with what each group promises.

    python docs/trusted_base.py          writes docs/trusted-base.md

Tier 1 is all that runs when a plain fit reads, sums and answers; tier 2 is what certified minimisers, private choices, searches, streams and
continual sums add to it. Whatever is in neither is untrusted: it sees public facts and released numbers.
"""

import ast
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "hullabaloo"
PAGE = ROOT / "docs" / "trusted-base.md"


@dataclass(frozen=True)
class Group:
    """Files, as folders or names below `src/hullabaloo`, and what they promise together."""

    tier: int
    name: str
    claim: str
    folder: str
    names: str = "*"

    @property
    def files(self) -> list[Path]:
        """Those that exist; a name that does not is a fault of this page."""
        home = SOURCE / self.folder
        if self.names == "*":
            return sorted(home.glob("*.py"))
        return [home / f"{name}.py" for name in self.names.split()]


READERS = Group(
    1, "Decoders", "A decoded cell is a function of its record's bytes: one decoder a format.", "data/readers"
)
GROUPS = (
    READERS,
    Group(
        1,
        "Records to rows",
        "An encoded row is a function of its record and of the declared domain, within the declared bounds; nothing is raised because of a value.",
        "data",
        "arithmetic declarations domain encode encoding kernels labels layout numbers offset schema source table targets threads transforms",
    ),
    Group(
        1,
        "Exact sums and the door",
        "Each record's part is bounded and rounded on a lattice, sums are exact in any order, and an answer leaves with its noise, as often as it was bought.",
        "curator",
        "curator exact gradient gradient_kernels kernels known moments shortened_moments query norm_histogram centred_gradient centred_gradient_kernels views",
    ),
    Group(1, "Processes", "A forked child is told from its parent, whatever its number is.", ".", "forks"),
    Group(
        1,
        "Prices",
        "A query is made of public facts, and what it says of itself is worked out from its fields.",
        ".",
        "queries",
    ),
    Group(1, "Derivatives", "What is clipped is bounded by the clip.", "losses", "kernels"),
    Group(
        1,
        "Noise and keys",
        "Discrete Gaussian and Laplace noise on the lattice of the sum, under a fresh key for each answer.",
        "noise",
        "exact kernels keys lattice release sampler",
    ),
    Group(
        1,
        "Composition",
        "The event of a fit is the composition of its answers; a budget admits what it says.",
        "privacy",
        "_rounding budget composition events gaussian_dp neighbours noise_events",
    ),
    Group(
        1,
        "Charge",
        "A charge is durable, once and whole, before a record is read.",
        "ledger",
        "claims ledger records rows store transact",
    ),
    Group(1, "Order", "Checked, charged, read, answered, in this order.", "release", "request run"),
    Group(2, "Choices", "Private choices of a vertex, a coordinate, a quantile.", "selection"),
    Group(2, "Candidates of choices", "The ends of a quantile's grid are public.", "data", "grid"),
    Group(
        2,
        "Scores",
        "What a record adds to a score is no longer than is stated, whatever the model predicts of it.",
        "losses",
        "ranks reading_kernels readings scores",
    ),
    Group(
        2,
        "Losses of minimisers",
        "Values, derivatives and constants of the losses of a closed list (`curator/known.py`), on every record of the domain.",
        "losses",
        "base several single",
    ),
    Group(
        2,
        "Sets and penalties",
        "Of a closed list (`curator/known.py`): norms of vertices, projections and proximal points that choices and minimisers rest on.",
        "geometry",
        "base box checks elastic_ball intercept kernels norm_balls numerics penalty polytope separable size_balls sizes within",
    ),
    Group(
        2,
        "Norms of set functions",
        "The same, of set functions.",
        "geometry/submodular",
        "base cardinality cover_kernels flow_kernels group_cover isotonic_kernels laminar_kernels norm shapes tree_cover",
    ),
    Group(2, "Strangers", "Code of somebody's own is told, however it is held.", ".", "foreign"),
    Group(2, "Certified minimisers", "A minimiser within a proved distance of the exact one, for every table.", "erm"),
    Group(2, "Certified minimisers: quadratics", "The same, of quadratics over sets.", "quadratic"),
    Group(
        2,
        "Sums that go on",
        "Coordinate updates that keep predictions between answers, continual sums, private scores, the draws of a search.",
        "curator",
        "asked columns coordinate_kernels coordinate_gradient coordinate_gradient_kernels search_randomness score second_moments stream stream_kernels",
    ),
    Group(
        2,
        "Tables in parts",
        "Every record of a table that is read in parts is in one part, at every reading.",
        "data",
        "batches columns parts parts_kernels scan sparse_lists",
    ),
    Group(
        2,
        "Engines",
        "Parts are read, asked and added up elsewhere as they are here; no key, budget or noise is sent.",
        "data/engines",
    ),
    Group(
        2,
        "Chosen columns",
        "A table cut down to what is asked about, or made of records that came one by one.",
        "data",
        "records",
    ),
    Group(2, "Continual noise", "Correlated noise whose privacy is that of its strategy.", "noise/continual"),
    Group(
        2,
        "Noise of choices",
        "Exponential mechanism and random numbers of runs.",
        "noise",
        "contest selection stopping",
    ),
    Group(2, "Rows besides fits", "Streams under way and runs of a search.", "curation"),
    Group(2, "Durable state", "Sealed state files and the journal that ties them to a ledger.", "durable"),
    Group(2, "Sources of streams", "A record of a stream is a function of its bytes, taken once.", "data/sources"),
    Group(
        2,
        "Composition of choices and minimisers",
        "Events of selections, of perturbed minimisers and of the best of many.",
        "privacy",
        "bounded_range event_calibrate filters objective_events pure_dp renyi repeats schedule tuned_events",
    ),
    Group(
        2,
        "Charges of streams",
        "A stream's charge, its saves, and databases of every kind.",
        "ledger",
        "address backend chain names postgres schema sqlite streams verify",
    ),
)
LIMITS = {"tier 1 without decoders": 5_500, "tier 1": 6_400}
"""What one person can read in two or three days."""


@cache
def code_lines(path: Path) -> int:
    """Lines that bear a token which is neither a comment nor part of a docstring."""
    text, docs, strings = path.read_text(encoding="utf-8"), set[int](), set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docs.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno:
            strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    written = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()[:1] not in ("", "#")}
    return len((written | strings) - docs)


def tier_of() -> dict[str, int]:
    """The tier of each file that is trusted, by its path below `src/hullabaloo`."""
    return {str(path.relative_to(SOURCE)): group.tier for group in GROUPS for path in group.files}


def totals() -> dict[str, int]:
    """Lines of code of tier 1, with and without decoders, of tier 2 and of the rest."""
    counted = {path: code_lines(path) for path in SOURCE.rglob("*.py")}
    first, second = (
        sum(counted[path] for group in GROUPS if group.tier == tier for path in group.files) for tier in (1, 2)
    )
    readers = sum(counted[path] for path in READERS.files)
    return {
        "tier 1 without decoders": first - readers,
        "tier 1": first,
        "tier 2": second,
        "untrusted": sum(counted.values()) - first - second,
    }


def page() -> str:
    """The page."""
    found = totals()
    lines = [
        "# The trusted base",
        "",
        "Written by `python docs/trusted_base.py`; `tests/test_trusted_base.py` holds it to the code: it traces fits, and fails where a line outside",
        "of tier 1 runs while records are decoded, encoded or answered from, or one outside of both tiers while any query is answered.",
        "",
        "Tier 1 is what a fit by `moments`, the gradient solvers or mirror coordinate_gradient rests on. Tier 2 is what other solvers, searches and",
        "streams add. Everything else sees public facts and released numbers, and cannot touch a record.",
        "",
        "| | lines of code |",
        "|---|---|",
        *(f"| {name} | {count:,} |" for name, count in found.items()),
    ]
    for tier in (1, 2):
        lines += ["", f"## Tier {tier}", "", "| | what it promises | files | lines of code |", "|---|---|---|---|"]
        for group in GROUPS:
            if group.tier == tier:
                files = ", ".join(f"`{path.relative_to(SOURCE)}`" for path in group.files)
                lines.append(f"| {group.name} | {group.claim} | {files} | {sum(map(code_lines, group.files)):,} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write("".join(f"{name}: {count:,}\n" for name, count in totals().items()))
