"""Intents over the management API: loading the shipped ones, trying texts, feedback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.journal.models import IntentFeedback
from routeradmin.services import journal_writing
from routeradmin.services.intent.shipped import shipped
from routeradmin.services.runtime import Runtime
from tests.api.client import Api, key_with


def first_route(api: Api) -> str:
    return str(api.get("/routes").json()["items"][0]["id"])


def load(api: Api, **more: Any) -> Any:
    routes = dict.fromkeys((one.id for one in shipped()), first_route(api))
    return api.post("/intents/defaults", {"routes": routes, **more})


def test_the_shipped_intents_are_loaded_once_and_stay_as_edited(stocked: Api) -> None:
    answer = load(stocked)
    assert answer.status_code == 200, answer.content
    assert answer.json()["changed"] is True
    names = [one["id"] for one in stocked.get("/intents").json()["items"]]
    assert names == ["coding", "fast", "reasoning", "secure", "vision"]
    secure = stocked.get("/intents/secure").json()
    assert secure["local_only"] is True
    stocked.patch("/intents/coding", {"keywords": ["sql"]}, if_match="*")
    assert load(stocked).json()["changed"] is False
    assert stocked.get("/intents/coding").json()["keywords"] == ["sql"]
    assert load(stocked, overwrite=True).json()["changed"] is True
    assert stocked.get("/intents/coding").json()["keywords"] != ["sql"]


def test_an_intent_that_is_not_shipped_and_a_route_that_is_not_there_are_refused(
    stocked: Api,
) -> None:
    answer = stocked.post("/intents/defaults", {"routes": {"cooking": first_route(stocked)}})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/routes/cooking"
    answer = stocked.post("/intents/defaults", {"routes": {"coding": "nowhere"}})
    assert answer.status_code == 422


def test_a_text_is_tried_and_not_told_back(stocked: Api) -> None:
    load(stocked)
    answer = stocked.post("/intents/classify", {"text": "zebra ann@example.com"})
    assert answer.status_code == 200, answer.content
    assert (answer.json()["intent"], answer.json()["signs"]) == ("secure", ["email"])
    assert answer.json()["enabled"] is False
    assert b"zebra" not in answer.content


def test_a_judgement_is_noted_and_teaches_an_example(stocked: Api) -> None:
    load(stocked)
    said = {
        "decided": "fast",
        "right": "coding",
        "text": "port my\nmakefile to ninja",
        "add_example": True,
    }
    answer = stocked.post("/intents/feedback", said)
    assert answer.status_code == 201, answer.content
    assert answer.json()["example_added"] is True
    assert "makefile" not in answer.content.decode()
    examples = stocked.get("/intents/coding").json()["examples"]
    assert examples[-1] == "port my makefile to ninja"
    stocked.post("/intents/feedback", said)
    assert stocked.get("/intents/coding").json()["examples"] == examples
    row = IntentFeedback.objects.first()
    assert row is not None
    assert "makefile" not in json.dumps([str(value) for value in vars(row).values()])


@pytest.mark.parametrize(
    ("said", "pointer"),
    [
        ({"right": "cooking", "decided": "fast"}, "/right"),
        ({"right": "coding"}, "/decided"),
        ({"right": "coding", "decided": "fast", "add_example": True}, "/text"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(
    stocked: Api, said: dict[str, Any], pointer: str
) -> None:
    load(stocked)
    answer = stocked.post("/intents/feedback", said)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_a_recorded_turn_knows_what_was_decided(stocked: Api, runtime: Runtime) -> None:
    load(stocked)
    decision = {"intent": "fast", "tier": "semantic", "confidence": 0.5}
    kept = {
        "id": "t1",
        "route": "r",
        "started_at": "2026-01-01T00:00:00.000Z",
        "routing": {"intent": decision},
    }
    runtime.journal.record(kept)
    journal_writing.write(runtime)
    assert stocked.get("/turns/t1").json()["routing"] == {"intent": decision}
    answer = stocked.post("/intents/feedback", {"turn": "t1", "right": "coding"})
    assert answer.status_code == 201, answer.content
    assert (answer.json()["decided"], answer.json()["tier"]) == ("fast", "semantic")
    missing = stocked.post("/intents/feedback", {"turn": "t2", "right": "coding"})
    assert missing.status_code == 404
    told = stocked.get("/intents/confusion").json()
    assert told["cells"] == [{"decided": "fast", "right": "coding", "count": 1}]
    assert (told["judged"], told["wrong"]) == (1, 1)
    assert told["decisions"] == [{"tier": "semantic", "intent": "fast", "count": 1}]
    assert stocked.get("/intents/feedback").json()["items"][0]["turn"] == "t1"


def test_judging_takes_a_key_that_may_write(stocked: Api) -> None:
    reader = Api(key_with("read", name="reader"))
    said = {"right": "coding", "decided": "fast"}
    assert reader.post("/intents/feedback", said).status_code == 403
    assert reader.get("/intents/confusion").status_code == 200
