"""The conversation of a chat-completions request as system blocks and alternating messages."""

from __future__ import annotations

from typing import Any

from routeradmin.adapters.translate.media import document_block, image_block
from routeradmin.adapters.translate.words import Json, Untranslatable, refuse_unknown, tool_input


def history_to_messages(messages: list[Json]) -> tuple[list[Json], list[Json]]:
    """System blocks, and messages in which no two neighbours have the same role."""
    system: list[Json] = []
    result: list[Json] = []
    for message in messages:
        role = message["role"]
        if role in ("system", "developer"):
            if result:
                raise Untranslatable("system message inside the conversation")
            refuse_unknown(message, {"role", "content"}, "message field")
            system += _texts(message["content"])
        else:
            _append(result, *_message(role, message))
    if not result or result[-1]["role"] == "assistant":
        # The other dialect would go on with the last message instead of answering it.
        raise Untranslatable("conversation that does not end with the user")
    return system, result


def _append(result: list[Json], role: str, blocks: list[Json]) -> None:
    if result and result[-1]["role"] == role:
        result[-1]["content"] += blocks
    elif blocks:
        result.append({"role": role, "content": blocks})


def _message(role: str, message: Json) -> tuple[str, list[Json]]:
    if role == "user":
        refuse_unknown(message, {"role", "content"}, "message field")
        return "user", _user_blocks(message["content"])
    if role == "assistant":
        refuse_unknown(message, {"role", "content", "tool_calls", "annotations"}, "message field")
        calls = [_tool_use(call) for call in message.get("tool_calls") or []]
        return "assistant", _texts(message.get("content")) + calls
    if role == "tool":
        refuse_unknown(message, {"role", "content", "tool_call_id"}, "message field")
        block = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
        return "user", [{**block, "content": _texts(message["content"])}]
    raise Untranslatable("message of an unknown role")


def _texts(content: Any) -> list[Json]:
    """Text blocks of a string or of text parts; the other dialect takes no empty ones."""
    if content is None or isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    for part in content:
        if part["type"] != "text":
            raise Untranslatable("content other than text where only text can go")
    return [{"type": "text", "text": part["text"]} for part in content if part["text"]]


def _user_blocks(content: Any) -> list[Json]:
    if isinstance(content, str):
        return _texts(content)
    return [block for part in content for block in _user_block(part)]


def _user_block(part: Json) -> list[Json]:
    match part["type"]:
        case "text":
            return _texts([part])
        case "image_url":
            return [image_block(part)]
        case "file":
            return [document_block(part)]
        case "input_audio":
            raise Untranslatable("audio input")
    raise Untranslatable("content part of an unknown type")


def _tool_use(call: Json) -> Json:
    if call.get("type", "function") != "function":
        raise Untranslatable("call of a tool that is not a function")
    function = call["function"]
    try:
        arguments = tool_input(function["arguments"])
    except ValueError:
        raise Untranslatable("tool arguments that are no JSON object") from None
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments}
