"""Every estimator from the command line: fit, card, predict; an option of another estimator is refused."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hullabaloo.planning.named import SOLVERS
from hullabaloo.release.planned import _chosen
from tests.cli.conftest import Run
from tests.data.test_sparse_lists import P, lists_table
from tests.linear_model.examples import table

FEATURES = """
indicators = false

[features]
age = [18, 90]
hours = [0, 80]
"""
GRADIENT = ["--solver", "gradient"]
TARGETS = {
    "logistic": ('classes = { ill = ["no", "yes"] }', ["--multi-class", "multinomial", *GRADIENT]),
    "svc": ('classes = { ward = ["a", "b", "c"] }', ["--smoothing", "0.3", *GRADIENT]),
    "poisson": ("target = { visits = [0, 30] }", GRADIENT),
    "quantile": ("target = { cost = [-20, 20] }", ["--quantile", "0.9", *GRADIENT]),
    "huber": ("target = { cost = [-20, 20] }", ["--threshold", "0.1", *GRADIENT]),
    "group-lasso": ("target = { cost = [-20, 20] }", ["--group", "age, hours", "--radius", "2", *GRADIENT]),
    "multi-task": (
        "target = { cost = [-20, 20], visits = [0, 30] }",
        ["--radius", "2", "--solver", "mirror-descent"],
    ),
}
BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two solvers to choose from: which is the better is not the subject."""
    known = {name: SOLVERS[name] for name in ("gradient", "output_perturbation")}
    monkeypatch.setattr("hullabaloo.planning.choose.SOLVERS", known)
    yield
    _chosen.cache_clear()


def prepared(folder: Path, declared: str, features: str = FEATURES) -> None:
    table(600).to_csv(folder / "table.csv", index=False)
    (folder / "domain.toml").write_text(declared + "\n" + features, encoding="utf-8")


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", TARGETS)
def test_fit_card_and_predict(run: Run, tmp_path: Path, kind: str) -> None:
    declared, more = TARGETS[kind]
    prepared(tmp_path, declared)
    named = [] if kind == "logistic" else ["--estimator", kind]  # what a domain of classes is taken to mean
    words = ["--domain", "domain.toml", *named, *more, *BUDGET]
    price = run("price", *words, "--records", 600, "--json")
    assert price.code == 0, price.err
    done = run("fit", "table.csv", *words, "--out", "model.json", "--json")
    assert done.code == 0, done.err
    assert done.json["solver"]
    assert run("card", "model.json", "--out", "card.json").code == 0
    shown = run("predict", "model.json", "table.csv")
    assert shown.code == 0, shown.err
    lines = list(csv.reader(shown.out.splitlines()))
    assert len(lines) == 601
    assert all(name.startswith("predicted_") for name in lines[0])
    assert len(lines[0]) == (2 if kind == "multi-task" else 1)
    labels = {line[0] for line in lines[1:]}
    if kind == "logistic":
        assert labels <= {"no", "yes"}
    elif kind == "svc":
        assert labels <= {"a", "b", "c"}
    else:
        assert all(map(float, labels))


def test_a_file_is_fitted_in_parts(run: Run, tmp_path: Path) -> None:
    prepared(tmp_path, TARGETS["huber"][0])
    words = ["--domain", "domain.toml", "--solver", "moments", *BUDGET, "--in-parts"]
    done = run("fit", "table.csv", *words, "--out", "model.json")
    assert done.code == 0, done.err
    assert "read in parts" in done.out
    refused = run("fit", "table.csv", *words, "--out", "other.json", "--solver", "objective-perturbation")
    assert refused.code == 1
    assert "read in parts" in refused.err
    (tmp_path / "scratch").mkdir()
    watched = run("fit", "table.csv", *words[:-1], "--cache", "scratch", "--verbose", "--out", "watched.json")
    assert watched.code == 0, watched.err
    assert "read in parts" in watched.out
    assert not list((tmp_path / "scratch").iterdir())
    assert run("fit", "table.csv", *words, "--cache", "nowhere", "--out", "third.json").code == 1


def test_sparse_rows_are_read_from_lists(run: Run, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    (tmp_path / "rows").mkdir()
    pq.write_table(lists_table(), tmp_path / "rows" / "0.parquet")
    (tmp_path / "domain.toml").write_text(
        'row_norm = 1.5\nrecords = 400\ntarget = { y = [-1, 1] }\nweight = ["w", 2.0]\n'
    )
    (tmp_path / "scratch").mkdir()
    words = ["--domain", "domain.toml", "--solver", "moments", *BUDGET, "--cache", "scratch"]
    done = run("fit", "rows", *words, "--sparse", P, "--out", "model.json")
    assert done.code == 0, done.err
    predicted = run("predict", "model.json", "rows", "--sparse", P, "--keep", "w", "--out", "p", "--json")
    assert predicted.code == 0, predicted.err
    assert pq.read_table(tmp_path / "p").num_rows == 400
    refused = run("fit", "rows", *words, "--sparse", 0, "--out", "other.json")
    assert (refused.code, "sparse=0" in refused.err) == (1, True)


def test_predictions_evaluations_and_bounds_are_made_in_parts(run: Run, tmp_path: Path) -> None:
    """Of a file, of JSON Lines and of an address: as of the file in memory, keys beside predictions; a folder is there whole or not at all."""
    import pyarrow.parquet as pq
    from pyarrow import csv as lines

    prepared(tmp_path, TARGETS["huber"][0])
    assert (
        run("fit", "table.csv", "--domain", "domain.toml", "--solver", "moments", *BUDGET, "--out", "model.json").code
        == 0
    )
    assert run("predict", "model.json", "table.csv", "--out", "whole.csv").code == 0
    wanted = lines.read_csv(tmp_path / "whole.csv")
    rows = lines.read_csv(tmp_path / "table.csv")
    (tmp_path / "table.jsonl").write_text("\n".join(map(json.dumps, rows.to_pylist())))
    names = ",".join(rows.schema.names)
    for number, words in enumerate(
        (["table.csv"], ["table.jsonl", "--columns", names], [f"file://{tmp_path}/table.csv"])
    ):
        told = run(
            "predict",
            "model.json",
            *words,
            "--in-parts",
            "--keep",
            rows.schema.names[0],
            "--out",
            f"p{number}",
            "--json",
        ).json
        assert told["columns"] == [rows.schema.names[0], *wanted.schema.names]
        found = pq.read_table(tmp_path / f"p{number}")
        assert found[0].to_pylist()[0] in (rows[0].to_pylist()[0], str(rows[0].to_pylist()[0]))
        assert np.allclose(found[1].to_numpy(), wanted[0].to_numpy())
    secret = tmp_path / "p.parquet"
    secret.touch(0o600)
    assert run("predict", "model.json", "table.csv", "--in-parts", "--out", secret.name, "--overwrite").code == 0
    assert (secret.stat().st_mode & 0o777, pq.read_table(secret).num_rows) == (0o600, rows.num_rows)
    for words in (
        ["--keep", "age"],
        ["--in-parts"],
        ["--in-parts", "--out", "p.csv"],
        ["--keep", "nobody", "--out", "p"],
    ):
        assert run("predict", "model.json", "table.csv", *words).code == 1
    assert run("predict", "model.json", "table.csv", "--engine", "dask", "--out", "p").code == 1
    assert not (tmp_path / "p").exists()
    for words in (["--epsilon", "3", "--in-parts"], ["--epsilon", "3", "--cache", "."]):
        told = run("evaluate", "model.json", "table.csv", "--delta", "1e-6", *words, "--json").json
        assert told["evaluation"]["statement"]["parted"]
    bounds = run("domain", "estimate", "table.csv", "--outer", "domain.toml", *BUDGET, "--in-parts")
    assert bounds.code == 0, bounds.err


def test_a_cluster_is_named_in_words_of_the_command_line(run: Run, tmp_path: Path) -> None:
    prepared(tmp_path, TARGETS["huber"][0])
    (tmp_path / "table").mkdir()
    words = ("fit", "table", "--domain", "domain.toml", *BUDGET, "--out", "model.json", "--engine")
    for said, *given in (
        ("--address tcp://", "dask"),
        ("one of --engine dask", "ray"),
        ("--address was given alone", None),
    ):
        asked = words[:-1] if given == [None] else (*words, *given)
        done = run(*asked, *(["--address", "tcp://h:1"] if given == [None] else []))
        assert done.code == 1
        assert said in " ".join(done.err.split())
        assert "client" not in done.err


def test_probabilities_stand_beside_the_label(run: Run, tmp_path: Path) -> None:
    prepared(tmp_path, TARGETS["logistic"][0])
    words = ["--domain", "domain.toml", "--estimator", "logistic", "--solver", "gradient", *BUDGET]
    assert run("fit", "table.csv", *words, "--out", "model.json").code == 0
    for out in ("found.csv", "found.parquet"):
        assert run("predict", "model.json", "table.csv", "--probabilities", "--out", out).code == 0
    with (tmp_path / "found.csv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == ["predicted_ill", "probability_ill=no", "probability_ill=yes"]
    for row in found:
        yes = float(row["probability_ill=yes"])
        assert abs(yes + float(row["probability_ill=no"]) - 1.0) < 1e-12
        assert row["predicted_ill"] == ("yes" if yes > 0.5 else "no")
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "found.parquet").column("predicted_ill").to_pylist() == [
        row["predicted_ill"] for row in found
    ]


def test_exposures(run: Run, tmp_path: Path) -> None:
    prepared(tmp_path, "target = { events = [0, 60] }", FEATURES + "years = [0.25, 8]\n")
    words = ["--domain", "domain.toml", "--estimator", "poisson", "--exposure", "years", *GRADIENT, *BUDGET]
    done = run("fit", "table.csv", *words, "--out", "model.json", "--json")
    assert done.code == 0, done.err
    assert {row["name"] for row in done.json["summary"]["rows"]} == {"age", "hours", "(intercept)"}
    assert run("predict", "model.json", "table.csv").code == 0
    table(600).drop(columns="years").to_csv(tmp_path / "bare.csv", index=False)
    for command in (("predict", "model.json", "bare.csv"), ("domain", "check", "domain.toml", "bare.csv")):
        said = " ".join(run(*command).err.split())
        assert "The column 'years' is declared in the domain, and the table has no such column." in said
        assert "feature 'years'" not in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--estimator", "ridge", "--quantile", "0.5"],
            "--quantile was given, and the estimator ridge has no such setting",
        ),
        (["--estimator", "quantile", "--quantile", "2"], "above 0 and below 1"),
        (["--estimator", "logistic"], "learns classes"),
        (["--estimator", "poisson", "--exposure", "years"], "does not declare"),
        (["--estimator", "group-lasso", "--group", "income"], "no feature of the domain"),
        (["--estimator", "ridge", "--calibration", "paper"], "names no method"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(
    run: Run, tmp_path: Path, words: list[str], says: str
) -> None:
    prepared(tmp_path, "target = { visits = [0, 30] }")
    done = run("fit", "table.csv", "--domain", "domain.toml", *words, *BUDGET, "--out", "model.json")
    assert done.code != 0
    assert says in " ".join(done.err.split())
    assert not (tmp_path / "model.json").exists()


@pytest.mark.usefixtures("unrehearsed")
def test_solvers_may_be_spelled_as_plans_print_them(run: Run, tmp_path: Path) -> None:
    prepared(tmp_path, "target = { visits = [0, 30] }")
    words = ["--domain", "domain.toml", "--records", "1000", *BUDGET, "--json"]
    for spelling in ("adaptive-gradient", "adaptive_gradient"):
        assert run("price", *words, "--solver", spelling).json["price"]["solver"] == "adaptive_gradient"


def test_numbers_have_no_probabilities(run: Run, tmp_path: Path) -> None:
    prepared(tmp_path, "target = { visits = [0, 30] }")
    fit = ("fit", "table.csv", "--domain", "domain.toml", "--solver", "moments", *BUDGET, "--out", "model.json")
    assert run(*fit).code == 0
    done = run("predict", "model.json", "table.csv", "--probabilities")
    assert done.code != 0
    assert "only a logistic regression models them" in " ".join(done.err.split())


STRUCTURES = [
    "features",
    "intervals",
    "cover;age,job;1,hours",
    "cover;0-2;years",
    "tree;hours:age;job:age,hours;years:0",
    "grid;2,2",
    "grid;2,2,2",
    "top;2",
]
FOUR = FEATURES + 'job = ["clerk", "nurse", "cook"]\nyears = [0.5, 4]\n'


@pytest.mark.few(4)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_structures_of_features(run: Run, tmp_path: Path, structure: str) -> None:
    prepared(tmp_path, TARGETS["huber"][0], FOUR)
    words = [
        "--domain",
        "domain.toml",
        "--estimator",
        "structured-sparse-regression",
        "--structure",
        structure,
        *BUDGET,
    ]
    done = run("fit", "table.csv", *words, "--solver", "gradient", "--radius", "2", "--out", "model.json", "--json")
    assert done.code == 0, done.err
    assert "Structure: " in done.json["summary"]["note"]
    assert "radius 2" in done.json["summary"]["note"]


@pytest.mark.slow
def test_classes_with_a_structure(run: Run, tmp_path: Path) -> None:
    prepared(tmp_path, TARGETS["logistic"][0], FOUR)
    words = [
        "--domain",
        "domain.toml",
        "--estimator",
        "structured-sparse-classifier",
        "--structure",
        "tree;job:age,hours",
    ]
    words += ["--strength", "0.01", "--solver", "gradient", *BUDGET]
    assert run("price", *words, "--records", 600, "--json").code == 0
    assert run("fit", "table.csv", *words, "--out", "model.json").code == 0
    assert run("card", "model.json", "--out", "card.html").code == 0
    assert "strength 0.01, for one coefficient alone" in (tmp_path / "card.html").read_text(encoding="utf-8")
    shown = run("predict", "model.json", "table.csv", "--probabilities")
    assert shown.code == 0, shown.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--domain", "domain.toml", "--structure", "intervals"], marks=pytest.mark.slow),
        pytest.param(
            ["--domain", "domain.toml", "--structure", "cover;age;age,hours", "--strength", "0.01"],
            marks=pytest.mark.slow,
        ),
        ["--columns", "4", "--structure", "grid;2,2", "--radius", "0.5"],
    ],
)
@pytest.mark.usefixtures("few")
def test_a_plan_for_a_structure(run: Run, tmp_path: Path, words: list[str]) -> None:
    prepared(tmp_path, TARGETS["huber"][0])
    done = run("plan", *words, "--records", "2000", *BUDGET, "--json")
    assert done.code == 0, done.err
    assert done.json["plan"]["chosen"]


@pytest.mark.few(1)
@pytest.mark.parametrize(("kind", "loss"), [("logistic", "logistic"), ("svc", "logistic"), ("huber", "squared")])
@pytest.mark.usefixtures("few")
def test_a_plan_is_of_what_fit_takes_the_domain_to_mean(run: Run, tmp_path: Path, kind: str, loss: str) -> None:
    prepared(tmp_path, TARGETS[kind][0])
    done = run("plan", "--domain", "domain.toml", "--records", "2000", *BUDGET)
    assert done.code == 0, done.err
    assert done.out.startswith(f"{loss} loss")


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fit", "--structure", "runs"], "'runs'"),
        (["fit", "--structure", "cover"], "cannot be read"),
        (["fit", "--structure", "cover;age,income"], "'income', which is no feature"),
        (["fit", "--structure", "cover;age;"], "'', which is no feature"),
        (["fit", "--structure", "cover;2-0"], "run backwards"),
        (["fit", "--structure", "tree;age"], "no child:parent"),
        (["fit", "--structure", "tree;age:hours;hours:age"], "circle"),
        (["fit", "--structure", "tree;age:hours;age:job"], "'age' twice"),
        (["fit", "--structure", "grid;2"], "cannot be read"),
        (["fit", "--structure", "grid;3,3"], "3 × 3 = 9 pixels"),
        (["fit", "--estimator", "lasso", "--structure", "intervals"], "no such setting"),
        (["fit", "--structure", "intervals", "--radius", "0"], "above 0"),
        (["fit", "--structure", "intervals", "--set", "l1:1"], "leave the other out"),
        (["fit", "--structure", "interval"], "'intervals', 'cover;0-2;2,3'"),
        (["plan", "--structure", "intervals", "--set", "l1:1"], "leave the other out"),
        (["plan", "--radius", "1"], "without --structure"),
        (["plan", "--structure", "grid;3,3"], "3 × 3 = 9 pixels"),
        (["plan", "--public", "domain.toml"], "public table cannot be used"),
    ],
)
def test_what_is_no_structure_is_refused(run: Run, tmp_path: Path, words: list[str], says: str) -> None:
    prepared(tmp_path, TARGETS["huber"][0], FOUR)
    common = ["--domain", "domain.toml", *BUDGET]
    kind = [] if "--estimator" in words else ["--estimator", "structured-sparse-regression"]
    fit = ["fit", "table.csv", *common, *kind, "--out", "model.json"]
    done = run(*(fit if words[0] == "fit" else ["plan", *common, "--records", "2000"]), *words[1:])
    assert done.code == 1, (done.out, done.err)
    assert says in " ".join(done.err.split())
    assert not (tmp_path / "model.json").exists()
