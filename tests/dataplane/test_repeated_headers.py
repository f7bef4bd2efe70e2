"""Headers in several lines: lists go on, and single values may not contradict themselves."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, WAIT_S, Answer, Gateway, chat

MESSAGES = {"model": "chat", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


def post(gate: Gateway, path: str, body: dict[str, Any], *lines: tuple[str, str]) -> Answer:
    raw = json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=WAIT_S)
    connection.putrequest("POST", path)
    own = (("authorization", f"Bearer {KEY}"), ("content-length", str(len(raw))))
    for name, value in (*own, *lines):
        connection.putheader(name, value)
    connection.endheaders(raw)
    response = connection.getresponse()
    try:
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "protocol", "header", "body"),
    [
        ("/v1/messages", "messages", "anthropic-beta", MESSAGES),
        ("/v1/chat/completions", "chat-completions", "openai-beta", chat()),
        ("/v1/responses", "responses", "openai-beta", {"model": "chat", "input": "hi"}),
    ],
)
def test_all_lines_of_a_list_go_upstream(
    gate: Gateway, path: str, protocol: str, header: str, body: dict[str, Any]
) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"protocol": protocol}}))
    lines = [(header, "one-1, two-2"), (header.title(), ""), (header, "three-3")]
    assert post(gate, path, body, *lines).status == 200
    assert gate.last_call()["headers"][header] == "one-1, two-2, three-3"


def test_tags_of_all_lines_count(gate: Gateway) -> None:
    rule = {"id": "r", "route_id": "chat", "position": 0, "when": {"tags": ["eu", "gold"]}}
    gate.use(document(gate.upstream, ["a", "b"], rules=[{**rule, "only": ["b"]}]))
    lines = [("x-routeradmin-tags", "eu"), ("x-routeradmin-tags", "gold")]
    for _ in range(4):
        answer = post(gate, "/v1/chat/completions", chat(), *lines)
        assert answer.headers["x-routeradmin-deployment"] == "b"


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("idempotency-key", ("a", "b")),
        ("x-routeradmin-session", ("a", "b")),
        ("x-routeradmin-input-tokens", ("5", "6")),
        ("x-routeradmin-deadline-ms", ("500000", "600000")),
        ("anthropic-version", ("2023-06-01", "2023-01-01")),
    ],
)
def test_a_single_value_may_be_repeated_but_not_contradicted(
    gate: Gateway, header: str, values: tuple[str, str]
) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"protocol": "messages"}}))
    same = post(gate, "/v1/messages", MESSAGES, (header, values[0]), (header, values[0]))
    assert same.status == 200
    both = post(gate, "/v1/messages", MESSAGES, *((header, value) for value in values))
    assert both.status == 400
    assert header in both.error["message"]
    assert gate.calls() == 1


def test_of_two_keys_the_first_counts(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    assert post(gate, "/v1/chat/completions", chat(), ("x-api-key", "rk_none")).status == 200
    other = ("authorization", "Bearer rk_none")
    assert post(gate, "/v1/chat/completions", chat(), other).status == 200
