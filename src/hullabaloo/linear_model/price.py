"""What a fit would cost and what it can be expected to gain, from public facts, before any data is read."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.data.reference import reference_squares
from hullabaloo.fit import Prepared, replanned
from hullabaloo.privacy import epsilon_of

# The table that gains are quoted for: features spread evenly and independently over their declared ranges, a target
# whose standard deviation is a quarter of its declared range, of whose variance the best model explains a tenth.
TARGET_VARIANCE = 0.25
EXPLAINED = 0.1
# A budget beyond this protects so little that it is not offered as a remedy.
LARGEST_EPSILON = 10.0


@dataclass(frozen=True, slots=True)
class Price:
    """Spend and expected gain of one fit.

    Attributes:
        solver: the algorithm that would run.
        epsilon: ε at `delta` that the plan costs.
        delta: the δ at which ε is quoted.
        mu: its Gaussian-DP parameter (None when it has none; ∞ when no noise is drawn).
        columns: names of the encoded columns.
        privacy_errors: expected privacy noise (standard error) of each coefficient, in the user's units, for a table
            whose features are spread evenly over their declared ranges.
        expectation: a sentence that says whether the model can be expected to beat the mean, and from which n or ε.
        reason: why this solver and these settings.
    """

    solver: str
    epsilon: float
    delta: float
    mu: float | None
    records: int
    columns: tuple[str, ...]
    privacy_errors: tuple[float, ...]
    expectation: str
    reason: str

    def __str__(self) -> str:
        mu = "" if self.mu is None or math.isinf(self.mu) else f", mu = {self.mu:.4g}"
        spend = (
            "no privacy at all (epsilon is infinite)"
            if math.isinf(self.epsilon)
            else (f"epsilon = {self.epsilon:.4g} at delta = {self.delta:.3g}{mu}")
        )
        width = max([len(name) for name in self.columns], default=0)
        errors = [
            f"  {name.ljust(width)}  ±{error:.3g}"
            for name, error in zip(self.columns, self.privacy_errors, strict=True)
        ]
        return "\n".join(
            [
                f"spend: {spend}, for {self.records} records, by the solver {self.solver!r}",
                f"gain:  {self.expectation}",
                "expected privacy noise (standard error) of each coefficient, in the units of the table:",
                *errors,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; infinity is None."""
        values = {name: getattr(self, name) for name in Price.__slots__}
        for name, value in values.items():
            if isinstance(value, float) and not math.isfinite(value):
                values[name] = None
        return {**values, "columns": list(self.columns), "privacy_errors": list(self.privacy_errors)}


def price(prepared: Prepared) -> Price:
    """Read the price off a prepared fit."""
    task, plan, encoding = prepared.task, prepared.plan, prepared.encoding
    private = task.budget.is_private
    delta = task.budget.delta if task.budget.kind == "dp" and task.budget.delta > 0.0 else 1e-6
    noise = prepared.solver.predicted_noise(prepared.problem, plan, np.diag(reference_squares(encoding)))
    matrix = encoding.user_matrix(0)
    errors = np.sqrt(matrix**2 @ noise**2)
    names = (*encoding.feature_names_out, *(["(intercept)"] if encoding.facts.intercept else []))
    return Price(
        solver=plan.solver,
        epsilon=epsilon_of(plan.event, delta) if private else math.inf,
        delta=delta,
        mu=plan.event.gdp_mu() if private else math.inf,
        records=prepared.problem.records,
        columns=names,
        privacy_errors=tuple(float(error) for error in errors[: len(names)]),
        expectation=_expectation(prepared),
        reason=plan.reason,
    )


def _expectation(prepared: Prepared) -> str:
    gain = 0.5 * TARGET_VARIANCE * EXPLAINED
    if not prepared.task.budget.is_private:
        return "the non-private optimum: no noise is drawn and nothing is protected"
    risk = _risk(prepared, prepared.problem.records, 1.0)
    about = "a table whose features explain a tenth of a well spread target"
    if risk < gain:
        return f"for {about}, expected to keep about {100 * (1 - risk / gain):.0f} % of what the non-private model gains over the mean"
    records = _first(lambda scale: _risk(prepared, math.ceil(prepared.problem.records * scale), 1.0) < gain)
    budget = _first(lambda scale: _risk(prepared, prepared.problem.records, scale) < gain)
    epsilon = task_epsilon(prepared)
    remedies = []
    if records is not None:
        remedies.append(f"about {_round(prepared.problem.records * records):,} records")
    if budget is not None and epsilon is not None and epsilon * budget <= LARGEST_EPSILON:
        remedies.append(f"about epsilon = {epsilon * budget:.2g}")
    hope = " or ".join(remedies) if remedies else "far more records"
    return f"for {about}, NOT expected to beat the mean; that would take {hope}"


def task_epsilon(prepared: Prepared) -> float | None:
    """The budget's ε, where it has one."""
    return prepared.task.budget.epsilon if prepared.task.budget.kind == "dp" else None


def _risk(prepared: Prepared, records: int, budget: float) -> float:
    """Predicted excess risk with another number of records or a multiple of the budget (μ is nearly linear in ε)."""
    mu = prepared.plan.event.gdp_mu()
    assert mu is not None
    return replanned(prepared, records=records, mu=mu * budget)


def _first(enough: Any) -> float | None:
    """The smallest factor up to 2^20, within a few per cent, for which `enough` holds; None when there is none."""
    high = 1.0
    while not enough(high):
        high *= 2.0
        if high > 2.0**20:
            return None
    low = high / 2.0
    for _ in range(5):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _round(number: float) -> int:
    digits = max(0, math.floor(math.log10(number)) - 1)
    return int(math.ceil(number / 10**digits) * 10**digits)
