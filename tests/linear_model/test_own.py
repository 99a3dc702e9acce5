"""Saved models that were fitted with classes of a program's own: prediction needs none, another fit needs what the program passes."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.geometry import ConvexSet, L1Ball, Penalty, Projectable, SetFunction
from hullabaloo.solvers import Plan, Solution, Solver

RAN: list[str] = []


@dataclass(frozen=True)
class Diamond(ConvexSet, Projectable):
    size: float
    dimension = None

    def __post_init__(self) -> None:
        RAN.append("Diamond")

    def support(self, g: Any) -> float:
        return L1Ball(self.size).support(g)

    def vertex(self, g: Any) -> Any:
        return L1Ball(self.size).vertex(g)

    def contains(self, theta: Any, tolerance: float = 1e-9) -> bool:
        return L1Ball(self.size).contains(theta, tolerance)

    def max_norm(self, q: float, p: int) -> float:
        return L1Ball(self.size).max_norm(q, p)

    def gaussian_width(self, p: int) -> Any:
        return L1Ball(self.size).gaussian_width(p)

    def start(self, p: int) -> Any:
        return np.zeros(p)

    def project(self, theta: Any) -> Any:
        return L1Ball(self.size).project(theta)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "diamond", "size": self.size}


class Kinked(Penalty):
    """One that is read by a method of its own."""

    strong_convexity = 0.0

    def __init__(self, weights: Any) -> None:
        self.weights = tuple(weights)

    def value(self, theta: Any) -> float:
        return float(np.abs(theta) @ self.weights)

    def prox(self, v: Any, step: float) -> Any:
        return np.sign(v) * np.maximum(np.abs(v) - step * np.array(self.weights), 0.0)

    def to_dict(self) -> dict[str, Any]:
        return {"w": list(self.weights)}

    @classmethod
    def from_dict(cls, data: Any) -> "Kinked":
        return cls(data["w"])


@dataclass(frozen=True)
class Root(SetFunction):
    """F(A) = |A|^power."""

    power: float
    dimension = None

    def value(self, members: Any) -> float:
        return float(np.sum(members) ** self.power)

    def gains(self, order: Any) -> Any:
        return np.diff(np.arange(len(order) + 1.0) ** self.power)

    def gaussian_width(self, p: int) -> Any:
        return hb.Cardinality().gaussian_width(p)

    def to_dict(self) -> dict[str, Any]:
        return {"power": self.power}


@dataclass(frozen=True)
class Signs(Solver):
    """Steps along the signs of noisy gradients (Bernstein et al. 2018), shorter and shorter."""

    steps: int = 20
    name = "signs"

    def plan(self, problem: Any, prices: Any, allowance: Any) -> Plan:
        mu = allowance.mu / math.sqrt(self.steps)
        query = prices.price("gradient", loss=problem.loss, clip=1.0, mu=mu, count=self.steps)
        return Plan(self.name, (query,), {"sigma": query.sigma})

    def run(self, problem: Any, plan: Plan, curator: Any) -> Solution:
        theta = np.zeros(problem.dimension)
        for t in range(self.steps):
            theta = theta - 0.5 * 0.8**t * np.sign(curator.answer("gradient", theta))
        return Solution(theta[:, None])

    def predicted_risk(self, problem: Any, plan: Plan) -> float:
        return 0.1


CASES: dict[str, tuple[type, dict[str, Any]]] = {
    "set": (Diamond, {"constraint": Diamond(1.0), "solver": "gradient"}),
    "penalty": (Kinked, {"penalty": Kinked([0.01, 0.02]), "solver": "gradient"}),
    "set function": (Root, {"penalty": hb.SubmodularPenalty(Root(0.5), 0.01), "solver": "gradient"}),
    "solver": (Signs, {"solver": Signs(10)}),
}


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (500, 2))
    return X, X @ [0.3, -0.2] + rng.normal(0.0, 0.3, 500)


def fitted(**more: Any) -> Any:
    domain = hb.Domain(features={"a": (0, 10), "b": (0, 10)}, target=(-4, 4), indicators=False)
    return hb.LinearRegression(
        budget=hb.Budget(5.0, 1e-6), domain=domain, test_key=bytes(32), inference=False, **more
    ).fit(*data())


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_a_model_of_ones_own_class_loads_with_it_and_predicts_without_it(case: str, tmp_path: Any) -> None:
    kind, asked = CASES[case]
    model, path = fitted(**asked), tmp_path / "model.json"
    model.save(path)
    RAN.clear()
    plain = hb.load(path)
    assert RAN == []  # no code of a program ran
    np.testing.assert_array_equal(plain.predict(data()[0]), model.predict(data()[0]))
    with pytest.raises(HullabalooError, match=r"(hb.load\(path, known=\[|the function).*Nothing was read or charged"):
        plain.fit(*data())
    plain.save(tmp_path / "again.json")  # without the class nothing is lost
    for file in (path, tmp_path / "again.json"):
        whole = hb.load(file, known=[Diamond, Kinked, Root, Signs])
        np.testing.assert_array_equal(whole.predict(data()[0]), model.predict(data()[0]))
        if case != "set function" or file == path:
            np.testing.assert_array_equal(whole.set_params(test_key=bytes(32)).fit(*data()).coef_, model.coef_)
    assert kind.__name__ in path.read_text()


def test_a_refit_says_what_is_missing(tmp_path: Any) -> None:
    fitted(constraint=Diamond(1.0), solver="moments").save(tmp_path / "model.json")
    plain = hb.load(tmp_path / "model.json")
    with pytest.raises(InvalidParameter, match="saved with Diamond"):
        plain.refit(features=["a"])
    again = plain.refit(constraint=hb.L1Ball(1.0))  # another set will do
    whole = hb.load(tmp_path / "model.json", known=[Diamond]).refit(constraint=Diamond(1.0))
    np.testing.assert_allclose(again.coef_, whole.coef_, atol=1e-3)


def test_only_classes_that_fit_are_taken(tmp_path: Any) -> None:
    fitted(constraint=Diamond(1.0), solver="gradient").save(tmp_path / "model.json")
    for wrong in ([int], [Diamond, Diamond], [Diamond(1.0)]):
        with pytest.raises(InvalidParameter, match="known has"):
            hb.load(tmp_path / "model.json", known=wrong)
    other = type("Diamond", (Diamond,), {"from_dict": classmethod(lambda cls, data: 1 / 0)})
    with pytest.raises(InvalidParameter, match="raised ZeroDivisionError"):
        hb.load(tmp_path / "model.json", known=[other])


def test_a_file_names_no_code(tmp_path: Any) -> None:
    """What a file calls a class is looked for among those that were passed, nowhere else."""
    path = tmp_path / "model.json"
    fitted(constraint=Diamond(1.0), solver="gradient").save(path)
    told = json.loads(path.read_text())
    told["parameters"]["constraint"] |= {"name": "tests.linear_model.test_own.Diamond"}
    path.write_text(json.dumps(told))
    RAN.clear()
    assert type(hb.load(path, known=[Kinked]).constraint).__name__ == "SetNotLoaded"
    assert RAN == []
