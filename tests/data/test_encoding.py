"""Laws of the encoding: bounded, row by row, and the same model in the user's units."""

import copy
import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from hullabaloo.data import Categorical, Domain, Numeric
from hullabaloo.errors import DomainError, SchemaError

RICH = Domain(
    features={
        "age": (17, 90),
        "pay": Numeric(0, 1e6, fill=2e4, transform="log1p"),
        "temp": Numeric(-20, 45, fill=40, indicator=False),
        "job": Categorical(["clerk", "nurse", 3], baseline="nurse"),
        "ok": Categorical([False, True], indicator=False),
    },
    target={"los": (0, 30), "cost": (-5, 1e5)},
    target_fill={"los": 3},
    interactions=[("age", "pay"), ("pay", "temp"), ("age", "age"), ("job", "pay"), ("job", "ok")],
)
CLIPPED = [
    Domain.from_dict({**RICH.to_dict(), "row_norm": norm})
    for norm in (("l2", 1.5), ("l1", 1.5), ("linf", 0.3), ("l2", 99))
]
DROPPING = Domain.from_dict(
    {name: value for name, value in RICH.to_dict().items() if name != "target_fill"} | {"missing_target": "drop"}
)
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.dates(),
    st.complex_numbers(),
    st.sampled_from(
        ["clerk", "nurse", "3", "3.0", "n/a", "1" * 5000, '"\n"', "1e999", "-inf", "true", 10**5000, 17, 90, 40.5]
    ),
    st.lists(st.integers(), max_size=2),
)


def check(rows, facts) -> None:
    X = rows.X.toarray() if sparse.issparse(rows.X) else rows.X
    assert X.dtype == rows.Y.dtype == np.float64
    assert X.shape[1] == facts.width
    assert rows.Y.shape == (X.shape[0], len(facts.targets))
    assert np.isfinite(X).all()
    assert (np.abs(rows.Y) <= 1.0).all()
    for order, bound in ((1, facts.norm_l1), (2, facts.norm_l2), (np.inf, facts.norm_linf)):
        assert (np.linalg.norm(X, order, axis=1) <= bound * (1 + 1e-12)).all()
    if facts.intercept:
        assert (X[:, -1] == 1.0).all()
    if rows.weight is not None:
        assert ((rows.weight >= 0) & (rows.weight <= facts.max_weight)).all()


@settings(derandomize=True, max_examples=24, deadline=None)
@given(st.lists(st.tuples(*[CELLS] * 7), min_size=1, max_size=6), st.booleans(), st.randoms(use_true_random=False))
def test_whatever_the_cells_rows_are_bounded_and_made_alone(records, intercept, random) -> None:
    """Never raises; permuting or leaving out records permutes or leaves out the same bits."""
    array = np.empty((len(records), 7), dtype=object)
    for i, record in enumerate(records):
        array[i, :] = [*record]
    for domain in (RICH, *CLIPPED, DROPPING):
        encoding = domain.encoding(fit_intercept=intercept)
        rows = encoding.encode(array[:, :5], array[:, 5:])
        check(rows, encoding.facts)
        order = random.sample(range(len(records)), random.randint(1, len(records)))
        some = encoding.encode(array[order][:, :5], array[order][:, 5:])
        assert rows.X[order].tobytes() == some.X.tobytes()
        assert rows.Y[order].tobytes() == some.Y.tobytes()
        assert rows.weight is None or rows.weight[order].tobytes() == some.weight.tobytes()


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats()),
    st.sampled_from(["l1", "l2", "linf"]),
    st.sampled_from([1.0, 1e-80, 1e80, 3.7]),
    st.booleans(),
)
def test_prepared_rows_are_clipped_and_sparse_agrees(X, norm, radius, intercept) -> None:
    encoding = Domain(row_norm=(norm, radius), target=(0, 1)).encoding(n_features=X.shape[1], fit_intercept=intercept)
    rows = encoding.encode(X, X[:, 0])
    check(rows, encoding.facts)
    order = np.arange(X.shape[0])[::-2]
    assert encoding.encode(X[order], X[order, 0]).X.tobytes() == rows.X[order].tobytes()
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        thin = encoding.encode(form(X), X[:, 0]).X
        assert isinstance(thin, sparse.csr_array)
        np.testing.assert_array_equal(thin.toarray(), rows.X)
    finite = np.where(np.isfinite(X), X, 0)
    order_of = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    with np.errstate(all="ignore"):
        inside = np.linalg.norm(finite, order_of, axis=1) <= radius * (1 - 1e-12)
    width = X.shape[1]
    np.testing.assert_allclose(rows.X[inside, :width], finite[inside] / radius, rtol=1e-12, atol=0)


def test_rows_outside_keep_their_direction() -> None:
    X = np.array([[3.0, 4.0], [1e308, 1e308], [5e-324, 0.0], [np.nan, -7.0], [np.inf, 0.5]])
    rows = Domain(row_norm=1.0, target=(0, 1)).encoding(n_features=2, fit_intercept=False).encode(X, X[:, 0]).X
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.5**0.5, 0.5**0.5], [5e-324, 0.0], [0.0, -1.0], [0.0, 0.5]])


def test_columns_names_and_norms_by_hand() -> None:
    domain = Domain(
        features={"a": (0, 2), "c": Categorical(["x", "y"], baseline="x"), "b": Numeric(1, 3, indicator=False)},
        target=(0, 10),
        interactions=[("a", "c"), ("a", "b")],
    )
    encoding = domain.encoding()
    facts = encoding.facts
    assert facts.columns == ("a", "a:missing", "c=y", "c:missing", "b", "a*c=y", "a*b", "(intercept)")
    assert facts.norm_l1 == 6.0
    assert facts.norm_l2 == pytest.approx(math.sqrt(6))
    assert facts.norm_linf == 1.0
    table = np.array([[1.5, "y", 3], [None, "x", None], [9, None, -9], [0, "?", "2.5"]], dtype=object)
    rows = encoding.encode(table, [10, None, -3, "7.5"])
    np.testing.assert_array_equal(
        rows.X,
        [
            [0.5, 0, 1, 0, 1, 0.5, 0.5, 1],
            [0, 1, 0, 0, 0, 0, 0, 1],
            [1, 0, 0, 1, -1, 0, -1, 1],
            [-1, 0, 0, 0, 0.5, 0, -0.5, 1],
        ],
    )
    np.testing.assert_array_equal(rows.Y, [[1], [0], [-1], [0.5]])
    assert rows.weight is None


def user_columns(domain: Domain, encoding, records) -> np.ndarray:
    """The user's columns, computed independently from clean records (None for missing)."""
    names, out = encoding.feature_names_out, np.zeros((len(records), len(encoding.feature_names_out)))
    for row, record in zip(out, records, strict=True):
        single: dict[str, float] = {}
        for (name, declared), cell in zip(domain.features, record, strict=True):
            if isinstance(declared, Numeric):
                log = declared.transform == "log1p"
                value = declared.fill if cell is None else cell
                if value is None:
                    image = [math.log1p(v) if log else v for v in (declared.lo, declared.hi)]
                    value = sum(image) / 2
                elif log:
                    value = math.log1p(value)
                single[f"log1p({name})" if log else name] = value
            else:
                for level in declared.levels:
                    single[f"{name}={level}"] = float(cell is not None and str(cell) == str(level))
            single[f"{name}:missing"] = float(cell is None)
        for j, column in enumerate(names):
            row[j] = math.prod(single[part] for part in column.split("*"))
    return out


@pytest.mark.parametrize("intercept", [True, False])
def test_coefficients_in_the_users_units_predict_the_same(intercept: bool) -> None:
    encoding = RICH.encoding(fit_intercept=intercept)
    records = [
        (30.0, 1e3, -3.0, "clerk", True),
        (None, 1e3, 5.0, "nurse", False),
        (50.0, None, None, None, None),
        (None, None, 45.0, "3", True),
        (17.0, 1e6, -20.0, "clerk", None),
    ]
    array = np.array(records, dtype=object)
    X = encoding.features(array)
    theta = np.random.default_rng(0).normal(size=(encoding.facts.width, 2))
    unit = X @ theta
    coef, offset = encoding.coefficients_to_user(theta)
    assert coef.shape == (2, len(encoding.feature_names_out))
    wanted = unit * encoding.target_scale + encoding.target_offset
    np.testing.assert_allclose(user_columns(RICH, encoding, records) @ coef.T + offset, wanted, rtol=1e-9)
    for j in range(2):
        np.testing.assert_allclose(
            encoding.user_matrix(j) @ theta[:, j], [*coef[j], offset[j] - encoding.target_offset[j]]
        )
    if not intercept:
        assert (offset == 0).all()
        assert (encoding.target_offset == 0).all()


def test_one_target_gives_a_vector_and_a_float() -> None:
    encoding = Domain(features={"a": Numeric(10, 30, indicator=False)}, target=(0, 100)).encoding()
    coef, intercept = encoding.coefficients_to_user(np.array([0.5, 0.1]))
    assert coef == pytest.approx([50 * 0.5 / 10])
    assert intercept == pytest.approx(50 + 50 * (0.1 - 0.5 * 20 / 10))
    assert isinstance(intercept, float)
    prepared = Domain(row_norm=4.0, target=(-2, 2)).encoding(["u", "v"])
    coef, intercept = prepared.coefficients_to_user(np.array([1.0, 2.0, 0.5]))
    assert coef == pytest.approx([0.5, 1.0])
    assert intercept == pytest.approx(1.0)


def test_without_an_intercept_zero_stays_zero() -> None:
    encoding = Domain(features={"a": Numeric(10, 30, indicator=False)}, target=(0, 100)).encoding(fit_intercept=False)
    rows = encoding.encode(np.array([[15.0], [np.nan]]), [50.0, np.nan])
    np.testing.assert_allclose(rows.X, [[0.5], [20 / 30]])
    np.testing.assert_allclose(rows.Y, [[0.5], [0.5]])
    assert encoding.facts.norm_l2 == 1.0


def test_clipping_bounds_follow_by_hoelder() -> None:
    features = {f"a{i}": (0, 1) for i in range(4)}
    facts = Domain(features=features, row_norm=1.0).encoding(fit_intercept=False).facts
    assert (facts.norm_l1, facts.norm_l2, facts.norm_linf) == (2.0, 1.0, 1.0)
    facts = Domain(features=features, row_norm=("linf", 0.5)).encoding(fit_intercept=False).facts
    assert (facts.norm_l1, facts.norm_l2, facts.norm_linf) == (2.0, 1.0, 0.5)
    facts = Domain(features=features, row_norm=("l1", 9)).encoding(fit_intercept=False).facts
    assert (facts.norm_l1, facts.norm_l2, facts.norm_linf) == (4.0, 2.0, 1.0)
    facts = Domain(row_norm=("l1", 9)).encoding(n_features=4).facts
    assert (facts.norm_l1, facts.norm_l2, facts.norm_linf) == (2.0, math.sqrt(2), 1.0)


def test_classes() -> None:
    two = Domain(row_norm=1.0, classes=["no", "yes"]).encoding(n_features=1)
    Y = two.encode(np.zeros((5, 1)), ["yes", "no", None, "maybe", " yes "]).Y
    assert Y.tolist() == [[1], [-1], [-1], [-1], [1]]
    numbers = Domain(row_norm=1.0, classes=[0, 1], target_fill=1).encoding(n_features=1)
    assert numbers.encode(np.zeros((4, 1)), np.array([0.0, 1.0, np.nan, 7.0])).Y.tolist() == [[-1], [1], [1], [1]]
    three = Domain(row_norm=1.0, classes={"g": ["a", "b", "c"]}).encoding(n_features=1)
    assert three.facts.targets == ("g=a", "g=b", "g=c")
    assert three.encode(np.zeros((2, 1)), ["c", "?"]).Y.tolist() == [[-1, -1, 1], [1, -1, -1]]
    coef, intercept = three.coefficients_to_user(np.ones((2, 3)))
    assert (coef.shape, intercept.tolist()) == ((3, 1), [1, 1, 1])


def test_units_keep_their_share_and_weights_are_clipped() -> None:
    domain = Domain(row_norm=1.0, target=(0, 1), unit="u", records_per_unit=2, records=10, weight=("w", 3))
    encoding = domain.encoding(n_features=1)
    unit = ["a", 7, "b", "7", None, " a", 7.0, "", "c", "a"]
    weight = [1, 2, "9", 2, 1, 1, 2, None, -1, 1]
    rows = encoding.encode(np.zeros((10, 1)), np.zeros(10), unit=unit, weight=weight)
    assert rows.weight is not None
    assert (1.5 * rows.weight).tolist() == [1, 2, 3, 2, 0, 1, 0, 0, 0, 0]  # those of "a" and of 7 are alike
    assert (encoding.facts.max_weight, encoding.facts.records_per_unit) == (2.0, 2)
    ids = np.array([2**60, 2**60 + 1, 2**60, 2**60])
    only = Domain(row_norm=1.0, target=(0, 1), unit="u", records_per_unit=2, records=4).encoding(n_features=1)
    kept = only.encode(np.zeros((4, 1)), np.zeros(4), unit=ids).weight
    assert kept is not None
    assert kept.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("share", [1, 2, 4])
@pytest.mark.parametrize("sparsely", [False, True])
def test_which_records_a_unit_keeps_does_not_depend_on_the_order_of_the_table(share: int, sparsely: bool) -> None:
    """And no other unit's records change it: neighbouring tables differ in the rows of one unit."""
    rng = np.random.default_rng(share)
    X, y, w = rng.integers(0, 3, (60, 3)).astype(float), rng.integers(0, 2, 60).astype(float), rng.integers(0, 3, 60)
    unit = rng.integers(0, 12, 60)
    domain = Domain(row_norm=2.0, target=(0, 1), unit="u", records_per_unit=share, records=60, weight=("w", 2))
    encoding = domain.encoding(n_features=3)

    def kept(places: np.ndarray) -> list[tuple[object, ...]]:
        some = sparse.csr_array(X[places]) if sparsely else X[places]
        rows = encoding.encode(some, y[places], unit=unit[places], weight=w[places])
        full = rows.X.toarray() if sparsely else rows.X
        counted = [(unit[p], *x, *t, v) for p, x, t, v in zip(places, full, rows.Y, rows.weight, strict=True) if v > 0]
        return sorted(tuple(map(float, one)) for one in counted)

    whole = kept(np.arange(60))
    assert kept(rng.permutation(60)) == whole
    assert max(Counter(one[0] for one in whole).values()) <= share
    without = kept(rng.permutation(np.flatnonzero(unit != 5)))
    assert without == [one for one in whole if one[0] != 5]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", None, 1, True]), min_size=1, max_size=15), st.integers(1, 3))
def test_other_units_do_not_change_what_a_unit_keeps(units, share) -> None:
    domain = Domain(row_norm=1.0, unit="u", records_per_unit=share, records=5)
    encoding = domain.encoding(n_features=1)
    kept = encoding.encode(np.zeros((len(units), 1)), unit=units).weight
    alone = [i for i, unit in enumerate(units) if unit == "a"]
    assert kept[alone].tolist() == [1.0] * min(share, len(alone)) + [0.0] * max(0, len(alone) - share)


def test_encodings_are_safe_to_copy() -> None:
    encoding = RICH.encoding()
    table, y = np.array([[20, 1, 2, "clerk", 1]], dtype=object), np.array([[1.0, 1e5]])
    for copied in (copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding))):
        assert copied.encode(table, y).X.tobytes() == encoding.encode(table, y).X.tobytes()
    with pytest.raises(DomainError, match="number of columns"):
        Domain(row_norm=1.0).encoding()


def test_nothing_private_is_shown() -> None:
    rows = RICH.encoding().encode(np.array([[20, 1, 2, "clerk", 1]], dtype=object), np.array([[1.0, 1e5]]))
    assert repr(rows) == "Rows(private)"


@pytest.mark.parametrize(
    ("table", "y", "words"),
    [
        (np.zeros(3), [1], "Expected 2D array, got 1D array"),
        (np.zeros((2, 3)), np.zeros(2), "X has 3 features, but Domain is expecting 2 features"),
        (np.zeros((2, 0)), np.zeros(2), "0 feature"),
        (np.zeros((2, 2)), None, "y cannot be None|y is None"),
        (np.zeros((2, 2)), np.zeros(3), "inconsistent numbers of samples"),
        (np.zeros((2, 2)), np.zeros((2, 2)), "y has 2 columns"),
        (np.zeros((2, 2)), sparse.csr_array(np.zeros((2, 1))), "sparse"),
        (np.zeros((2, 2), dtype=complex), np.zeros(2), "Complex data not supported"),
        (np.zeros((2, 2)), np.zeros(2, dtype=complex), "Complex data not supported"),
        (np.zeros((2, 2), dtype="datetime64[s]"), np.zeros(2), "datetime64"),
        (object(), np.zeros(2), "no reader opens"),
        ("absent.parquet", None, "no file"),
    ],
)
def test_faults_of_the_schema_are_sentences(table, y, words) -> None:
    domain = Domain(features={"a": (0, 1), "b": (0, 1)}, target=(0, 1))
    for raising in (lambda: domain.encoding().encode(table, y), lambda: domain.check_schema(table, y)):
        with pytest.raises(SchemaError, match=words):
            raising()


def test_a_weight_or_unit_must_be_declared() -> None:
    domain = Domain(row_norm=1.0)
    with pytest.raises(SchemaError, match="declares none"):
        domain.check_schema(np.zeros((2, 2)), weight=[1, 1])
    with pytest.raises(SchemaError, match="declares none"):
        domain.check_schema(np.zeros((2, 2)), unit=[1, 1])
    with pytest.raises(SchemaError, match="as an array of its own"):
        Domain(row_norm=1.0, unit="u").check_schema(np.zeros((2, 2)))


@pytest.mark.slow
def test_a_million_rows_take_a_second() -> None:
    """Measured against writing the result once, because fresh memory is most of the time."""
    import time

    X = np.random.default_rng(0).normal(size=(10**6, 20))
    encoding = Domain(features={f"c{i}": (-2, 2) for i in range(20)}, indicators=False).encoding()
    encoding.encode(X[:10])
    start = time.perf_counter()
    np.ones((10**6, 21))
    memory = time.perf_counter() - start
    start = time.perf_counter()
    encoding.encode(X)
    assert time.perf_counter() - start < 1.0 + memory


@settings(derandomize=True, max_examples=150, deadline=None)
@given(arrays(np.float64, (1, 5), elements=st.floats(allow_nan=False)), st.sampled_from([1.0, 0.1, 7.3]))
def test_clipped_norms_hold_in_exact_arithmetic(X, radius) -> None:
    from fractions import Fraction

    for norm in ("l1", "l2"):
        row = Domain(row_norm=(norm, radius)).encoding(n_features=5, fit_intercept=False).encode(X).X[0]
        exact = [abs(Fraction(float(v))) for v in row]
        assert (sum(exact) if norm == "l1" else sum(v * v for v in exact)) <= 1


def test_wide_sparse_tables_need_no_square_matrix() -> None:
    p = 300_000
    X = sparse.random_array((20, p), density=1e-4, rng=np.random.default_rng(0), format="csr")
    encoding = Domain(row_norm=2.0, target=(0, 4)).encoding_for(X, np.zeros(20))
    rows = encoding.encode(X, np.zeros(20))
    theta = np.arange(p + 1.0)
    coef, intercept = encoding.coefficients_to_user(theta)
    np.testing.assert_array_equal(coef, theta[:p])
    assert intercept == 2 * p + 2
    assert rows.X.nnz == X.nnz + 20


def test_a_text_target_of_one_record_is_a_target_and_not_a_name() -> None:
    encoding = Domain(row_norm=1.0, classes=["no", "yes"]).encoding(n_features=1)
    assert encoding.encode(np.zeros((1, 1)), ["yes"]).Y.tolist() == [[1.0]]
