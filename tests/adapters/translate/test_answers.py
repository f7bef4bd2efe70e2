"""Whole answers and errors, checked against the models of the vendors' own clients."""

from __future__ import annotations

import re
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
from routeradmin.adapters.translate.words import call_id


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
        ("model_context_window_exceeded", "length"),
        ("tool_use", "stop"),
        ("refusal", "content_filter"),
        ("pause_turn", "stop"),
    ],
)
def test_stop_reasons(stop: str, finish: str) -> None:
    result = answer_to_chat(message(stop_reason=stop), created_s=9)
    assert result["choices"][0]["finish_reason"] == finish


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "tool_use", "some day", None])
def test_a_message_that_calls_tools_finishes_with_calls(stop: str | None) -> None:
    result = answer_to_chat(message(TOOL_USE, stop_reason=stop), created_s=9)
    assert result["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("stop", "finish"), [("max_tokens", "length"), ("refusal", "content_filter")]
)
def test_a_message_that_was_cut_says_so_before_all_else(stop: str, finish: str) -> None:
    result = answer_to_chat(message(TOOL_USE, stop_reason=stop), created_s=9)
    assert result["choices"][0]["finish_reason"] == finish


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "some day", None])
def test_whether_tools_are_called_is_for_the_calls_to_say(finish: str | None) -> None:
    calls = answer_to_messages(completion(finish, tool_calls=[CALL]))
    assert calls["stop_reason"] == "tool_use"
    none = answer_to_messages(completion(finish, content="Hi", tool_calls=[]))
    assert none["stop_reason"] == "end_turn"


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


def call(arguments: Any, **fields: Any) -> dict[str, Any]:
    return {**CALL, "function": {"name": "look", "arguments": arguments}, **fields}


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("length", "max_tokens"),
        ("model_length", "model_context_window_exceeded"),
        ("content_filter", "refusal"),
    ],
)
def test_an_answer_cut_inside_a_tool_call_is_whole_and_the_call_has_no_input(
    finish: str, stop: str
) -> None:
    cut = call('{"at": 1, "text": "ab', id="t2")
    result = answer_to_messages(completion(finish, content="Hi", tool_calls=[CALL, cut]))
    anthropic.types.Message.model_validate(result, strict=True)
    assert result["stop_reason"] == stop
    assert result["content"] == [
        {"type": "text", "text": "Hi"},
        TOOL_USE,
        {**TOOL_USE, "id": "t2", "input": {}},
    ]


def test_a_tool_call_cut_before_its_name_is_left_out() -> None:
    begun = {"id": "t2", "type": "function", "function": {"arguments": ""}}
    result = answer_to_messages(completion("length", tool_calls=[CALL, begun]))
    assert result["content"] == [TOOL_USE]
    assert result["stop_reason"] == "max_tokens"


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "error", None])
@pytest.mark.parametrize("arguments", ['{"at":', "[1]", "7", [1]])
def test_broken_arguments_of_an_answer_that_was_not_cut_are_refused(
    finish: str | None, arguments: Any
) -> None:
    with pytest.raises(BadAnswer):
        answer_to_messages(completion(finish, tool_calls=[call(arguments)]))


def test_only_the_last_call_of_a_cut_answer_can_be_the_cut_one() -> None:
    with pytest.raises(BadAnswer):
        answer_to_messages(completion("length", tool_calls=[call('{"at":'), CALL]))


@pytest.mark.parametrize("arguments", ["", " ", "{}", "null", None, {}])
def test_a_tool_without_arguments_gets_an_empty_object(arguments: Any) -> None:
    result = answer_to_messages(completion("tool_calls", tool_calls=[call(arguments)]))
    assert result["content"] == [{**TOOL_USE, "input": {}}]


def test_arguments_that_are_an_object_already_are_taken_as_they_are() -> None:
    result = answer_to_messages(completion("tool_calls", tool_calls=[call({"at": 1})]))
    assert result["content"] == [TOOL_USE]


def test_a_call_in_the_words_from_before_tools_is_one() -> None:
    result = answer_to_messages(completion("function_call", function_call=CALL["function"]))
    assert result["content"] == [{**TOOL_USE, "id": call_id(None, "c1", 0)}]
    assert result["stop_reason"] == "tool_use"


@pytest.mark.parametrize("given", ["", None])
def test_a_call_without_an_id_gets_one(given: str | None) -> None:
    answer = completion("tool_calls", tool_calls=[CALL, call('{"at":1}', id=given)])
    result = answer_to_messages({**answer, "id": "a.b/c"})
    assert [block["id"] for block in result["content"]] == ["t1", call_id(None, "a.b/c", 1)]


@pytest.mark.parametrize("answer_id", ["c", "chatcmpl-" + "a" * 200, "a.b/c", "\ud83d"])
def test_an_id_that_is_made_is_one_that_every_vendor_takes(answer_id: str) -> None:
    made = {call_id(None, answer_id, number) for number in range(12)}
    assert len(made) == 12
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", one) for one in made)
    assert not made & {call_id(None, f"{answer_id}0", number) for number in range(12)}


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
