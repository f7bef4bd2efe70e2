"""Messages requests in the chat-completions dialect, or the reason why not."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.adapters.translate import request_to_chat, request_to_messages, why_not

ASK = {"role": "user", "content": "Hi"}


def messages(*history: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(history or [ASK]), **fields}


def test_plain_text_and_sampling() -> None:
    body = messages(
        system="Be brief.",
        temperature=0.5,
        top_p=0.9,
        stop_sequences=["END"],
        stream=True,
        metadata={"user_id": "u1"},
        thinking={"type": "disabled"},
        service_tier="auto",
    )
    assert request_to_chat(body) == {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "system", "content": "Be brief."}, ASK],
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "user": "u1",
    }
    assert request_to_chat(messages(), limit_field="max_completion_tokens") == {
        "model": "m",
        "max_completion_tokens": 9,
        "messages": [ASK],
    }


@pytest.mark.parametrize("unbounded", [None, -1])
def test_no_bound_on_the_output_is_left_out(unbounded: int | None) -> None:
    assert request_to_chat({**messages(), "max_tokens": unbounded}) == {
        "model": "m",
        "messages": [ASK],
    }


@pytest.mark.parametrize("named", ["max_tokens", "max_completion_tokens"])
def test_no_output_at_all_means_another_thing_in_each_protocol(named: str) -> None:
    assert why_not(request_to_chat, {**messages(), "max_tokens": 0}) == "output of no tokens"
    chat = {"model": "m", "messages": [ASK], named: 0}
    assert why_not(request_to_messages, chat) == "output of no tokens"


def test_a_conversation_with_tools_and_images() -> None:
    image = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    body = messages(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": image},
                {"type": "image", "source": {"type": "url", "url": "https://x.example/i"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking"},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
                {"type": "tool_result", "tool_use_id": "t2"},
                {"type": "text", "text": "And?"},
            ],
        },
        tools=[{"name": "look", "input_schema": {"type": "object"}, "description": "Looks"}],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
    )
    result = request_to_chat(body)
    function = {"name": "look", "parameters": {"type": "object"}, "description": "Looks"}
    assert result["tools"] == [{"type": "function", "function": function}]
    assert result["tool_choice"] == "required"
    assert result["parallel_tool_calls"] is False
    assert result["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "image_url", "image_url": {"url": "https://x.example/i"}},
            ],
        },
        {
            "role": "assistant",
            "content": "Looking",
            "tool_calls": [
                {
                    "id": "t1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"at":1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "Error: no"},
        {"role": "tool", "tool_call_id": "t2", "content": ""},
        {"role": "user", "content": "And?"},
    ]


def test_a_conversation_survives_the_way_there_and_back() -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "system", "content": "Be brief."},
            ASK,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"é":"\u2028"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    }
    body["tools"][0]["function"]["parameters"] = {"type": "object", "properties": {}}
    assert request_to_chat(request_to_messages(body)) == body


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (messages(top_k=5), "request field: top_k"),
        (messages(thinking={"type": "enabled", "budget_tokens": 9}), "request field: thinking"),
        (messages(mcp_servers=[{}]), "request field: mcp_servers"),
        (messages(stop_sequences=list("abcde")), "more than 4 stop sequences"),
        (
            messages(tools=[{"type": "web_search_20250305", "name": "web_search"}]),
            "tool that the provider runs",
        ),
        (messages(ASK, {"role": "assistant", "content": "So"}), "answer begun by the caller"),
        (
            messages(
                ASK,
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
                ASK,
            ),
            "thinking of another provider in the history",
        ),
        (
            messages({"role": "user", "content": [{"type": "search_result"}]}),
            "content block of an unknown type",
        ),
        (
            messages(
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "file", "file_id": "f"}},
                    ],
                }
            ),
            "image by file id",
        ),
        ({"model": "m", "messages": [ASK]}, "no max_tokens"),
        (messages(None), "request of an unexpected shape"),
    ],
)
def test_what_cannot_be_said_is_refused_with_a_reason(body: dict[str, Any], reason: str) -> None:
    assert why_not(request_to_chat, body) == reason
