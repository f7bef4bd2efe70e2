"""What a frame holds: the cells of pages that show state, each made once for every viewer."""

from __future__ import annotations

import re

import pytest

from routeradmin.console import board, fragments
from routeradmin.services import candidates, live
from routeradmin.services.cooldowns import set_by_hand
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY


def cells(runtime: Runtime, moved: str) -> dict[str, str]:
    """Cell -> text of a frame in which the state of one deployment's candidates changed."""
    rows = candidates.candidates_json(
        runtime.current.snapshot, runtime.store.states(), runtime.clock()
    )
    changed = [row for row in rows if row["deployment"] == moved]
    delta = live.Delta(
        [(row, ("state",)) for row in changed],
        rows,
        (),
        runtime.clock(),
        live.Standing.of(runtime),
        changed,
    )
    found = re.findall(
        r'hx-target="\[data-cell=([\w-]+)\]"[^>]*>(.*?)</hx-partial>',
        "".join(fragments.render(delta)),
        re.S,
    )
    return {name: re.sub(r"<[^>]+>", " ", content).strip() for name, content in found}


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("route", "chat", "2 of 3 healthy"),
        ("provider", "local", "0 of 1 healthy"),
        ("endpoint", "local-api", "0 of 1 healthy"),
        ("credential", "open", "0 of 1 healthy"),
        ("all", "", "2 of 4 healthy"),
    ],
)
def test_a_change_of_state_is_told_for_everything_it_belongs_to(
    catalog: Runtime, kind: str, name: str, told: str
) -> None:
    set_by_hand("near/by", "open", 60, BY)
    assert cells(catalog, "near/by")[f"{board.group_id(kind, name)}-health"] == told


def test_a_deployment_shows_the_worst_of_its_candidates(catalog: Runtime) -> None:
    set_by_hand("acme-large", "acme-two", 60, BY)
    assert cells(catalog, "acme-large")[board.worst_id("acme-large")] == "cooling"


def test_the_revision_and_what_is_out_of_reach_are_told(catalog: Runtime) -> None:
    catalog.degraded.add("store")
    found = cells(catalog, "near/by")
    assert found["revision"].split() == ["r1", "1/1"]
    assert "store cannot be reached" in found["notices"]
