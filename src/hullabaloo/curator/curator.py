"""The curator: the one object that holds rows. It answers what a plan has paid for, with noise, and nothing else."""

import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.centred import centred_rows, public_centre
from hullabaloo.curator.choice import choose
from hullabaloo.curator.columns import chosen_columns, public_columns
from hullabaloo.curator.count import CountQuery, exact_count
from hullabaloo.curator.descent import Predictions, Updates
from hullabaloo.curator.given import number, numbers
from hullabaloo.curator.gradient import GradientQuery, exact_gradient
from hullabaloo.curator.lens import Lens
from hullabaloo.curator.minimizer import MinimizerQuery, kept_work, noisy_minimiser
from hullabaloo.curator.moments import MomentsQuery, exact_moments, symmetric
from hullabaloo.curator.partial import PartialQuery
from hullabaloo.curator.perturbed_minimizer import PerturbedMinimizerQuery, perturbed_minimiser
from hullabaloo.curator.quantiles import QuantilesQuery, choose_bounds
from hullabaloo.curator.query import NoisySum, Query
from hullabaloo.curator.repeated import Repeated
from hullabaloo.curator.scales import ScalesQuery, exact_scales
from hullabaloo.curator.score import ScoreQuery, exact_scores, public_coefficients
from hullabaloo.curator.sealed import sealed
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery, SecondMomentsQuery, exact_second_moments
from hullabaloo.curator.select import SelectQuery, public_intervals, public_mask
from hullabaloo.curator.spread import SpreadQuery, exact_spread
from hullabaloo.curator.step import MeansQuery, StepQuery, exact_means, exact_steps
from hullabaloo.curator.turned import public_matrix, turned_rows
from hullabaloo.curator.vertex import VertexQuery
from hullabaloo.data.source import Rows
from hullabaloo.errors import NotPaidFor
from hullabaloo.geometry.separable import SeparableForm
from hullabaloo.noise import Key, ReleaseKey, gaussian, laplace
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import Descent, NoisyMoments

Array = npt.NDArray[np.float64]
Q = TypeVar("Q", bound=Query)


class Curator:
    """Holds encoded rows and answers queries.

    **Guarantee.** Every answer is the Gaussian or Laplace mechanism, a private selection or a perturbed minimiser on one query, at the noise that the query's
    event states; each query is answered at most `count` times. So everything that leaves is bounded by the composition of the
    plan's events, however the questions depend on earlier answers (`privacy/composition.py`).
    """

    __slots__ = ("__answered", "__kept", "__key", "__predictions", "__quotes", "__rows")

    def __init__(self, rows: Rows, quotes: Sequence[Query], *, key: Key | None = None) -> None:
        self.__rows = rows
        self.__quotes = tuple(quotes)
        self.__key = key
        self.__answered: Counter[tuple[str, int]] = Counter()
        self.__predictions = Predictions(rows)
        self.__kept: dict[int, Repeated] = {}

    def __repr__(self) -> str:
        return "Curator(<private rows>)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A curator holds private rows and cannot be pickled or copied: that would take them outside.")

    __getstate__ = __reduce__

    @sealed
    def of_target(self, target: int) -> "Curator":
        """The same curator, asked about one of the targets alone; its answers come out of the same payment."""
        rows = self.__rows
        column = np.ascontiguousarray(rows.Y[:, [operator.index(target)]])
        part = Curator(Rows(rows.X, column, rows.weight, rows.offset), self.__quotes, key=self.__key)
        part.__answered = self.__answered
        part.__predictions = self.__predictions.of(part.__rows)
        return part

    @sealed
    def of_columns(self, columns: npt.ArrayLike) -> "Curator":
        """The same curator, asked about a public selection of columns, and about the intercept, as last, if there is one.

        Answers come out of the same payment: of quotes made by `menu.of_columns(s)` for views of s columns.

        Raises:
            InvalidParameter: something else than distinct numbers of slopes.
            NotPaidFor: no answer was paid for that a view of so many columns could be asked for.
        """
        width = self.__rows.X.shape[1]
        intercept = any(query.facts.intercept for query in self.__quotes)
        found = public_columns(columns, width - intercept)
        if all(query.facts.width != found.size + intercept for query in self.__quotes):
            raise NotPaidFor(
                f"A view of {found.size} columns was asked, but the plan paid for no answer about so many. Quote it by "
                f"menu.of_columns({found.size}) and charge for it first."
            )
        key = None if self.__key is None else self.__key.derive(f"columns/{found.size}")
        part = Curator(chosen_columns(self.__rows, found, intercept), self.__quotes, key=key)
        part.__answered = self.__answered
        return part

    @sealed
    def turned(self, matrix: npt.ArrayLike) -> "Curator":
        """The same curator, its rows seen through a public matrix W, (p, k): x as `Wᵀx`, computed once.

        Only `step` and `scales` can be asked of it, which shorten or sort each record whatever its length; every other query
        rests on declared bounds of rows. Answers come out of the same payment.

        Raises:
            InvalidParameter: a matrix without a row of finite numbers for every column.
            NotPaidFor: nothing was paid for that rows of k columns may be asked.
        """
        found = public_matrix(matrix, self.__rows.X.shape[1])
        paid = [query for query in self.__quotes if isinstance(query, StepQuery | ScalesQuery)]
        paid = [query for query in paid if query.facts.width == found.shape[1]]
        if not paid:
            raise NotPaidFor(
                f"Rows of {found.shape[1]} columns seen through a matrix were asked, but the plan paid for no step and no "
                "histogram of so many columns, and nothing else may be asked of such rows: their lengths are undeclared. "
                "Plan 'step' or 'scales' queries of that width first."
            )
        part = Curator(turned_rows(self.__rows, found), paid, key=self.__key)
        part.__answered = self.__answered
        return part

    @sealed
    def centred(self, centre: npt.ArrayLike) -> "Curator":
        """The same curator, its rows seen from a public centre: x as x − m, in double the memory of a dense table.

        Only `descend` can be asked of it, which clips each record's contribution whatever the record is; every other query rests
        on declared bounds of rows. Answers come out of the same payment.

        Raises:
            InvalidParameter: a centre without a finite number for every column.
            NotPaidFor: no partial derivative was paid for.
        """
        found = public_centre(centre, self.__rows.X.shape[1])
        paid = [query for query in self.__quotes if isinstance(query, PartialQuery)]
        if not paid:
            raise NotPaidFor(
                "Rows seen from a centre were asked, but the plan paid for no partial derivative, and nothing else may be asked of "
                "such rows: their lengths are undeclared. Plan a 'partial' query first."
            )
        part = Curator(centred_rows(self.__rows, found), paid, key=self.__key)
        part.__answered = self.__answered
        return part

    @sealed
    def gradient(self, theta: Array) -> Array:
        """The noisy mean of clipped per-record gradients at θ, shape (p,)."""
        query, index = self.__spend(GradientQuery)
        return self.__noisy(query, exact_gradient(self.__rows, query, numbers(theta)), index) / query.records

    @sealed
    def means(self) -> Array:
        """The noisy means of the encoded columns, shape (p,)."""
        query, index = self.__spend(MeansQuery)
        return self.__noisy(query, exact_means(self.__rows, query), index) * (query.reach / query.records)

    @sealed
    def scales(self, theta: Array | None, *, centre: Array, lift: float, edges: Array) -> Array:
        """Noisy shares of the records whose `|φ'| ‖u‖` lies below, between and above the edges; θ None: of ‖u‖."""
        query, index = self.__spend(ScalesQuery)
        point, lens = None if theta is None else numbers(theta), Lens(numbers(centre), number(lift))
        exact = exact_scales(self.__rows, query, point, lens, numbers(edges))
        return self.__noisy(query, exact, index) / query.records

    @sealed
    def step(self, theta: Array, *, centre: Array, lift: float, reach: float) -> Array:
        """The noisy mean of gradients by coefficients of `x − m` at θ, each shortened to `reach`, shape (p,)."""
        query, index = self.__spend(StepQuery)
        lens, reach = Lens(numbers(centre), number(lift)), number(reach)
        noisy = self.__noisy(query, exact_steps(self.__rows, query, numbers(theta), lens, reach), index)
        return noisy * (reach / query.records) / lens.scale(query.facts)

    @sealed
    def spread(self, *, centre: Array, reach: float) -> Array:
        """The noisy mean of `(x − m)(x − m)ᵀ`, records shortened to `reach`, the constant column left out, (q, q)."""
        query, index = self.__spend(SpreadQuery)
        reach = number(reach)
        noisy = self.__noisy(query, exact_spread(self.__rows, query, numbers(centre), reach), index)
        return symmetric(noisy, query.size) * (reach**2 / query.records)

    @sealed
    def vertex(self, theta: Array) -> int:
        """The number of a vertex of the set, chosen by the gradient at θ."""
        query, index = self.__spend(VertexQuery)
        return choose(self.__rows, query, numbers(theta), None, self.__derived(query, index))

    @sealed
    def select(
        self,
        theta: Array,
        excluded: npt.ArrayLike | None = None,
        *,
        clip: float | None = None,
        scales: Sequence[float] | None = None,
        within: tuple[Array, Array] | None = None,
    ) -> int:
        """A coordinate that is not excluded, chosen by its mean partial derivative g_j at θ, at another clip or scales if so asked.

        With `within` the score is the distance of −g_j to `[l_j, u_j]`: a penalty's subdifferential at θ, for what a step would change.
        """
        theta = numbers(theta)
        mask, between = public_mask(excluded, theta.size), public_intervals(within, theta.size)
        changed: dict[str, Any] = {
            "clip": None if clip is None else number(clip),
            "scales": None if scales is None else tuple(map(number, scales)),
        }
        changed = {name: value for name, value in changed.items() if value is not None}
        for quote in self.__quotes if changed else ():
            if isinstance(quote, SelectQuery):
                replace(quote, **changed)  # refuses what is no clip or no scales before anything is spent
        query, index = self.__spend(SelectQuery)
        return choose(self.__rows, replace(query, **changed), theta, mask, self.__derived(query, index), between)

    @sealed
    def descend(
        self, theta: Array, *, order: npt.NDArray[np.int64], clips: Array, steps: Array, form: SeparableForm
    ) -> Descent:
        """`θ_j ← prox_at(j, θ_j − γ_j g̃_j, γ_j)` for each j in `order`, g̃ the noisy mean of derivatives clipped to ±C_j."""
        updates = Updates(theta, order, clips, steps, form)
        updates.check(self.__rows.X.shape[1])
        query, index = self.__spend(PartialQuery, updates.order.size)
        return self.__predictions.descend(query, updates, self.__derived(query, index))

    @sealed
    def minimizer(self, linear: Array | None = None) -> Array:
        """The noisy minimiser of the regularised loss plus a public linear term, shape (p,), or (p, k) for a vector loss."""
        query, index = self.__spend(MinimizerQuery)
        if id(query) not in self.__kept:
            self.__kept[id(query)] = kept_work(self.__rows, query)
        linear = None if linear is None else numbers(linear)
        return noisy_minimiser(query, linear, self.__derived(query, index), self.__kept[id(query)])

    @sealed
    def perturbed_minimizer(self) -> Array:
        """The minimiser of the randomly perturbed objective, shape (p,)."""
        query, index = self.__spend(PerturbedMinimizerQuery)
        return perturbed_minimiser(self.__rows, query, self.__derived(query, index))

    @sealed
    def moments(self) -> NoisyMoments:
        """The joint noisy moments in mean form, on the unit domain."""
        query, index = self.__spend(MomentsQuery)
        sums = symmetric(self.__noisy(query, exact_moments(self.__rows, query), index), query.width)
        scales, p = query.scales, query.facts.width
        means = sums / (scales[:, None] * scales[None, :]) / query.records
        return NoisyMoments(
            gram=means[:p, :p],
            cross=means[:p, p:],
            square=means[p:, p:],
            sigma=query.sigma,
            scale_x=query.facts.norm_l2,
            scale_y=query.scale_y,
            target_scale=query.target_scale,
            records=query.records,
            counted=query.neighbours is Neighbours.REPLACE_ONE and query.facts.alike,
        )

    @sealed
    def second_moments(self) -> Array:
        """The noisy mean of squares of every column, shape (p,)."""
        query, index = self.__spend(SecondMomentsQuery)
        return self.__noisy(query, exact_second_moments(self.__rows, query), index) / query.records

    @sealed
    def second_moments_laplace(self) -> Array:
        """The same with Laplace noise, shape (p,)."""
        query, index = self.__spend(LaplaceSecondMomentsQuery)
        exact = exact_second_moments(self.__rows, query)
        if query.scale:
            exact = laplace(exact, query.scale, bound=query.bound, key=self.__derived(query, index))
        return exact / query.records

    @sealed
    def score(self, theta: npt.ArrayLike) -> Array:
        """The noisy sums of the tallies of coefficients θ, (p, k), and of the number of records where the query has it."""
        query, index = self.__spend(ScoreQuery)
        return self.__noisy(query, exact_scores(self.__rows, query, public_coefficients(query, theta)), index)

    @sealed
    def quantiles(self) -> list[tuple[float, float]]:
        """Private bounds of every column that was paid for, lo < hi, in the user's units."""
        paid = next((query.count for query in self.__quotes if isinstance(query, QuantilesQuery)), 1)
        query, index = self.__spend(QuantilesQuery, paid)
        key = self.__derived(query, index)
        keys = [None if key is None else key.derive(number) for number in range(query.count)]
        return [choose_bounds(self.__rows, query, number, keys[number]) for number in range(query.count)]

    @sealed
    def count(self) -> float:
        """The noisy number of records."""
        query, index = self.__spend(CountQuery)
        return float(self.__noisy(query, np.array([float(exact_count(self.__rows))]), index)[0])

    def __spend(self, kind: type[Q], times: int = 1) -> tuple[Q, int]:
        """The quote by kind and width of rows: one that was priced for other bounds is never answered.

        Several quotes of one kind and width are used up one after the other, in the plan's order.
        """
        width = self.__rows.X.shape[1]
        alike = [query for query in self.__quotes if isinstance(query, kind) and query.facts.width == width]
        before = 0
        for query in alike:
            answered, before = self.__answered[query.key_label, width] - before, before + query.count
            left = query.count - answered
            if left <= 0 and query is not alike[-1]:
                continue
            if left < times:
                rest = f"{left} are left, fewer than the {times} asked for" if left else "all have been given"
                raise NotPaidFor(
                    f"The plan paid for {query.count} answers to {query.name!r} and {rest}. A further answer would be "
                    "an uncharged release; plan and charge for it first."
                )
            self.__answered[query.key_label, width] += times
            return query, self.__answered[query.key_label, width]
        about = [(query.name, query.facts.width) for query in self.__quotes]
        named = [repr(name) if other == width else f"{name!r} about {other} columns" for name, other in about]
        paid = ", ".join(named) or "nothing"
        raise NotPaidFor(
            f"An answer to {kind.name!r} about {width} columns was asked, but the plan paid for {paid}. Plan and charge for it "
            "first."
        )

    def __noisy(self, query: NoisySum, exact: Array, index: int) -> Array:
        sigma = query.sigma
        if sigma == 0.0:
            return exact
        return gaussian(exact, sigma, bound=query.bound, key=self.__derived(query, index))

    def __derived(self, query: Query, index: int) -> Key | None:
        """The key of one answer: all views count their answers together, by label and width, so that no two have one release key.

        (Test keys leave out the width, as they always have.)
        """
        key = self.__key
        if isinstance(key, ReleaseKey):
            return key.derive(query.key_label, self.__rows.X.shape[1], index)
        return None if key is None else key.derive(f"{query.key_label}/{index}")
