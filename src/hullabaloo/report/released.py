"""What a card shows of a released model: its coefficients and the noise in them, and the declared domain that they act over.

One without privacy has none of its numbers on a card.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

from hullabaloo.data import INTERCEPT, Categorical, Domain, Numeric, transforms
from hullabaloo.inference.summary import Summary
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.release.release import DECLARED_PUBLIC
from hullabaloo.report.guarantee import finite
from hullabaloo.report.words import book, lines

Row = dict[str, Any]
WITHHELD = (
    "The coefficients are left out of this card, because nothing protects the records that they were computed from."
)


def coefficients(model: PrivateLinearModel) -> dict[str, Any] | None:
    """The coefficients of a private release with the known noise in them; None for a release that is not private.

    Everything here is computed from private answers and from public facts.
    """
    if not model.statement_.private:
        return None
    summary = model.summary()
    return {"confidence": summary.confidence, "note": summary.note, "rows": rows_of(model, summary)}


def rows_of(model: PrivateLinearModel, summary: Summary) -> list[Row]:
    """A summary's rows as JSON values, with how far each column can go."""
    lengths = {} if model.domain is None else spans(model.domain)
    found = []
    for row in summary.rows:
        said: Row = {"target": row.target, "measures": model._axis(row.target), "name": row.name}
        released = {"coefficient": float(row.coefficient), "estimate": finite(row.estimate)}
        errors = {"privacy_std": finite(row.privacy_error), "sampling_std": finite(row.sampling_error)}
        errors |= {name: finite(getattr(row, name)) for name in ("std_error", "statistic", "p_value")}
        span = None if row.name == INTERCEPT else lengths.get(row.name, 1.0)
        found.append({**said, **released, **errors, "low": finite(row.low), "high": finite(row.high), "span": span})
    return found


def domain_rows(domain: Domain) -> list[Row]:
    """One row per declared feature, then target, weight and unit: column, role, what was declared."""
    rows = [_feature(name, declared, domain.indicators) for name, declared in domain.features]
    declared = domain.to_dict()
    for role in ("target", "classes"):
        if role in declared:
            rows += _targets(role, declared[role], declared.get("target_fill"))
    if domain.weight is not None:
        rows.append(_row(domain.weight[0], "weight", bounds=[0.0, domain.weight[1]]))
    if domain.unit is not None:
        rows.append(_row(domain.unit, "unit of privacy", notes=[f"at most {domain.records_per_unit} records each"]))
    return rows


def domain_notes(domain: Domain, public: str | None) -> list[str]:
    """What was declared about rows as a whole; and that a table was declared public, where one was."""
    norm, radius = domain.row_norm or ("l2", 0.0)
    facts = {
        "norm": domain.row_norm is not None,
        "norm_name": book()["norms"][norm],
        "radius": radius,
        "as_parsed": domain.quoted_line_breaks,
        "products": ", ".join(f"{a} × {b}" for a, b in domain.interactions),
        "drops": domain.drops,
        "features": bool(domain.features),
        "indicators": domain.indicators,
    }
    return [*lines("domain", facts), *([] if public is None else [f"{DECLARED_PUBLIC} ({public})."])]


def spans(domain: Domain) -> dict[str, float]:
    """How far each encoded column can go in the user's units, from the declaration alone; 1 for a level or indicator."""
    found: dict[str, float] = {}
    by_feature: dict[str, list[str]] = {}
    for name, declared in domain.features:
        if isinstance(declared, Numeric):
            lo, hi = transforms.image(name, declared.transform, declared.lo, declared.hi)
            label = name if declared.transform == "identity" else f"{declared.transform}({name})"
            found[label] = hi - lo
            by_feature[name] = [label]
        else:
            by_feature[name] = [f"{name}={level}" for _, level in declared.encoded]
    for a, b in domain.interactions:
        for left, right in product(by_feature[a], by_feature[b]):
            found[f"{left}*{right}"] = found.get(left, 1.0) * found.get(right, 1.0)
    return found


def _feature(name: str, declared: Numeric | Categorical, indicators: bool) -> Row:
    notes = []
    if isinstance(declared, Categorical):
        if declared.baseline is not None:
            notes.append(f"baseline {declared.baseline}")
        row = _row(name, "feature", levels=[*map(str, declared.levels)])
    else:
        if declared.transform != "identity":
            notes.append(f"used as {declared.transform}({name})")
        if declared.fill is not None:
            notes.append(f"missing counts as {declared.fill:g}")
        row = _row(name, "feature", bounds=[declared.lo, declared.hi])
    if (indicators if declared.indicator is None else declared.indicator) is not indicators:
        notes.append("missing values marked" if declared.indicator else "missing values not marked")
    return {**row, "notes": notes}


def _targets(role: str, declared: Any, fills: Any) -> list[Row]:
    named = declared if isinstance(declared, dict) else {"target": declared}
    rows = []
    for name, values in named.items():
        fill = fills.get(name) if isinstance(fills, dict) else fills
        notes = [] if fill is None else [f"missing counts as {fill}"]
        levels, bounds = ([*map(str, values)], None) if role == "classes" else (None, [*map(float, values)])
        rows.append(_row(name, "target", bounds, levels, notes))
    return rows


def _row(name: str, role: str, bounds: Any = None, levels: Any = None, notes: Sequence[str] = ()) -> Row:
    return {"column": name, "role": role, "bounds": bounds, "levels": levels, "notes": list(notes)}
