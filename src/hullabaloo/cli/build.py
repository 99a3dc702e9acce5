"""From the texts of a command line to the library's objects, and the checks of output files."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli.options import ESTIMATORS, PARAMETERS, BudgetOptions, LedgerOptions, ModelOptions, flag
from hullabaloo.cli.structure import structure_from_text
from hullabaloo.errors import BudgetError, InvalidParameter, passwords_in

if TYPE_CHECKING:
    from hullabaloo.data import Domain
    from hullabaloo.ledger import Ledger
    from hullabaloo.linear_model.base import PrivateLinearModel
    from hullabaloo.privacy import Budget


def read_domain(path: Path) -> "Domain":
    """The domain in a TOML or JSON file, told apart by the suffix."""
    from hullabaloo.data import Domain

    return Domain.from_json(path) if path.suffix.lower() == ".json" else Domain.from_toml(path)


def budget(asked: BudgetOptions) -> "Budget":
    """The budget of `--epsilon --delta`, or of `--mu`, or of `--rho`."""
    from hullabaloo.privacy import Budget

    epsilon, delta, mu, rho = asked
    given = [flag(name) for name, value in asked._asdict().items() if value is not None]
    if len([name for name in given if name != "--delta"]) != 1 or (delta is not None and epsilon is None):
        found = " and ".join(sorted(given, key="--delta".__eq__)) or "none of them"
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


def ledger(asked: LedgerOptions) -> "Ledger | None":
    """The ledger at a URL, or at HULLABALOO_LEDGER when only a dataset is named; the two go together."""
    from hullabaloo.ledger import Ledger

    url, dataset = asked
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


def terms(spent: BudgetOptions, kept: LedgerOptions) -> dict[str, Any]:
    """Budget, ledger and dataset, as estimators, streams and questions take them."""
    return {"budget": budget(spent), "ledger": ledger(kept), "dataset": kept.dataset}


def estimator(asked: ModelOptions, domain: "Domain", **common: Any) -> "PrivateLinearModel":
    """The unfitted model that the options describe; `common` are parameters of every estimator: budget, ledger, dataset."""
    from hullabaloo import linear_model

    given = {name: value for name, value in asked._asdict().items() if value not in (None, [])}
    kind = given.pop("estimator")
    cls = getattr(linear_model, ESTIMATORS[kind])
    known = cls().get_params()
    if foreign := [flag(name) for name in given if PARAMETERS.get(name, name) not in known]:
        raise InvalidParameter(
            f"{foreign[0]} was given, and the estimator {kind} has no such setting. Leave it out, or choose another "
            "--estimator; `hullabaloo fit --help` says whose option it is."
        )
    refuse_two_shapes(asked.structure, asked.set_, asked.penalty)
    if asked.group:
        given["group"] = [[name.strip() for name in group.split(",")] for group in asked.group]
    settings = {PARAMETERS.get(name, name): setting(name, value, domain) for name, value in given.items()}
    made: PrivateLinearModel = cls(domain=domain, **common, **settings)
    return made


def refuse_two_shapes(structure: str | None, constraint: str | None, penalty: str | None) -> None:
    """Refuse a structure beside another set or penalty."""
    if structure is not None and (constraint is not None or penalty is not None):
        raise InvalidParameter(
            "--structure was given beside --set or --penalty. It makes a set of its own, with --radius, or a penalty, with --strength; "
            "leave the other out."
        )


def setting(name: str, value: Any, domain: "Domain | None") -> Any:
    """What the parameter of an option takes, from the words of the command line; what is no text stays as it is."""
    from hullabaloo.geometry import penalty_from_text, set_from_text

    if not isinstance(value, str):
        return value
    if name == "structure":
        return structure_from_text(value, domain)
    if name == "solver":
        return value.replace("-", "_")
    reader = {"set_": set_from_text, "penalty": penalty_from_text}.get(name)
    return value if reader is None else reader(value)


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
