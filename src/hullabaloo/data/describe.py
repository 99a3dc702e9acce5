"""`Domain.describe`: what was declared, how it is scaled, and what each choice costs in noise. All of it is public."""

import math
import textwrap

from hullabaloo.data.declarations import Numeric
from hullabaloo.data.domain import Domain
from hullabaloo.data.encoding import Encoding
from hullabaloo.data.layout import Layout, NumericColumn, OneHot, Products
from hullabaloo.data.targets import BoundedTarget
from hullabaloo.tables import text_table

Row = tuple[str, str, str, str]


def describe(domain: Domain, fit_intercept: bool) -> str:
    """The text of ``Domain.describe``."""
    if not domain.features:
        return _wrapped([*_prepared(domain, fit_intercept), *_rest(domain, fit_intercept)])
    encoding = domain.encoding(fit_intercept=fit_intercept)
    assert encoding.layout is not None
    head = ("column", "declared", "encoded as", "share of B²")
    table = text_table([head, *_rows(domain, encoding, encoding.layout)])
    table.insert(1, "-" * max(map(len, table)))
    text = _wrapped([*_norms(encoding), *_costs(encoding.layout, fit_intercept), *_rest(domain, fit_intercept)])
    return "\n".join([*table, "", text])


def _wrapped(lines: list[str]) -> str:
    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  " * line.startswith("  ")) for line in lines) + "\n"


def _rows(domain: Domain, encoding: Encoding, layout: Layout) -> list[Row]:
    declared = dict(domain.features)
    share = f"{1.0 / (layout.groups + encoding.fit_intercept):.1%}"
    rows: list[Row] = []
    for block in sorted(layout.features, key=lambda block: domain.feature_names.index(block.feature)):
        if isinstance(block, NumericColumn):
            rows += _numeric_rows(block, declared[block.feature], share)
        else:
            rows += _level_rows(block, share)
    for products in layout.products:
        rows += _product_rows(products, layout, share)
    if encoding.fit_intercept:
        rows.append(("(intercept)", "", "1", share))
    return rows


def _numeric_rows(block: NumericColumn, declared: object, share: str) -> list[Row]:
    assert isinstance(declared, Numeric)
    centre = "" if block.mid == 0 else f" {'-' if block.mid > 0 else '+'} {abs(block.mid):.6g}"
    bounds = f"[{block.bounds[0]:g}, {block.bounds[1]:g}]"
    encoded = f"({block.label}{centre}) / {block.half:.6g}" if centre else f"{block.label} / {block.half:.6g}"
    filled = "the middle" if declared.fill is None else f"{declared.fill:g}"
    if block.indicator < 0:
        return [(block.label, bounds, f"{encoded}; missing = {filled}", share)]
    note = f"1 when missing, then the value is {filled}"
    return [(block.label, bounds, encoded, share), (f"{block.feature}:missing", "", note, "shared")]


def _level_rows(block: OneHot, share: str) -> list[Row]:
    rows: list[Row] = [(label, "level", "0 or 1", "shared") for label in block.labels]
    if block.missing >= 0:
        rows.append((f"{block.feature}:missing", "", "0 or 1", "shared"))
    dropped = [level for i, level in enumerate(block.all_levels) if i not in block.levels]
    if dropped:
        rows.append((f"({block.feature}={dropped[0]})", "baseline", "no column", "shared"))
    return [(*rows[0][:3], share), *rows[1:]] if rows else []


def _product_rows(products: Products, layout: Layout, share: str) -> list[Row]:
    names = [layout.names[column] for column in products.columns]
    return [(name, "interaction", "product of its factors", "shared" if i else share) for i, name in enumerate(names)]


def _norms(encoding: Encoding) -> list[str]:
    facts = encoding.facts
    clipped = encoding.domain.row_norm
    lines = [
        f"A row's norm is at most B = {facts.norm_l2:.4g} (l2), {facts.norm_l1:.4g} (l1), {facts.norm_linf:.4g} (l∞), "
        f"with {facts.width} columns. Columns marked 'shared' are never nonzero together with their feature's other columns, so a whole feature takes one share.",
        "The noise of a gradient grows like B, that of moments like B².",
    ]
    if clipped is not None:
        lines.append(
            f"Encoded rows are clipped to {clipped[0]} norm {clipped[1]:g} (row_norm), intercept apart: less noise, bought by shrinking the rows that are longer."
        )
    return lines


def _costs(layout: Layout, fit_intercept: bool) -> list[str]:
    count = layout.groups + fit_intercept
    bound = math.sqrt(count)

    def other(word: str, count: int) -> str:
        ratio = math.sqrt(count) / bound
        return f"  one feature or interaction {word}: B from {bound:.4g} to {math.sqrt(count):.4g}, noise × {ratio:.3f} (gradient), × {count / bound**2:.3f} (moments)"

    lines = ["", "What each choice costs (before any clipping by row_norm):"]
    lines += [other("less", count - 1)] if count > 1 else []
    lines.append(other("more", count + 1))
    indicators = sum(c.indicator >= 0 for c in layout.numeric) + sum(b.missing >= 0 for b in layout.onehot)
    lines += [
        f"  a missing indicator (here {indicators}): B stays, one column more to learn",
        "  a level, or a baseline: B stays, one column more, or less, to learn",
        "  bounds twice as wide: B stays, the coefficient's noise in the user's units doubles against the same data",
    ]
    return lines


def _prepared(domain: Domain, fit_intercept: bool) -> list[str]:
    assert domain.row_norm is not None
    norm, radius = domain.row_norm
    bound = "" if not fit_intercept else " and the intercept column is 1"
    return [
        f"A prepared matrix of any width. Rows outside the {norm} ball of radius {radius:g} are rescaled onto it, "
        f"cells that are no number are 0, all is divided by {radius:g}: a row's {norm} norm is at most 1{bound}.",
        "The noise of a coefficient in the user's units is proportional to the radius, while few rows are rescaled.",
    ]


def _rest(domain: Domain, fit_intercept: bool) -> list[str]:
    lines: list[str] = []
    for target in domain.targets:
        if isinstance(target, BoundedTarget):
            mid, half = target.scale(fit_intercept)
            fill = "the middle" if target.fill is None else f"{target.fill:g}"
            lines.append(
                f"Target {target.names[0]}: [{target.lo:g}, {target.hi:g}], encoded as (y - {mid:.6g}) / {half:.6g}; missing = {fill}. Noise in its units is proportional to {half:.6g}."
            )
        else:
            first = target.classes[0] if target.fill is None else target.fill
            way = "-1 and +1" if len(target.classes) == 2 else "one column a class, +1 for it and -1 for the others"
            lines.append(f"Target: classes {list(target.ordered)}, encoded as {way}; missing or undeclared = {first}.")
    if domain.drops:
        lines.append(
            "A record whose target is missing is left out: its weight is 0, whatever is said above of a missing one."
        )
    if domain.weight is not None:
        name, largest = domain.weight
        lines.append(
            f"Weights {name!r} are clipped to [0, {largest:g}]: noise is × 2 where they are half of it on average."
        )
    if domain.unit is not None:
        lines.append(
            f"A unit is all records with the same {domain.unit!r}, of which {domain.records_per_unit} count (of a table those with the "
            f"smallest hash, of a stream the first): the noise of every sum is × {domain.records_per_unit}. Records without one count nothing."
        )
    if domain.records is not None:
        lines.append(f"Nominal number of records: {domain.records} (public; sums are divided by it).")
    if domain.quoted_line_breaks:
        lines.append(
            "Records of a CSV file are as parsed: quoted cells may hold line breaks, so a record that closes no quote takes those after it with it."
        )
    return ["", *lines] if lines else []
