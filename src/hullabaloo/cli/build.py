"""From the texts of a command line to the library's objects, and the checks of output files."""

import os
import re
import socket
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hullabaloo as hb
from hullabaloo.cli import options
from hullabaloo.errors import BudgetError, InvalidParameter, library, passwords_in

if TYPE_CHECKING:
    from hullabaloo.data.scan import ScannedTable
    from hullabaloo.linear_model.base import PrivateLinearModel
    from hullabaloo.structure.features import Name
    from hullabaloo.structure.structure import Structure

FORMS = (
    "'features', 'intervals', 'cover;0-2;2,3' or 'cover;age,ward;ward,dose' (groups, which may overlap), 'tree;dose:age;ward:age' "
    "(child:parent), 'grid;8,8' or 'grid;8,8,3' (rows, columns, window), or a set function such as 'top;3'"
)


def read_domain(path: Path) -> "hb.Domain":
    """The domain in a TOML or JSON file, told apart by the suffix."""
    return hb.Domain.from_json(path) if path.suffix.lower() == ".json" else hb.Domain.from_toml(path)


def budget(asked: options.BudgetOptions) -> "hb.Budget":
    """The budget of `--epsilon --delta`, or of `--mu`, or of `--rho`."""
    epsilon, delta, mu, rho = asked
    given = [options.flag(name) for name, value in asked._asdict().items() if value is not None]
    if len([name for name in given if name != "--delta"]) != 1 or (delta is not None and epsilon is None):
        found = " and ".join(sorted(given, key="--delta".__eq__)) or "none of them"
        raise BudgetError(
            f"A budget is stated in one way: --epsilon with --delta, or --mu, or --rho; found {found}. Without one no noise level is private. A customary choice is --epsilon 1 --delta 1e-9."
        )
    if epsilon is None:
        return hb.Budget.gdp(mu) if mu is not None else hb.Budget.zcdp(rho)  # type: ignore[arg-type]  # one of three is given
    return hb.Budget(epsilon) if delta is None else hb.Budget(epsilon, delta)


def ledger(asked: options.LedgerOptions) -> "hb.Ledger | None":
    """The ledger at a URL, or at HULLABALOO_LEDGER when only a dataset is named; the two go together."""
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
    return hb.Ledger(url)


def terms(spent: options.BudgetOptions, kept: options.LedgerOptions) -> dict[str, Any]:
    """Budget, ledger and dataset, as estimators, streams and questions take them."""
    return {"budget": budget(spent), "ledger": ledger(kept), "dataset": kept.dataset}


def estimator(asked: options.ModelOptions, domain: "hb.Domain", **common: Any) -> "PrivateLinearModel":
    """The unfitted model that the options describe; `common` are parameters of every estimator: budget, ledger, dataset."""
    given = {name: value for name, value in asked._asdict().items() if value not in (None, [])}
    kind = given.pop("estimator", "logistic" if of_classes(domain) else "linear")
    cls = getattr(hb, options.ESTIMATORS[kind])
    refuse_foreign(given, cls().get_params(), "estimator", kind, "fit")
    refuse_two_shapes(asked.structure, asked.set_, asked.penalty)
    if asked.group:
        given["group"] = [[name.strip() for name in group.split(",")] for group in asked.group]
    settings = {options.parameter(name): setting(name, value, domain) for name, value in given.items()}
    return cls(domain=domain, **common, **settings)  # type: ignore[no-any-return]


def refuse_foreign(names: Iterable[str], known: Container[str], what: str, chosen: str, command: str) -> None:
    """Refuse an option that is no parameter of what was chosen."""
    if foreign := [options.flag(name) for name in names if options.parameter(name) not in known]:
        raise InvalidParameter(
            f"{foreign[0]} was given, and the {what} {chosen} has no such setting. Leave it out, or choose another --{what}; `hullabaloo {command} --help` says whose option it is."
        )


def of_classes(domain: "hb.Domain | None") -> bool:
    """Whether classes are declared."""
    return domain is not None and "classes" in domain.to_dict()


def refuse_two_shapes(structure: str | None, constraint: str | None, penalty: str | None) -> None:
    """Refuse a structure beside another set or penalty."""
    if structure is not None and (constraint is not None or penalty is not None):
        raise InvalidParameter(
            "--structure was given beside --set or --penalty. It makes a set of its own, with --radius, or a penalty, with --strength; leave the other out."
        )


def setting(name: str, value: Any, domain: "hb.Domain | None") -> Any:
    """What the parameter of an option takes, from the words of the command line; what is no text stays as it is."""
    from hullabaloo.geometry import penalty_from_text, set_from_text

    readers: dict[str, Callable[[str], Any]] = {
        "set_": set_from_text,
        "penalty": penalty_from_text,
        "structure": lambda text: structure_from_text(text, domain),
        "solver": lambda text: text.replace("-", "_"),
        "inference": _share,
    }
    return readers[name](value) if isinstance(value, str) and name in readers else value


def _share(text: str) -> bool | float | str:
    """Yes, no, or a number; what is none of these is refused by the model."""
    try:
        return {"yes": True, "no": False}[text] if text in ("yes", "no") else float(text)
    except ValueError:
        return text


def level(confidence: float) -> None:
    """Refuse what is no level of an interval."""
    from hullabaloo.inference.intervals import check_confidence

    check_confidence(confidence)


def width(domain: "hb.Domain", columns: int | None, named: str = "") -> None:
    """Refuse a price of any width: of a domain that is a row norm, without the number of columns."""
    if columns is None and not domain.feature_names:
        raise InvalidParameter(
            f"The domain{named} declares a row norm and no features, so it fits tables of any width. Pass --columns P."
        )


def target(domain: "hb.Domain", asked: str | None) -> str | None:
    """The column asked for, which must be the one that the domain bounds, where it names one."""
    names = [one.column for one in domain.targets]
    if asked is not None and domain.targets_named and [asked] != names:
        raise InvalidParameter(
            f"--target {asked} was asked, but the domain declares the bounds of {', '.join(map(str, names))}. Correct one of the two: bounds of another column protect nobody."
        )
    return asked


def uses(domain: "hb.Domain", target: str | None) -> list[tuple[str, str]]:
    """The columns that a domain or the caller names, and what each is for."""
    targets = [target] if target is not None else [one.column for one in domain.targets if one.column is not None]
    weights = [] if domain.weight is None else [domain.weight[0]]
    units = [] if domain.unit is None else [domain.unit]
    uses = {"feature": domain.feature_names, "target": targets, "weight": weights, "unit": units}
    return [(name, use) for use, names in uses.items() for name in names]


def output(path: Path | None, overwrite: bool, lost: str = "what it holds") -> None:
    """Refuse an output that cannot be written, or that would be lost, before anything is spent on it."""
    if path is None:
        return
    from hullabaloo.data.saving import refuse_irreplaceable

    places(path)
    refuse_irreplaceable(path)
    folder, there = path.parent, path.exists()
    written = os.access(folder, os.W_OK) and (not there or os.access(path, os.W_OK))
    for refused, why in (
        (path.is_dir(), "is a folder that exists. Name a file in it, or, where a folder is written, a new one."),
        (there and not overwrite, f"exists, and {lost} would be lost. Name another file, or pass --overwrite."),
        (not folder.is_dir(), f"lies in a folder that does not exist. Make it first: `mkdir -p {folder}`"),
        (not written, "cannot be written by this user. Choose another place."),
    ):
        if refused:
            raise InvalidParameter(f"The output {path} {why}")


def suffix(path: Path | None, what: str, *known: str) -> None:
    """Refuse a file of another kind than those that are written."""
    if path is not None and path.suffix.lower() not in known:
        kinds, not_so = " or ".join(known), "is neither" if len(known) > 1 else "is not"
        raise InvalidParameter(f"{what} written as {kinds}, and {path.name!r} {not_so}. Rename it.")


def places(*paths: Path | None) -> None:
    """Refuse an address with a password where a file or folder is to be made: its name would be shown, and stay."""
    for path in paths:
        if path is not None and passwords_in(str(path)):
            raise InvalidParameter(f"A file is to be written to {path}, which is an address with a password.")


def table(
    source: str, domain: "hb.Domain", asked: options.PartsOptions, *, cache: Path | None = None, verbose: bool = False
) -> "str | ScannedTable":
    """The path of a table; where it is to be read in parts, here or by the workers of a cluster, or lies at an address, the table."""
    far, engine, address = "://" in source, asked.engine, asked.address
    path = source if far else existing(Path(source), "table")
    if not (far or asked != options.PartsOptions() or cache is not None or verbose):
        return path
    columns = None if asked.columns is None else [name.strip() for name in asked.columns.split(",")]
    more: dict[str, Any] = {"columns": columns, "cache": cache, "verbose": verbose, "sparse": asked.sparse}
    if engine is None and address is None:
        return hb.scan(path, quoted_line_breaks=domain.quoted_line_breaks, **more)
    if engine not in {"dask", "spark"}:
        given = "--address was given alone" if engine is None else f"--engine {engine} was given"
        raise InvalidParameter(f"{given}, and a cluster is one of --engine dask or --engine spark. Name one of them.")
    if not (far or Path(path).is_dir() or Path(path).suffix.lower() in {".parquet", ".pq"}):
        raise InvalidParameter(
            f"{path} is no Parquet file or folder. Clusters guess types of other files from records, so one record could change how others are read. Write it as Parquet first."
        )
    if engine == "dask" and address is None:
        raise InvalidParameter(
            "--engine dask was given without --address, so whose workers are to read the table is not said. Pass that of the scheduler, --address tcp://host:8786 "
            "(`dask scheduler` starts one, `dask worker tcp://host:8786` its workers), or leave --engine out and pass --in-parts. Nothing was charged or read."
        )
    place = path if far else str(Path(path).absolute())
    return hb.scan(_frame(engine, place, address), client=address if engine == "dask" else None, **more)


def _frame(engine: str, place: str, address: str | None) -> Any:
    module = library("dask.dataframe" if engine == "dask" else "pyspark.sql", f"hullabaloo[{engine}]", "A cluster")
    try:
        if engine == "dask":
            return module.read_parquet(place, dtype_backend="pyarrow")
        if master := re.fullmatch(r"spark://([^,]+):(\d+)", address or ""):  # Spark itself tries for two minutes
            socket.create_connection((master[1], int(master[2])), timeout=10.0).close()
        if connect := (address or "").startswith("sc://"):  # and the client of Connect for ten
            from grpc import channel_ready_future
            from pyspark.sql.connect.client import DefaultChannelBuilder

            from hullabaloo.data.engines.cluster import PATIENCE

            with DefaultChannelBuilder(str(address)).toChannel() as channel:
                channel_ready_future(channel).result(timeout=PATIENCE / 5)
        builder = module.SparkSession.builder
        builder = builder if address is None else builder.config("spark.remote" if connect else "spark.master", address)
        return builder.getOrCreate().read.parquet(place)
    except Exception as error:  # reason: it may quote the table
        failed = type(error).__name__
    raise InvalidParameter(
        f"The cluster could not open the table ({failed}). Check --address, and that its workers find the path, too; sc:// needs pip install 'pyspark[connect]'. Nothing was charged or read."
    )


def existing(path: Path, what: str) -> str:
    """A file that is there, or of a table a folder of files; what it holds is not looked at."""
    if not (path.is_file() or (what == "table" and path.is_dir())):
        raise InvalidParameter(f"There is no {what} at {path}. Check the path; nothing was read or spent.")
    return str(path)


def model(path: Path, what: str = "saved model") -> Any:
    """The model in a file that `fit` or `stream` wrote."""
    from hullabaloo.data.documents import kind_of
    from hullabaloo.streaming.model import StreamModel

    streamed = kind_of(existing(path, what)) == StreamModel.FORMAT.name
    return hb.streaming.load(path) if streamed else hb.load(path)


def structure_from_text(text: str, domain: "hb.Domain | None") -> "Structure":
    """The structure of `--structure`; features by the domain's names or by their places from 0.

    >>> structure_from_text("cover;0-2;2,3", None)
    [[0, 1, 2], [2, 3]]
    >>> structure_from_text("tree;2:0,1", None)
    FeatureTree({2: [0, 1]})

    Raises:
        InvalidParameter: it cannot be read.
    """
    from hullabaloo.geometry import set_function_from_text

    word, *parts = (part.strip() for part in text.split(";"))
    known = () if domain is None else (*domain.feature_names, *("*".join(pair) for pair in domain.interactions))
    if word in ("features", "intervals") and not parts:
        return None if word == "features" else word
    if word == "cover" and parts:
        return [_features(part, known) for part in parts]
    if word == "tree" and parts:
        return hb.FeatureTree(_parents(parts, known, text))
    if word in ("cardinality", "top", "sorted"):
        return set_function_from_text(text)
    numbers = [part.strip() for part in ",".join(parts).split(",")]
    if word == "grid" and len(parts) == 1 and len(numbers) in (2, 3) and all(map(str.isdecimal, numbers)):
        return hb.FeatureGrid(*map(int, numbers))
    raise InvalidParameter(f"The structure {text!r} cannot be read. Nothing was read or charged. Write {FORMS}.")


def _parents(parts: Sequence[str], known: Collection[str], text: str) -> "dict[Name, list[Name]]":
    """The parents of each child of a tree."""
    found: dict[Name, list[Name]] = {}
    for part in parts:
        child, colon, parents = part.rpartition(":")
        if not colon or not child.strip() or not parents.strip():
            raise InvalidParameter(
                f"The structure {text!r} has {part!r}, which is no child:parent. Nothing was read or charged. Write for example 'tree;dose:age;ward:age', several parents with commas between them."
            )
        name = _feature(child.strip(), known)
        if name in found:
            raise InvalidParameter(
                f"The structure {text!r} names {name!r} twice as a child. Name each child once; several parents have commas between them, child:parent,parent."
            )
        found[name] = _features(parents, known)
    return found


def _features(text: str, known: Collection[str]) -> "list[Name]":
    found: list[Name] = []
    for part in (part.strip() for part in text.split(",")):
        run = re.fullmatch(r"(\d+)-(\d+)", part)
        if run is None or part in known:
            found.append(_feature(part, known))
            continue
        first, last = map(int, run.groups())
        if last < first:
            raise InvalidParameter(
                f"The structure names the places {part!r}, which run backwards. Nothing was read or charged. Write '{last}-{first}'."
            )
        found += range(first, last + 1)
    return found


def _feature(text: str, known: Collection[str]) -> "Name":
    """A name where the domain knows it, else a place where it is a whole number."""
    return int(text) if text not in known and text.isdecimal() else text
