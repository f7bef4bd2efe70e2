"""The example package of docs/selectors.md chooses as its page says."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from routeradmin.services import selectors
from tests.engine.world import ASK, World, catalog, deployment, route

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "selector-example"


def test_the_example_is_found_by_its_path_and_prefers_the_region(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))
    declared = project["project"]["entry-points"][selectors.GROUP]
    usable = selectors.usable(selectors.find(declared, limit_s=10))
    listed = [deployment("east"), deployment("west", tags=("us-west",)), deployment("more")]
    spec = route(["east", "west", "more"], strategy="custom:nearest_region")
    world = World(catalog(listed, spec, selectors=usable))
    asked = replace(ASK, tags=frozenset({"us-west"}))
    assert {world.chosen(asked) for _ in range(5)} == {"west"}
    world.cool("west", 60)
    world.set("east", active=2)
    assert {world.chosen(asked) for _ in range(5)} == {"more"}
    sys.modules.pop("nearest_region")
