"""Anthropic messages and count_tokens: bodies and stream events."""

from __future__ import annotations

import orjson

from routeradmin.adapters.simulated.ask import Ask, Frame, Json, Stage, event
from routeradmin.adapters.simulated.chat import halves

FINISH = {"stop": "end_turn", "length": "max_tokens", "tool": "tool_use"}


def plain(ask: Ask) -> Json:
    """A ``message``."""
    return _message(ask, [] if ask.empty else _content(ask), _finish(ask), ask.output_tokens)


def frames(ask: Ask) -> list[Frame]:
    """``message_start`` to ``message_stop``, every event with its name."""
    out = [
        _frame("role", "message_start", message=_message(ask, [], None, 1)),
        _frame("open", "ping"),
    ]
    for index, block in enumerate([] if ask.empty else _content(ask)):
        out += _block(index, block, ask)
    if ask.usage is not None:
        figures = {"output_tokens": ask.output_tokens, **ask.usage}
        delta = {"stop_reason": _finish(ask), "stop_sequence": None}
        out.append(_frame("finish", "message_delta", delta=delta, usage=figures))
    else:
        delta = {"stop_reason": _finish(ask), "stop_sequence": None}
        out.append(_frame("finish", "message_delta", delta=delta))
    return [*out, _frame("done", "message_stop")]


def count(ask: Ask) -> Json:
    """The answer of ``count_tokens``."""
    return {"input_tokens": ask.input_tokens, **(ask.usage or {})}


def _block(index: int, block: Json, ask: Ask) -> list[Frame]:
    if block["type"] == "text":
        empty: Json = {"type": "text", "text": ""}
        deltas = [("text", {"type": "text_delta", "text": piece}) for piece in ask.pieces]
    else:
        empty = {**block, "input": {}}
        parts = halves(orjson.dumps(block["input"]).decode())
        deltas = [("tool", {"type": "input_json_delta", "partial_json": part}) for part in parts]
    stages: list[tuple[Stage, Json]] = [
        ("text" if stage == "text" else "tool", delta) for stage, delta in deltas
    ]
    return [
        _frame("open", "content_block_start", index=index, content_block=empty),
        *(_frame(stage, "content_block_delta", index=index, delta=d) for stage, d in stages),
        _frame("open", "content_block_stop", index=index),
    ]


def _content(ask: Ask) -> list[Json]:
    calls = [
        {
            "type": "tool_use",
            "id": f"toolu_sim{ask.serial:08d}_{n}",
            "name": call.name,
            "input": orjson.loads(call.arguments),
        }
        for n, call in enumerate(ask.tool_calls)
    ]
    text: list[Json] = [{"type": "text", "text": ask.text}] if ask.pieces else []
    return text + calls


def _message(ask: Ask, content: list[Json], stop: str | None, output_tokens: int) -> Json:
    body: Json = {
        "id": f"msg_sim{ask.serial:08d}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
    }
    if ask.usage is None:
        return body
    figures = {"input_tokens": ask.input_tokens, "output_tokens": output_tokens, **ask.usage}
    return {**body, "usage": figures}


def _frame(stage: Stage, name: str, /, **fields: object) -> Frame:
    return Frame(stage, event({"type": name, **fields}, name))


def _finish(ask: Ask) -> str:
    return ask.finish_word or FINISH[ask.finish]
