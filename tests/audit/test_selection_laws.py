"""Answers that are not Gaussian: choices, Laplace noise and perturbed minimisers have the laws that their events state.

Exact laws are computed here by other formulas than the library draws by. A χ² of frequencies fails by chance with probability 1e-8, an
audit with 1e-8: below 3e-7 in all.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import chdtrc, chdtri, log_softmax

import hullabaloo as hb
from hullabaloo.audit import AuditReport
from hullabaloo.audit.canary import pairs
from hullabaloo.audit.neighbouring_tables import staged
from hullabaloo.audit.privacy_loss import PrivacyLoss, flipped
from hullabaloo.curator import Curator
from hullabaloo.curator import query as room
from hullabaloo.data import Rows
from hullabaloo.data.grid import Grid, GridKind
from hullabaloo.data.source import RowFacts
from hullabaloo.erm import objective_perturbation as perturbed_minimizer
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.selection import choice, quantiles
from tests.audit.probes import probe

KEY = TestKey(bytes(range(32)))
ALARM, DRAWS, EPSILON, RADIUS = 1e-8, 1500, 6.0, 1.5
FACTS = RowFacts(("a", "b", "c"), False, 3.0, math.sqrt(3.0), 1.0, ("y",))
X = np.array([[1.0, -0.5, 0.2], [0.3, 1.0, -1.0], [-0.7, 0.1, 1.0]])
Y = np.array([[0.9], [-0.4], [-0.9]])
Bug = Callable[[pytest.MonkeyPatch], None]


FEW = 20.0
"""Answers that a cell of a χ² has to be expected to hold; rarer ones are thrown together."""


def misfit(counts: npt.ArrayLike, log_law: npt.ArrayLike) -> float:
    """The chance of a χ² as large as that of the counts under the law; 0 where something came that cannot.

    Compared with the law itself a wrong temperature shows with a hundredth of the draws that a bound of ε takes. The tail is that of the
    χ² law, which counts in cells of `FEW` keep to within a few per cent of its logarithm.
    """

    seen, law = np.asarray(counts, dtype=np.float64), np.exp(np.asarray(log_law, dtype=np.float64))
    if seen.shape != law.shape:
        raise InvalidParameter(
            f"Counts of shape {seen.shape} were compared with a law of shape {law.shape}. Pass one count a candidate."
        )
    if np.any(seen[law == 0.0] > 0.0):
        return 0.0
    cells = sorted(zip((law * seen.sum()).tolist(), seen.tolist(), strict=True))
    while len(cells) > 1 and cells[0][0] < FEW:
        rare, next_rare, *rest = cells
        cells = sorted([(rare[0] + next_rare[0], rare[1] + next_rare[1]), *rest])
    square = math.fsum((found - wanted) ** 2 / wanted for wanted, found in cells)
    return float(chdtrc(len(cells) - 1, square)) if len(cells) > 1 else 1.0


def question(kind: str) -> tuple[Any, Callable[[Curator], int], np.ndarray]:
    """A query, how it is asked at 0, and the exact scores: slopes of the sum `−Σ y x`, along vertices or in size."""
    prices, g, theta = PricedQueries(FACTS, Neighbours.REPLACE_ONE, 3), -(Y[:, 0] @ X), np.zeros(3)
    if kind == "select":
        query = prices.price("select", loss=Squared(), clip=1.0, epsilon=EPSILON, count=DRAWS)
        return query, lambda curator: curator.answer("select", theta), np.abs(g)
    ball, flip = hb.L1Ball(RADIUS), kind == "flip"
    query = prices.price("vertex", constraint=ball, loss=Squared(), clip=1.0, epsilon=EPSILON, count=DRAWS, once=flip)
    scores = np.array([-float(ball.vertex_at(k, 3) @ g) for k in range(6)])
    return query, lambda curator: curator.answer("vertex", theta), scores


def chance(kind: str) -> float:
    """How likely frequencies as far from the stated law are; the sensitivity is 2 for a coordinate, 2 r for a vertex."""
    query, ask, scores = question(kind)
    curator = Curator(Rows(X, Y), [query], key=KEY)
    counts = np.bincount([ask(curator) for _ in range(DRAWS)], minlength=scores.size)
    sensitivity = 2.0 * (1.0 if kind == "select" else RADIUS)
    assert query.sensitivity == pytest.approx(sensitivity, rel=1e-6)
    law = flipped if kind == "flip" else log_softmax
    return misfit(counts, law(scores * EPSILON / (2.0 * sensitivity)))


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["vertex", "flip", "select"])
def test_choices_have_the_stated_law(kind: str) -> None:
    assert chance(kind) > ALARM


def colder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the temperature: scores count twice."""
    for name in ("exponential_mechanism", "permute_and_flip"):
        plain = getattr(choice, name)
        cold = lambda scores, size, *rest, _plain=plain, **more: _plain(scores, 0.5 * size, *rest, **more)  # noqa: E731
        monkeypatch.setattr(choice, name, cold)


def hotter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the temperature: private enough, but not what is said."""
    for name in ("exponential_mechanism", "permute_and_flip"):
        plain = getattr(choice, name)
        hot = lambda scores, size, *rest, _plain=plain, **more: _plain(scores, 2.0 * size, *rest, **more)  # noqa: E731
        monkeypatch.setattr(choice, name, hot)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vertex", "flip", "select"])
@pytest.mark.parametrize("bug", [colder, hotter])
def test_a_wrong_temperature_is_caught(kind: str, bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert chance(kind) <= ALARM


def test_laws_of_permute_and_flip_by_all_coins() -> None:
    scores = np.array([0.0, 1.0, -2.0, 0.5, 0.0])
    heads, law = np.exp(scores - 1.0), np.zeros(5)
    for coins in itertools.product([0.0, 1.0], repeat=5):
        shown = np.array(coins)
        if shown.any():
            law += np.prod(np.where(shown > 0.0, heads, 1.0 - heads)) * shown / shown.sum()
    assert flipped(scores) == pytest.approx(np.log(law), abs=1e-12)


def test_misfit_sees_what_does_not_fit_and_nothing_else() -> None:
    law = np.log([0.5, 0.3, 0.19, 0.01])
    rng = np.random.default_rng(0)
    found = [misfit(rng.multinomial(1000, np.exp(law)), law) for _ in range(400)]
    assert 0.03 < float(np.mean(np.array(found) < 0.1)) < 0.2  # 0.1 ± 4.7 standard errors
    assert misfit([400, 350, 240, 10], law) < 1e-8
    assert misfit([10, 0], [0.0, -math.inf]) == 1.0
    assert misfit([10, 1], [0.0, -math.inf]) == 0.0
    with pytest.raises(InvalidParameter, match="one count a candidate"):
        misfit([1, 2, 3], [0.0, 0.0])


# ---- whole audits ----------------------------------------------------------------------------------------------------

DOMAIN = hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, target=(-1, 1), records=2)
CHOOSING: dict[str, dict[str, Any]] = {
    "frank_wolfe": {
        "solver": hb.FrankWolfeSolver(steps=8),
        "constraint": hb.L1Ball(0.25),
        "budget": hb.Budget(6.0, 0.01),
    },
    "laplace": {"solver": hb.CoordinateDescentSolver(constants="laplace"), "budget": hb.Budget(4.0, 1e-5)},
    "objective_perturbation": {"solver": "objective_perturbation", "budget": hb.Budget(2.0, 0.02)},
}


def audited(name: str, runs: int, neighbours: str = "replace-one") -> AuditReport:
    estimator = hb.LinearRegression(domain=DOMAIN, fit_intercept=False, neighbours=neighbours, **CHOOSING[name])
    canary = next(pairs(DOMAIN, Neighbours.parse(neighbours), 1))
    return hb.audit(estimator, runs=runs, canary=canary, test_key=KEY)


@pytest.mark.few(1)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove"])
@pytest.mark.parametrize("name", CHOOSING)
def test_sound_fits_pass(name: str, neighbours: str) -> None:
    found = audited(name, 200, neighbours)
    assert not found.caught, str(found)


def half_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = room.laplace
    monkeypatch.setattr(room, "laplace", lambda x, scale, **rest: plain(x, 0.5 * scale, **rest))


def less_in_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = perturbed_minimizer.gaussian
    monkeypatch.setattr(perturbed_minimizer, "gaussian", lambda x, sigma, **rest: plain(x, 0.7 * sigma, **rest))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bug"),
    [("frank_wolfe", colder), ("objective_perturbation", less_in_the_objective)],
)
def test_planted_faults_are_caught(name: str, bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    found = audited(name, 700)
    assert found.caught, str(found)


def laplace_draws() -> np.ndarray:
    """Noise of the columns' constants, as numbers that are standard normal if its scale is what is stated."""
    estimator = hb.LinearRegression(domain=DOMAIN, fit_intercept=False, **CHOOSING["laplace"])
    subject = staged(estimator, next(pairs(DOMAIN, Neighbours.REPLACE_ONE, 1)), estimator.solver)
    logs = [subject.log(run % 2, KEY.derive(run)) for run in range(400)]
    return np.concatenate([one.draws for log in logs for one in log if one.name == "second_moments_laplace"])


@pytest.mark.slow
def test_laplace_noise_has_the_stated_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = laplace_draws()
    low, high = chdtri(draws.size, [1.0 - ALARM / 2.0, ALARM / 2.0])
    assert low <= float(draws @ draws) <= high
    half_the_scale(monkeypatch)
    draws = laplace_draws()
    assert not low <= float(draws @ draws) <= high


# ---- bounds of columns -----------------------------------------------------------------------------------------------

ONE = RowFacts(("x",), False, 1.0, 1.0, 1.0, ("y",))
SPREAD = np.linspace(-0.9, 0.9, 8)[:, None]


def bounds_of_a_column(relation: Neighbours) -> list[PrivacyLoss]:
    """What many choices of bounds tell of which of two tables they were made for."""
    prices = PricedQueries(ONE, relation, 9)
    query = prices.price(
        "quantiles",
        values=(0,),
        missing=(-1,),
        grids=(Grid(-1.0, 1.0, GridKind.LINEAR),),
        shares=(0.25, 0.25),
        epsilon=1.0,
    )
    high, low = (Rows(np.vstack([[[x]], SPREAD]), np.zeros((9, 1))) for x in (1.0, -1.0))
    tables = high, Rows(SPREAD, np.zeros((8, 1))) if relation is Neighbours.ADD_OR_REMOVE else low
    asked = probe(query, lambda curator: curator.answer("quantiles"), tables)
    return [asked.log(0, KEY.derive(i))[0] for i in range(150)]


def unlike(found: list[PrivacyLoss]) -> float:
    """How far the chosen pairs are from as likely ones as the exact law chooses, in standard errors."""
    return abs(sum(one.choice_score[0] for one in found)) / math.sqrt(sum(one.choice_score[1] for one in found))


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_bounds_of_columns_keep_to_their_law(relation: Neighbours) -> None:
    """Six standard errors: 2e-9 by the normal law."""
    found = bounds_of_a_column(relation)
    assert 0.9 <= found[0].realised <= 1.0 + 1e-9  # the tables show most of ε₀ = 1
    assert unlike(found) < 6.0


@pytest.mark.slow
def test_bounds_of_columns_chosen_too_coldly_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = quantiles.exponential_mechanism
    cold = lambda scores, size, *rest, **more: plain(scores, 0.3 * size, *rest, **more)  # noqa: E731
    monkeypatch.setattr(quantiles, "exponential_mechanism", cold)
    assert unlike(bounds_of_a_column(Neighbours.REPLACE_ONE)) > 6.0
