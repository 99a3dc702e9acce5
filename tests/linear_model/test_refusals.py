"""What a newcomer gets wrong is refused with a sentence that names the remedy, before anything is charged."""

import math
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import hullabaloo as hb
import hullabaloo.release.run as run_module
from hullabaloo.errors import CalibrationError, HullabalooError, InvalidParameter
from hullabaloo.release import price

BUDGET = hb.Budget(1.0, 1e-8)
DOMAIN = hb.Domain(features={"age": (18, 90), "sex": ["f", "m"]}, target={"stay": (0, 30)})
TABLE = pd.DataFrame({"age": [20.0, 40.0, 60.0], "sex": ["f", "m", "f"], "stay": [1.0, 2.0, 3.0]})


@pytest.fixture
def ledger(tmp_path: Path) -> hb.Ledger:
    made = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    made.create("ward", hb.Budget(100.0, 1e-3), neighbours="replace-one")
    return made


WRONG = [
    ({"budget": 1.0}, r"must be an hb\.Budget, such as hb\.Budget\(1\.0, 1e-9\), but a float"),
    ({"domain": {"age": (18, 90)}}, r"must be an hb\.Domain: .* but a dict"),
    ({"domain": "domain.toml"}, r"hb\.Domain\.from_toml"),
    ({"fit_intercept": "no"}, "True or False, but a str"),
    ({"ledger": 3}, "URL, such as .* but an int"),
    ({"ledger": Path("privacy.db")}, "URL, such as .* but a path"),
    ({"dataset": 3}, "the name that the dataset has"),
    ({"test_key": "secret", "ledger": None, "dataset": None}, "a TestKey or its 32 bytes"),
    ({"test_key": np.random.default_rng(0), "ledger": None, "dataset": None}, "never seeded"),
    ({"constraint": "l1:1"}, r"a convex set, such as hb\.L1Ball\(1\.0\).* but a str"),
    ({"constraint": hb.L1Ball}, "the class L1Ball itself"),
    ({"constraint": hb.L1Penalty(0.1)}, "A penalty is passed as penalty="),
    ({"penalty": hb.L1Ball(1.0)}, "A set is passed as constraint="),
    ({"penalty": 0.1}, r"such as hb\.L1Penalty\(0\.01\)"),
    (
        {"constraint": hb.Box([0, 0], [1, 1])},
        "in 2 dimensions, but 5 encoded columns.*sex=f.*Nothing was read or charged",
    ),
    ({"domain": hb.Domain(features={"age": (18, 90), "sex": ["f", "m"]})}, "declares no target"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[words[:30] for _, words in WRONG])
def test_a_wrong_parameter_is_refused_and_nothing_is_charged(ledger: hb.Ledger, given: dict, words: str) -> None:
    parameters = {"budget": BUDGET, "domain": DOMAIN, "ledger": ledger, "dataset": "ward", **given}
    model = hb.LinearRegression(**parameters)
    for asked in (lambda: model.fit(TABLE), lambda: model.price(n=100)):
        with pytest.raises(HullabalooError, match=words):
            asked()
    assert ledger.charges("ward") == ()


@pytest.mark.parametrize("zero", [0, False, np.False_])
def test_no_intercept_may_be_written_in_the_usual_ways(zero: object) -> None:
    domain = hb.Domain(features={"age": (18, 90)}, target=(0, 30), indicators=False)
    model = hb.LinearRegression(budget=hb.Budget(math.inf), domain=domain, fit_intercept=zero)
    assert model.fit(TABLE[["age"]], TABLE["stay"]).intercept_ == 0.0


@pytest.mark.parametrize("n", ["4000", 40.5, True])
def test_a_price_is_for_a_whole_number_of_records(n: object) -> None:
    with pytest.raises(HullabalooError, match="must be a whole number"):
        hb.Ridge(budget=BUDGET, domain=DOMAIN).price(n=n)


def test_a_price_for_another_number_than_the_declared_one_is_not_passed_off_as_asked() -> None:
    domain = hb.Domain(features={"age": (18, 90)}, target=(0, 30), records=3000)
    model = hb.Ridge(budget=BUDGET, domain=domain, neighbours="add-or-remove", solver="moments")
    assert model.price().records == model.price(3000).records == 3000
    with pytest.raises(HullabalooError, match="declare records=500"):
        model.price(n=500)


def test_several_targets_are_matched_by_name() -> None:
    """By position, one target would be scaled by another's bounds, and its predictions called by the other's name."""
    domain = hb.Domain(features={"age": (18, 90)}, target={"stay": (0, 30), "cost": (0, 900)}, indicators=False)
    table = pd.DataFrame({"age": [20.0, 40.0, 60.0], "stay": [1.0, 2.0, 4.0], "cost": [10.0, 25.0, 40.0]})
    exact = hb.LinearRegression(budget=hb.Budget(math.inf), domain=domain)
    one = exact.fit(table[["age"]], table[["stay", "cost"]]).predict(table)
    other = exact.fit(table[["age"]], table[["cost", "stay"]]).predict(table)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, exact.fit(table[["age"]], table[["stay", "cost"]].to_numpy()).predict(table))
    with pytest.raises(HullabalooError, match=r"matched by name.*rename"):
        exact.fit(table[["age"]], table[["stay", "cost"]].rename(columns={"cost": "price"}))


def test_a_target_of_two_columns_is_no_column_vector() -> None:
    with pytest.raises(HullabalooError, match="y has 2 columns"):  # and no warning before it: warnings are errors here
        hb.Ridge(budget=BUDGET, domain=DOMAIN).fit(TABLE, TABLE[["stay", "age"]])


@pytest.mark.parametrize("solver", ["gradient", "output_perturbation", "moments"])
@pytest.mark.parametrize(
    "penalty", [hb.SubmodularPenalty(hb.Intervals(7), 0.1), hb.GroupPenalty([[0, 1, 2], [3]], 0.1)]
)
def test_a_norm_of_other_columns_is_refused_before_the_charge(
    ledger: hb.Ledger, solver: str, penalty: hb.SubmodularPenalty | hb.GroupPenalty
) -> None:
    model = hb.LinearRegression(
        budget=BUDGET, domain=DOMAIN, penalty=penalty, solver=solver, ledger=ledger, dataset="ward"
    )
    with pytest.raises(HullabalooError, match=r"norm in [47] dimensions, but 5 encoded.*Nothing was read or charged"):
        model.fit(TABLE)
    assert not ledger.charges("ward")


def test_a_callable_that_fails_at_a_released_point_leaves_the_charge(
    ledger: hb.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked about sets in the order of released numbers, after the charge: a sentence, no release, and no refund."""
    broken: list[bool] = []

    def root(columns: frozenset[int]) -> float:
        return math.sqrt(len(columns)) / (not broken)

    penalty = hb.SubmodularPenalty(hb.CustomSetFunction(root, 5), 0.01)
    model = hb.LinearRegression(
        budget=BUDGET, domain=DOMAIN, penalty=penalty, solver="gradient", ledger=ledger, dataset="ward"
    )
    answer = run_module.answered
    monkeypatch.setattr(run_module, "answered", lambda *a: (broken.append(True), answer(*a))[1])
    with pytest.raises(
        InvalidParameter, match=r"raised ZeroDivisionError.*Nothing is released; a charge that was made stays"
    ):
        model.fit(TABLE)
    assert len(ledger.charges("ward")) == 1
    assert not hasattr(model, "release_")


def test_refits_check_their_set_too() -> None:
    model = hb.LinearRegression(budget=hb.Budget(math.inf), domain=DOMAIN).fit(TABLE)
    with pytest.raises(HullabalooError, match="in 2 dimensions, but 1 encoded columns"):
        model.refit(features=["sex=f"], constraint=hb.Box([0, 0], [1, 1]))


@pytest.mark.slow
def test_moments_of_a_table_too_wide_for_them_are_refused_before_the_charge(ledger: hb.Ledger) -> None:
    domain = hb.Domain(row_norm=1.0, target=(0, 30))
    X = sparse.random_array((20, 40_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    model = hb.Ridge(budget=BUDGET, domain=domain, ledger=ledger, dataset="ward", solver="moments")
    with pytest.raises(HullabalooError, match=r"40,001 columns.*solver='gradient'"):
        model.fit(X, np.ones(20))
    assert ledger.charges("ward") == ()
    assert model.set_params(solver="auto").price(n=20, n_features=40_000).solver == "gradient"


@pytest.mark.slow
def test_a_wide_table_is_fitted_without_a_matrix_of_its_columns() -> None:
    domain = hb.Domain(row_norm=1.0, target=(0, 30))
    X = sparse.random_array((20, 40_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    wide = hb.Ridge(budget=BUDGET, domain=domain)
    perturbed = hb.OutputPerturbationSolver()
    named = hb.Ridge(budget=BUDGET, domain=domain, solver=perturbed, inference=False)
    for solver in ("gradient", perturbed):  # compiled before it is traced, which makes compiling many times slower
        hb.Ridge(budget=BUDGET, domain=domain, solver=solver, inference=False).fit(X[:, :40], np.ones(20))
    tracemalloc.start()
    fitted = wide.fit(X, np.ones(20))
    named.fit(X, np.ones(20))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2e8, "no matrix of the columns by the columns, 13 GB"
    assert fitted.coef_.shape == named.coef_.shape == (40_000,)
    assert len(fitted.summary().rows) == 40_001


def test_a_delta_that_is_not_below_one_over_the_records_is_said() -> None:
    model = hb.Ridge(budget=hb.Budget(1.0, 1e-2), domain=DOMAIN, test_key=bytes(32), solver="moments")
    assert "delta = 0.01 is not below one over the 500 records" in str(model.price(n=500))
    assert "delta" not in "".join(model.price(n=99).notes)
    private = hb.Ridge(budget=hb.Budget(1.0, 0.5), domain=DOMAIN, solver="moments").fit(TABLE)
    assert "Beware: delta = 0.5 is not below one over the 3 records" in str(private.statement_)
    assert "Beware" not in str(hb.Ridge(budget=BUDGET, domain=DOMAIN, solver="moments").fit(TABLE).statement_)


def test_a_price_says_which_levels_cannot_be_told_apart() -> None:
    """Without a baseline the levels add up to the intercept, on every table: no price may promise their coefficients."""
    sexes = {"f", "m"}
    kept = hb.Domain(features={"age": (18, 90), "sex": sorted(sexes)}, target=(0, 30), indicators=False)
    based = hb.Domain(
        features={"age": (18, 90), "sex": hb.Categorical(sorted(sexes), baseline="f")}, target=(0, 30), indicators=False
    )
    prices = [
        hb.LinearRegression(budget=BUDGET, domain=domain, solver="moments").price(n=40_000) for domain in (kept, based)
    ]
    assert "'sex': every level has a column beside the intercept" in str(prices[0])
    assert prices[1].notes == ()
    assert [[one.name for one in price.errors] for price in prices] == [["age"], ["age", "sex=m"]]


def test_a_summary_without_intervals_says_why() -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"age": rng.uniform(18, 90, 20_000), "sex": rng.choice(["f", "m"], 20_000)})
    table["stay"] = 0.2 * table["age"] + rng.normal(0, 2, 20_000)
    domain = hb.Domain(features={"age": (18, 90), "sex": ["f", "m"]}, target={"stay": (0, 30)}, indicators=False)
    model = hb.LinearRegression(budget=hb.Budget(5.0, 1e-9), domain=domain, solver="moments").fit(table)
    assert "Intervals are for" in model.summary().note
    held, thresholded = model.refit(constraint=hb.L1Ball(0.1)), model.refit(penalty=hb.L1Penalty(0.01))
    for other in (held, thresholded):
        assert "least-squares coefficients of the population" in other.summary().note
        assert [row.low for row in other.summary().rows] == [row.low for row in model.summary().rows]
    stepped = hb.LinearRegression(budget=BUDGET, domain=domain, solver="gradient", inference=False).fit(table)
    assert "Inference was not asked for" in stepped.summary().note
    for confidence in ("0.95", True, 95):
        with pytest.raises(HullabalooError, match="above 0 and below 1"):
            model.summary(confidence=confidence)
    with pytest.raises(HullabalooError, match=r"hb\.compare\(\[first, second\]\)"):
        hb.compare(model)


def test_what_is_shown_at_a_prompt_is_the_text() -> None:
    model = hb.LinearRegression(budget=BUDGET, domain=DOMAIN, solver="moments")
    price = model.price(n=100)
    model.fit(TABLE)
    assert repr(price) == str(price)
    assert price._repr_html_().startswith("<pre>spend")
    assert repr(model.summary()) == str(model.summary())
    assert repr(hb.compare([model])) == str(hb.compare([model]))
    assert model.statement_._repr_html_().startswith("<p>Not recorded")
    assert max(map(len, str(model.summary()).splitlines())) <= 100


def test_steps_of_a_pipeline_are_passed_one_after_another() -> None:
    ridge = hb.Ridge(budget=BUDGET, domain=DOMAIN)
    for steps in ([("double", ridge)], [[ridge]]):
        with pytest.raises(HullabalooError, match="one after another and without names"):
            hb.private_pipeline(*steps)


def test_a_model_that_cannot_be_saved_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    model = hb.Ridge(budget=BUDGET, domain=DOMAIN, solver="moments").fit(TABLE)
    with pytest.raises(FileNotFoundError, match=r"nowhere/model\.json'$"):
        model.save(tmp_path / "nowhere" / "model.json")
    with pytest.raises(IsADirectoryError):
        model.save(tmp_path)
    assert list(tmp_path.parent.glob("*.tmp")) == []


def test_a_refit_without_features_is_the_mean() -> None:
    domain = hb.Domain(features={"age": (18, 90)}, target={"stay": (0, 30)})
    model = hb.LinearRegression(budget=BUDGET, domain=domain, solver="moments").fit(TABLE)
    alone = model.refit(features=[])
    assert not alone.coef_.any()
    assert len(alone.summary().rows) == len(model.summary().rows)
    with pytest.raises(HullabalooError, match="nothing is left of it"):
        model.set_params(fit_intercept=False).fit(TABLE).refit(features=[])


def test_a_dataframe_without_pandas_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = hb.Ridge(budget=BUDGET, domain=DOMAIN, solver="moments").fit(TABLE).summary()
    assert list(summary.to_dataframe().columns[:3]) == ["target", "name", "coefficient"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match='pip install "pandas"'):
        summary.to_dataframe()


@pytest.mark.parametrize("estimator", [hb.LinearRegression, hb.Ridge, hb.Lasso, hb.ElasticNet])
def test_help_describes_every_parameter(estimator: type) -> None:
    text = estimator.__doc__ or ""
    assert "see `PrivateLinearModel`" not in text
    for name in estimator().get_params():
        assert f"\n    {name}: " in text
    assert "coef_: " in text


TWO = hb.Domain(features={"a": (0, 1), "b": (0, 1)}, target={"y": (0, 1), "z": (0, 1)}, indicators=False)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (hb.MultiTaskRegression(domain=TWO, constraint=hb.NuclearBall(1.0, columns=3)), "matrix of 2"),
        (hb.Ridge(domain=TWO, penalty=hb.NuclearPenalty(0.1, columns=3)), "2 encoded columns.*MultiTaskRegression"),
        (hb.LinearRegression(domain=TWO, solver="moments", calibration="paper"), "follows no paper's formula"),
        (hb.LogisticRegression(domain=TWO, solver="gradient", calibration="paper"), "learns classes"),
        (
            hb.Lasso(domain=hb.Domain(features={"a": (0, 1)}, classes=["no", "yes"])),
            "learns numbers.*LogisticRegression",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_remedy(model: hb.LinearRegression, says: str) -> None:
    with pytest.raises(HullabalooError, match=says):
        model.set_params(budget=hb.Budget(1.0, 1e-6)).price(n=1000)


@pytest.mark.slow
def test_a_price_whose_remedy_is_out_of_reach_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more records need a finer lattice than there is, and more budget too."""

    def refused(prepared: Any, records: int, spend: float) -> float:
        if (records, spend) == (prepared.problem.records, 1.0):
            return planned(prepared, records=records, spend=spend)
        raise CalibrationError("no lattice is fine enough")

    planned = price.replanned
    monkeypatch.setattr(price, "replanned", refused)
    domain = hb.Domain({f"x{j}": (-1, 1) for j in range(46)}, target=(0, 25), indicators=False)
    counts = hb.PoissonRegressor(domain=domain, budget=hb.Budget(0.3, 1e-10), solver="greedy_selection")
    assert "far more records" in counts.price(n=6_000).expectation
