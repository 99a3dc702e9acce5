"""Whatever a user supplies is called as often, in the same order and with the same arguments, bit for bit, whatever the records hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.geometry import ConvexSet, Projectable
from tests.replay import cases
from tests.replay.compare import Show, told_apart
from tests.replay.exact import exact

CALLS: list[Any] = []


def called(name: str, *arguments: Any) -> None:
    CALLS.append((name, *map(exact, arguments)))


@dataclass(frozen=True)
class Own(Projectable, ConvexSet):
    """A user's set: a ball that remembers what it was asked."""

    radius: float = 1.0

    @property
    def dimension(self) -> int | None:
        return None

    @property
    def _ball(self) -> hb.L2Ball:
        return hb.L2Ball(self.radius)

    def support(self, g: Any) -> float:
        called("support", g)
        return self._ball.support(g)

    def contains(self, theta: Any, tolerance: float = 1e-9) -> bool:
        called("contains", theta)
        return self._ball.contains(theta, tolerance)

    def vertex(self, g: Any) -> Any:
        called("vertex", g)
        return self._ball.vertex(g)

    def project(self, v: Any) -> Any:
        called("project", v)
        return self._ball.project(v)

    def max_norm(self, q: float, p: int) -> float:
        called("max_norm", q, p)
        return self._ball.max_norm(q, p)

    def gaussian_width(self, p: int) -> Any:
        called("gaussian_width", p)
        return self._ball.gaussian_width(p)

    def start(self, p: int) -> Any:
        return self._ball.start(p)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "own"}


def size(members: Any) -> float:
    called("set function", sorted(members))
    return min(len(members), 2.0)


SUPPLIED: Mapping[str, Callable[[], dict[str, Any]]] = {
    "a set": lambda: {"constraint": Own(), "solver": "gradient"},
    "a set function": lambda: {
        "constraint": hb.SubmodularBall(hb.CustomSetFunction(size, 3), 1.0),
        "solver": "frank_wolfe",
    },
    "a set function in a penalty": lambda: {
        "penalty": hb.SubmodularPenalty(hb.CustomSetFunction(size, 3), 0.1),
        "solver": "gradient",
    },
}


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", [pytest.param("replace-one", marks=pytest.mark.slow), "add-or-remove"])
@pytest.mark.parametrize("what", ["a set", *(pytest.param(one, marks=pytest.mark.slow) for one in list(SUPPLIED)[1:])])
def test_what_users_supply_is_called_alike(what: str, relation: str, show: Show, tmp_path: Path) -> None:
    about = {"features": {"age": (18, 90), "hours": (0, 80), "visits": (0, 30)}, "target": {"cost": (-20, 20)}}
    domain = hb.Domain(**about, indicators=False, **({"records": cases.N} if relation == "add-or-remove" else {}))

    def go(_: Any, table: Any) -> Mapping[str, Any]:
        model = hb.LinearRegression(budget=cases.BUDGET, domain=domain, neighbours=relation, **SUPPLIED[what]())
        CALLS.clear()
        model.fit(table)
        assert CALLS
        return {"theta": model.release_.theta, "calls": list(CALLS), "times": len(CALLS)}

    among = ("no cell as declared", "none" if relation == "add-or-remove" else "one record")
    others = {name: table for name, table in cases.others(relation).items() if name in among}
    assert told_apart(go, None, cases.base(), others, tmp_path) == {}
