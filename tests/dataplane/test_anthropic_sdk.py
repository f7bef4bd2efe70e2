"""Anthropic's own client through the gateway: what it asks, what it gets, what it raises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, Gateway

ASKED: Any = {"max_tokens": 100, "messages": [{"role": "user", "content": "Which way?"}]}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Any = [{"name": "weather", "input_schema": SCHEMA}]


@pytest.fixture(autouse=True)
def _catalog(gate: Gateway) -> None:
    """``claude`` speaks the protocol itself; ``chat`` is translated to."""
    gate.use(
        document(
            gate.upstream,
            "a",
            policy={"retry": {"max_attempts": 1}},
            deployments={"an": {"protocol": "messages"}},
            routes=[{"id": "claude", "alias": "claude", "policy_id": "p"}],
            more_targets=[("claude", "an", 0)],
        )
    )


def client_of(gate: Gateway, **fields: Any) -> Anthropic:
    given = {"api_key": KEY, "max_retries": 0, "_strict_response_validation": True, **fields}
    return Anthropic(base_url=gate.url, **given)


@pytest.fixture(scope="module")
def client(served: Gateway) -> Iterator[Anthropic]:
    with client_of(served) as client:
        yield client


both = pytest.mark.parametrize("model", ["claude", "chat"])


@both
def test_a_message_has_text_a_stop_reason_and_usage(client: Anthropic, model: str) -> None:
    answer: Any = client.messages.create(model=model, **ASKED)
    assert answer.content[0].text
    assert answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0


@both
def test_a_stream_joins_to_the_plain_message(client: Anthropic, model: str) -> None:
    events = list(client.messages.create(model=model, **ASKED, stream=True))
    kinds = [event.type for event in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    with client.messages.stream(model=model, **ASKED) as stream:
        streamed: Any = stream.get_final_message()
    plain: Any = client.messages.create(model=model, **ASKED)
    assert streamed.content[0].text == plain.content[0].text
    assert streamed.usage.output_tokens == plain.usage.output_tokens


@both
@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}])
def test_a_forced_tool_is_used_plain_and_streaming(
    client: Anthropic, model: str, choice: Any
) -> None:
    asked: Any = {**ASKED, "model": model, "tools": TOOLS, "tool_choice": choice}
    plain: Any = client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        streamed: Any = stream.get_final_message()
    for answer in (plain, streamed):
        assert answer.stop_reason == "tool_use"
        assert (answer.content[0].name, answer.content[0].input) == (
            "weather",
            {"city": "simulated"},
        )


def test_tokens_are_counted(gate: Gateway, client: Anthropic) -> None:
    messages = ASKED["messages"]
    counted = client.messages.count_tokens(model="claude", messages=messages)
    assert counted.input_tokens > 0
    assert gate.last_call()["path"] == "/v1/messages/count_tokens"
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.messages.count_tokens(model="chat", messages=messages)
    assert "protocol" in str(caught.value)


def test_an_upstream_that_does_not_count_still_serves(gate: Gateway, client: Anthropic) -> None:
    gate.script("an", {"status": 404}, kind="count_tokens")
    with pytest.raises(anthropic.NotFoundError):
        client.messages.count_tokens(model="claude", messages=ASKED["messages"])
    assert client.messages.create(model="claude", **ASKED).content
    assert gate.state("an").tpm_used > 0


def test_models_are_listed_and_found(client: Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["chat", "claude"]
    assert client.models.retrieve("claude").display_name == "claude"


@pytest.mark.parametrize(
    ("step", "error", "kind"),
    [
        ({"status": 400}, anthropic.BadRequestError, "invalid_request_error"),
        ({"status": 413}, anthropic.APIStatusError, "request_too_large"),
        ({"status": 401}, anthropic.InternalServerError, "api_error"),
        ({"status": 404}, anthropic.InternalServerError, "api_error"),
        ({"status": 429}, anthropic.RateLimitError, "rate_limit_error"),
        ({"status": 529}, anthropic.InternalServerError, "api_error"),
    ],
)
@both
@pytest.mark.parametrize("stream", [True, False])
def test_errors_are_the_clients_own_classes(
    gate: Gateway,
    client: Anthropic,
    step: dict[str, Any],
    error: type[anthropic.APIStatusError],
    kind: str,
    model: str,
    stream: bool,
) -> None:
    gate.script("*", step)
    with pytest.raises(error) as caught:
        client.messages.create(model=model, **ASKED, stream=stream)
    body: Any = caught.value.body
    assert body["type"] == "error"
    assert body["error"]["type"] == kind


def test_our_own_refusals_have_the_same_shape(gate: Gateway, client: Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.messages.create(model="nothing", **ASKED)
    body: Any = caught.value.body
    assert body["error"]["type"] == "not_found_error"
    stranger = client_of(gate, api_key="rk_wrong")
    with stranger, pytest.raises(anthropic.AuthenticationError):
        stranger.messages.create(model="claude", **ASKED)
    answer = gate.request("DELETE", "/v1/messages")
    assert (answer.status, answer.json["type"]) == (405, "error")


@both
def test_an_error_event_ends_a_stream_that_began_well(
    gate: Gateway, client: Anthropic, model: str
) -> None:
    gate.script("*", {"error_in_200": {"message": "too many"}, "error_after": "text"})
    stream = client.messages.create(model=model, **ASKED, stream=True)
    with stream, pytest.raises(anthropic.APIStatusError, match="too many"):
        list(stream)


def test_versions_and_betas_are_passed_on(gate: Gateway, client: Anthropic) -> None:
    client.messages.create(
        model="claude", **ASKED, extra_headers={"anthropic-beta": "thing-1,thing-2"}
    )
    headers = gate.last_call()["headers"]
    assert headers["anthropic-beta"] == "thing-1,thing-2"
    assert headers["anthropic-version"]
    assert "x-api-key" not in headers


def test_what_cannot_be_said_in_the_other_protocol_is_unsupported(
    gate: Gateway, client: Anthropic
) -> None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.messages.create(model="chat", **ASKED, extra_body={"top_k": 5})
    assert "protocol" in str(caught.value)
    assert gate.calls() == 0


def test_filling_the_cache_is_asked_of_those_who_have_one(gate: Gateway, client: Anthropic) -> None:
    asked: Any = {**ASKED, "max_tokens": 0}
    answer = client.messages.create(model="claude", **asked)
    assert (answer.content, answer.stop_reason) == ([], "max_tokens")
    assert gate.last_call()["body"]["max_tokens"] == 0
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.messages.create(model="chat", **asked)
    assert "protocol" in str(refused.value)
