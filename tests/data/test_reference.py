"""The reference table's second moments are those of tables drawn evenly from the declared domain."""

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.data.reference import RARE, reference_gram, undetermined

FEATURES = {
    "age": (18, 90),
    "sex": ["f", "m"],
    "ward": hb.Categorical(["a", "b", "c"], baseline="b"),
    "dose": hb.Numeric(-1, 3, indicator=False),
}
INTERACTIONS = [("age", "sex"), ("sex", "ward"), ("age", "dose")]


def _even_table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, n),
            "sex": rng.choice(["f", "m"], n).astype(object),
            "ward": rng.choice(["a", "b", "c"], n).astype(object),
            "dose": rng.uniform(-1, 3, n),
        }
    )
    for name in ("age", "sex", "ward"):
        table.loc[rng.random(n) < RARE, name] = None
    return table


@pytest.mark.parametrize("interactions", [[], INTERACTIONS])
def test_second_moments_of_an_even_table(interactions: list[tuple[str, str]]) -> None:
    domain = hb.Domain(features=FEATURES, target=(0, 1), interactions=interactions)
    encoding = domain.encoding()
    n = 200_000
    X = encoding.features(_even_table(n))
    found = X.T @ X / n
    assert np.abs(found - reference_gram(encoding)).max() < 6.0 / np.sqrt(n)  # entries are means of [-1, 1]: 6 s.d.


def test_levels_without_a_baseline_add_up_to_the_intercept() -> None:
    gram = reference_gram(hb.Domain(features={"sex": ["f", "m"]}, target=(0, 1)).encoding())
    assert abs(np.linalg.eigvalsh(gram)[0]) < 1e-12
    domain = hb.Domain(features=FEATURES, target=(0, 1))
    assert undetermined(domain.encoding()) == ["sex"]
    assert undetermined(domain.encoding(fit_intercept=False)) == []
    assert undetermined(hb.Domain(row_norm=1.0, target=(0, 1)).encoding(n_features=3)) == []


def test_rows_clipped_to_a_norm_have_it() -> None:
    encoding = hb.Domain(features=FEATURES, row_norm=0.5, target=(0, 1)).encoding()
    assert np.trace(reference_gram(encoding)) == pytest.approx(0.25 + 1.0)
    prepared = hb.Domain(row_norm=2.0, target=(0, 1)).encoding(n_features=4)
    np.testing.assert_allclose(reference_gram(prepared), np.diag([0.25] * 4 + [1.0]))
