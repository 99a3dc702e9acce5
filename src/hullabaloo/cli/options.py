"""Options that several commands share, each described once."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer


class Estimator(StrEnum):
    """The estimators of `hullabaloo.linear_model`, by their names on the command line."""

    LINEAR = "linear"
    RIDGE = "ridge"
    LASSO = "lasso"
    ELASTIC_NET = "elastic-net"
    GROUP_LASSO = "group-lasso"
    HUBER = "huber"
    QUANTILE = "quantile"
    POISSON = "poisson"
    LOGISTIC = "logistic"
    SVC = "svc"
    MULTI_TASK = "multi-task"
    STRUCTURED_REGRESSION = "structured-sparse-regression"
    STRUCTURED_CLASSIFIER = "structured-sparse-classifier"


class Relation(StrEnum):
    """The neighbouring relations, as in `hullabaloo.privacy.Neighbours` (not imported here: help must be quick)."""

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE = "add-or-remove"


class Solver(StrEnum):
    """The solvers, by their names in the library with a hyphen."""

    AUTO = "auto"
    MOMENTS = "moments"
    GRADIENT = "gradient"
    ADAPTIVE_GRADIENT = "adaptive-gradient"
    PRECONDITIONED_GRADIENT = "preconditioned-gradient"
    COORDINATE_DESCENT = "coordinate-descent"
    GREEDY_SELECTION = "greedy-selection"
    GREEDY_COORDINATE_DESCENT = "greedy-coordinate-descent"
    MIRROR_DESCENT = "mirror-descent"
    FRANK_WOLFE = "frank-wolfe"
    DUAL_FRANK_WOLFE = "dual-frank-wolfe"
    OBJECTIVE_PERTURBATION = "objective-perturbation"
    OUTPUT_PERTURBATION = "output-perturbation"


class Calibration(StrEnum):
    """How noise is computed from a budget."""

    EXACT = "exact"
    PAPER = "paper"


class MultiClass(StrEnum):
    """How more than two classes are learned."""

    AUTO = "auto"
    MULTINOMIAL = "multinomial"
    ONE_VS_REST = "one-vs-rest"


class Filter(StrEnum):
    """How a ledger adds charges up."""

    BASIC = "basic"
    GDP = "gdp"
    RENYI = "renyi"


_MODEL, _PRIVACY, _LEDGER = "Model", "Privacy", "Ledger"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for scripts, and nothing else.")]
DomainFile = Annotated[
    Path, typer.Option("--domain", metavar="FILE", help="The declared domain, TOML or JSON (see `domain template`).")
]
Target = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The column to predict; not needed where the domain names it."),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        rich_help_panel=_PRIVACY,
        help="How much the release may depend on one record; 1 is customary. inf: no privacy.",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        rich_help_panel=_PRIVACY,
        help="Probability that epsilon fails; well below one over the number of records, e.g. 1e-6.",
    ),
]
Mu = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", rich_help_panel=_PRIVACY, help="Instead: a Gaussian-DP budget."),
]
Rho = Annotated[float | None, typer.Option(metavar="NUMBER", rich_help_panel=_PRIVACY, help="Instead: a zCDP budget.")]
Neighbours = Annotated[
    Relation,
    typer.Option(
        rich_help_panel=_PRIVACY,
        help="What is hidden: one record replaced (their number is public), or one more or fewer (their number is "
        "hidden; the domain declares `records`).",
    ),
]
Kind = Annotated[
    Estimator,
    typer.Option(
        "--estimator",
        rich_help_panel=_MODEL,
        help="The model: numbers, counts, quantiles, classes (logistic, svc, structured-sparse-classifier) or several targets (multi-task).",
    ),
]
Set = Annotated[
    str | None,
    typer.Option(
        "--set",
        metavar="SET",
        rich_help_panel=_MODEL,
        help="Constraint, on columns scaled to at most 1: l1:2, l2:1, lp:1.5,1, box:-1,1, simplex, elastic:0.5,1, "
        "nuclear:1,3 (3 targets), 'group:1;0-2;3,5;4' (encoded columns), 'structure:1;intervals' (a set function of them) or "
        "'polytope:0,0;1,0;0,1' (vertices).",
    ),
]
Penalty = Annotated[
    str | None,
    typer.Option(
        "--penalty",
        metavar="PENALTY",
        rich_help_panel=_MODEL,
        help="Penalty, instead of a set: l1:0.01, l2:0.1, elastic:0.1,0.5, nuclear:0.1,3 (3 targets), "
        "'group:0.1;0-2;3,5;4' (encoded columns) or 'structure:0.1;intervals' (a set function of them).",
    ),
]
SolverName = Annotated[
    Solver, typer.Option("--solver", rich_help_panel=_MODEL, help="The algorithm; auto chooses from public facts.")
]
Intercept = Annotated[bool, typer.Option("--intercept/--no-intercept", rich_help_panel=_MODEL, help="Add a constant.")]
NoiseOf = Annotated[
    Calibration,
    typer.Option(
        "--calibration",
        rich_help_panel=_PRIVACY,
        help="exact: the least noise that the budget allows; paper: what the solver's paper prints, with what it really guarantees.",
    ),
]
Classes = Annotated[
    MultiClass | None,
    typer.Option(
        "--multi-class", rich_help_panel=_MODEL, help="logistic, of more than two classes: together or apart."
    ),
]
Quantile = Annotated[
    float | None,
    typer.Option(metavar="SHARE", rich_help_panel=_MODEL, help="quantile: which one, between 0 and 1; else 0.5."),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        rich_help_panel=_MODEL,
        help="huber: the residual beyond which the loss is linear, in half ranges of the target.",
    ),
]
Smoothing = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", rich_help_panel=_MODEL, help="svc: half the width of the hinge's rounded corner."),
]
Exposure = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", rich_help_panel=_MODEL, help="poisson: the column that counts are proportional to."),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="A,B",
        rich_help_panel=_MODEL,
        help="group-lasso: features that enter together; once for each group. Other features are groups of their own.",
    ),
]
Radius = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        rich_help_panel=_MODEL,
        help="group-lasso, multi-task: radius of the default ball; structured-sparse-...: the largest that one coefficient alone may be; else 1.",
    ),
]
Strength = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        rich_help_panel=_MODEL,
        help="group-lasso, structured-sparse-...: a penalty of this weight, in place of the default ball; --radius then plays no part.",
    ),
]
Structure = Annotated[
    str | None,
    typer.Option(
        "--structure",
        metavar="STRUCTURE",
        rich_help_panel=_MODEL,
        help="structured-sparse-...: which features belong together, by name or place: intervals, 'cover;age,ward;ward,dose' "
        "(groups, which may overlap), 'tree;dose:age;ward:age' (child:parent) or 'grid;8,8' (rows, columns; 'grid;8,8,3' with a "
        "window).",
    ),
]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        rich_help_panel=_LEDGER,
        help="Where the charge is recorded: sqlite:///privacy.db or postgresql://…; else HULLABALOO_LEDGER.",
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", metavar="NAME", rich_help_panel=_LEDGER, help="Whose budget in the ledger is charged."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing output file.")]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model saved by `hullabaloo fit` or `hullabaloo stream`.")
]
Table = Annotated[Path, typer.Argument(metavar="TABLE", help="A Parquet or CSV file.")]


class Spend(NamedTuple):
    """The budget, stated in one of its ways; read by `build.budget`."""

    epsilon: Epsilon = None
    delta: Delta = None
    mu: Mu = None
    rho: Rho = None


class Book(NamedTuple):
    """Where a charge is made; read by `build.ledger`."""

    ledger: LedgerUrl = None
    dataset: Dataset = None


class Fit(NamedTuple):
    """What is to be fitted; read by `build.described`."""

    neighbours: Neighbours = Relation.REPLACE_ONE
    kind: Kind = Estimator.LINEAR
    multi_class: Classes = None
    quantile: Quantile = None
    threshold: Threshold = None
    smoothing: Smoothing = None
    exposure: Exposure = None
    groups: Groups = None
    radius: Radius = None
    strength: Strength = None
    structure: Structure = None
    constraint: Set = None
    penalty: Penalty = None
    solver: SolverName = Solver.AUTO
    intercept: Intercept = True
    calibration: NoiseOf = Calibration.EXACT


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with a keyword for every option of `Spend`, `Book` or `Fit` in place of the parameter that takes them together."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if hint in (Spend, Book, Fit)}

    @wraps(command)
    def run(**given: Any) -> None:
        made = {name: kind(**{one: given.pop(one) for one in kind._fields}) for name, kind in groups.items()}
        command(**given, **made)

    parameters = []
    for one in inspect.signature(command).parameters.values():
        if one.name not in groups:
            parameters.append(one.replace(annotation=hints[one.name]))
            continue
        kind = groups[one.name]
        for name, hint in get_type_hints(kind, include_extras=True).items():
            parameters.append(inspect.Parameter(name, one.kind, default=kind._field_defaults[name], annotation=hint))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
