"""Whole answers, in both directions."""

from __future__ import annotations

from typing import Any

import orjson

from routeradmin.adapters.translate.words import (
    BadAnswer,
    Json,
    call_id,
    finish_reason,
    is_cut,
    stop_reason,
    tool_input,
    usage_to_chat,
    usage_to_messages,
)


def answer_to_chat(message: Json, *, created_s: int) -> Json:
    """A messages answer as a chat completion; `created_s` is Unix time. Raises BadAnswer."""
    try:
        said = _chat_message(message["content"])
        choice = {
            "index": 0,
            "message": said,
            "logprobs": None,
            "finish_reason": finish_reason(message["stop_reason"], has_calls="tool_calls" in said),
        }
        result: Json = {
            "id": message["id"],
            "object": "chat.completion",
            "created": created_s,
            "model": message["model"],
            "choices": [choice],
        }
        if usage := usage_to_chat(message.get("usage") or {}):
            result["usage"] = usage
    except (KeyError, TypeError, AttributeError) as problem:
        raise BadAnswer("the answer is no message") from problem
    return result


def _chat_message(blocks: list[Json]) -> Json:
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
    calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
    result: Json = {"role": "assistant", "content": "".join(texts) if texts else None}
    result["refusal"] = None
    if thoughts:
        result["reasoning_content"] = "".join(thoughts)
    if calls:
        result["tool_calls"] = calls
    return result


def _call(block: Json) -> Json:
    arguments = orjson.dumps(block["input"]).decode()
    function = {"name": block["name"], "arguments": arguments}
    return {"id": block["id"], "type": "function", "function": function}


def answer_to_messages(completion: Json) -> Json:
    """A chat completion (its first choice) as a messages answer. Raises BadAnswer."""
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        content = _texts(message)
        calls = _tool_uses(message, completion["id"], is_cut=is_cut(choice["finish_reason"]))
        stop = stop_reason(choice["finish_reason"], has_calls=bool(calls))
        return {
            "id": completion["id"],
            "type": "message",
            "role": "assistant",
            "model": completion["model"],
            "content": content + calls,
            "stop_reason": "refusal" if message.get("refusal") else stop,
            "stop_sequence": None,
            "usage": usage_to_messages(completion.get("usage")),
        }
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as problem:
        raise BadAnswer("the answer is no chat completion") from problem


def _texts(message: Json) -> list[Json]:
    texts: list[Any] = [message.get("content"), message.get("refusal")]
    return [{"type": "text", "text": text} for text in texts if text]


def _tool_uses(message: Json, answer_id: str, *, is_cut: bool) -> list[Json]:
    calls: list[Json] = list(message.get("tool_calls") or [])
    if not calls and message.get("function_call"):  # from before there were tools
        calls = [{"function": message["function_call"]}]
    blocks: list[Json] = []
    for number, call in enumerate(calls):
        may_break_off = is_cut and number == len(calls) - 1
        function = call["function"]
        if may_break_off and not function.get("name"):
            break
        block = {
            "type": "tool_use",
            "id": call_id(call.get("id"), answer_id, number),
            "name": function["name"],
            "input": _input(function.get("arguments"), may_break_off=may_break_off),
        }
        blocks.append(block)
    return blocks


def _input(arguments: Any, *, may_break_off: bool) -> Json:
    """A call that broke off stays, without input: clients of this dialect look for it in the last
    block to see what was cut, and half an input must not pass for a whole one."""
    try:
        return tool_input(arguments)
    except ValueError:
        if not may_break_off:
            raise
        return {}
