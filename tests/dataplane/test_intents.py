"""``auto`` decided by intents, through the gateway and the decision API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.catalog.document import Document, Intent
from tests.dataplane.catalogs import document
from tests.dataplane.serving import Gateway

INTENTS = [
    {"id": "coding", "route_id": "coding", "keywords": ["compile"], "description": "code"},
    {"id": "fast", "route_id": "fast"},
    {"id": "reasoning", "route_id": "reasoning"},
    {"id": "secure", "route_id": "secure", "local_only": True},
    {"id": "vision", "route_id": "vision"},
]
NAMES = [str(one["id"]) for one in INTENTS]


def catalog(
    gate: Gateway, *, intents: list[dict[str, Any]] | None = None, **settings: Any
) -> Document:
    """A route per intent with a deployment of its name; secure's is local; a judge to ask."""
    listed = INTENTS if intents is None else intents
    held = document(
        gate.upstream,
        "judge",
        deployments={
            **{name: {} for name in NAMES},
            "secure": {"tags": ["local"]},
            "judge": {"tags": ["local"]},
        },
        routes=[{"id": name, "alias": name} for name in NAMES],
        more_targets=[(name, name, 0) for name in NAMES],
        defaults={"intents": {"enabled": True, **settings}},
    )
    return held.model_copy(update={"intents": tuple(Intent(**one) for one in listed)})


def asked(gate: Gateway, text: str, **more: Any) -> Any:
    return gate.post(
        {"model": "auto", "messages": [{"role": "user", "content": text}], **more},
        headers={"x-routeradmin-trace": "1"},
    )


def served_by(answer: Any) -> str:
    assert answer.status == 200, answer.body
    return str(answer.headers["x-routeradmin-deployment"])


def says(gate: Gateway, text: str, **step: Any) -> None:
    gate.script("judge", {"text": text, **step})


def verdict(intent: str, confidence: float = 0.9) -> str:
    return json.dumps({"intent": intent, "confidence": confidence})


def test_a_keyword_leads_to_its_intents_route(gate: Gateway) -> None:
    gate.use(catalog(gate))
    answer = asked(gate, "why does it not compile")
    assert served_by(answer) == "coding"
    assert answer.headers["x-routeradmin-route"] == "coding"
    assert gate.record["routing"]["intent"]["tier"] == "keyword"


def test_an_image_leads_to_vision(gate: Gateway) -> None:
    gate.use(catalog(gate))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    answer = asked(gate, [{"type": "text", "text": "what is it"}, image])  # type: ignore[arg-type]
    assert served_by(answer) == "vision"


def test_an_address_leads_to_secure_and_the_record_has_no_prompt(gate: Gateway) -> None:
    gate.use(catalog(gate))
    assert served_by(asked(gate, "zebra: mail ann@example.com")) == "secure"
    record = gate.record
    assert record["routing"]["intent"]["signs"] == ["email"]
    assert record["routing"]["intent"]["local_only"] is True
    assert "zebra" not in json.dumps(record)
    assert "ann@" not in json.dumps(record)


def test_secure_text_is_refused_rather_than_sent_away(gate: Gateway) -> None:
    held = catalog(gate)
    local = [
        one.model_copy(update={"tags": ()}) if one.id == "secure" else one
        for one in held.serving_models
    ]
    gate.use(held.model_copy(update={"serving_models": tuple(local)}))
    before = gate.calls()
    answer = asked(gate, "mail ann@example.com")
    assert answer.status == 503
    assert answer.error["reasons"] == ["rule"]
    assert gate.calls() == before


def test_intents_that_are_off_leave_auto_to_the_priority_list(gate: Gateway) -> None:
    held = catalog(gate, enabled=False)
    table = held.defaults.model_copy(update={"auto_priority": ("reasoning",)})
    gate.use(held.model_copy(update={"defaults": table}))
    assert served_by(asked(gate, "mail ann@example.com")) == "reasoning"


def test_without_a_default_intent_the_priority_list_is_next_and_then_a_clear_error(
    gate: Gateway,
) -> None:
    held = catalog(gate, default_id="gone")
    gate.use(held)
    answer = asked(gate, "anything")
    assert (answer.status, answer.error["code"]) == (404, "model_not_found")
    table = held.defaults.model_copy(update={"auto_priority": ("acme:reasoning",)})
    gate.use(held.model_copy(update={"defaults": table}))
    answer = asked(gate, "anything")
    assert served_by(answer) == "reasoning"
    assert answer.headers["x-routeradmin-route"] == "acme:reasoning"


def test_the_classifier_decides_with_one_call_and_the_next_time_with_none(gate: Gateway) -> None:
    gate.use(catalog(gate, classifier="chat"))
    says(gate, verdict("coding"))
    assert served_by(asked(gate, "do something")) == "coding"
    assert gate.calls("judge") == 1
    assert gate.record["routing"]["intent"]["classifier"] == "answered"
    assert served_by(asked(gate, "do something")) == "coding"
    assert gate.calls("judge") == 1
    assert gate.record["routing"]["intent"]["cache"] == "exact"


def test_a_classifier_in_doubt_leads_to_reasoning(gate: Gateway) -> None:
    gate.use(catalog(gate, classifier="chat"))
    says(gate, verdict("coding", 0.59))
    assert served_by(asked(gate, "do something odd")) == "reasoning"


@pytest.mark.parametrize(
    "text",
    [
        "This is about coding, I believe.",
        "```json\n" + verdict("coding") + "\n```",
        verdict("coding") + " Hope this helps!",
        verdict("unheard-of"),
        '{"intent": "coding"}',
        '{"intent": "coding", "confidence": 7}',
        '{"intent": "coding", "confidence": NaN}',
        '{"intent": "coding", "confidence": "high"}',
        '{"intent": "coding", "confidence": true}',
        '{"intent": ["coding"], "confidence": 0.9}',
        '{"intent": "coding", "confidence": 0.9, "model": "big"}',
        '["coding", 0.9]',
        "[" * 20_000,
        "null",
    ],
)
def test_a_classifier_that_lies_or_chats_leaves_the_default(gate: Gateway, text: str) -> None:
    gate.use(catalog(gate, classifier="chat"))
    says(gate, text, times=100)
    assert served_by(asked(gate, "do something")) == "fast"
    assert gate.calls("judge") == 1
    assert gate.record["routing"]["intent"]["tier"] == "default"
    assert gate.record["routing"]["intent"]["classifier"].startswith("the answer")


def test_a_classifier_whose_answer_is_cut_inside_a_character_is_read_as_any_other(
    gate: Gateway,
) -> None:
    gate.use(catalog(gate, classifier="chat"))
    half = "\\ud83d"
    told = json.dumps({"choices": [{"message": {"content": verdict("coding")}, "note": "half"}]})
    gate.script("judge", {"body": told.replace('"half"', f'"{half}"')})
    assert served_by(asked(gate, "do something")) == "coding"


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
def test_a_classifier_that_fails_leaves_the_default_after_one_call(
    gate: Gateway, status: int
) -> None:
    gate.use(catalog(gate, classifier="chat"))
    gate.script("judge", {"status": status, "times": 100})
    assert served_by(asked(gate, "do something")) == "fast"
    assert gate.calls("judge") == 1
    assert gate.active == 0


def test_a_slow_classifier_is_cut_off_and_leaves_no_slot_behind(gate: Gateway) -> None:
    gate.use(catalog(gate, classifier="chat", classifier_timeout_s=0.1))
    gate.script("judge", {"delay_ms": 5000, "text": verdict("coding"), "times": 100})
    answer = asked(gate, "do something")
    assert served_by(answer) == "fast"
    assert gate.record["routing"]["intent"]["classifier"] == "no answer within 0.1 s"
    assert gate.active == 0


def test_a_classifier_that_is_down_leaves_the_default(gate: Gateway) -> None:
    held = catalog(gate, classifier="chat")
    ends = [
        one.model_copy(update={"base_url": "http://127.0.0.1:9/"}) if one.id == "judge" else one
        for one in held.endpoints
    ]
    gate.use(held.model_copy(update={"endpoints": tuple(ends)}))
    assert served_by(asked(gate, "do something")) == "fast"


def test_a_remote_classifier_is_never_shown_what_may_be_secret(gate: Gateway) -> None:
    held = catalog(gate, classifier="fast")
    gate.use(held)
    before = gate.calls("fast")
    assert served_by(asked(gate, "do something")) == "fast"
    assert gate.calls("fast") == before + 1  # the request itself
    told = gate.record["routing"]["intent"]["classifier"]
    assert told == "nothing of fast may be asked now (no_available_deployment)"


def test_without_a_local_only_intent_any_classifier_will_do(gate: Gateway) -> None:
    listed = [one for one in INTENTS if one["id"] != "secure"]
    gate.use(catalog(gate, intents=listed, classifier="vision"))
    gate.script("vision", {"text": verdict("coding")})
    assert served_by(asked(gate, "do something")) == "coding"


def test_sensitive_text_is_not_classified(gate: Gateway) -> None:
    gate.use(catalog(gate, classifier="chat"))
    asked(gate, "mail ann@example.com")
    assert gate.calls("judge") == 0


def test_select_and_explain_decide_by_text_and_say_how(gate: Gateway) -> None:
    gate.use(catalog(gate))
    body = {"model": "auto", "text": "zebra, does it compile?", "explain": True}
    selected = gate.post(body, "/api/v1/select").json
    assert selected["route"] == "coding"
    assert selected["explanation"]["intent"]["keyword"] == "compile"
    told = gate.post(body | {"explain": False}, "/api/v1/explain")
    assert told.json["route_id"] == "coding"
    assert told.json["intent"]["tier"] == "keyword"
    assert b"zebra" not in told.body
    simulated = gate.post({**body, "draws": 10, "explain": False}, "/api/v1/simulate").json
    assert simulated["explanation"]["intent"]["intent"] == "coding"
    assert simulated["shares"] == {"coding/coding": 1.0}


def test_a_select_for_an_image_leads_to_vision_and_its_turn_goes_on_there(gate: Gateway) -> None:
    gate.use(catalog(gate))
    body = {"model": "auto", "requires": ["vision"]}
    first = gate.post(body, "/api/v1/select").json
    assert first["route"] == "vision"
    report = {"outcome": "failure", "status": 503}
    gate.post(report, f"/api/v1/leases/{first['lease_id']}/report")
    gate.clock.advance(2)
    again = gate.post({**body, "turn": first["turn"]}, "/api/v1/select").json
    assert again["route"] == "vision"


def test_a_plain_name_is_never_decided_about(gate: Gateway) -> None:
    gate.use(catalog(gate))
    answer = gate.post(
        {"model": "fast", "messages": [{"role": "user", "content": "mail ann@example.com"}]}
    )
    assert served_by(answer) == "fast"
    assert gate.record["routing"] is None


def test_a_key_without_the_route_is_refused_it(gate: Gateway) -> None:
    gate.use(catalog(gate))
    gate.key("rk_only-fast-0123456789", routes=frozenset({"fast"}))
    body = {"model": "auto", "messages": [{"role": "user", "content": "compile"}]}
    answer = gate.post(body, key="rk_only-fast-0123456789")
    assert (answer.status, answer.error["code"]) == (403, "model_access_denied")


def test_explaining_makes_no_call(gate: Gateway) -> None:
    gate.use(catalog(gate, classifier="chat"))
    for path, more in (("explain", {}), ("simulate", {"draws": 5})):
        told = gate.post({"model": "auto", "text": "do something", **more}, f"/api/v1/{path}").json
        intent = (told["explanation"] if path == "simulate" else told)["intent"]
        assert (intent["tier"], intent["classifier"]) == (
            "default",
            "not asked: this decision makes no calls",
        )
    assert gate.calls() == 0


def test_a_key_at_its_limit_has_nobody_asked(gate: Gateway) -> None:
    gate.use(catalog(gate, classifier="chat"))
    gate.key("rk_one-a-minute-012345", rpm_limit=1)
    body = {"model": "auto", "messages": [{"role": "user", "content": "do something"}]}
    says(gate, "prose", times=9)
    assert gate.post(body, key="rk_one-a-minute-012345").status == 200
    assert gate.post(body, key="rk_one-a-minute-012345").status == 429
    assert gate.calls("judge") == 1
