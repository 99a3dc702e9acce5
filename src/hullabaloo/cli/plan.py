"""`hullabaloo plan`: what each solver could be expected to do for a problem, as a table and a picture."""

from pathlib import Path
from typing import TYPE_CHECKING

from hullabaloo.cli import build
from hullabaloo.cli.options import BudgetOptions, Relation, command
from hullabaloo.cli.output import Output, table
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.losses import AnyLoss

# The losses by their words; a number after a colon is their parameter.
LOSSES = {
    "squared": ("Squared", False),
    "logistic": ("Logistic", False),
    "hinge": ("SmoothedHinge", True),
    "huber": ("Huber", True),
    "poisson": ("Poisson", False),
    "quantile": ("Pinball", True),
    "multinomial": ("MultinomialLogistic", False),
}


@command
def plan(
    *,
    records: int,
    domain: Path | None = None,
    columns: int | None = None,
    loss: str = "squared",
    exposure: str | None = None,
    budget: BudgetOptions,
    neighbours: Relation = "replace-one",
    set_: str | None = None,
    penalty: str | None = None,
    structure: str | None = None,
    radius: float | None = None,
    strength: float | None = None,
    intercept: bool = True,
    picture: Path | None = None,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Compare every solver for a problem, from public facts: reads no table and spends nothing.

    Args:
        records N: Number of records; a rough number will do.
        columns P: Number of columns, without a domain or where it is a row norm.
        picture FILE: Draw the table: a file ending in .svg, .png or .pdf.

    Model options:
        loss LOSS: squared, logistic, huber:0.5, hinge:0.5, poisson, quantile:0.9 or multinomial.
    """
    from hullabaloo.planning.table import HEAD
    from hullabaloo.release.planner import plan as compare

    build.output(picture, overwrite)
    declared = None if domain is None else build.read_domain(domain)
    body, cost = (build.setting(name, text, declared) for name, text in (("set_", set_), ("penalty", penalty)))
    build.refuse_two_shapes(structure, set_, penalty)
    shaped = [name for name, given in (("--radius", radius), ("--strength", strength)) if given is not None]
    if structure is None and shaped:
        raise InvalidParameter(f"{shaped[0]} was given without --structure, which it is of. Pass both, or neither.")
    if structure is not None:
        from hullabaloo.data import Domain
        from hullabaloo.geometry import NoPenalty
        from hullabaloo.linear_model import shape_of

        encoding = (declared or Domain(row_norm=1.0)).encoding(n_features=columns, fit_intercept=intercept)
        shape = build.setting("structure", structure, declared)
        body, cost = shape_of(shape, 1.0 if radius is None else radius, strength, encoding)
        cost = None if isinstance(cost, NoPenalty) else cost
    found = compare(
        n=records,
        p=columns,
        domain=declared,
        loss=loss_from_text(loss),
        set=body,
        penalty=cost,
        budget=build.budget(budget),
        neighbours=neighbours,
        fit_intercept=intercept,
        exposure=exposure,
    )
    if picture is not None:
        found.plot().savefig(picture)
    lines = [(f"→ {one.solver}" if one.solver == found.chosen else one.solver, *one.cells()[1:]) for one in found.rows]
    Output("plan", json_).result(
        {"plan": found.to_dict(), "picture": None if picture is None else str(picture)},
        found.title,
        "",
        table(HEAD, lines),
        *found.notes(),
        *([f"Drawn in {picture}."] if picture is not None else []),
    )


def loss_from_text(text: str) -> "AnyLoss":
    """The loss of a command line, such as `squared` or `huber:0.5`."""
    from hullabaloo import losses

    word, _, number = text.partition(":")
    if word not in LOSSES:
        raise InvalidParameter(
            f"{text!r} names no loss; write {', '.join(LOSSES)}, the parameter after a colon (huber:0.5)."
        )
    name, parameter = LOSSES[word]
    if not parameter and number:
        raise InvalidParameter(f"The loss {word!r} has no parameter, but {number!r} was given. Write {word!r} alone.")
    if not number:
        return getattr(losses, name)(*([0.5] if parameter else []))  # type: ignore[no-any-return]
    try:
        value = float(number)
    except ValueError:
        raise InvalidParameter(
            f"The loss {text!r} has {number!r} after the colon, which is no number. Write for example '{word}:0.5'."
        ) from None
    return getattr(losses, name)(value)  # type: ignore[no-any-return]
