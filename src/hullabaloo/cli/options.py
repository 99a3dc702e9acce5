"""The options of commands: names, types and defaults are those of Python's signature, and the docstring describes them.

A parameter before the `*` of a command is an argument, each other one an option: `key_file` is `--key-file`, `set_` is `--set`. Below `Args:` in
the docstring stand `name METAVAR: help` and, for a group of options in the help page, `Privacy options:` or another head with the same.
A parameter whose type is one of the groups below stands for all their options.
"""

import inspect
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import typer

Relation = Literal["replace-one", "add-or-remove"]
# The estimators of `hullabaloo.linear_model`, by their names on the command line.
ESTIMATORS = {
    "linear": "LinearRegression", "ridge": "Ridge", "lasso": "Lasso", "elastic-net": "ElasticNet", "group-lasso": "GroupLasso",
    "huber": "HuberRegressor", "quantile": "QuantileRegressor", "poisson": "PoissonRegressor", "logistic": "LogisticRegression",
    "svc": "LinearSVC", "multi-task": "MultiTaskRegression", "structured-sparse-regression": "StructuredSparseRegression",
    "structured-sparse-classifier": "StructuredSparseClassifier",
}  # fmt: skip
SOLVERS = (
    "auto", "moments", "gradient", "adaptive-gradient", "preconditioned-gradient", "coordinate-descent", "greedy-selection", "subspace-descent",
    "greedy-coordinate-descent", "mirror-descent", "frank-wolfe", "dual-frank-wolfe", "objective-perturbation", "output-perturbation",
    "constant",
)  # fmt: skip
LONG_CHOICES = {"estimator": tuple(ESTIMATORS), "solver": SOLVERS}
PARAMETERS = {"set_": "constraint", "intercept": "fit_intercept", "group": "groups", "level": "selection_level"}
"""Options of an estimator whose parameter has another name."""


class Shared:
    """What several commands ask.

    Args:
        source TABLE: A Parquet or CSV file, or a folder of Parquet files.
        model MODEL: A model saved by `hullabaloo fit` or `hullabaloo stream`.
        domain FILE: The declared domain, TOML or JSON (see `domain template`).
        target COLUMN: The column to predict; not needed where the domain names it.
        overwrite: Replace an existing output file.
        json_: Print one JSON object for scripts, and nothing else.
        url LEDGER: sqlite:///privacy.db or postgresql://user@host/db; or by name: --ledger URL; else HULLABALOO_LEDGER.
        dataset DATASET: The dataset's name in the ledger; or by name: --dataset NAME.
        cache DIR: Read in parts, and keep encoded rows beyond 1 GiB sealed in a folder on a local disk, so that the table is not read anew; a domain with a unit needs one.
        verbose: Read in parts, and say on standard error how many of the plan's questions have been asked, and for how long.

    Privacy options:
        neighbours: What is hidden: one record replaced (their number is public), or one more or fewer (their number is hidden; the domain
            declares `records`).

    Model options:
        set_ SET: Constraint, on columns scaled to at most 1: l1:2, l2:1, lp:1.5,1, box:-1,1, simplex, elastic:0.5,1, nuclear:1,3 (3 targets),
            'group:1;0-2;3,5;4' (encoded columns), 'structure:1;intervals' (a set function of them) or 'polytope:0,0;1,0;0,1' (vertices).
        penalty PENALTY: Penalty, instead of a set or beside one that it goes with: l1:0.01, l2:0.1, elastic:0.1,0.5, nuclear:0.1,3 (3 targets), 'group:0.1;0-2;3,5;4'
            (encoded columns) or 'structure:0.1;intervals' (a set function of them).
        exposure COLUMN: poisson: the column that counts are proportional to.
        radius NUMBER: group-lasso, multi-task: radius of the default ball; structured-sparse-...: the largest that one coefficient alone
            may be; else 1.
        strength NUMBER: group-lasso, structured-sparse-...: a penalty of this weight, in place of the default ball; --radius then plays no part.
        structure STRUCTURE: structured-sparse-...: which features belong together, by name or place: intervals, 'cover;age,ward;ward,dose'
            (groups, which may overlap), 'tree;dose:age;ward:age' (child:parent) or 'grid;8,8' (rows, columns; 'grid;8,8,3' with a window).
        intercept: Add a constant.
    """


class BudgetOptions(NamedTuple):
    """The budget, stated in one of its ways; read by `build.budget`.

    Privacy options:
        epsilon NUMBER: How much the release may depend on one record; 1 is customary. inf: no privacy.
        delta NUMBER: Probability that epsilon fails; well below one over the number of records, e.g. 1e-9.
        mu NUMBER: Instead: a Gaussian-DP budget.
        rho NUMBER: Instead: a zCDP budget.
    """

    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None
    rho: float | None = None


class LedgerOptions(NamedTuple):
    """Where a charge is made; read by `build.ledger`.

    Ledger options:
        ledger URL: Where the charge is recorded: sqlite:///privacy.db or postgresql://…; else HULLABALOO_LEDGER.
        dataset NAME: Whose budget in the ledger is charged.
    """

    ledger: str | None = None
    dataset: str | None = None


class PartsOptions(NamedTuple):
    """Where a table that is larger than memory is read; read by `build.table`.

    Args:
        source TABLE: A Parquet or CSV file, or a folder of Parquet files; in parts also a JSON Lines file, or an address, such as s3://bucket/visits/.

    Reading options:
        in_parts: Read the table in parts, anew for each question: for files larger than memory.
        columns A,B: Of a JSON Lines file, the keys that are read; in parts.
        sparse COLUMNS: How many columns sparse rows have, whose table holds the lists indices and values; in parts.
        engine NAME: Read a Parquet file or folder in parts by the workers of a cluster, which must find it under the same path: dask or spark.
        address URL: Of the cluster: tcp://host:8786 of Dask; sc://host:15002 (Spark Connect), spark://host:7077 or local[2] of Spark.
    """

    in_parts: bool = False
    columns: str | None = None
    sparse: int | None = None
    engine: str | None = None
    address: str | None = None


class ModelOptions(NamedTuple):
    """What is to be fitted; read by `build.estimator`.

    Privacy options:
        calibration: exact: the least noise that the budget allows; paper: what the solver's paper prints, with what it really guarantees.

    Model options:
        estimator: The model: numbers, counts, quantiles, classes (logistic, svc, structured-sparse-classifier) or several targets
            (multi-task); else logistic where the domain declares classes, linear where it does not.
        multi_class: logistic, of more than two classes: together or apart.
        quantile SHARE: quantile: which one, between 0 and 1; else 0.5.
        threshold NUMBER: huber: the residual beyond which the loss is linear, in half ranges of the target.
        smoothing NUMBER: svc: half the width of the hinge's rounded corner.
        group A,B: group-lasso: features that enter together; once for each group. Other features are groups of their own.
        solver: The algorithm; auto chooses from public facts.
        selection: Over an l1 set or with an l1 penalty, which coefficients are kept: by the share of false ones (fdr) or the chance of any
            (bound); else those that the solver leaves.
        level SHARE: That share or chance; else 0.1.
        inference SHARE: Errors and intervals: yes, no, or their share of the budget; else wherever something valid is known.
        public FILE: A table of the same columns that nobody has to protect: another year, a published sample. What it says is a start, and
            tested.
        errors: How records vary around the model: robust, the same with a unit's records alike, or homoskedastic.
    """

    neighbours: Relation = "replace-one"
    estimator: str | None = None
    multi_class: Literal["auto", "multinomial", "one-vs-rest"] | None = None
    quantile: float | None = None
    threshold: float | None = None
    smoothing: float | None = None
    exposure: str | None = None
    group: list[str] | None = None
    radius: float | None = None
    strength: float | None = None
    structure: str | None = None
    set_: str | None = None
    penalty: str | None = None
    solver: str = "auto"
    selection: Literal["fdr", "bound"] | None = None
    level: float | None = None
    inference: str | None = None
    errors: Literal["auto", "robust", "homoskedastic", "unit"] = "auto"
    public: str | None = None
    intercept: bool = True
    calibration: Literal["exact", "paper"] = "exact"


class Described(NamedTuple):
    """One entry of a docstring."""

    metavar: str | None
    panel: str | None
    help: str


UNTOLD = Described(None, None, "")  # under `python -OO`, which leaves docstrings out


class FileOptions(NamedTuple):
    """Where records come from, and where models and the state go.

    Files options:
        models PATTERN: A file for the model of each release, written once: 'models/{position}.json'.
        out FILE: A file that holds the latest model.
        state FILE: Where the stream is kept between runs: it goes on from there after an interruption or a crash. Private data.
        key_file FILE: A key that the state is encrypted with.
        new_key: Make the key file, for a new stream. Keep it apart from the state; without it the stream cannot go on.
        follow: Wait for more at the end of the source.
        continues: The source begins with the first record not taken yet (the next file, a live pipe); else it begins with the stream's first
            record, and those already taken are passed over.
        format_: How records are written; else told by the suffix.
        key NAME: redis: the stream's key.
    """

    models: str | None = None
    out: Path | None = None
    state: Path | None = None
    key_file: Path | None = None
    new_key: bool = False
    follow: bool = False
    continues: bool = False
    format_: Literal["csv", "jsonl", "parquet", "redis"] | None = None
    key: str | None = None


def parameter(name: str) -> str:
    """The parameter of an estimator or stream that an option sets."""
    return PARAMETERS.get(name, name)


def flag(name: str) -> str:
    """How a parameter is written on the command line."""
    return f"--{name.strip('_').replace('_', '-')}"


def described(thing: object) -> tuple[str, dict[str, Described]]:
    """A docstring's text, and what it says of parameters."""
    text, entries, panel, name = [], {}, None, ""
    for line in (inspect.getdoc(thing) or "").splitlines():
        if head := re.fullmatch(r"Args:|(\w+) options:", line):
            panel, name = head[1], "…"
        elif not name:
            text.append(line)
        elif entry := re.match(r"    (\w+)(?: ([^\s:]+))?: (.+)", line):
            name = entry[1]
            entries[name] = Described(entry[2], panel, entry[3])
        elif line.strip():
            entries[name] = entries[name]._replace(help=f"{entries[name].help} {line.strip()}")
    return "\n".join(text).strip(), entries


def command(run: Callable[..., None]) -> Callable[..., None]:
    """The command with a signature that Typer reads: an option for every parameter, and for every field of a group."""
    hints = get_type_hints(run)
    groups = {name: hint for name, hint in hints.items() if hasattr(hint, "_fields")}
    text, own = described(run)
    about = {name: entry for kind in (Shared, *groups.values()) for name, entry in described(kind)[1].items()} | own

    @wraps(run)
    def called(**given: Any) -> None:
        made = {name: kind(**{one: given.pop(one) for one in kind._fields}) for name, kind in groups.items()}
        run(**given, **made)

    parameters = []
    for one in inspect.signature(run).parameters.values():
        fields = get_type_hints(groups[one.name]) if one.name in groups else {one.name: hints[one.name]}
        for name, hint in fields.items():
            default = groups[one.name]._field_defaults[name] if one.name in groups else one.default
            parameters.append(_parameter(name, hint, default, one.kind, about.get(name, UNTOLD)))
    called.__doc__ = text
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _parameter(name: str, hint: Any, default: Any, kind: Any, about: Described) -> inspect.Parameter:
    inner = get_args(hint)
    words = LONG_CHOICES.get(name) or next((get_args(one) for one in (hint, *inner) if get_origin(one) is Literal), ())
    metavar, text = about.metavar, about.help
    if words:  # listed in the help, where they can be broken into lines
        hint = Literal[words] | None if NoneType in inner else Literal[words]
        named = all(word in text for word in words)
        metavar, text = "WORD", text if named else f"{text} One of {', '.join(words)}."
    if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        info: Any = typer.Argument(metavar=metavar, help=text)
    else:
        written = f"{flag(name)}/--no-{name}" if default is True else flag(name)
        info = typer.Option(written, metavar=metavar, help=text, rich_help_panel=about.panel)
    return inspect.Parameter(name, kind, default=default, annotation=Annotated[hint, info])
