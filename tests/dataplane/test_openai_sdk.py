"""OpenAI's own client through the gateway: what it asks, what it gets, what it raises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI
from pydantic import BaseModel

from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, Gateway

MESSAGES: Any = [{"role": "user", "content": "Which way?"}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
ARGUMENTS = '{"city":"simulated","days":1}'
EVERY = ["chat-completions", "completions", "responses", "embeddings"]


@pytest.fixture(autouse=True)
def _catalog(gate: Gateway) -> None:
    """``chat`` speaks everything; ``claude`` only Anthropic's protocol, so it is translated."""
    gate.use(
        document(
            gate.upstream,
            "a",
            policy={"retry": {"max_attempts": 1}},
            deployments={"a": {"protocols": EVERY}, "an": {"protocol": "messages"}},
            routes=[{"id": "claude", "alias": "claude"}],
            more_targets=[("claude", "an", 0)],
        )
    )


def client_of(gate: Gateway, **fields: Any) -> OpenAI:
    given = {"api_key": KEY, "max_retries": 0, "_strict_response_validation": True, **fields}
    return OpenAI(base_url=f"{gate.url}/v1", **given)


@pytest.fixture(scope="module")
def client(served: Gateway) -> Iterator[OpenAI]:
    with client_of(served) as client:
        yield client


@pytest.fixture(scope="module")
def lenient(served: Gateway) -> Iterator[OpenAI]:
    """For the two answers that the client's own strict types are too narrow for."""
    with client_of(served, _strict_response_validation=False) as client:
        yield client


both = pytest.mark.parametrize("model", ["chat", "claude"])


@both
def test_a_chat_has_text_and_usage(client: OpenAI, model: str) -> None:
    answer = client.chat.completions.create(model=model, messages=MESSAGES)
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.completion_tokens > 0


@both
def test_a_stream_joins_to_the_plain_answer(client: OpenAI, model: str) -> None:
    plain = client.chat.completions.create(model=model, messages=MESSAGES)
    chunks = list(client.chat.completions.create(model=model, messages=MESSAGES, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == plain.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(chunk.usage is None for chunk in chunks)


@both
def test_usage_ends_a_stream_where_it_was_asked_for(client: OpenAI, model: str) -> None:
    chunks = list(
        client.chat.completions.create(
            model=model, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
    )
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


def test_usage_is_counted_where_it_was_not_asked_for(gate: Gateway, client: OpenAI) -> None:
    list(client.chat.completions.create(model="chat", messages=MESSAGES, stream=True))
    usage = gate.record["attempts"][0]["usage"]
    assert usage["input"] > 0
    assert usage["output"] > 0


@both
@pytest.mark.parametrize("stream", [True, False])
def test_a_forced_tool_is_called(client: OpenAI, model: str, stream: bool) -> None:
    asked: Any = {
        "model": model,
        "messages": MESSAGES,
        "tools": TOOLS,
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
    }
    if stream:
        with client.chat.completions.stream(**asked) as events:
            answer: Any = events.get_final_completion()
    else:
        answer = client.chat.completions.create(**asked)
    called = answer.choices[0].message.tool_calls[0].function
    assert (called.name, called.arguments) == ("weather", ARGUMENTS)
    assert answer.choices[0].finish_reason == "tool_calls"


def test_several_choices_end_a_stream_together(client: OpenAI) -> None:
    with client.chat.completions.create(
        model="chat", messages=MESSAGES, n=2, stream=True
    ) as stream:
        finished = [c.index for chunk in stream for c in chunk.choices if c.finish_reason]
    assert finished == [0, 1]


def test_a_structured_answer_fits_its_schema(client: OpenAI) -> None:
    class Trip(BaseModel):
        city: str
        days: int

    answer = client.chat.completions.parse(model="chat", messages=MESSAGES, response_format=Trip)
    assert answer.choices[0].message.parsed == Trip(city="simulated", days=1)


def test_older_completions_work_plain_and_streaming(lenient: OpenAI) -> None:
    plain = lenient.completions.create(model="chat", prompt="Once")
    chunks = list(lenient.completions.create(model="chat", prompt="Once", stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == plain.choices[0].text


def test_a_response_is_complete_plain_and_streaming(client: OpenAI) -> None:
    answer = client.responses.create(model="chat", input="Which way?")
    assert answer.status == "completed"
    events = list(client.responses.create(model="chat", input="Which way?", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == answer.output_text


def test_a_response_can_be_a_function_call(client: OpenAI) -> None:
    tool = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}
    asked: Any = {"model": "chat", "input": "?", "tools": [tool], "tool_choice": "required"}
    plain: Any = client.responses.create(**asked)
    with client.responses.stream(**asked) as stream:
        streamed: Any = stream.get_final_response()
    assert plain.output[0].arguments == streamed.output[0].arguments == ARGUMENTS


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_embeddings_come_as_asked_for(lenient: OpenAI, encoding: Any) -> None:
    answer = lenient.embeddings.create(
        model="chat", input=["a", "b"], dimensions=16, encoding_format=encoding
    )
    assert len(answer.data) == 2


def test_models_are_listed_and_found(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["chat", "claude"]
    assert client.models.retrieve("claude").id == "claude"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nothing/like-it")


@pytest.mark.parametrize(
    ("step", "error", "code"),
    [
        ({"status": 400}, openai.BadRequestError, None),
        ({"status": 409}, openai.ConflictError, None),
        ({"status": 422}, openai.UnprocessableEntityError, None),
        ({"status": 401}, openai.InternalServerError, "upstream_auth_error"),
        ({"status": 404}, openai.InternalServerError, "upstream_error"),
        ({"status": 429}, openai.RateLimitError, "rate_limit_exceeded"),
        ({"status": 500}, openai.InternalServerError, "upstream_error"),
    ],
)
@both
@pytest.mark.parametrize("stream", [True, False])
def test_errors_are_the_clients_own_classes(
    gate: Gateway,
    client: OpenAI,
    step: dict[str, Any],
    error: type[openai.APIStatusError],
    code: str | None,
    model: str,
    stream: bool,
) -> None:
    gate.script("*", step)
    with pytest.raises(error) as caught:
        client.chat.completions.create(model=model, messages=MESSAGES, stream=stream)
    assert caught.value.code
    if code is not None:
        assert caught.value.code == code


def test_a_bad_key_is_an_authentication_error(gate: Gateway) -> None:
    with client_of(gate, api_key="rk_wrong") as client, pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(model="chat", messages=MESSAGES)


def test_an_unknown_model_is_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="nothing", messages=MESSAGES)
    assert caught.value.code == "model_not_found"


def test_the_client_retries_what_may_succeed_and_nothing_else(gate: Gateway) -> None:
    gate.script("a", {"status": 500}, repeat="once")
    with client_of(gate, max_retries=2) as client:
        assert client.chat.completions.create(model="chat", messages=MESSAGES).choices
        assert gate.calls("a") == 2
        gate.script("a", {"status": 401})
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="chat", messages=MESSAGES)
    assert gate.calls("a") == 3


def test_a_timeout_of_the_client_cancels_the_turn(gate: Gateway) -> None:
    gate.script("a", {"silence": True})
    with client_of(gate, timeout=0.3) as client, pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(model="chat", messages=MESSAGES)
    gate.until(lambda: bool(gate.records))
    assert gate.record["halt"] == "cancelled"


@both
def test_an_error_in_the_middle_of_a_stream_is_raised(
    gate: Gateway, client: OpenAI, model: str
) -> None:
    step = {"error_in_200": {"message": "lost the thread"}, "error_after": "text"}
    gate.script("*", step)
    stream = client.chat.completions.create(model=model, messages=MESSAGES, stream=True)
    with stream, pytest.raises(openai.APIError, match="lost the thread"):
        list(stream)


def test_an_error_in_the_middle_of_a_response_is_raised(gate: Gateway, client: OpenAI) -> None:
    gate.script("a", {"error_in_200": {"message": "lost the thread"}, "error_after": "text"})
    stream = client.responses.create(model="chat", input="?", stream=True)
    with stream, pytest.raises(openai.APIError, match="lost the thread"):
        list(stream)


def test_images_and_unknown_fields_pass_through(gate: Gateway, client: OpenAI) -> None:
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    client.chat.completions.create(
        model="chat",
        messages=[{"role": "user", "content": content}],  # type: ignore[list-item,misc]
        extra_body={"unheard_of": {"model": "kept"}, "top_k": 4},
    )
    sent = gate.last_call()["body"]
    assert sent["messages"][0]["content"] == content
    assert (sent["unheard_of"], sent["top_k"], sent["model"]) == ({"model": "kept"}, 4, "a")
