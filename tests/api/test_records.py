"""Events, turns, audit and revisions: newest first, followed by cursor, filtered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from routeradmin.journal.models import Event
from routeradmin.services import turn_rows
from tests.api.client import Api, problem

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def events(count: int) -> None:
    Event.objects.bulk_create(
        Event(
            kind="cooldown-set" if number % 2 else "healthy",
            at=NOON + timedelta(seconds=number),
            deployment=f"d{number % 3}",
            credential="k",
            set_by="result",
            failure_class="rate-limited" if number % 2 else "",
            status=429 if number % 2 else None,
            message="slow down" if number == 1 else "",
            until=NOON + timedelta(hours=1),
        )
        for number in range(count)
    )


def test_events_come_newest_first_in_pages_that_new_ones_do_not_shift(api: Api) -> None:
    events(7)
    page = api.get("/events?limit=3").json()
    assert page["total"] == 7
    walked = [item["id"] for item in page["items"]]
    events(2)
    while page["next_cursor"]:
        page = api.get(f"/events?limit=3&cursor={page['next_cursor']}").json()
        walked += [item["id"] for item in page["items"]]
    assert walked == sorted(set(walked), reverse=True)
    assert len(walked) == 7


def test_the_tail_is_followed_by_the_last_id_seen(api: Api) -> None:
    events(3)
    last = api.get("/events?limit=1").json()["items"][0]["id"]
    assert api.get(f"/events?after={last}").json()["items"] == []
    events(2)
    newer = api.get(f"/events?after={last}").json()["items"]
    assert [item["id"] for item in newer] == [last + 1, last + 2]


def test_an_event_carries_its_evidence(api: Api) -> None:
    events(2)
    (event,) = api.get("/events?class=rate-limited").json()["items"]
    assert event == {
        "id": event["id"],
        "kind": "cooldown-set",
        "at": "2026-01-01T12:00:01.000Z",
        "deployment": "d1",
        "credential": "k",
        "matched": None,
        "set_by": "result",
        "class": "rate-limited",
        "status": 429,
        "message": "slow down",
        "until": "2026-01-01T13:00:00.000Z",
        "level": None,
        "revision": None,
        "facts": {},
    }


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("kind=healthy", 3),
        ("kind=healthy&kind=cooldown-set", 6),
        ("deployment=d0&kind=healthy", 1),
        ("status=429", 3),
        ("search=SLOW", 1),
        ("since=2026-01-01T12:00:04Z", 2),
        ("until=2026-01-01T12:00:04.000%2B00:00", 4),
        ("since=2026-01-01T13:00:04%2B01:00", 2),
        ("since=2026-01-01T13:00:04+01:00", 2),
        ("kind=nothing", 0),
    ],
)
def test_events_are_filtered(api: Api, query: str, count: int) -> None:
    events(6)
    found = api.get(f"/events?{query}").json()
    assert (len(found["items"]), found["total"]) == (count, count)


def turn(id: str, *attempts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "request_id": f"req-{id}",
        "route": "chat",
        "model": "chat",
        "key": "key_1",
        "revision": 1,
        "halt": "succeeded",
        "started_at": "2026-01-01T12:00:00.000Z",
        "duration_ms": 900.0,
        "overhead_ms": 0.4,
        "warnings": [],
        "routing": None,
        **fields,
        "attempts": [{"n": n, **attempt} for n, attempt in enumerate(attempts, 1)],
    }


def attempt(deployment: str, failure_class: str | None = None) -> dict[str, Any]:
    return {
        "target": "chat-1",
        "deployment": deployment,
        "credential": "k",
        "provenance": {"provider": "acme"},
        "auth_kind": "bearer",
        "billing_kind": "metered",
        "class": failure_class,
        "status": 429 if failure_class else 200,
        "dispatch": "rejected" if failure_class else "accepted",
        "visible_events": 0,
        "waited_ms": 0.0,
        "duration_ms": 80.0,
        "ttft_ms": None,
        "usage": {"input": None, "output": 5},
        "message": "",
    }


def test_a_turn_is_answered_as_it_was_recorded(api: Api) -> None:
    record = turn("t1", attempt("d1", "rate-limited"), attempt("d2"))
    turn_rows.write([record])
    assert api.get("/turns/t1").json() == record
    assert api.get("/turns").json()["items"] == [record]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("deployment=d2", ["t2", "t1"]),
        ("class=rate-limited", ["t1"]),
        ("deployment=d2&class=rate-limited", []),
        ("halt=exhausted", ["t2"]),
        ("request_id=req-t1", ["t1"]),
        ("route=other", []),
    ],
)
def test_turns_are_filtered_by_their_attempts_too(api: Api, query: str, ids: list[str]) -> None:
    turn_rows.write(
        [
            turn("t1", attempt("d1", "rate-limited"), attempt("d2")),
            turn("t2", attempt("d2"), attempt("d2"), halt="exhausted"),
        ]
    )
    found = api.get(f"/turns?{query}").json()
    assert [item["id"] for item in found["items"]] == ids
    assert found["total"] == len(ids)


def test_every_write_and_action_is_in_the_audit(stocked: Api) -> None:
    stocked.post("/providers", {"id": "x", "category": "lab"}, x_routeradmin_reason="new lab")
    stocked.patch("/providers/x", {"tags": ["eu"]}, if_match="*")
    stocked.delete("/providers/x", if_match="*")
    stocked.post("/deployments/acme-large/drain", {"reason": "maintenance"})
    stocked.post(
        "/cooldowns", {"deployment": "acme-large", "seconds": 5, "reason": "billing problem"}
    )
    stocked.delete("/cooldowns?deployment=acme-large&reason=solved")
    stocked.post("/credentials/acme-key/secret", {"secret": "sk-0123456789abcdef"})
    stocked.post("/keys", {"name": "ci", "scopes": ["read"]})
    entries = stocked.get("/audit").json()["items"]
    actions = [(one["action"], one["kind"]) for one in reversed(entries)]
    assert actions[-8:] == [
        ("create", "providers"),
        ("update", "providers"),
        ("delete", "providers"),
        ("draining", "deployments"),
        ("set-cooldown", "cooldowns"),
        ("clear-cooldown", "cooldowns"),
        ("replace-secret", "credentials"),
        ("create", "keys"),
    ]
    reasons = {one["action"]: one["reason"] for one in entries}
    assert reasons["draining"] == "maintenance"
    assert reasons["set-cooldown"] == "billing problem"
    assert reasons["clear-cooldown"] == "solved"
    assert next(one for one in entries if one["action"] == "update")["changes"] == {
        "tags": [[], ["eu"]]
    }
    assert b"sk-0123" not in stocked.get("/audit").content


def test_a_turn_that_nobody_recorded_is_not_found(api: Api) -> None:
    problem(api.get("/turns/nobody"), 404, "not_found")
