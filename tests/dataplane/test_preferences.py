"""Client preferences and route rules through the gateway and the decision API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.catalog.document import Document, Rule
from tests.dataplane.catalogs import document
from tests.dataplane.serving import SECRET, Gateway


def ask(gate: Gateway, provider: Any, **more: Any) -> Any:
    body = {"model": "chat", "messages": [{"role": "user", "content": "hi"}]}
    return gate.post({**body, "provider": provider, **more})


def test_order_is_followed_and_the_upstream_never_sees_the_member(gate: Gateway) -> None:
    gate.use(document(gate.upstream, ["a", "b", "c"]))
    for _ in range(5):
        answer = ask(gate, {"order": ["c"]}, temperature=0.5)
        assert answer.headers["x-routeradmin-deployment"] == "c"
    sent = gate.last_call()
    assert "provider" not in json.dumps(sent.get("body", sent))
    assert gate.record["routing"]["preferences"]["asked"] == {"order": ["c"]}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"provider":{"order":["b"]},"model":"chat","messages":[{"role":"user","content":"x"}]}',
        b'{"model":"chat", "provider" : {"order":["b"]},"messages":[{"role":"user","content":""}]}',
        b'{"model":"chat","messages":[{"role":"user","content":"x"}], "provider":{"order":["b"]} }',
    ],
)
def test_the_rest_of_the_body_stays_as_it_was_written(gate: Gateway, raw: bytes) -> None:
    gate.use(document(gate.upstream, ["a", "b"]))
    answer = gate.post(raw)
    assert answer.status == 200, answer.body
    assert answer.headers["x-routeradmin-deployment"] == "b"


def test_dropped_words_are_shown_in_the_record(gate: Gateway) -> None:
    gate.use(document(gate.upstream, ["a", "b"]))
    ask(gate, {"order": ["unheard-of"], "quantizations": ["fp8"]})
    dropped = gate.record["routing"]["preferences"]["dropped"]
    assert [one["word"] for one in dropped] == ["quantizations", "order"]


def test_a_secret_among_the_names_is_not_recorded(gate: Gateway) -> None:
    gate.use(document(gate.upstream, ["a", "b"]))
    ask(gate, {"order": [SECRET.format("a")], SECRET.format("b"): 1})
    record = json.dumps(gate.record)
    assert SECRET.format("a") not in record
    assert SECRET.format("b") not in record


@pytest.mark.parametrize(
    ("provider", "param"),
    [
        ({"order": "a"}, "provider.order"),
        ({"only": [1]}, "provider.only"),
        ({"allow_fallbacks": "no"}, "provider.allow_fallbacks"),
        ({"sort": "beauty"}, "provider.sort"),
    ],
)
def test_a_word_of_the_wrong_type_is_refused(gate: Gateway, provider: Any, param: str) -> None:
    gate.use(document(gate.upstream, "a"))
    answer = ask(gate, provider)
    assert (answer.status, answer.error["param"]) == (400, param)


def test_a_provider_that_is_no_object_is_the_upstreams_business(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    assert ask(gate, "acme").status == 200
    assert gate.record["routing"] is None


def test_only_that_leaves_nothing_is_refused(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    answer = ask(gate, {"only": ["elsewhere"]})
    assert (answer.status, answer.error["reasons"]) == (503, ["excluded"])


def test_select_takes_them_and_explains_what_it_dropped(gate: Gateway) -> None:
    gate.use(document(gate.upstream, ["a", "b", "c"]))
    body = {"model": "chat", "preferences": {"order": ["b", "nobody"]}, "explain": True}
    for _ in range(4):
        answer = gate.post(body, "/api/v1/select").json
        assert answer["deployment"] == "b"
    told = answer["explanation"]["preferences"]
    assert [one["name"] for one in told["dropped"]] == ["nobody"]
    bad = gate.post({"model": "chat", "preferences": {"best": 1}}, "/api/v1/select")
    assert bad.status == 422


def ruled(gate: Gateway, *rules: dict[str, Any]) -> Document:
    held = document(gate.upstream, ["a", "b"], strategy="fill_first")
    listed = [
        Rule.model_validate({"id": f"rule{n}", "route_id": "chat", "position": n, **rule})
        for n, rule in enumerate(rules)
    ]
    return held.model_copy(update={"rules": tuple(listed)})


@pytest.mark.parametrize(
    ("when", "headers", "body"),
    [
        ({"tags": ["eu"]}, {"x-routeradmin-tags": "eu, gold"}, {}),
        ({"key": ["23456789"]}, {}, {}),
        ({"header": {"X-Team": "blue"}}, {"x-team": "blue"}, {}),
        ({"hours": ["23:00-01:00"]}, {}, {}),
        ({"min_input_tokens": 100}, {"x-routeradmin-input-tokens": "100"}, {}),
        ({"max_input_tokens": 400}, {}, {}),
        ({"tools": True}, {}, {"tools": [{"type": "function", "function": {"name": "f"}}]}),
    ],
)
def test_rules_go_by_the_facts_of_a_request(
    gate: Gateway, when: dict[str, Any], headers: dict[str, str], body: dict[str, Any]
) -> None:
    gate.use(ruled(gate, {"when": when, "only": ["b"]}))
    asked = {"model": "chat", "messages": [{"role": "user", "content": "hi"}], **body}
    answer = gate.post(asked, headers=headers)
    assert answer.headers["x-routeradmin-deployment"] == "b"
    assert gate.record["routing"]["rule"] == {"id": "rule0", "only": ["b"]}


def test_the_first_rule_that_holds_counts_and_is_explained(gate: Gateway) -> None:
    blue = {"header": {"x-team": "blue"}}
    gate.use(ruled(gate, {"when": blue, "only": ["b"]}, {"when": {}, "only": ["a"]}))
    told = gate.post({"model": "chat"}, "/api/v1/explain").json
    assert (told["rule"]["id"], told["selected_target_id"]) == ("rule1", "0-0-a")
    told = gate.post({"model": "chat"}, "/api/v1/explain", headers={"x-team": "blue"}).json
    assert told["rule"]["id"] == "rule0"
    assert [one["rejections"] for one in told["targets"]] == [["rule"], []]
    selected = gate.post({"model": "chat"}, "/api/v1/select", headers={"x-team": "blue"}).json
    assert selected["deployment"] == "b"
