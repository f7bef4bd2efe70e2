"""Whole answers and errors, checked against the models of the vendors' own clients."""

from __future__ import annotations

from typing import Any

import anthropic.types
import openai.types.chat
import pytest

from routeradmin.adapters.translate import (
    BadAnswer,
    answer_to_chat,
    answer_to_messages,
    error_to_chat,
    error_to_messages,
)


def message(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 7},
        **fields,
    }


def completion(finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish}
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    base = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**base, "choices": [choice], "usage": usage}


TOOL_USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}}
CALL = {"id": "t1", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}


def test_a_message_becomes_a_completion() -> None:
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 3}
    text = {"type": "text", "text": "Hi"}
    result = answer_to_chat(
        message(text, TOOL_USE, stop_reason="tool_use", usage=usage), created_s=9
    )
    openai.types.chat.ChatCompletion.model_validate(result, strict=True)
    assert result["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hi",
                "refusal": None,
                "tool_calls": [CALL],
            },
            "logprobs": None,
            "finish_reason": "tool_calls",
        }
    ]
    assert result["usage"] == {
        "prompt_tokens": 8,
        "completion_tokens": 7,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 3},
    }


def test_unknown_usage_stays_unknown() -> None:
    assert "usage" not in answer_to_chat(message(usage={}), created_s=9)


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "stop"),
    ],
)
def test_stop_reasons(stop: str, finish: str) -> None:
    result = answer_to_chat(message(stop_reason=stop), created_s=9)
    assert result["choices"][0]["finish_reason"] == finish


def test_a_completion_becomes_a_message() -> None:
    result = answer_to_messages(completion("tool_calls", content="Hi", tool_calls=[CALL]))
    anthropic.types.Message.model_validate(result, strict=True)
    assert result == message(
        {"type": "text", "text": "Hi"},
        TOOL_USE,
        id="c1",
        stop_reason="tool_use",
    )


def test_a_refusal_reads_as_one() -> None:
    result = answer_to_messages(completion(content=None, refusal="I will not."))
    assert result["content"] == [{"type": "text", "text": "I will not."}]
    assert result["stop_reason"] == "refusal"


@pytest.mark.parametrize(
    "answer",
    [{}, {"choices": []}, completion(tool_calls=[{"id": "x"}]), {"error": {"message": "no"}}],
)
def test_what_is_no_answer_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(BadAnswer):
        answer_to_messages(answer)
    with pytest.raises(BadAnswer):
        answer_to_chat(answer, created_s=9)


def test_cut_tool_arguments_are_refused() -> None:
    call = {**CALL, "function": {"name": "look", "arguments": '{"at":'}}
    with pytest.raises(BadAnswer):
        answer_to_messages(completion("length", tool_calls=[call]))


def test_errors_change_their_dress() -> None:
    given = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}
    assert error_to_chat(given) == {
        "error": {
            "message": "Busy",
            "type": "overloaded_error",
            "param": None,
            "code": "overloaded_error",
        }
    }
    chat = {"error": {"message": "Slow down", "type": "requests", "code": "rate_limit_exceeded"}}
    assert error_to_messages(429, chat) == {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "Slow down"},
    }
    assert error_to_messages(502, {"error": "bare"})["error"]["message"] == "bare"
    for odd in (None, [], "text", {"error": 7}):
        assert error_to_messages(500, odd)["error"]["type"] == "api_error"
        assert error_to_chat(odd)["error"]["message"] == "the upstream gave no message"
