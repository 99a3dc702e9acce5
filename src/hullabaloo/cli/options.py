"""Options that several commands share, each described once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Estimator(StrEnum):
    """The estimators of `hullabaloo.linear_model`, by their names on the command line."""

    LINEAR = "linear"
    RIDGE = "ridge"
    LASSO = "lasso"
    ELASTIC_NET = "elastic-net"


class Relation(StrEnum):
    """The neighbouring relations, as in `hullabaloo.privacy.Neighbours` (not imported here: help must be quick)."""

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE = "add-or-remove"


class Solver(StrEnum):
    """The solvers of linear regression."""

    AUTO = "auto"
    MOMENTS = "moments"
    GRADIENT = "gradient"


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
Kind = Annotated[Estimator, typer.Option("--estimator", rich_help_panel=_MODEL, help="What is minimised.")]
Set = Annotated[
    str | None,
    typer.Option("--set", metavar="SET", rich_help_panel=_MODEL, help="Constraint: l1:2, l2:1, box:-1,1 or simplex."),
]
Penalty = Annotated[
    str | None,
    typer.Option(
        "--penalty", metavar="PENALTY", rich_help_panel=_MODEL, help="Penalty: l1:0.01, l2:0.1 or elastic:0.1,0.5."
    ),
]
SolverName = Annotated[
    Solver, typer.Option("--solver", rich_help_panel=_MODEL, help="The algorithm; auto chooses from public facts.")
]
Intercept = Annotated[bool, typer.Option("--intercept/--no-intercept", rich_help_panel=_MODEL, help="Add a constant.")]
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
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved by `hullabaloo fit`.")]
Table = Annotated[Path, typer.Argument(metavar="TABLE", help="A Parquet or CSV file.")]
