"""The curator: the one object that holds rows. It answers what a plan has paid for, with noise, and nothing else.

Exceptions of its answers take nothing along: the frames of a traceback hold exact numbers, as local variables. What NumPy finds wrong with a
number is nobody's business either: whether it raises, warns or calls a function is the user's setting.
"""

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.curator import views
from hullabaloo.curator.query import Query
from hullabaloo.data import PartedRows, Rows
from hullabaloo.data.table import sealed
from hullabaloo.errors import NotPaidFor
from hullabaloo.forks import this_process
from hullabaloo.noise import Key, ReleaseKey


class Curator:
    """Holds encoded rows and answers queries.

    **Guarantee.** Every answer is the Gaussian or Laplace mechanism, a private selection or a perturbed minimiser on one query, at the noise that the query's
    event states; each query is answered at most `count` times, in the process that made the curator. So everything that leaves is
    bounded by the composition of the plan's events, however the questions depend on earlier answers (`privacy/composition.py`).
    """

    __slots__ = ("__alone", "__answered", "__kept", "__key", "__lock", "__owner", "__queries", "__rows", "__width")

    def __init__(self, rows: Rows | PartedRows, queries: Sequence[Query], *, key: Key | None = None) -> None:
        own = replace(rows) if isinstance(rows, Rows) else rows  # what is made of them ends with this curator
        self.__rows, self.__width, self.__key, self.__alone = own, rows.width, key, False
        self.__queries: Sequence[Query] = tuple(query.afresh() for query in queries)
        self.__answered: Counter[tuple[str, int]] = Counter()
        self.__kept: dict[Any, Any] = {}
        self.__lock, self.__owner = RLock(), this_process()

    def __part(
        self, view: Callable[[Rows], Rows], width: int, queries: Sequence[Query], key: Key | None, kept: dict[Any, Any]
    ) -> "Curator":
        """The same curator over its rows as a public map shows them; answers come out of the same payment."""
        part = object.__new__(Curator)
        with np.errstate(all="ignore"):
            part.__rows = views.seen(self.__rows, view, width)
        part.__width, part.__key, part.__queries, part.__kept = width, key, queries, kept
        part.__answered, part.__lock, part.__owner = self.__answered, self.__lock, self.__owner
        part.__alone = self.__alone
        return part

    def __repr__(self) -> str:
        return "Curator(<private rows>)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A curator holds private rows and cannot be pickled or copied: that would take them outside.")

    __getstate__ = __reduce__

    @sealed
    def answer(self, name: str, /, *given: Any, **named: Any) -> Any:
        """The private answer of the query of that name to the question (`Query.question` of its class says what is asked).

        Raises:
            NotPaidFor: no such answer is left.
        """
        if type(name) is not str:
            raise TypeError("a query is named by a plain text")
        query, _ = self.__next(name)
        question = query.question(*given, **named)  # may run anybody's code, which may ask, too
        with self.__lock:
            found, left = self.__next(name)
            times = query.times(question)
            if (some := left if found is query else 0) < times:
                rest = f"{some} are left, fewer than the {times} asked for" if some else "all have been given"
                raise NotPaidFor(
                    f"The plan paid for {query.count} answers to {query.name!r} and {rest}. A further answer would be an uncharged release; plan and charge for it first."
                )
            place = query.key_label, self.__width
            self.__answered[place] += times
            index, key = self.__answered[place], self.__key
        if isinstance(key, ReleaseKey):  # all views count together, by label and width: no two answers have one key
            key = key.derive(*place, index)
        elif key is not None:  # test keys leave out the width, as they always have
            key = key.derive(f"{place[0]}/{index}")
        with self.__lock, np.errstate(all="ignore"):  # whatever the question has set
            return query.answered(self.__rows, question, key, self.__kept)

    def __next(self, name: str) -> tuple[Query, int]:
        """The query by name and width of rows, and how many answers are left: one that was priced for other bounds or reads targets that are not here is never answered.

        Several queries of one name and width are used up one after the other, in the plan's order.
        """
        found, left, before = None, 0, 0
        for query in self.__queries:
            if query.name == name and len(query.facts.columns) == self.__width:
                found, left = query, query.count + before - self.__answered[query.key_label, self.__width]
                before += query.count
                if left > 0:
                    break
        # Asked when what is left is counted: a question's conversion may fork, too.
        if found is not None and this_process() == self.__owner and (not self.__alone or found.one_target):
            return found, left
        about = [(query.name, query.facts.width) for query in self.__queries]
        listed = [repr(own) if width == self.__width else f"{own!r} about {width} columns" for own, width in about]
        raise NotPaidFor(
            f"An answer to {name!r} about {self.__width} columns{' and one target alone' * self.__alone}{' in a forked child' * (this_process() != self.__owner)} was asked, but the plan paid for {', '.join(listed) or 'nothing'}. Plan and charge for it first."
        )

    @sealed
    def give_up(self, count: int) -> None:
        """Take the answers of the plan's first `count` queries as given: those that were not asked for never are."""
        before = Counter[tuple[str, int]]()
        for query in self.__queries[: operator.index(count)]:
            before[query.key_label, len(query.facts.columns)] += query.count
        with self.__lock:
            self.__answered |= before  # the larger of both, in place: of all views

    @sealed
    def of_target(self, target: int) -> "Curator":
        """The same curator, asked about one of the targets alone; its answers come out of the same payment, of queries that read one target."""
        number = operator.index(target)
        view = partial(views.of_target, target=number)
        part = self.__part(view, self.__width, self.__queries, self.__key, self.__kept)
        part.__alone = True
        return part

    @sealed
    def restricted(self, columns: npt.ArrayLike) -> "Curator":
        """The same curator, asked about a public selection of columns, and about the intercept, as last, if there is one.

        Answers come out of the same payment: of queries priced by `restricted(s)` for views of s columns.

        Raises:
            InvalidParameter: something else than distinct numbers of slopes.
            NotPaidFor: no answer was paid for that a view of so many columns could be asked for.
        """
        intercept = any(query.facts.intercept for query in self.__queries)
        found = views.public_columns(columns, self.__width - intercept)
        if all(query.facts.width != found.size + intercept for query in self.__queries):
            raise NotPaidFor(
                f"A view of {found.size} columns was asked, but the plan paid for no answer about so many. Price it by "
                f"prices.restricted({found.size}) and charge for it first."
            )
        key = None if self.__key is None else self.__key.derive(f"columns/{found.size}")
        view = partial(views.chosen_columns, columns=found, intercept=intercept)
        return self.__part(view, found.size + intercept, self.__queries, key, {})

    @sealed
    def projected(self, matrix: npt.ArrayLike) -> "Curator":
        """The same curator, its rows seen through a public matrix W, (p, k): x as `Wᵀx`, kept until they are asked for through another.

        Only `centred_gradient`, `gradient_moments` and `norm_histogram` can be asked of it, which shorten or sort each record whatever its length; every other query
        rests on declared bounds of rows. Answers come out of the same payment.

        Raises:
            InvalidParameter: a matrix without a row of finite numbers for every column.
            NotPaidFor: nothing was paid for that rows of k columns may be asked.
        """
        found = views.public_numbers(matrix, self.__width, "through a matrix", 2)
        paid = [query for query in self.__queries if query.any_matrix and query.facts.width == found.shape[1]]
        if not paid:
            raise NotPaidFor(
                f"Rows of {found.shape[1]} columns seen through a matrix were asked, but the plan paid for no step and no "
                "histogram of so many columns, and nothing else may be asked of such rows: their lengths are undeclared. "
                "Plan 'centred_gradient', 'gradient_moments' or 'norm_histogram' queries of that width first."
            )
        return self.__part(partial(views.turned_rows, matrix=found), found.shape[1], paid, self.__key, {})

    @sealed
    def centred(self, centre: npt.ArrayLike) -> "Curator":
        """The same curator, its rows seen from a public centre: x as x − m, in double the memory of a dense table.

        Only `coordinate_gradient` can be asked of it, which clips each record's contribution whatever the record is; every other query rests
        on declared bounds of rows. Answers come out of the same payment.

        Raises:
            InvalidParameter: a centre without a finite number for every column.
            NotPaidFor: no partial derivative was paid for.
        """
        found = views.public_numbers(centre, self.__width, "from a centre", 1)
        paid = [query for query in self.__queries if query.any_centre]
        if not paid:
            raise NotPaidFor(
                "Rows seen from a centre were asked, but the plan paid for no partial derivative, and nothing else may be asked of "
                "such rows: their lengths are undeclared. Plan a 'coordinate_gradient' query first."
            )
        return self.__part(partial(views.centred_rows, centre=found), self.__width, paid, self.__key, {})
