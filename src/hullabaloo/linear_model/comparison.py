"""Models from noisy moments side by side: how well each fits, without the optimism of having been fitted to the noise."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hullabaloo.errors import InvalidParameter
from hullabaloo.inference.refit import kept_columns, released_moments
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.release.parameters import found as given
from hullabaloo.solvers import explained
from hullabaloo.tables import PrintedRows, text_table


@dataclass(frozen=True, slots=True)
class Compared:
    """One model and target: noise-corrected R² and its standard error (privacy and sampling noise together)."""

    model: str
    target: str
    columns: int
    r2: float
    standard_error: float


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(PrintedRows):
    """The table of `hb.compare`; post-processing of the releases, at no further cost."""

    rows: tuple[Compared, ...]
    note: str = "Computed from the released noisy moments: no record was read and nothing more was spent. As noise is taken off, an R² may come out above 1 or below 0: its s.e. says how far it is from the true one."

    def __str__(self) -> str:
        body = [[r.model, r.target, str(r.columns), f"{r.r2:.4f}", f"{r.standard_error:.2g}"] for r in self.rows]
        lines = [["model", "target", "columns", "R²", "s.e."], *body]
        return "\n".join([*text_table(lines, ruled=True), self.note])


def compare(models: Sequence[PrivateLinearModel] | Mapping[str, PrivateLinearModel]) -> Comparison:
    """Noise-corrected R² of models that were fitted, or refitted, with `solver="moments"`.

    `R² = 1 − residual/variance`, where residual and variance are read off the noisy moments and corrected for the noise
    that the coefficients were fitted to (Stein's lemma; see `solvers/moments/explained.py`). Costs nothing: post-processing.

    Args:
        models: fitted models, or a mapping from the name to show.

    Raises:
        InvalidParameter: no model was given, or one is not fitted.
        NotReleased: a model's release does not contain moments.
    """
    if not isinstance(models, list | tuple | Mapping) or not models:
        raise InvalidParameter(
            f"No models were given to compare, but {given(models)}. Pass a list of fitted ones, hb.compare([first, second]), or a mapping of names."
        )
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        named = {f"{place}: {type(model).__name__}": model for place, model in enumerate(models, start=1)}
    rows = []
    for name, model in named.items():
        if not isinstance(model, PrivateLinearModel) or not hasattr(model, "release_"):
            raise InvalidParameter(
                f"What was given to compare as {name!r} is a {type(model).__name__}, and no fitted linear model of hullabaloo. Pass models that were fitted with solver='moments', of a pipeline or search the one inside."
            )
        moments, release, facts = released_moments(model._fitted()), model.release_, model.encoding_.facts
        keep = kept_columns(model.encoding_, (release.plan.get("refit") or {}).get("features"))
        part = moments.subset(keep)
        for k, target in enumerate(facts.targets):
            # Coefficients of another answer were not fitted to these moments' noise: no ridge is known then.
            known = (float(line["ridge"]) for line in release.trace if line.get("target") == k and "ridge" in line)
            found = explained(part, release.theta[keep, k], facts, target=k, ridge=next(known, math.inf))
            rows.append(Compared(name, target, len(keep) - facts.intercept, found.r2, found.standard_error))
    return Comparison(tuple(rows))
