"""Custom selectors: found, limited in time, and never in the way."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from random import Random
from types import ModuleType
from typing import Any

import pytest

from routeradmin import env
from routeradmin.engine.request import SelectRequest
from routeradmin.services import selectors
from routeradmin.services.selectors import Limited, SelectorTooSlow
from tests.engine.world import NOW, World, catalog, deployment, route


@pytest.fixture
def module() -> Iterator[ModuleType]:
    held = ModuleType("selectors_of_a_test")
    sys.modules[held.__name__] = held
    yield held
    del sys.modules[held.__name__]


def last(candidates: Any, states: Any, request: Any, now: float, rng: Random) -> int:
    return len(candidates) - 1


class Made:
    def __call__(self, candidates: Any, *rest: Any) -> int:
        return 0


def test_a_function_and_a_class_are_found_by_their_path(module: ModuleType) -> None:
    module.last, module.Made = last, Made  # type: ignore[attr-defined]
    name = module.__name__
    found = selectors.find({"one": f"{name}:last", "two": f"{name}:Made"}, limit_s=10)
    usable = selectors.usable(found)
    assert usable["one"]([1, 2], [], SelectRequest("m"), NOW, Random()) == 1  # type: ignore[list-item]
    assert usable["two"]([1, 2], [], SelectRequest("m"), NOW, Random()) == 0  # type: ignore[list-item]


@pytest.mark.parametrize("path", ["nowhere.at_all:f", "selectors_of_a_test:gone", "math:pi"])
def test_what_cannot_be_used_says_why_and_stops_nobody(module: ModuleType, path: str) -> None:
    (found,) = selectors.find({"x": path})
    assert found.problem
    assert selectors.usable([found]) == {}


def test_a_setting_that_makes_no_sense_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S", "mine=package.module:pick, other=a:b")
    assert env.selectors("S") == {"mine": "package.module:pick", "other": "a:b"}
    monkeypatch.setenv("S", "package.module:pick")
    with pytest.raises(env.BadVariable, match="S: accepts name="):
        env.selectors("S")


def test_one_that_is_late_is_not_waited_for_nor_called_again() -> None:
    gate, called = threading.Event(), []

    def slow(*given: Any) -> int:
        called.append(1)
        gate.wait(20)
        return 0

    limited = Limited("slow", slow, 0.01)
    ask = ([1], [], SelectRequest("m"), NOW, Random())
    with pytest.raises(SelectorTooSlow, match=r"longer than 0\.01 s"):
        limited(*ask)  # type: ignore[arg-type]
    with pytest.raises(SelectorTooSlow, match="not returned yet"):
        limited(*ask)  # type: ignore[arg-type]
    assert len(called) == 1
    gate.set()
    limited._thread.submit(int).result(10)  # after the late call has ended
    assert Limited("slow", slow, 10)(*ask) == 0  # type: ignore[arg-type]


def test_its_own_timeout_error_is_not_taken_for_ours() -> None:
    def broken(*given: Any) -> int:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        Limited("broken", broken, 10)([1], [], SelectRequest("m"), NOW, Random())  # type: ignore[list-item]


def test_it_sees_only_candidates_that_may_be_used() -> None:
    seen: list[list[str]] = []

    def watching(candidates: Any, *rest: Any) -> int:
        seen.append([one.deployment.id for one in candidates])
        return 0

    listed = [deployment("a"), deployment("b", tags=("eu",)), deployment("c")]
    spec = route(["a", "b", "c"], strategy="custom:mine")
    world = World(catalog(listed, spec, selectors={"mine": watching}))
    world.cool("a", 60)
    assert world.chosen() == "b"
    assert seen == [["b", "c"]]
