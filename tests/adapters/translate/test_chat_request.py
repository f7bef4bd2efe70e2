"""Chat-completions requests in the messages dialect, or the reason why not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from routeradmin.adapters.translate import Untranslatable, request_to_messages, why_not

ASK = {"role": "user", "content": "Hi"}
TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "Looks", "parameters": {"type": "object"}},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages or [ASK]), **fields}


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def test_plain_text_and_sampling() -> None:
    body = chat(
        *({"role": "system", "content": "Be brief."}, {"role": "developer", "content": "Always."}),
        ASK,
        max_completion_tokens=9,
        temperature=0.5,
        top_p=0.9,
        stop="END",
        stream=True,
        user="u1",
        n=1,
        store=False,
        presence_penalty=0,
        stream_options={"include_usage": True},
        seed=None,
    )
    assert request_to_messages(body) == {
        "model": "m",
        "max_tokens": 9,
        "system": [text("Be brief."), text("Always.")],
        "messages": [{"role": "user", "content": [text("Hi")]}],
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "stream": True,
        "metadata": {"user_id": "u1"},
    }


def test_a_bound_on_the_output_is_always_given() -> None:
    assert request_to_messages(chat(max_tokens=5))["max_tokens"] == 5
    assert request_to_messages(chat())["max_tokens"] == 4096
    assert request_to_messages(chat(), default_max_tokens=77)["max_tokens"] == 77
    assert request_to_messages(chat(max_tokens=-1), default_max_tokens=77)["max_tokens"] == 77
    assert request_to_messages(chat(max_completion_tokens=-1, max_tokens=5))["max_tokens"] == 5


def test_tool_calls_and_their_results_keep_their_order() -> None:
    second = {**CALL, "id": "c2", "function": {"name": "look", "arguments": ""}}
    body = chat(
        ASK,
        {"role": "assistant", "content": "Looking", "tool_calls": [CALL, second]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": [text("two")]},
        {"role": "user", "content": "And?"},
        tools=[TOOL],
    )
    assert request_to_messages(body)["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                text("Looking"),
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [text("one")]},
                {"type": "tool_result", "tool_use_id": "c2", "content": [text("two")]},
                text("And?"),
            ],
        },
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "look"}}},
            {"type": "tool", "name": "look"},
        ),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"tool_choice": "none", "parallel_tool_calls": False}, {"type": "none"}),
    ],
)
def test_tools_and_their_choice(fields: dict[str, Any], expected: object) -> None:
    result = request_to_messages(chat(tools=[TOOL], **fields))
    assert result["tools"] == [
        {"name": "look", "description": "Looks", "input_schema": {"type": "object"}}
    ]
    assert result.get("tool_choice") == expected


def test_images_and_documents() -> None:
    parts = [
        text("What is this?"),
        {"type": "image_url", "image_url": {"url": "https://x.example/i.png", "detail": "high"}},
        {"type": "image_url", "image_url": {"url": "data:image/PNG;base64,AAAA"}},
        {
            "type": "file",
            "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
        },
    ]
    blocks = request_to_messages(chat({"role": "user", "content": parts}))["messages"][0]["content"]
    assert blocks == [
        text("What is this?"),
        {"type": "image", "source": {"type": "url", "url": "https://x.example/i.png"}},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
        },
        {
            "type": "document",
            "title": "a.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
        },
    ]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (chat(seed=7), "request field: seed"),
        (chat(n=2), "request field: n"),
        (chat(logprobs=True), "request field: logprobs"),
        (chat(response_format={"type": "json_object"}), "request field: response_format"),
        (chat(reasoning_effort="high"), "request field: reasoning_effort"),
        (chat(**{"x-odd sk-secret": 1}), "request field: an unknown field"),
        (chat(temperature=1.5), "temperature above 1"),
        (chat(stop=["\n"]), "stop sequence of white space only"),
        (chat(tool_choice="required"), "tool_choice without tools"),
        (chat(tools=[{"type": "custom", "custom": {}}]), "tool that is not a function"),
        (
            chat(tools=[{"type": "function", "function": {"name": "f", "strict": True}}]),
            "strict tool schema",
        ),
        (chat(ASK, {"role": "system", "content": "x"}), "system message inside the conversation"),
        (
            chat(ASK, {"role": "assistant", "content": "x"}),
            "conversation that does not end with the user",
        ),
        (chat({"role": "function", "name": "f", "content": "x"}), "message of an unknown role"),
        (chat({"role": "user", "name": "Ann", "content": "x"}), "message field: name"),
        (
            chat({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}),
            "audio input",
        ),
        (
            chat(
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": "data:image/bmp;base64,x"}}
                    ],
                }
            ),
            "image type other than JPEG, PNG, GIF, WebP",
        ),
        (
            chat({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}),
            "file by id",
        ),
        ({"model": "m"}, "request of an unexpected shape"),
        (chat("text"), "request of an unexpected shape"),
        (chat({"role": "user", "content": [7]}), "request of an unexpected shape"),
        (chat(temperature="hot"), "request of an unexpected shape"),
    ],
)
def test_what_cannot_be_said_is_refused_with_a_reason(body: dict[str, Any], reason: str) -> None:
    assert why_not(request_to_messages, body) == reason


def test_tool_arguments_that_are_no_object_are_refused() -> None:
    for arguments in ("[1]", '{"a":', "x"):
        call = {**CALL, "function": {"name": "look", "arguments": arguments}}
        body = chat(ASK, {"role": "assistant", "tool_calls": [call]}, ASK)
        with pytest.raises(Untranslatable, match="no JSON object"):
            request_to_messages(body)


def test_the_request_itself_is_left_alone() -> None:
    body = chat(ASK, {"role": "assistant", "content": "x"}, ASK, ASK, tools=[TOOL])
    before = copy.deepcopy(body)
    assert why_not(request_to_messages, body) is None
    assert body == before
