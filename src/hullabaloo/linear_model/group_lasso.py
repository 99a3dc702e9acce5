"""Private group lasso: whole groups of columns enter the model or stay out."""

from typing import ClassVar, final

from hullabaloo.data import Encoding
from hullabaloo.geometry import ConvexSet, GroupBall, GroupPenalty, NoPenalty, Penalty
from hullabaloo.linear_model.least_squares import LeastSquares
from hullabaloo.release.parameters import positive
from hullabaloo.structure.structure import Groups, column_groups


@final
class GroupLasso(LeastSquares):
    """Private group lasso: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `Σ_G ‖θ_G‖₂ ≤ r`, on the unit domain.

    Or with `λ Σ_G ‖θ_G‖₂` added. A group enters the model as a whole or stays out: all levels of a category, or columns
    that measure one thing.

    Default: `hb.GroupBall(groups, 1.0)`, a group for each feature: the columns of a category (and whether it is missing),
    a number with whether it is missing, an interaction.

    Three parameters more, which play no part where `constraint` or `penalty` is given:
        groups: lists of features, by name or by their place in the declaration, or of single encoded columns by name;
            what no list names is a group of its own, as by default. With a mapping its keys name the groups, for readers.
        radius: r of the default ball.
        strength: λ; when given, the default is `hb.GroupPenalty(groups, λ)` instead of the ball.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "GroupLasso"
    groups: Groups = None
    radius: float = 1.0
    strength: float | None = None

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        groups = column_groups(encoding, self.groups)
        if self.strength is not None:
            return None, GroupPenalty(groups, positive("strength", self.strength, "the weight of the groups' norms"))
        return GroupBall(groups, positive("radius", self.radius, "the radius of the default ball")), NoPenalty()
