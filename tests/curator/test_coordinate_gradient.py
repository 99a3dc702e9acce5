"""Coordinate updates: their answers, their noise, and their sensitivity on real neighbours."""

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression

from hullabaloo.curator import CoordinateGradientQuery, Curator
from hullabaloo.curator import coordinate_kernels as kernels
from hullabaloo.curator.coordinate_gradient import Predictions, Updates
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.geometry import (
    Box,
    ElasticNetPenalty,
    L1Penalty,
    NoPenalty,
    PenaltyWithFreeIntercept,
    SeparableForm,
    SeparablePenalty,
    SquaredL2Penalty,
    separable_form,
)
from hullabaloo.losses import Huber, Logistic, Loss, Pinball, Poisson, SmoothedHinge, Squared, custom_loss
from hullabaloo.losses.kernels import derivative
from hullabaloo.noise import ReleaseKey, TestKey, gaussian, inflated
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers.coordinate.updates import descend
from tests.curator.neighbours import RELATIONS, TABLES, facts, pairs, random_rows, reordered

LOSSES: list[Loss] = [
    Squared(),
    Huber(0.3),
    Pinball(0.2),
    Logistic(),
    Poisson(),
    SmoothedHinge(0.5),
    custom_loss(lambda r: math.exp(r) - r, of="residual", name="linex", reach=3.0),
    custom_loss(lambda m: math.exp(-m), of="margin", name="exponential", reach=3.0),
]
NAMES = [loss.name for loss in LOSSES]
KEY = TestKey(bytes(32))


def as_sparse(rows: Rows) -> Rows:
    return replace(rows, X=sp.csr_array(rows.X))


def pinned(values: np.ndarray) -> SeparableForm:
    """A form that moves each coordinate to a given number, whatever the answer was."""
    zeros = np.zeros(values.size)
    return SeparableForm(zeros, zeros, values, values)


def random_updates(rng: np.random.Generator, p: int, count: int, form: SeparableForm | None = None) -> Updates:
    """Arbitrary public choices, far beyond what is sensible."""
    wild = 10.0 ** rng.integers(-3, 200) if rng.random() < 0.3 else 1.0
    theta = wild * rng.normal(size=p) * (rng.random(p) < 0.7)
    clips, steps = 10.0 ** rng.uniform(-8.0, 4.0, p), 10.0 ** rng.uniform(-3.0, 3.0, p)
    order = rng.integers(0, p, count)
    return Updates(theta, order, clips, steps, form or pinned(wild * rng.normal(size=p)))


def written_out(rows: Rows, query: CoordinateGradientQuery, updates: Updates, key: TestKey) -> tuple[np.ndarray, ...]:
    """θ, the mean of iterates and the answers by the definition: dense, one record array at a time, noise when it is due."""
    X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
    y, weight = rows.Y[:, 0], np.ones(len(X)) if rows.weight is None else rows.weight
    code, unit = int(query.loss.kernel_code), 2.0**-query.exponent
    residual = code in kernels.RESIDUAL_CODES
    z = np.zeros(len(X)) if rows.offset is None else rows.offset.copy()
    z = z - y if residual else z
    for j in np.flatnonzero(updates.theta):
        z = z + updates.theta[j] * X[:, j]
    loss = (code, np.atleast_1d(query.loss.kernel_parameter), getattr(query.loss, "clip", kernels.HUGE))
    theta, iterates, answers, exact = updates.theta.copy(), [], [], []
    for j in updates.order:
        slope = np.empty(len(X))
        kernels.slopes(loss, z, np.zeros(0) if residual else y, slope)
        shares = np.clip((slope * (1.0 / updates.clips[j])) * X[:, j], -1.0, 1.0) * weight
        exact.append(float(sum(int(cell) for cell in np.rint(shares * unit))) / unit)
        # the noise of the k-th answer is that of the k-th number of one call
        noisy = gaussian(exact, query.sigma, bound=query.bound, key=key)[-1]
        answers.append(updates.clips[j] * (noisy / query.records))
        step = updates.steps[j]
        new = updates.form.prox_at(j, theta[j] - step * answers[-1], step)
        z = z + (new - theta[j]) * X[:, j]
        theta[j] = new
        iterates.append(theta.copy())
    return theta, np.mean(iterates, axis=0), np.array(answers)


@pytest.mark.few(6)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_no_neighbour_moves_an_answer_by_more_than_the_sensitivity(relation: Neighbours, about: RowFacts) -> None:
    """Tests: 004, Coordinate-wise clipping."""
    rng = np.random.default_rng(41)
    p, largest, bound = about.width, 0.0, 0.0
    for number, (left, right) in enumerate(pairs(rng, relation, about, rounds=80)):
        query = CoordinateGradientQuery(about, relation, 20, 100, 0.5, LOSSES[number % len(LOSSES)])
        tables = [left, right] if number % 2 else [as_sparse(left), as_sparse(right)]
        rooms = [Predictions(rows) for rows in tables]
        bound = inflated(query.sensitivity, query.sigma, 1, query.bound)
        for _ in range(3):  # from an arbitrary point, from there to another one, …
            updates = random_updates(rng, p, 7)
            one, other = (room.descend(query, updates, KEY).partials for room in rooms)
            assert np.isfinite([one, other]).all()
            moved = np.abs(one - other) * query.records / updates.clips[updates.order]
            largest = max(largest, float(moved.max()))
    assert 0.0 < largest <= bound * (1.0 + 1e-9)
    copies = 2.0 if relation is Neighbours.REPLACE_ONE else 1.0
    assert query.sensitivity <= (1.0 + 1e-6) * about.records_per_unit * about.max_weight * copies
    assert 1.0 / query.event.noise_multiplier == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_the_sensitivity_is_attained(relation: Neighbours, sparse: bool) -> None:
    about = facts(3, max_weight=2.0)
    query = CoordinateGradientQuery(about, relation, 20, 1, 0.5, Squared())
    heavy = np.array([2.0])
    one = Rows(np.ones((1, 3)), np.array([[-1.0]]), heavy)
    opposite = Rows(-np.ones((1, 3)), np.array([[-1.0]]), heavy)
    nobody = Rows(np.ones((0, 3)), np.ones((0, 1)), np.ones(0))
    other = opposite if relation is Neighbours.REPLACE_ONE else nobody
    updates = Updates(np.zeros(3), np.array([1]), np.full(3, 1e-3), np.ones(3), pinned(np.zeros(3)))
    tables = (as_sparse(rows) if sparse else rows for rows in (one, other))
    answers = [Predictions(rows).descend(query, updates, KEY).partials[0] for rows in tables]
    assert abs(answers[0] - answers[1]) * 20.0 / 1e-3 >= 0.999999 * query.sensitivity


@pytest.mark.few(10)
@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
@pytest.mark.parametrize(
    "about", [TABLES["p7"], TABLES["weights"], TABLES["offsets"]], ids=["p7", "weights", "offsets"]
)
def test_answers_have_the_bits_of_gaussian_releases_of_exact_sums(loss: Loss, about: RowFacts) -> None:
    rng = np.random.default_rng(42)
    rows = random_rows(rng, 2500, about)  # more than two blocks of a kernel
    rows.X[rng.random(rows.X.shape) < 0.6] = 0.0
    query = CoordinateGradientQuery(about, Neighbours.REPLACE_ONE, 2500, 50, 0.7, loss)
    form = separable_form(ElasticNetPenalty(0.02, 0.5), Box(-0.8, 0.9), about.width)
    calm = Updates(
        rng.normal(size=about.width),
        rng.integers(0, about.width, 12),
        10.0 ** rng.uniform(-1.0, 1.0, about.width),
        10.0 ** rng.uniform(-1.0, 1.0, about.width),
        form,
    )
    theta, mean, partials = written_out(rows, query, calm, KEY)
    for table in (rows, as_sparse(rows)):
        found = Predictions(table).descend(query, calm, KEY)
        assert np.array_equal(found.theta, theta)
        assert np.array_equal(found.partials, partials)
        assert found.mean == pytest.approx(mean, rel=1e-12, abs=1e-15)


@pytest.mark.few(7)
@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_bits_do_not_depend_on_the_order_of_records(loss: Loss, sparse: bool) -> None:
    rng = np.random.default_rng(43)
    about = facts(4, max_weight=1.7, offset=2.0)
    rows = random_rows(rng, 5003, about)
    shuffled = reordered(rows, rng.permutation(5003))
    query = CoordinateGradientQuery(about, Neighbours.ADD_OR_REMOVE, 5003, 50, 0.7, loss)
    rooms = [Predictions(as_sparse(part) if sparse else part) for part in (rows, shuffled)]
    for _ in range(3):
        updates = random_updates(rng, 4, 9, separable_form(L1Penalty(0.01), None, 4))
        one, other = (room.descend(query, updates, KEY) for room in rooms)
        assert np.array_equal(one.partials, other.partials)
        assert np.array_equal(one.theta, other.theta)


def test_predictions_that_are_kept_are_those_made_afresh() -> None:
    rng = np.random.default_rng(44)
    about = facts(6)
    rows = random_rows(rng, 3000, about)
    query = CoordinateGradientQuery(about, Neighbours.REPLACE_ONE, 3000, 500, math.inf, Logistic())
    form = separable_form(SquaredL2Penalty(0.01), None, 6)
    settings = (np.full(6, 9.0), np.full(6, 3.0), form)
    once = Predictions(rows).descend(query, Updates(np.zeros(6), np.arange(24) % 6, *settings), None)
    room, theta = Predictions(rows), np.zeros(6)
    for start in range(0, 24, 8):
        theta = room.descend(query, Updates(theta, np.arange(start, start + 8) % 6, *settings), None).theta
    assert np.array_equal(theta, once.theta)
    for moved in (1, 5):  # one coordinate moved, or nearly all: moved along, or made afresh
        point = theta.copy()
        point[:moved] += 1.0
        asked = Updates(point, np.array([2]), *settings)
        kept = room.descend(query, asked, None).partials
        assert kept == pytest.approx(Predictions(rows).descend(query, asked, None).partials, rel=1e-12)
    zero = room.descend(query, Updates(np.zeros(6), np.array([2]), *settings), None).partials
    assert zero == pytest.approx([-0.5 * float(rows.X[:, 2] @ rows.Y[:, 0]) / 3000.0], abs=1e-15)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_without_noise_it_reaches_the_optimum_of_scikit_learn(sparse: bool) -> None:
    rng = np.random.default_rng(45)
    about = facts(8)
    X = rng.uniform(-1.0, 1.0, (600, 8)) * (rng.random((600, 8)) < 0.8)
    X[:, 3] += 0.7 * X[:, 2]
    y = np.clip(X @ np.array([0.6, -0.4, 0.3, 0.0, 0.0, 0.0, 0.2, 0.0]) + 0.1 * rng.normal(size=600), -1.0, 1.0)
    table = sp.csr_array(X) if sparse else X
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 600)

    def optimum(loss: Loss, form: SeparableForm, targets: np.ndarray, steps: np.ndarray, rounds: int) -> np.ndarray:
        room = Curator(
            Rows(table, targets[:, None]),
            [prices.price("coordinate_gradient", loss=loss, mu=math.inf, count=8 * rounds)],
        )
        order = np.arange(8 * rounds) % 8
        return room.answer(
            "coordinate_gradient", np.zeros(8), order=order, clips=np.full(8, 1e9), steps=steps, form=form
        ).theta

    steps = 1.0 / np.mean(X**2, axis=0)
    exact: dict[str, Any] = {"fit_intercept": False, "tol": 1e-13, "max_iter": 100_000}
    lasso = Lasso(alpha=0.01, **exact).fit(X, y).coef_
    assert optimum(Squared(), separable_form(L1Penalty(0.01), None, 8), y, steps, 200) == pytest.approx(lasso, abs=1e-9)
    net = ElasticNet(alpha=0.02, l1_ratio=0.3, **exact).fit(X, y).coef_
    form = separable_form(ElasticNetPenalty(0.02, 0.3), None, 8)
    assert optimum(Squared(), form, y, steps, 200) == pytest.approx(net, abs=1e-9)
    positive = Lasso(alpha=1e-12, positive=True, **exact).fit(X, y).coef_
    form = separable_form(NoPenalty(), Box(0.0, 5.0), 8)
    assert optimum(Squared(), form, y, steps, 400) == pytest.approx(positive, abs=1e-8)
    signs = np.where(y > 0.05, 1.0, -1.0)
    logit = LogisticRegression(C=1.0 / (0.05 * 600), fit_intercept=False, tol=1e-12, max_iter=10_000).fit(X, signs)
    form = separable_form(SquaredL2Penalty(0.05), None, 8)
    assert optimum(Logistic(), form, signs, 4.0 * steps, 400) == pytest.approx(logit.coef_[0], abs=1e-6)


FORM = ("kinks", "curvatures", "lower", "upper")


class L1ByHand(SeparablePenalty):
    """0.02 |θ_j|, known by its prox alone."""

    strong_convexity = 0.0

    def value(self, theta: np.ndarray) -> float:
        return 0.02 * float(np.abs(theta).sum())

    def prox_at(self, j: int, v: float, step: float) -> float:
        return max(v - 0.02 * step, 0.0) + min(v + 0.02 * step, 0.0)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "l1-by-hand"}


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_penalty_known_by_its_prox_gives_the_same_answers(sparse: bool) -> None:
    rng = np.random.default_rng(46)
    about = RowFacts(tuple("abci"), True, 4.0, 2.0, 1.0, ("y",))
    X = np.append(rng.uniform(-1.0, 1.0, (500, 3)), np.ones((500, 1)), axis=1)
    rows = Rows(sp.csr_array(X) if sparse else X, rng.uniform(-1.0, 1.0, (500, 1)))
    query = CoordinateGradientQuery(about, Neighbours.REPLACE_ONE, 500, 40, math.inf, Squared())
    asked: dict[str, Any] = {"order": np.arange(40) % 4, "clips": np.full(4, 0.7), "steps": np.full(4, 1.5)}
    found = []
    for penalty in (L1Penalty(0.02), L1ByHand()):
        form, room = separable_form(PenaltyWithFreeIntercept(penalty), None, 4), Curator(rows, [query])
        found.append(descend(room, np.full(4, 0.1), form=form, **asked))
        with pytest.raises(NotPaidFor, match="all have been given"):
            room.answer("coordinate_gradient", np.zeros(4), form=separable_form(NoPenalty(), None, 4), **asked)
    for field in ("theta", "mean", "partials"):
        assert getattr(found[0], field) == pytest.approx(getattr(found[1], field), rel=1e-9, abs=1e-12)
    assert abs(found[0].theta[3]) > 1e-6


def test_answers_are_spent_at_once_and_none_beyond_those_paid_for() -> None:
    about = facts(3)
    rows = random_rows(np.random.default_rng(47), 50, about)
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 50)
    room = Curator(rows, [prices.price("coordinate_gradient", loss=Squared(), mu=1.0, count=5)], key=KEY)
    good: dict[str, Any] = {"clips": np.ones(3), "steps": np.ones(3), "form": separable_form(NoPenalty(), None, 3)}

    def ask(theta: Any = None, order: Any = (0, 1, 2), **changed: Any) -> np.ndarray:
        start = np.zeros(3) if theta is None else theta
        return room.answer("coordinate_gradient", start, order=np.array(order), **{**good, **changed}).partials

    wrong: list[Callable[[], Any]] = [
        lambda: ask(theta=np.zeros(2)),
        lambda: ask(theta=np.array([0.0, math.nan, 0.0])),
        lambda: ask(theta=np.array([0.0, 1e300, 0.0])),
        lambda: ask(order=[]),
        lambda: ask(order=[3]),
        lambda: ask(order=[-1]),
        lambda: ask(order=[0.5]),
        lambda: ask(clips=np.array([1.0, 0.0, 1.0])),
        lambda: ask(clips=np.array([1.0, math.nan, 1.0])),
        lambda: ask(steps=np.array([1.0, math.inf, 1.0])),
        lambda: ask(steps=np.ones(4)),
        lambda: ask(form=separable_form(NoPenalty(), None, 4)),
        lambda: ask(form=separable_form(L1ByHand(), None, 3)),
        lambda: ask(form=SimpleNamespace(**{one: np.zeros(3) for one in FORM}, own=None, dimension=3)),
    ]
    for asked in wrong:
        with pytest.raises(InvalidParameter):
            asked()
    with pytest.raises(NotPaidFor, match="5 are left, fewer than the 6 asked for"):
        ask(order=[0, 1, 2, 0, 1, 2])
    first, second = ask(), ask(order=[0, 1])
    assert (first.size, second.size) == (3, 2)
    assert not np.array_equal(first[:2], second)  # noise of its own
    with pytest.raises(NotPaidFor, match="all have been given"):
        ask(order=[0])
    with pytest.raises(NotPaidFor, match="paid for nothing"):
        Curator(rows, []).answer("coordinate_gradient", np.zeros(3), order=np.array([0]), **good)


def test_targets_share_the_payment_and_have_predictions_of_their_own() -> None:
    about = facts(3, k=2)
    rows = random_rows(np.random.default_rng(48), 80, about)
    query = PricedQueries(about, Neighbours.REPLACE_ONE, 80).price(
        "coordinate_gradient", loss=Squared(), mu=math.inf, count=2
    )
    room = Curator(rows, [query])
    good: dict[str, Any] = {"clips": np.full(3, 9.0), "steps": np.ones(3), "form": separable_form(NoPenalty(), None, 3)}
    for target in (0, 1):
        found = room.of_target(target).answer("coordinate_gradient", np.zeros(3), order=np.array([1]), **good).partials
        assert found == pytest.approx([-float(rows.X[:, 1] @ rows.Y[:, target]) / 80.0])
    with pytest.raises(NotPaidFor):
        room.of_target(0).answer("coordinate_gradient", np.zeros(3), order=np.array([1]), **good)


def test_a_query_for_another_number_of_records_has_the_same_noise_in_means() -> None:
    query = PricedQueries(facts(3), Neighbours.ADD_OR_REMOVE, 1000).price(
        "coordinate_gradient", loss=Squared(), mu=0.01, count=7
    )
    smaller = query.resized(50)
    assert smaller.sigma / 50.0 == pytest.approx(query.sigma / 1000.0, rel=1e-6)
    assert (smaller.count, smaller.name) == (7, "coordinate_gradient")
    assert query.to_dict()["loss"] == {"kind": "squared"}


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_derivatives_are_those_of_the_loss_and_zero_where_undefined(loss: Loss) -> None:
    code, residual = int(loss.kernel_code), int(loss.kernel_code) in kernels.RESIDUAL_CODES
    limit = float(getattr(loss, "clip", kernels.HUGE))
    z = np.concatenate([np.linspace(-800.0, 800.0, 4001), np.linspace(-2.0, 2.0, 401), [1e300, -1e300]])
    for target in (1.0, -1.0, 0.25):
        y = np.full(z.size, target)
        found = np.empty(z.size)
        given = (z - y, np.zeros(0)) if residual else (z, y)
        kernels.slopes((code, np.atleast_1d(loss.kernel_parameter), limit), *given, found)
        with np.errstate(over="ignore"):
            plain = np.array([derivative(code, np.atleast_1d(loss.kernel_parameter), a, target) for a in z])
        assert found == pytest.approx(np.clip(plain, -limit, limit), rel=1e-13, abs=1e-14)
    odd = np.array([math.nan, math.inf, -math.inf])
    found = np.empty(3)
    kernels.slopes((code, np.atleast_1d(loss.kernel_parameter), limit), odd, np.ones(3), found)
    assert (np.abs(found[1:]) <= limit).all()
    weight, none = np.full(3, 2.0), np.zeros(0)
    for heavy in (none, weight):  # whatever x is, undefined products count as 0
        for x in (1.0, 0.0, -1.0):
            shares = [(found[i : i + 1], np.full(1, x), heavy[i : i + 1], 3.0, 2.0**36) for i in range(3)]
            assert kernels.rounded(*shares[0]) == 0.0
            assert kernels.unrounded(*shares[0]) == 0.0
            assert all(abs(kernels.rounded(*each)) <= 2.0**37 for each in shares)
    kernels.slopes((99, np.zeros(1), 1.0), odd, np.ones(3), found)  # a loss that kernels do not know
    assert not found.any()


def test_exponentials_are_accurate_and_finite() -> None:
    points = np.concatenate([np.linspace(-708.0, 708.0, 20_001), np.linspace(-1.0, 1.0, 5_001)])
    found = np.array([kernels.exponential(x) for x in points])
    assert float(np.max(np.abs(found / np.exp(points.astype(np.longdouble)) - 1.0))) <= 1e-14
    assert kernels.exponential(1e300) == kernels.exponential(708.0) < math.inf
    assert 0.0 < kernels.exponential(-math.inf) < 1e-307
    assert math.isnan(kernels.exponential(math.nan))


def test_sums_of_more_cells_than_a_double_holds_are_exact() -> None:
    unit, cells = 2.0**36, np.zeros(2, dtype=np.int64)
    total = 0
    for block in range(5000):
        sign = -1.0 if block % 7 == 0 else 1.0
        total += int(sign) * (2**52 - 1)
        assert kernels.gathered(sign * (2.0**52 - 1.0), cells, unit) == 0.0
    assert abs(total) > 2**63
    assert int(cells[0]) * 2**32 + int(cells[1]) == total
    assert kernels.emptied(cells, unit) == total / 2**36
    assert not cells.any()


def test_contributions_are_rounded_to_the_nearest_cell_ties_to_even() -> None:
    rng = np.random.default_rng(49)
    x = np.concatenate([np.arange(-4.0, 4.5, 0.5), rng.uniform(-(2.0**37), 2.0**37, 1000), [2.0**37, -(2.0**37)]])
    for each in x:
        one = np.array([each])
        assert kernels.rounded(one, np.ones(1), np.zeros(0), 1.0, 2.0**37) == np.rint(each)
    assert kernels.rounded(x, np.ones(x.size), np.zeros(0), 1.0, 2.0**37) == np.rint(x).sum()


def test_under_one_release_key_any_other_question_has_noise_of_its_own() -> None:
    """From the second update on sums follow from the form, too: the same noise under two forms would show their difference as it is."""
    about = facts(3)
    rows = random_rows(np.random.default_rng(0), 50, about)
    query = CoordinateGradientQuery(about, Neighbours.REPLACE_ONE, 50, 4, 0.5, Squared())
    ones, order = np.ones(3), np.array([0, 1, 0, 2])
    form = SeparableForm(0.1 * ones, ones, -ones, ones)
    asked = Updates(0.2 * ones, order, ones, ones, form)
    forms = [
        replace(form, **{name: getattr(form, name) + 2.0**-40}) for name in ("kinks", "curvatures", "lower", "upper")
    ]
    others = [
        replace(asked, theta=0.3 * ones),
        replace(asked, order=order[::-1]),
        replace(asked, clips=2.0 * ones),
        replace(asked, steps=2.0 * ones),
        *(replace(asked, form=other) for other in forms),
    ]
    key = ReleaseKey.fresh()

    def released(question: Updates, about: CoordinateGradientQuery = query) -> np.ndarray:
        return Predictions(rows).descend(about, question, key).partials

    first = released(asked)
    assert np.array_equal(released(asked), first)
    for other in (*map(released, others), released(asked, replace(query, loss=Huber(0.7)))):
        assert not np.isclose(other, first, rtol=1e-6, atol=0.0).any()
