"""Private incremental linear regression: least squares that is current while records arrive."""

from typing import Any, ClassVar, final

from hullabaloo.curation.moments_process import MomentsProcess, open_moments
from hullabaloo.data import Encoding
from hullabaloo.geometry import Projectable, require
from hullabaloo.linear_model.shared import chosen
from hullabaloo.release.parameters import one_of
from hullabaloo.release.price import Price
from hullabaloo.solvers.moments.moments import solve_moments
from hullabaloo.streaming.noisy_projected_gradient import check_bounded, noisy_projected_gradient
from hullabaloo.streaming.price import price_of
from hullabaloo.streaming.regressor import StreamRegressor
from hullabaloo.structure.not_in_file import refuse_unknown


@final
class IncrementalRegression(StreamRegressor):
    """Private least squares over a stream: after every step, minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over the records so far.

    PrivIncReg1 of Kasiviswanathan, Nissim and Jin (2017): the running sums of `x xᵀ` and `x yᵀ` are released continually, as one
    stream of `a aᵀ`, `a = (x, κy)`, in place of two with half the budget each; every model is post-processing of them. Several
    targets share the release. A target of 0 and 1 makes a linear probability model.

    Parameters beyond those of every stream:
        solver: "moments" (default), which mends the noisy moments and solves to the last digits; or
            "noisy_projected_gradient", the paper's own procedure, for reference (a set is needed).

    Parameters, attributes and methods: see `PrivateStream`.

    Example:
        >>> import hullabaloo as hb
        >>> domain = hb.Domain(features={"a": (0, 10), "b": (0, 10)}, target=(-5, 5), indicators=False)
        >>> stream = hb.streaming.IncrementalRegression(
        ...     budget=hb.Budget(1.0, 1e-8), domain=domain, horizon=10_000, every=1_000
        ... )
        >>> for i in range(2_500):
        ...     stream.learn_one({"a": i % 11, "b": i % 7}, 0.3 * (i % 11) - 0.2 * (i % 7))
        >>> stream.position_, stream.released_at_, stream.coef_.shape
        (2500, 2000, (2,))
    """

    key_label: ClassVar[str] = "IncrementalRegression"
    solver: str = "moments"

    SOLVERS: ClassVar[tuple[str, ...]] = ("moments", "noisy_projected_gradient")

    def price(
        self, position: int | None = None, *, n_features: int | None = None, feature_names: list[str] | None = None
    ) -> Price:
        """What the stream costs, and what its model can be expected to gain once `position` records are in; charges nothing.

        Args:
            position: how many records are in; the horizon where it is left out.
            n_features, feature_names: the columns of a prepared matrix, where the domain is a `row_norm` only.
        """
        domain, scale, _ = self._declared()
        encoding = domain.encoding(feature_names, n_features, fit_intercept=bool(self.fit_intercept), scale=scale)
        process = self._open(encoding)
        return price_of(process.task, process, encoding, position)

    def _open(self, encoding: Encoding) -> MomentsProcess:
        constraint, penalty = chosen(self, encoding)
        refuse_unknown(constraint, penalty)
        if constraint is not None:
            require(constraint, [Projectable], "IncrementalRegression")
        paper = one_of("solver", self.solver, self.SOLVERS) == "noisy_projected_gradient"
        if paper:
            check_bounded(constraint)
        return open_moments(
            self._task(constraint, penalty), encoding, solve=noisy_projected_gradient if paper else solve_moments
        )

    def _settings(self) -> dict[str, Any]:
        return {"solver": self.solver}
