"""OpenAI's own client, with its strict validation on, takes every answer."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from struct import unpack

import pytest
from openai import APIStatusError, AuthenticationError, OpenAI, RateLimitError
from pydantic import BaseModel

from routeradmin.adapters.simulated import SimulatedProvider

MESSAGES = [{"role": "user", "content": "Which way?"}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]


@pytest.fixture
def client(base_url: str) -> Iterator[OpenAI]:
    with OpenAI(
        base_url=f"{base_url}/v1",
        api_key="sk-simulated-key",
        max_retries=0,
        _strict_response_validation=True,
    ) as client:
        yield client


@pytest.fixture
def lenient(base_url: str) -> Iterator[OpenAI]:
    """For the two answers that the client's own strict types are too narrow for."""
    with OpenAI(base_url=f"{base_url}/v1", api_key="sk-simulated-key", max_retries=0) as client:
        yield client


def test_a_chat_answer_has_text_a_finish_and_usage_that_adds_up(client: OpenAI) -> None:
    answer = client.chat.completions.create(model="m", messages=MESSAGES)

    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_the_same_question_gets_the_same_answer_and_another_one_another(client: OpenAI) -> None:
    def ask(text: str) -> str:
        messages = [{"role": "user", "content": text}]
        answer = client.chat.completions.create(model="m", messages=messages)
        return answer.choices[0].message.content

    assert ask("one") == ask("one")
    assert ask("one") != ask("two")


def test_a_stream_joins_to_the_plain_answer(client: OpenAI) -> None:
    plain = client.chat.completions.create(model="m", messages=MESSAGES)
    chunks = list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))

    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == plain.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks][-1] == "stop"
    assert all(chunk.usage is None for chunk in chunks)


def test_usage_ends_a_stream_only_where_it_was_asked_for(client: OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="m", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
    )

    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens > 0
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_a_token_limit_cuts_the_answer_and_says_so(client: OpenAI) -> None:
    answer = client.chat.completions.create(model="m", messages=MESSAGES, max_completion_tokens=3)

    assert answer.usage.completion_tokens == 3
    assert answer.choices[0].finish_reason == "length"


def test_several_choices_come_when_several_are_asked_for(client: OpenAI) -> None:
    answer = client.chat.completions.create(model="m", messages=MESSAGES, n=3)
    with client.chat.completions.create(model="m", messages=MESSAGES, n=2, stream=True) as stream:
        finished = [c.index for chunk in stream for c in chunk.choices if c.finish_reason]

    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert finished == [0, 1]


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": {"name": "weather"}}]
)
def test_a_forced_tool_is_called_with_arguments_that_fit_its_schema(
    client: OpenAI, choice: object
) -> None:
    answer = client.chat.completions.create(
        model="m", messages=MESSAGES, tools=TOOLS, tool_choice=choice
    )

    called = answer.choices[0].message.tool_calls[0].function
    assert (called.name, called.arguments) == ("weather", '{"city":"simulated","days":1}')
    assert answer.choices[0].finish_reason == "tool_calls"


def test_a_streamed_tool_call_is_put_together_by_the_client(client: OpenAI) -> None:
    with client.chat.completions.stream(
        model="m", messages=MESSAGES, tools=TOOLS, tool_choice="required"
    ) as stream:
        final = stream.get_final_completion()

    called = final.choices[0].message.tool_calls[0].function
    assert (called.name, called.arguments) == ("weather", '{"city":"simulated","days":1}')


def test_tools_that_are_merely_offered_are_not_called(client: OpenAI) -> None:
    answer = client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS)

    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].message.content


def test_a_script_can_make_the_model_call_a_tool(
    client: OpenAI, provider: SimulatedProvider
) -> None:
    call = {"name": "lookup", "arguments": {"q": "x"}}
    provider.put_script({"model": "m", "steps": [{"tool_calls": [call]}]})

    answer = client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS)

    assert answer.choices[0].message.tool_calls[0].function.arguments == '{"q":"x"}'


def test_a_structured_answer_fits_its_schema(client: OpenAI) -> None:
    class Trip(BaseModel):
        city: str
        days: int

    answer = client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Trip)

    assert answer.choices[0].message.parsed == Trip(city="simulated", days=1)


def test_older_completions_work_plain_and_streaming(lenient: OpenAI) -> None:
    plain = lenient.completions.create(model="m", prompt="Once")
    chunks = list(lenient.completions.create(model="m", prompt="Once", stream=True))

    assert "".join(chunk.choices[0].text for chunk in chunks) == plain.choices[0].text
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_a_response_is_complete_and_counts_tokens(client: OpenAI) -> None:
    answer = client.responses.create(model="m", input="Which way?")

    assert answer.status == "completed"
    assert answer.output_text
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens


def test_a_response_streams_numbered_events_to_its_completion(client: OpenAI) -> None:
    events = list(client.responses.create(model="m", input="Which way?", stream=True))

    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert events[-1].response.output_text == text


def test_a_response_can_be_a_function_call_plain_and_streaming(client: OpenAI) -> None:
    tools = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
    asked = {"model": "m", "input": "?", "tools": tools, "tool_choice": "required"}

    plain = client.responses.create(**asked)
    with client.responses.stream(**asked) as stream:
        streamed = stream.get_final_response()

    for answer in (plain, streamed):
        assert answer.output[0].type == "function_call"
        assert answer.output[0].arguments == '{"city":"simulated","days":1}'


def test_a_response_cut_by_its_token_limit_is_incomplete(client: OpenAI) -> None:
    answer = client.responses.create(model="m", input="Which way?", max_output_tokens=2)

    assert answer.status == "incomplete"
    assert answer.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_embeddings_are_unit_vectors_that_follow_from_the_text(
    lenient: OpenAI, encoding: str
) -> None:
    answer = lenient.embeddings.create(
        model="m", input=["a", "b", "a"], dimensions=16, encoding_format=encoding
    )
    first, other, again = (entry.embedding for entry in answer.data)

    assert first == again != other
    floats = unpack("<16f", b64decode(first)) if encoding == "base64" else first
    assert sum(x * x for x in floats) == pytest.approx(1.0, abs=1e-5)


def test_the_client_unpacks_the_vectors_it_asked_for_packed(lenient: OpenAI) -> None:
    answer = lenient.embeddings.create(model="m", input="a", dimensions=4)

    assert len(answer.data[0].embedding) == 4
    assert answer.usage.total_tokens == 1


def test_models_are_listed_and_found(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["sim-small", "sim-large", "sim-embed"]
    assert client.models.retrieve("lab/any-name").id == "lab/any-name"


def test_a_status_becomes_the_error_the_client_has_for_it(
    client: OpenAI, provider: SimulatedProvider
) -> None:
    provider.put_script({"steps": [{"status": 429, "headers": {"retry-after": "7"}}]})

    with pytest.raises(RateLimitError) as caught:
        client.chat.completions.create(model="m", messages=MESSAGES)

    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_key_that_is_not_the_required_one_is_refused(
    client: OpenAI, provider: SimulatedProvider
) -> None:
    provider.require_key(["sk-the-only-good-one"])

    with pytest.raises(AuthenticationError):
        client.models.list()
    provider.require_key(["sk-simulated-key"])
    assert client.models.list().data


def test_an_error_in_the_middle_of_a_stream_reaches_the_caller(
    client: OpenAI, provider: SimulatedProvider
) -> None:
    step = {"error_in_200": {"message": "lost the thread"}, "error_after": "text"}
    provider.put_script({"steps": [step]})

    stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)

    with stream, pytest.raises(Exception, match="lost the thread") as caught:
        list(stream)
    assert not isinstance(caught.value, APIStatusError)
