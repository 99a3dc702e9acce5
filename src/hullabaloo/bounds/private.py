"""Bounds without looking: private quantiles of many columns, from ranges that nobody has to look for."""

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from hullabaloo.bounds.record import PrivateBounds, outer_ranges
from hullabaloo.data import UNNAMED, Domain, Numeric, names_of, schema
from hullabaloo.data.declarations import is_number
from hullabaloo.data.grid import Grid, GridKind
from hullabaloo.data.records import ChosenColumns
from hullabaloo.data.table import Table
from hullabaloo.errors import BudgetError, DomainError, InvalidParameter, SchemaError
from hullabaloo.ledger import Ledger
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.release import ReleaseRequest, check_types, one_of, positive, run_question, terms_of

ODDS = 100.0
"""Against these odds one candidate beyond all values may be chosen before one where the quantile is."""
COVERAGE = 0.99
LARGEST = 2.0**34
"""Scores of more sensitivities than this are refused before the charge: a choice among them could not be drawn exactly."""
MOST = 0.1
"""No more than this share is cut off at a side unless it is asked for: with fewer values, narrow candidates anywhere would win."""


def private_bounds(
    X: Any,
    y: Any = None,
    *,
    outer: Domain | Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    columns: Sequence[str] | None = None,
    coverage: float = COVERAGE,
    quantiles: tuple[float, float] | None = None,
    neighbours: str | Neighbours = Neighbours.REPLACE_ONE,
    grid: str = "auto",
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    test_key: TestKey | bytes | None = None,
) -> PrivateBounds:
    """Bounds of numeric features and targets, learned privately; `.domain()` of what it gives is ready for an estimator.

    Nobody knows a column's bounds, but everybody knows a range that holds them: an age lies in (0, 130), an income in (0, 1e9).
    Such *outer* ranges are declared, as generous as you like, and a low and a high quantile inside of each are bought. Ten times
    more generous costs next to nothing: candidates are spaced logarithmically.

    Args:
        X: an array, a dataframe, the path of a Parquet or CSV file, or `hb.scan(…)`, as in an estimator's `fit`.
        y: the target, or the name of its column; None where the outer domain names it, or there is none.
        outer: a `Domain` whose bounds are the outer ranges (its unit, number of records and classes are kept), or a mapping of names to
            ranges; the range of a y that has no name is that of "target".
        budget: what the bounds may cost; 10 to 20 % of what the model may cost is customary.
        columns: names of those to buy; the others keep their outer range. All numeric ones by default; fewer are better.
        coverage: the share of a column's values to keep, half of the rest cut off at either side. Where the noise in ranks would throw
            so far an end out of the data, the least share that does not is cut instead.
        quantiles: (low, high) to aim at, exactly. With a low of 0, or a high of 1, that end stays where it is, and is not paid for.
        neighbours: "replace-one" or "add-or-remove".
        grid: where candidates lie in the range: "auto", "linear" or "log".
        ledger, dataset: where the charge is recorded, as in `fit`.
        test_key: for tests only; the release is marked *not private*.

    Raises:
        InvalidParameter, DomainError, SchemaError, BudgetError: before anything is charged or read.
        LedgerError: the ledger refuses; nothing was read or spent.

    **Guarantee.** The bounds are one release of `budget` about the records of X and y together: one exponential mechanism for each
    column, composed (proof in `selection/quantiles.py`). Under add-or-remove, or with a unit, nothing depends on the number of rows.

    Example:
        >>> import hullabaloo as hb
        >>> bounds = hb.private_bounds("survey.parquet", outer={"age": (0, 130), "income": (0, 1e9)}, y="income",
        ...                            budget=hb.Budget(0.1, 1e-7))  # doctest: +SKIP
        >>> hb.LinearRegression(budget=hb.Budget(0.9, 1e-6), domain=bounds.domain()).fit("survey.parquet")  # doctest: +SKIP
    """
    declared = outer_domain(outer, y)
    if budget is None:
        raise InvalidParameter(
            "Private bounds need a budget: without one no noise level is private. Pass budget=hb.Budget(0.1, 1e-7), say; what it costs adds to what the model costs."
        )
    given = SimpleNamespace(budget=budget, ledger=ledger, dataset=dataset, test_key=test_key)
    check_types(given, vars(given))
    asked = shares(coverage, quantiles)
    kind, names = GridKind(one_of("grid", grid, [*map(str, GridKind)])), chosen_names(declared, columns)
    inner, opened = _question(declared, names), declared.open(X, parts=True)
    source = chosen_columns(declared, names, opened, y)
    ranges = outer_ranges(declared)
    grids = {name: Grid(*found, kind) for name, found in ranges.items()}
    terms = ReleaseRequest(**terms_of(given, inner, neighbours) | {"what": "private_bounds"})

    least = 0.0

    def buy(prices: Any, allowance: Any) -> list[Any]:
        nonlocal least
        epsilon = allowance.selection_epsilon(len(names))
        # The share q of values beyond an end at which exp(ε₀ q n/(2m)) = ODDS; 0 without noise. One that still leaves the data lands beside it: the
        # base measure of the choice falls with the square of the width, so that all candidates beyond the data together weigh like a few dozen, and
        # those ten times as far like less than one.
        least = float(2.0 * prices.facts.records_per_unit / epsilon * math.log(ODDS) / prices.records)
        if quantiles is None and least > MOST:
            raise BudgetError(_too_little(prices.records, len(names)))
        cut = tuple(max(share, least) for share in asked) if quantiles is None else asked
        at = tuple(range(0, 2 * len(names), 2))
        columns = {"values": at, "missing": tuple(k + 1 for k in at), "grids": tuple(map(grids.get, names))}
        query = prices.price("quantiles", **columns, shares=cut, epsilon=epsilon, count=len(names))
        if not math.isinf(epsilon) and query.bound > LARGEST * query.sensitivity:
            raise BudgetError(
                f"Bounds of {len(names)} columns from {prices.records} records at this budget cannot be drawn exactly: in units of the noise "
                "their scores are too large for 64 bits. Nothing was charged or read. Spend more on them, or buy them from fewer records."
            )
        return [query]

    encoding = inner.encoding_for(source, fit_intercept=False)
    detail = {"columns": list(names), "shares": list(asked), "grid": str(kind)}
    found = run_question(terms, encoding, buy, lambda curator: curator.answer("quantiles"), source, detail=detail)
    about = found.queries[0].to_dict()
    ends = zip(names, found.found, strict=True)
    bounds = tuple((name, *outward(low, high, *ranges[name])) for name, (low, high) in ends)
    errors = (about["typical_rank_error"], about["usual_rank_error_95"], about["rank_error_95"])
    return PrivateBounds(declared, bounds, asked, tuple(about["shares"]), least, *errors, found.statement)


def outward(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """Bounds rounded outwards, to a decimal below a 500th of their distance: post-processing, for people to read.

    >>> outward(0.000188, 64.23, 0.0, 150.0)
    (0.0, 64.3)
    """
    digits = -math.floor(math.log10(high - low) - math.log10(500.0))
    if not -300 < digits < 300:
        return low, high
    unit = 10.0**-digits
    down, up = math.floor(low / unit + 1e-9) * unit, math.ceil(high / unit - 1e-9) * unit
    return max(least, round(down, digits)), min(most, round(up, digits))


def outer_domain(outer: Domain | Mapping[str, Any] | None, y: Any) -> Domain:
    """The outer ranges as a domain; y says which of a mapping's is the target's."""
    if isinstance(outer, Domain):
        if y is not None and not outer.targets:
            raise DomainError(
                "A target was given, and the outer domain declares no range for it. Declare target=(lo, hi), so wide that every physically possible value is inside."
            )
        return outer
    if not isinstance(outer, Mapping) or not outer:
        raise InvalidParameter(
            "Private bounds need outer ranges, declared without looking, as the records' own would reveal the largest of them: all that is physically "
            "possible, such as outer={'age': (0, 130), 'income': (0, 1e9)}. Too wide by a thousand costs little."
        )
    ranges = {str(name): spec for name, spec in outer.items()}
    target = y if isinstance(y, str) else (UNNAMED if y is not None else None)
    if target is not None and target not in ranges:
        raise DomainError(
            f"A target was given, and the outer ranges have none for {target!r}. Add outer={{..., {target!r}: (lo, hi)}}, so wide that "
            "every physically possible value is inside."
        )
    if target is None:
        return Domain(features=ranges)
    spec = ranges.pop(target)
    if not ranges:
        raise DomainError(
            "The outer ranges are those of the target alone, and a domain needs features. Pass outer=hb.Domain(features={...}, "
            "target=...), and columns=[...] with the target's name to buy bounds of it alone."
        )
    return Domain(features=ranges, target={target: spec} if isinstance(y, str) else spec)


def shares(coverage: float, quantiles: tuple[float, float] | None) -> tuple[float, float]:
    """The shares of values to cut off below and above."""
    if quantiles is None:
        why = "the share of values to keep, not all, as the smallest and the largest belong to single records; try 0.99"
        cut = (1.0 - positive("coverage", coverage, why, 1.0, 0.5)) / 2.0
        return cut, cut
    if not is_number(coverage) or coverage != COVERAGE:
        raise InvalidParameter(
            f"coverage={coverage!r} and quantiles={quantiles!r} were both given, and each says how much to cut off. Pass one of them."
        )
    if not isinstance(quantiles, list | tuple) or len(quantiles) != 2:
        raise InvalidParameter(f"Quantiles are a low and a high one, (0.005, 0.995), and {quantiles!r} was given.")
    low, high = quantiles
    if not is_number(low) or not is_number(high) or not (0.0 <= low < 0.5 < high <= 1.0 and (low, high) != (0.0, 1.0)):
        raise InvalidParameter(
            f"Quantiles lie on both sides of the middle, 0 ≤ low < 0.5 < high ≤ 1, not both at the ends, and {quantiles!r} was given. The "
            "smallest and the largest value belong to single records and cannot be released: try (0.005, 0.995)."
        )
    return float(low), float(1.0 - high)


def chosen_names(domain: Domain, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns to buy bounds of, in the domain's order."""
    known = tuple(outer_ranges(domain))
    columns = None if columns is None else names_of(columns, "columns")
    unknown = [str(name) for name in columns or () if name not in known]
    if unknown:
        raise InvalidParameter(
            f"Bounds of {unknown[0]!r} were asked, and the outer ranges are of {', '.join(map(repr, known))}. Declare one for it."
        )
    found = known if columns is None else tuple(name for name in known if name in columns)
    if not found:
        raise DomainError(
            "No numeric column has an outer range, so there is nothing to buy bounds of. Declare ranges: outer={'age': (0, 130)}."
        )
    return found


def chosen_columns(domain: Domain, names: tuple[str, ...], source: Table, y: Any) -> Table:
    """The chosen columns, and the unit's, as one table; raises every fault that the declared schema shows. A table in parts as it is: names choose its columns."""
    if source.parted:
        known = schema.target_columns(domain, y)
        if any(target.names[0] in names and target.column not in known for target in domain.targets):
            raise SchemaError(
                "Bounds of a target were asked of a table that is read in parts, and its column there is not named. Declare its range under that name, "
                "outer={..., 'cost': (0, 1e9)}, y='cost'. Nothing was charged."
            )
        return source
    parts: list[tuple[str, Table, int]] = []
    features = domain.feature_names
    if any(name in features for name in names):
        places = schema.feature_columns(source.schema, features, len(features), schema.role_columns(domain, y))
        parts += [(name, source, place) for name, place in zip(features, places, strict=True) if name in names]
    targets = [target.names[0] for target in domain.targets]
    if any(name not in features for name in names):
        holder, places = schema.open_target(domain, source, y, len(targets))
        schema.check_lengths(source, holder)
        parts += [(name, holder, place) for name, place in zip(targets, places, strict=True) if name in names]
    if domain.unit is not None:
        parts.append((domain.unit, *schema.open_role(domain, source, None, domain.unit, "unit")))
    return ChosenColumns(parts)


def _question(domain: Domain, names: tuple[str, ...]) -> Domain:
    """The domain under which ranks are counted: the chosen columns alone, missing values told apart."""
    ranges = outer_ranges(domain)
    return Domain(
        features={name: Numeric(*ranges[name], indicator=True) for name in names},
        unit=domain.unit,
        records_per_unit=domain.records_per_unit if domain.unit is not None else None,
        records=domain.records,
        quoted_line_breaks=domain.quoted_line_breaks,
    )


def _too_little(records: int, columns: int) -> str:
    of, by = f"{columns} column{'s' * (columns > 1)}", f"{records} record{'s' * (records > 1)}"
    fewer = " buy bounds of fewer columns (columns=[...])," if columns > 1 else ""
    return (
        f"Bounds of {of} from {by} at this budget would be mere chance: ends near the data's own could not be told from ends far outside of it. Nothing was charged or read. Spend more on them,{fewer} declare what is "
        "known of the values instead, or insist by quantiles=(low, high)."
    )
