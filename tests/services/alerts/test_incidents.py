"""Told once when it begins, once when it is over, and now and then while it lasts."""

from __future__ import annotations

from typing import Any

import orjson

from routeradmin.services.alerts.incidents import Incidents
from routeradmin.services.alerts.messages import Condition

NOW = 1_767_225_600.0


def wrong(*subjects: str, type: str = "route.without_target") -> list[Condition]:
    return [Condition(type, subject, {"route": subject}) for subject in subjects]


def told(incidents: Incidents, present: list[Condition], at: float) -> list[tuple[str, str, Any]]:
    """(type, state, routes) of each message."""
    found = []
    for message in incidents.step(present, NOW + at, "p"):
        body = orjson.loads(message.body)
        assert body["type"] == message.type
        data = body["data"]
        assert data["count"] == len(data["items"])
        found.append((message.type, data["state"], [one["route"] for one in data["items"]]))
    return found


def test_what_begins_at_one_look_is_one_message_of_its_type() -> None:
    incidents = Incidents()
    present = wrong("a", "b") + wrong("a/k", type="candidate.needs_attention")
    assert told(incidents, present, 0) == [
        ("route.without_target", "firing", ["a", "b"]),
        ("candidate.needs_attention", "firing", ["a/k"]),
    ]
    assert told(incidents, present, 2) == []


def test_what_is_gone_for_a_minute_is_over() -> None:
    incidents = Incidents()
    told(incidents, wrong("a"), 0)
    assert told(incidents, [], 59) == []
    assert told(incidents, [], 60) == [("route.without_target", "resolved", ["a"])]
    assert told(incidents, [], 120) == []
    assert told(incidents, wrong("a"), 121) == [("route.without_target", "firing", ["a"])]


def test_what_comes_and_goes_is_one_incident() -> None:
    incidents = Incidents()
    told(incidents, wrong("a"), 0)
    for at in range(10, 600, 10):
        assert told(incidents, wrong("a") if at % 50 == 0 else [], at) == []


def test_what_lasts_is_told_again_after_an_hour() -> None:
    incidents = Incidents()
    told(incidents, wrong("a"), 0)
    repeats = [at for at in range(30, 7300, 30) if told(incidents, wrong("a"), at)]
    assert repeats == [3600, 7200]


def test_a_message_names_fifty_and_counts_all() -> None:
    (message,) = Incidents().step(wrong(*[f"r{n}" for n in range(70)]), NOW, "p")
    data = orjson.loads(message.body)["data"]
    assert (data["count"], len(data["items"])) == (70, 50)


def test_what_another_process_has_told_is_gone_on_with_and_ends_here() -> None:
    incidents = Incidents()
    (condition,) = wrong("a")
    incidents.adopt(condition, NOW - 600, NOW)
    assert told(incidents, [condition], 2) == []
    assert told(incidents, [], 62) == [("route.without_target", "resolved", ["a"])]


def test_what_another_process_looks_after_is_let_go_without_a_word() -> None:
    incidents = Incidents()
    told(incidents, wrong("a") + wrong("p", type="journal.drops"), 0)
    incidents.let_go({"route.without_target"})
    assert [state for _, state, _ in told(incidents, [], 61)] == ["resolved"]
    assert incidents.open == {}
