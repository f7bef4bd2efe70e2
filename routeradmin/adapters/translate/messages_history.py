"""The conversation of a messages request as chat-completions messages."""

from __future__ import annotations

from typing import Any

import orjson

from routeradmin.adapters.translate.media import file_part, image_part
from routeradmin.adapters.translate.words import Json, Untranslatable


def history_to_chat(system: Any, messages: list[Json]) -> list[Json]:
    """The system text, then the messages; a message with tool results becomes several."""
    result: list[Json] = []
    if system:
        result.append({"role": "system", "content": _plain(_blocks(system))})
    for message in messages:
        blocks = _blocks(message["content"])
        if message["role"] == "user":
            result += _user(blocks)
        elif message["role"] == "assistant":
            result.append(_assistant(blocks))
        else:
            raise Untranslatable("message of an unknown role")
    if not messages or messages[-1]["role"] == "assistant":
        raise Untranslatable("answer begun by the caller")
    return result


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _plain(blocks: list[Json]) -> Any:
    """Text blocks as one string where there is one, else as parts: joining would change them."""
    for block in blocks:
        if block["type"] != "text" or block.get("citations"):
            raise Untranslatable("content other than text where only text can go")
    texts = [block["text"] for block in blocks]
    return texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]


def _user(blocks: list[Json]) -> list[Json]:
    results = [_tool_message(block) for block in blocks if block["type"] == "tool_result"]
    rest = [_part(block) for block in blocks if block["type"] != "tool_result"]
    if not rest:
        return results
    only_text = len(rest) == 1 and rest[0]["type"] == "text"
    return [*results, {"role": "user", "content": rest[0]["text"] if only_text else rest}]


def _part(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "text": block["text"]}
        case "image":
            return image_part(block)
        case "document":
            return file_part(block)
    raise Untranslatable("content block of an unknown type")


def _tool_message(block: Json) -> Json:
    content = _plain(_blocks(block.get("content") or ""))
    if block.get("is_error"):
        # Chat-completions has no mark for a failed tool: the text has to say it.
        text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
        content = text if text.lower().startswith("error") else f"Error: {text}"
    return {"role": "tool", "tool_call_id": block["tool_use_id"], "content": content}


def _assistant(blocks: list[Json]) -> Json:
    texts: list[Json] = []
    calls: list[Json] = []
    for block in blocks:
        if block["type"] == "tool_use":
            calls.append(_call(block))
        elif block["type"] in ("thinking", "redacted_thinking"):
            raise Untranslatable("thinking of another provider in the history")
        else:
            texts.append(block)
    result: Json = {"role": "assistant", "content": _plain(texts) if texts else None}
    if calls:
        result["tool_calls"] = calls
    return result


def _call(block: Json) -> Json:
    arguments = orjson.dumps(block["input"]).decode()
    function = {"name": block["name"], "arguments": arguments}
    return {"id": block["id"], "type": "function", "function": function}
