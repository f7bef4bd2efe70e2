"""Whole answers, in both directions."""

from __future__ import annotations

from typing import Any

import orjson

from routeradmin.adapters.translate.words import (
    CHAT_FINISH,
    MESSAGES_STOP,
    BadAnswer,
    Json,
    tool_input,
    usage_to_chat,
    usage_to_messages,
)


def answer_to_chat(message: Json, *, created_s: int) -> Json:
    """A messages answer as a chat completion; `created_s` is Unix time. Raises BadAnswer."""
    try:
        choice = {
            "index": 0,
            "message": _chat_message(message["content"]),
            "logprobs": None,
            "finish_reason": CHAT_FINISH.get(message["stop_reason"], "stop"),
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
        stop = MESSAGES_STOP.get(choice["finish_reason"], "end_turn")
        return {
            "id": completion["id"],
            "type": "message",
            "role": "assistant",
            "model": completion["model"],
            "content": _blocks(message),
            "stop_reason": "refusal" if message.get("refusal") else stop,
            "stop_sequence": None,
            "usage": usage_to_messages(completion.get("usage")),
        }
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as problem:
        raise BadAnswer("the answer is no chat completion") from problem


def _blocks(message: Json) -> list[Json]:
    texts: list[Any] = [message.get("content"), message.get("refusal")]
    blocks: list[Json] = [{"type": "text", "text": text} for text in texts if text]
    for call in message.get("tool_calls") or []:
        function = call["function"]
        arguments = tool_input(function["arguments"])
        block = {"type": "tool_use", "id": call["id"], "name": function["name"]}
        blocks.append({**block, "input": arguments})
    return blocks
