"""The dashboard asks for metrics that exist, by labels that they have, and leaves none out."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from routeradmin.catalog.document import Document
from routeradmin.engine.state import Change, Dispatch, Outcome
from routeradmin.services.metering import exposition
from routeradmin.services.metering.meters import Call
from routeradmin.services.metering.siblings import roll_call
from routeradmin.services.runtime import Runtime
from tests.conftest import START
from tests.engine.world import catalog, deployment

DASHBOARD: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "deploy" / "grafana" / "routeradmin.json").read_text()
)
OF_THE_SCRAPER = {"job", "instance", "le"}


def expressions() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]


def asked_for() -> set[str]:
    return {
        name
        for expression in expressions()
        for name in re.findall(r"\b((?:routeradmin|gen_ai_client|process)_[a-z_]+)", expression)
    }


def exposed(runtime: Runtime) -> tuple[dict[str, str], set[str]]:
    """Sample names with their family's, and every label; each counted thing has happened once."""
    snapshot = catalog([deployment("a")])
    runtime.store.bind(snapshot)
    runtime.current.swap(snapshot, Document())
    outcome = Outcome(None, Dispatch.ACCEPTED, 200, ttft_ms=5, latency_ms=9, input_tokens=1)
    (candidate,) = next(iter(snapshot.routes.values())).candidates
    meters = runtime.meters
    meters.attempt("a", outcome)
    meters.called(Call("chat", "p"), outcome)
    meters.turn("succeeded")
    meters.heard([Change("cooldown-set", candidate.key, START, "result", "transient")])
    names: dict[str, str] = {}
    labels: set[str] = set()
    text = (asyncio.run(exposition(runtime)) + roll_call({1: True})).decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            names[sample.name] = family.name
            labels |= sample.labels.keys()
    return names, labels


def test_every_metric_and_label_that_it_asks_for_exists(bare_runtime: Runtime) -> None:
    names, labels = exposed(bare_runtime)
    assert asked_for() - names.keys() == set()
    for expression in expressions():
        grouped = re.findall(r"by \(([^)]*)\)", expression)
        matched = re.findall(r"[{,]\s*(\w+)(?:=|=~|!=)\"", expression)
        used = {name.strip() for group in grouped for name in group.split(",")} | set(matched)
        assert used <= labels | OF_THE_SCRAPER, expression


@pytest.mark.parametrize("shared", ["deployment_state", "deployment_in_state", "leases"])
def test_what_all_processes_say_alike_is_counted_once(shared: str) -> None:
    asked = [one for one in expressions() if f"routeradmin_{shared}{{" in one]
    assert asked
    for expression in asked:
        assert re.search(rf"max by \([a-z, ]+\) \(routeradmin_{shared}\{{", expression)


def test_every_family_of_ours_is_shown(bare_runtime: Runtime) -> None:
    names, _ = exposed(bare_runtime)
    shown = {names[name] for name in asked_for()}
    ours = {family for family in names.values() if not family.startswith("process_")}
    assert ours - shown == set()


@cache
def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DASHBOARD["panels"]
    return found


def test_panels_have_ids_titles_and_places_of_their_own() -> None:
    assert len({panel["id"] for panel in panels()}) == len(panels())
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        assert panel["title"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        taken |= cells


def test_every_panel_uses_the_chosen_data_source() -> None:
    variables = {one["name"] for one in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource", "job"}
    for panel in panels():
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${datasource}"
            assert all('job="$job"' in target["expr"] for target in panel["targets"])


def test_only_times_are_shown_as_seconds() -> None:
    for panel in panels():
        settings = panel.get("fieldConfig", {"defaults": {}})
        if settings["defaults"].get("unit") == "s":
            others = {one["matcher"]["options"] for one in settings["overrides"]}
            for target in panel["targets"]:
                is_time = target["expr"].startswith("histogram_quantile(")
                assert is_time or target["refId"] in others, panel["title"]
