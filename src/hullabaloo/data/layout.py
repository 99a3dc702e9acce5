"""Where each declared feature goes in an encoded row, what that costs in norm, and the way back to the user's units.

**Guarantee (row norms).** Call the encoded columns of one feature, or of one interaction, a group. Claim: a group has
at most one nonzero entry, of size at most 1, so its l1 and l2 norms are at most 1; hence a row of G groups
has ``‖x‖₂ ≤ √G, ‖x‖₁ ≤ G, ‖x‖_∞ ≤ 1``. Proof. Numeric: the value is in [−1, 1] and is 0 whenever the indicator is 1.
Categorical: a cell is one level, missing or unknown, so at most one of the columns is 1. Interaction: the products
u_s v_t of two groups' entries, each with at most one nonzero entry of size ≤ 1 (the missing indicators take no part; a
numeric factor is the single filled value, again in [−1, 1]).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hullabaloo.data import transforms
from hullabaloo.data.declarations import Declaration, Level, Numeric


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A numeric feature in an encoded row: x = (f(v) − mid)/half in column ``column``."""

    feature: str
    column: int
    indicator: int  # its column, or −1
    bounds: tuple[float, float]
    mid: float
    half: float
    fill: float  # scaled
    code: int
    label: str

    @property
    def places(self) -> tuple[int, ...]:
        """All its columns."""
        return (self.column,) if self.indicator < 0 else (self.column, self.indicator)


@dataclass(frozen=True, slots=True)
class OneHot:
    """A categorical feature in an encoded row: level number ``levels[i]`` has column ``columns[i]``."""

    feature: str
    all_levels: tuple[Level, ...]
    columns: tuple[int, ...]
    levels: tuple[int, ...]
    missing: int  # the column of "missing", or −1
    labels: tuple[str, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """All its columns."""
        return self.columns if self.missing < 0 else (*self.columns, self.missing)


@dataclass(frozen=True, slots=True)
class Products:
    """An interaction in an encoded row: ``factors[i]`` are the two places multiplied into ``columns[i]``."""

    features: tuple[str, str]
    columns: tuple[int, ...]
    factors: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The columns of an encoded row (without intercept) and the affine way back to the user's units.

    ``back`` holds the entries (i, j, value) of the (p, p + 1) matrix E: encoded column i equals ``E[i] @ (user columns, 1)``,
    where the user's columns have the same names: the (transformed) value with missing cells filled, 0/1 for a level or an indicator, and their products.
    """

    names: tuple[str, ...]
    numeric: tuple[NumericColumn, ...]
    onehot: tuple[OneHot, ...]
    products: tuple[Products, ...]
    back: tuple[tuple[int, int, float], ...]

    @property
    def features(self) -> tuple[NumericColumn | OneHot, ...]:
        """Where each feature went, numbers first."""
        return (*self.numeric, *self.onehot)

    @property
    def groups(self) -> int:
        """How many entries of a row can be nonzero at once (see the guarantee above)."""
        return len(self.numeric) + len(self.onehot) + len(self.products)


def scaling(feature: str, declared: Numeric, centred: bool) -> tuple[float, float, float]:
    """The scale of a numeric feature: (mid, half-width, scaled fill).

    ``centred`` maps the transformed bounds onto [−1, 1]. Otherwise (no intercept is fitted, so 0 must stay 0) the
    value is divided by the larger of the two bounds' sizes.
    """
    lo, hi = transforms.image(feature, declared.transform, declared.lo, declared.hi)
    middle, half = lo / 2 + hi / 2, hi / 2 - lo / 2
    fill = middle if declared.fill is None else transforms.find(declared.transform).value(declared.fill)
    if not centred:
        middle, half = 0.0, max(abs(lo), abs(hi))
    return middle, half, min(max((fill - middle) / half, -1.0), 1.0)


def make_layout(
    features: Mapping[str, Declaration], interactions: tuple[tuple[str, str], ...], indicators: bool, centred: bool
) -> Layout:
    """Lay the declared features out in their declared order, then the interactions."""
    names: list[str] = []
    numeric: list[NumericColumn] = []
    onehot: list[OneHot] = []
    for feature, declared in features.items():
        indicator = indicators if declared.indicator is None else declared.indicator
        start = len(names)
        if isinstance(declared, Numeric):
            mid, half, fill = scaling(feature, declared, centred)
            label = feature if declared.transform == "identity" else f"{declared.transform}({feature})"
            names.append(label)
            place = start + 1 if indicator else -1
            code = transforms.find(declared.transform).code
            bounds = (declared.lo, declared.hi)
            numeric.append(NumericColumn(feature, start, place, bounds, mid, half, fill, code, label))
        else:
            labels = tuple(f"{feature}={level}" for _, level in declared.encoded)
            names.extend(labels)
            columns = tuple(range(start, len(names)))
            places = tuple(i for i, _ in declared.encoded)
            onehot.append(OneHot(feature, declared.levels, columns, places, len(names) if indicator else -1, labels))
        if indicator:
            names.append(f"{feature}:missing")
    factors_of = {one.feature: (one.column,) for one in numeric} | {one.feature: one.columns for one in onehot}
    products: list[Products] = []
    for pair in interactions:
        factors = tuple((a, b) for a in factors_of[pair[0]] for b in factors_of[pair[1]])
        products.append(Products(pair, tuple(range(len(names), len(names) + len(factors))), factors))
        names.extend([f"{names[a]}*{names[b]}" for a, b in factors])
    back = _way_back(numeric, products, len(names))
    return Layout(tuple(names), tuple(numeric), tuple(onehot), tuple(products), back)


def _way_back(numeric: list[NumericColumn], products: list[Products], p: int) -> tuple[tuple[int, int, float], ...]:
    """The entries of E in encoded = E (user, 1); entries at the same place add up.

    Let u be the filled (transformed) value and d the indicator; w = (u − mid)/half is the filled scaled value. The
    encoded value is w where d = 0 and 0 where d = 1, which is w − fill·d as w = fill there. A product of encoded
    columns is w_a w_b = (u_a − m_a)(u_b − m_b)/(h_a h_b), expanded; a level column has m = 0, h = 1.
    """
    mid, half = [0.0] * p, [1.0] * p
    entries: list[tuple[int, int, float]] = []
    for c in numeric:
        mid[c.column], half[c.column] = c.mid, c.half
        entries.append((c.column, p, -c.mid / c.half))
        if c.indicator >= 0:
            entries.append((c.column, c.indicator, -c.fill))
    scale = half.copy()
    for block in products:
        for column, (a, b) in zip(block.columns, block.factors, strict=True):
            scale[column] = s = half[a] * half[b]
            entries += [(column, a, -mid[b] / s), (column, b, -mid[a] / s), (column, p, mid[a] * mid[b] / s)]
    entries += [(i, i, 1.0 / s) for i, s in enumerate(scale)]
    return tuple(entry for entry in entries if entry[2] != 0.0)


def norm_bounds(sparsity: int, clip: tuple[str, float] | None, structural: bool) -> tuple[float, float, float]:
    """(l1, l2, l∞) bounds of a row with at most ``sparsity`` nonzero entries, before the intercept.

    ``structural``: entries are in [−1, 1]. ``clip = (norm, r)``: ‖x‖_norm ≤ r, and by Hölder on the s nonzero entries
    ``‖x‖₂ ≤ ‖x‖₁ ≤ √s ‖x‖₂`` and ``‖x‖_∞ ≤ ‖x‖₂ ≤ √s ‖x‖_∞``.
    """
    s = float(sparsity)
    l1, l2, linf = (s, math.sqrt(s), min(s, 1.0)) if structural else (math.inf, math.inf, math.inf)
    if clip is not None:
        norm, r = clip
        root = math.sqrt(s)
        by = {"l1": (r, r, r), "l2": (root * r, r, r), "linf": (s * r, root * r, r)}[norm]
        l1, l2, linf = min(l1, by[0]), min(l2, by[1]), min(linf, by[2])
    return l1, l2, linf
