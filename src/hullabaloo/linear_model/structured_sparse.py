"""Private models with structured sparsity: a structure, the ball or penalty made of it, and what was selected."""

from abc import ABC
from typing import ClassVar

from hullabaloo.data import Encoding
from hullabaloo.geometry import ConvexSet, Penalty, SubmodularBall, SubmodularPenalty
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.classification import LogisticClassifier
from hullabaloo.linear_model.regression import LeastSquares
from hullabaloo.structure.structure import Structure, shape_of
from hullabaloo.structure.structure_files import function_in_words, structure_in_words


class StructuredSparse(PrivateLinearModel, ABC):
    """A private linear model whose support has a structure that was declared; see a concrete one for what it minimises.

    Default: `hb.SubmodularBall(F, radius · min_j F({j}))`, F the set function of the structure on the encoded columns. The
    divisor makes radii of different structures comparable: a coefficient alone may be as large as `radius` (if its column is
    one of the cheapest; with `structure=None` and one column a feature the ball is exactly `hb.L1Ball(radius)`).

    Three parameters more, which play no part where `constraint` or `penalty` is given:
        structure: which features belong together. All columns of a feature count as the feature.
            - a list of groups of features by name or place, which may overlap, or a mapping whose values are such lists; what
              none of them names is a group of its own. Ω sets whole groups to zero.
            - "intervals": contiguous runs of features in their declared order (spectra, time lags, genes on a chromosome).
            - `hb.FeatureTree({"child": "parent"})`: a child enters only with its parents.
            - `hb.FeatureGrid(rows, columns)`: the features are pixels, row by row; rectangles, or with `window=3` what is left
              when windows of 3 × 3 pixels vanish.
            - an `hb.SetFunction` of the encoded columns, such as `hb.BoundedCardinality(3)`.
            - a function from a frozenset of features (their names, or places in a matrix without names) to a number: it must
              be submodular, nondecreasing, 0 for the empty set and above 0 otherwise, which is checked on examples. A saved
              model does not hold it, and cannot be fitted again without it.
            - None: each feature enters alone.
        radius: the largest that one coefficient alone may be. Several together may be as large as the structure allows: with None
            their sum is at most the radius, with "intervals" all p of them may be half of it, so that 1 seldom binds there.
        strength: λ; when given, the default is `hb.SubmodularPenalty(F, λ / min_j F({j}))` instead of the ball, and `radius` plays
            no part.

    For zeros that are exact take `solver="moments"` or "objective_perturbation"; see `selected_`.
    """

    structure: Structure = None
    radius: float = 1.0
    strength: float | None = None

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return shape_of(self.structure, self.radius, self.strength, encoding)

    def _structure_in_words(self) -> str:
        """The structure that the fit was asked for, in a few words; "" where another set or penalty was."""
        given = self.constraint if self.constraint is not None else self.penalty
        if isinstance(given, SubmodularBall):
            return f"{function_in_words(given.function)}; radius {given.radius:g}"
        if isinstance(given, SubmodularPenalty):
            return f"{function_in_words(given.function)}; strength {given.strength:g}"
        size = f"radius {self.radius:g}" if self.strength is None else f"strength {self.strength:g}"
        return "" if given is not None else f"{structure_in_words(self.structure)}; {size}, for one coefficient alone"

    def _meaning(self) -> str:
        words = self._structure_in_words()
        return " ".join(filter(None, [super()._meaning(), f"Structure: {words}." if words else ""]))


class StructuredSparseClassifier(StructuredSparse, LogisticClassifier):
    """Private classification with structured sparsity: minimise `(1/n) Σ log(1 + exp(−y_i (⟨x_i, θ⟩ + b)))` over `Ω(θ) ≤ r`.

    On the unit domain, y = ±1; or with `λ Ω(θ)` added. Ω is the norm of a submodular set function F (Bach 2010): it favours
    supports that F makes cheap, such as contiguous runs, unions or complements of groups, or subtrees with their root. Of
    more than two classes: one against the rest for each, with a structure of its own. The classes are declared,
    `Domain(classes=[...])`.

    Default, structure, radius and strength: see `StructuredSparse`.

    Parameters, attributes and methods: see `PrivateLinearModel`. `selected_` names the columns that entered.
    """

    key_label: ClassVar[str] = "StructuredSparseClassifier"


class StructuredSparseRegression(StructuredSparse, LeastSquares):
    """Private regression with structured sparsity: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `Ω(θ) ≤ r`, on the unit domain.

    Or with `λ Ω(θ)` added. Ω is the norm of a submodular set function F (Bach 2010): it favours supports that F makes cheap,
    such as contiguous runs, unions or complements of groups, or subtrees with their root.

    Default, structure, radius and strength: see `StructuredSparse`.

    Parameters, attributes and methods: see `PrivateLinearModel`. `selected_` names the columns that entered.
    """

    key_label: ClassVar[str] = "StructuredSparseRegression"
