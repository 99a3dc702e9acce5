"""From the texts of a command line to the library's objects, and the checks of output files."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli.options import Calibration, Estimator, Fit, MultiClass, Relation, Solver
from hullabaloo.cli.structure import structure_from_text
from hullabaloo.errors import BudgetError, InvalidParameter, passwords_in

if TYPE_CHECKING:
    from hullabaloo.data import Domain
    from hullabaloo.ledger import Ledger
    from hullabaloo.linear_model.base import PrivateLinearModel
    from hullabaloo.privacy import Budget

CLASSES = {
    Estimator.LINEAR: "LinearRegression",
    Estimator.RIDGE: "Ridge",
    Estimator.LASSO: "Lasso",
    Estimator.ELASTIC_NET: "ElasticNet",
    Estimator.GROUP_LASSO: "GroupLasso",
    Estimator.HUBER: "HuberRegressor",
    Estimator.QUANTILE: "QuantileRegressor",
    Estimator.POISSON: "PoissonRegressor",
    Estimator.LOGISTIC: "LogisticRegression",
    Estimator.SVC: "LinearSVC",
    Estimator.MULTI_TASK: "MultiTaskRegression",
    Estimator.STRUCTURED_REGRESSION: "StructuredSparseRegression",
    Estimator.STRUCTURED_CLASSIFIER: "StructuredSparseClassifier",
}
# The options of one estimator or another, by the parameter that each sets.
OWN = {
    "multi_class": "--multi-class",
    "quantile": "--quantile",
    "threshold": "--threshold",
    "smoothing": "--smoothing",
    "exposure": "--exposure",
    "groups": "--group",
    "radius": "--radius",
    "strength": "--strength",
    "structure": "--structure",
}


def read_domain(path: Path) -> "Domain":
    """The domain in a TOML or JSON file, told apart by the suffix."""
    from hullabaloo.data import Domain

    return Domain.from_json(path) if path.suffix.lower() == ".json" else Domain.from_toml(path)


def budget(epsilon: float | None, delta: float | None, mu: float | None = None, rho: float | None = None) -> "Budget":
    """The budget of `--epsilon --delta`, or of `--mu`, or of `--rho`."""
    from hullabaloo.privacy import Budget

    given = [name for name, value in (("--epsilon", epsilon), ("--mu", mu), ("--rho", rho)) if value is not None]
    if len(given) != 1 or (delta is not None and epsilon is None):
        found = " and ".join([*given, *(["--delta"] if delta is not None else [])]) or "none of them"
        raise BudgetError(
            f"A budget is stated in one way: --epsilon with --delta, or --mu, or --rho; found {found}. Without one no "
            "noise level is private. A customary choice is --epsilon 1 --delta 1e-6."
        )
    if mu is not None:
        return Budget.gdp(mu)
    if rho is not None:
        return Budget.zcdp(rho)
    assert epsilon is not None
    return Budget(epsilon) if delta is None else Budget(epsilon, delta)


def ledger(url: str | None, dataset: str | None) -> "Ledger | None":
    """The ledger at a URL, or at HULLABALOO_LEDGER when only a dataset is named; the two go together."""
    from hullabaloo.ledger import Ledger

    if url is None and dataset is None:
        return None
    url = os.environ.get("HULLABALOO_LEDGER") if url is None else url
    if url is None or dataset is None:
        given, missing = ("--ledger", "--dataset") if dataset is None else ("--dataset", "--ledger")
        raise InvalidParameter(
            f"{given} was given without {missing}. The ledger says where charges are kept (or HULLABALOO_LEDGER does), "
            "the dataset whose budget they use up; give both, or neither, and then nothing counts repeated fits."
        )
    return Ledger(url)


def described(
    model: Fit, domain: "Domain", budget: "Budget | None", ledger: "Ledger | None", dataset: str | None
) -> "PrivateLinearModel":
    """The unfitted model of the options that `fit`, `price`, `search` and `audit` share."""
    given = model._asdict()
    own_settings = own(**{name: given.pop(name) for name in OWN})
    return estimator(**given, domain=domain, budget=budget, ledger=ledger, dataset=dataset, own=own_settings)


def estimator(
    kind: Estimator,
    *,
    domain: "Domain",
    budget: "Budget | None",
    constraint: str | None,
    penalty: str | None,
    solver: Solver,
    neighbours: Relation,
    intercept: bool,
    ledger: "Ledger | None",
    dataset: str | None,
    calibration: Calibration,
    own: Mapping[str, Any],
) -> "PrivateLinearModel":
    """The unfitted model that the options describe; `own` are those of some estimators, None where not given."""
    from hullabaloo import linear_model
    from hullabaloo.geometry import penalty_from_text, set_from_text

    cls = getattr(linear_model, CLASSES[kind])
    given = {name: value for name, value in own.items() if value is not None}
    foreign = [OWN[name] for name in given if name not in cls().get_params()]
    if "structure" in given and not foreign:
        given["structure"] = structure_from_text(given["structure"], domain)
    if foreign:
        raise InvalidParameter(
            f"{foreign[0]} was given, and the estimator {kind.value} has no such setting. Leave it out, or choose another "
            "--estimator; `hullabaloo fit --help` says whose option it is."
        )
    if "structure" in given and (constraint is not None or penalty is not None):
        raise InvalidParameter(
            "--structure was given beside --set or --penalty. It makes a set of its own, with --radius, or a penalty, with --strength; "
            "leave the other out."
        )
    made: PrivateLinearModel = cls(
        budget=budget,
        domain=domain,
        constraint=None if constraint is None else set_from_text(constraint),
        penalty=None if penalty is None else penalty_from_text(penalty),
        solver=solver.value.replace("-", "_"),
        neighbours=neighbours.value,
        fit_intercept=intercept,
        ledger=ledger,
        dataset=dataset,
        calibration=calibration.value,
        **given,
    )
    return made


def own(
    multi_class: MultiClass | None,
    quantile: float | None,
    threshold: float | None,
    smoothing: float | None,
    exposure: str | None,
    groups: list[str] | None,
    radius: float | None,
    strength: float | None,
    structure: str | None,
) -> dict[str, Any]:
    """The settings of one estimator or another, as parameters; None where not given."""
    return {
        "multi_class": None if multi_class is None else multi_class.value,
        "quantile": quantile,
        "threshold": threshold,
        "smoothing": smoothing,
        "exposure": exposure,
        "groups": [[name.strip() for name in group.split(",")] for group in groups] if groups else None,
        "radius": radius,
        "strength": strength,
        "structure": structure,
    }


def level(confidence: float) -> None:
    """Refuse what is no level of an interval."""
    if not 0.0 < confidence < 1.0:
        raise InvalidParameter(
            f"A confidence level lies strictly between 0 and 1, and {confidence:g} was asked; try 0.95."
        )


def target(domain: "Domain", asked: str | None) -> str | None:
    """The column asked for, which must be the one that the domain bounds, where it names one."""
    if asked is not None and domain.targets_named:
        names = [one.column for one in domain.targets]
        if [asked] != names:
            raise InvalidParameter(
                f"--target {asked} was asked, but the domain declares the bounds of {', '.join(map(str, names))}. "
                "Correct one of the two: bounds of another column protect nobody."
            )
    return asked


def output(path: Path | None, overwrite: bool, lost: str = "what it holds") -> None:
    """Refuse an output that cannot be written, or that would be lost, before anything is spent on it."""
    if path is None:
        return
    places(path)
    if path.is_dir():
        raise InvalidParameter(f"The output {path} is a folder. Name a file in it.")
    if path.exists() and not overwrite:
        raise InvalidParameter(
            f"The output {path} exists, and {lost} would be lost. Name another file, or pass --overwrite."
        )
    folder = path.parent
    if not folder.is_dir():
        raise InvalidParameter(
            f"The output {path} lies in a folder that does not exist. Make it first: `mkdir -p {folder}`"
        )
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InvalidParameter(f"The output {path} cannot be written by this user. Choose another place.")


def places(*paths: Path | None) -> None:
    """Refuse an address with a password where a file or folder is to be made: its name would be shown, and stay."""
    for path in paths:
        if path is not None and passwords_in(str(path)):
            raise InvalidParameter(
                f"{path} was given where a file is to be written, and is an address with a password."
            )


def existing(path: Path, what: str) -> Path:
    """A file that is there, or of a table a folder of files; what it holds is not looked at."""
    if not (path.is_file() or (what == "table" and path.is_dir())):
        raise InvalidParameter(f"There is no {what} at {path}. Check the path; nothing was read or spent.")
    return path


def model(path: Path) -> Any:
    """The model in a file that `fit` or `stream` wrote."""
    import json

    from hullabaloo import linear_model, streaming
    from hullabaloo.streaming.model import FORMAT

    document = None
    with suppress(ValueError, OSError, RecursionError):
        document = json.loads(path.read_text(encoding="utf-8"))
    streamed = isinstance(document, dict) and document.get("format") == FORMAT.name
    return streaming.load(path) if streamed else linear_model.load(path)
