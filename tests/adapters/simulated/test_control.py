"""``/_script`` and ``/_calls``."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.adapters.simulated import SimulatedProvider, fingerprint, running_in_thread
from tests.adapters.simulated.raw import CHAT, HELLO, Raw

KEY = "sk-first-key-aaaa1111"


def test_scripts_in_force_are_shown_with_the_calls_they_took(raw: Raw) -> None:
    raw.script({"status": 500}, model="m", repeat="once")
    raw.chat()

    shown = raw.call("GET", "/_script").json["scripts"]

    assert shown == [
        {"model": "m", "steps": [{"status": 500}], "repeat": "once", "taken": 1},
    ]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"steps": [{"stauts": 500}]}, "steps.0.stauts"),
        ({"steps": [{"status": 42}]}, "steps.0.status"),
        ({"model": "m", "repeat": "ever"}, "repeat"),
        ({"kind": "chats"}, "kind"),
        ({"steps": [{"headers": {"Content-Length": "3"}}]}, "content_length"),
        ({"steps": [{"body": {"base64": "***"}}]}, "base64"),
        ({"steps": [{"error": {"code": "x"}}]}, "error_in_200"),
        ({"steps": [{"error_after": "role"}]}, "error_in_200"),
        ({"require_key": 3}, "require_key"),
        ([3], "JSON object"),
    ],
)
def test_a_script_that_is_wrong_is_refused_with_its_place_and_changes_nothing(
    raw: Raw, body: Any, place: str
) -> None:
    raw.script({"status": 500})

    answer = raw.call("PUT", "/_script", body)

    assert answer.status == 422
    assert place in answer.json["error"]
    assert raw.chat().status == 500


def test_a_list_replaces_every_script(raw: Raw) -> None:
    raw.script({"status": 500}, model="a")

    raw.call("PUT", "/_script", [{"model": "b", "steps": [{"status": 502}]}])

    assert [raw.chat(model=model).status for model in ("a", "b")] == [200, 502]


def test_deleting_the_scripts_brings_normal_answers_back(raw: Raw) -> None:
    raw.script({"status": 500}, require_key=KEY)
    assert raw.chat().status == 401
    assert raw.chat(key=KEY).status == 500

    raw.call("DELETE", "/_script")

    assert raw.chat().status == 200


def test_a_required_key_is_asked_of_every_call_and_never_shown(raw: Raw) -> None:
    raw.call("PUT", "/_script", {"require_key": [KEY]})

    assert raw.call("GET", "/v1/models").status == 401
    assert raw.chat(key="sk-wrong-key-cccc3333").json["error"]["code"] == "invalid_api_key"
    assert raw.chat(key=KEY).status == 200
    assert raw.call("GET", "/_script").json["require_key"] == [fingerprint(KEY)]


def test_calls_are_counted_per_model_path_credential_and_status(raw: Raw) -> None:
    raw.script({"status": 429}, model="b")
    raw.chat(key=KEY)
    raw.chat(key=KEY, model="b")
    raw.chat(model="b")
    raw.call("GET", "/v1/models")

    counts = raw.calls()

    mark = fingerprint(KEY)
    assert counts["total"] == 4
    assert counts["paths"] == {CHAT: 3, "/v1/models": 1}
    assert counts["statuses"] == {"200": 2, "429": 2}
    assert counts["credentials"] == {mark: 2, "none": 2}
    assert counts["models"]["m"]["calls"] == 1
    per_key = counts["models"]["b"]["credentials"]
    assert {name: entry["calls"] for name, entry in per_key.items()} == {mark: 1, "none": 1}


def test_a_request_is_shown_with_its_headers_and_without_its_secret(raw: Raw) -> None:
    headers = {
        "authorization": f"Bearer {KEY}",
        "x-api-key": KEY,
        "idempotency-key": "turn-1",
        "x-extra": "kept",
    }
    raw.call("POST", CHAT, {**HELLO, "temperature": 0.5}, headers)

    answer = raw.call("GET", "/_calls")

    request = answer.json["requests"][-1]
    assert request["body_keys"] == ["model", "messages", "temperature"]
    assert request["idempotency_key"] == "turn-1"
    assert request["headers"]["x-extra"] == "kept"
    assert request["credential"] == fingerprint(KEY)
    assert (request["status"], request["done"], request["aborted"]) == (200, True, False)
    assert KEY[-8:].encode() not in answer.body
    assert "body" not in request


def test_requests_are_the_last_ones_of_all_or_of_one_model(raw: Raw) -> None:
    for model in "abab":
        raw.chat(model=model)

    def shown(query: str) -> list[int]:
        return [call["n"] for call in raw.call("GET", f"/_calls{query}").json["requests"]]

    assert shown("") == [1, 2, 3, 4]
    assert shown("?last=2") == [3, 4]
    assert shown("?last=1&model=a") == [3]
    assert shown("?last=0") == []


def test_calls_at_the_same_time_are_counted_at_their_most(raw: Raw) -> None:
    raw.script({"silence": True, "times": 2}, {})
    with raw.line() as one, raw.line() as two:
        for line in (one, two):
            line.send("POST", CHAT, b'{"model": "m", "stream": true}', {})
        raw.calls_when(lambda counts: counts["concurrent"] == 2)

    counts = raw.calls_when(lambda counts: counts["concurrent"] == 0)
    assert counts["max_concurrent"] == counts["max_open_streams"] == 2
    assert counts["models"]["m"]["max_concurrent"] == 2
    assert counts["models"]["m"]["credentials"]["none"]["max_concurrent"] == 2


def test_a_reset_forgets_calls_even_those_still_on_the_line(raw: Raw) -> None:
    raw.script({"silence": True})
    with raw.line() as line:
        line.send("POST", CHAT, b'{"model": "m"}', {})
        raw.calls_when(lambda counts: counts["concurrent"] == 1)
        counts = raw.call("DELETE", "/_calls").json
        assert (counts["total"], counts["concurrent"], counts["requests"]) == (0, 0, [])

    raw.script({})
    raw.chat()
    counts = raw.calls()
    assert (counts["total"], counts["concurrent"], counts["aborted"]) == (1, 0, 0)


def test_an_unknown_control_names_those_there_are(raw: Raw) -> None:
    answer = raw.call("POST", "/_script", {})

    assert answer.status == 404
    assert "PUT /_script" in answer.json["error"]


def test_bodies_are_kept_only_where_that_was_asked_for() -> None:
    provider = SimulatedProvider(keep_bodies=True)
    with running_in_thread(provider=provider) as url:
        Raw(url).chat(temperature=0.25)

    assert provider.calls()["requests"][-1]["body"]["temperature"] == 0.25
