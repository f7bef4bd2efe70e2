"""Anthropic's own client, with its strict validation on, takes every answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from anthropic import Anthropic, APIStatusError, AuthenticationError, RateLimitError

from routeradmin.adapters.simulated import SimulatedProvider

ASKED = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Which way?"}]}
TOOLS = [
    {
        "name": "weather",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
]


@pytest.fixture
def client(base_url: str) -> Iterator[Anthropic]:
    with Anthropic(
        base_url=base_url,
        api_key="sk-ant-simulated",
        max_retries=0,
        _strict_response_validation=True,
    ) as client:
        yield client


def test_a_message_has_text_a_stop_reason_and_usage(client: Anthropic) -> None:
    answer = client.messages.create(**ASKED)

    assert answer.content[0].text
    assert answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0


def test_a_stream_runs_from_message_start_to_message_stop(client: Anthropic) -> None:
    events = list(client.messages.create(**ASKED, stream=True))

    kinds = [event.type for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"}


def test_a_stream_joins_to_the_plain_message(client: Anthropic) -> None:
    with client.messages.stream(**ASKED) as stream:
        streamed = stream.get_final_message()

    plain = client.messages.create(**ASKED)
    assert streamed.content[0].text == plain.content[0].text
    assert streamed.usage.output_tokens == plain.usage.output_tokens


def test_a_token_limit_stops_the_message(client: Anthropic) -> None:
    answer = client.messages.create(**{**ASKED, "max_tokens": 2})

    assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 2)


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}])
def test_a_forced_tool_is_used_plain_and_streaming(client: Anthropic, choice: object) -> None:
    asked = {**ASKED, "tools": TOOLS, "tool_choice": choice}

    plain = client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()

    for answer in (plain, streamed):
        assert answer.stop_reason == "tool_use"
        assert (answer.content[0].name, answer.content[0].input) == (
            "weather",
            {"city": "simulated"},
        )


def test_tokens_are_counted_as_the_message_will_count_them(client: Anthropic) -> None:
    asked = {"model": ASKED["model"], "messages": ASKED["messages"]}

    counted = client.messages.count_tokens(**asked).input_tokens

    assert counted == client.messages.create(**ASKED).usage.input_tokens


def test_models_are_listed_and_found(client: Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["sim-small", "sim-large", "sim-embed"]
    assert client.models.retrieve("any-name").display_name == "any-name"


def test_a_status_becomes_the_error_the_client_has_for_it(
    client: Anthropic, provider: SimulatedProvider
) -> None:
    provider.put_script({"steps": [{"status": 429}, {"status": 529}]})

    with pytest.raises(RateLimitError) as limited:
        client.messages.create(**ASKED)
    with pytest.raises(APIStatusError) as overloaded:
        client.messages.create(**ASKED)

    assert limited.value.body["error"]["type"] == "rate_limit_error"
    assert overloaded.value.body["error"]["type"] == "overloaded_error"


def test_a_key_that_is_not_the_required_one_is_refused(
    client: Anthropic, provider: SimulatedProvider
) -> None:
    provider.require_key(["sk-ant-another"])

    with pytest.raises(AuthenticationError):
        client.messages.create(**ASKED)


def test_an_error_event_ends_a_stream_that_began_well(
    client: Anthropic, provider: SimulatedProvider
) -> None:
    step = {
        "error_in_200": {"type": "overloaded_error", "message": "too many"},
        "error_after": "text",
    }
    provider.put_script({"steps": [step]})

    stream = client.messages.create(**ASKED, stream=True)

    with stream, pytest.raises(APIStatusError, match="too many"):
        list(stream)
