"""OpenAI responses: the body, and the numbered events of its stream."""

from __future__ import annotations

from routeradmin.adapters.simulated.ask import Ask, Frame, Json, Stage, event
from routeradmin.adapters.simulated.chat import halves


def plain(ask: Ask) -> Json:
    """A ``response`` that is completed, or incomplete where the token limit cut it."""
    return _response(ask, "incomplete" if ask.finish == "length" else "completed")


def frames(ask: Ask) -> list[Frame]:
    """``response.created`` to ``response.completed`` (or ``.incomplete``), numbered from 0."""
    out: list[Frame] = []

    def add(stage: Stage, name: str, /, **fields: object) -> None:
        data = {"type": name, "sequence_number": len(out), **fields}
        out.append(Frame(stage, event(data, name)))

    add("role", "response.created", response=_response(ask, "in_progress"))
    add("open", "response.in_progress", response=_response(ask, "in_progress"))
    for index, item in enumerate(_output(ask)):
        for stage, name, fields in _item(ask, item):
            add(stage, name, output_index=index, **fields)
    whole = plain(ask)
    add("done", f"response.{whole['status']}", response=whole)
    return out


def _item(ask: Ask, item: Json) -> list[tuple[Stage, str, Json]]:
    if item["type"] == "function_call":
        return _call_events(item)
    where: Json = {"item_id": item["id"], "content_index": 0}
    part = item["content"][0]
    bare = {**item, "status": "in_progress", "content": []}
    head: list[tuple[Stage, str, Json]] = [
        ("open", "response.output_item.added", {"item": bare}),
        ("open", "response.content_part.added", {**where, "part": {**part, "text": ""}}),
    ]
    deltas: list[tuple[Stage, str, Json]] = [
        ("text", "response.output_text.delta", {**where, "delta": piece, "logprobs": []})
        for piece in ask.pieces
    ]
    return [
        *head,
        *deltas,
        ("finish", "response.output_text.done", {**where, "text": ask.text, "logprobs": []}),
        ("finish", "response.content_part.done", {**where, "part": part}),
        ("finish", "response.output_item.done", {"item": item}),
    ]


def _call_events(item: Json) -> list[tuple[Stage, str, Json]]:
    arguments = "response.function_call_arguments"
    where = {"item_id": item["id"]}
    bare = {**item, "status": "in_progress", "arguments": ""}
    finished = {**where, "name": item["name"], "arguments": item["arguments"]}
    deltas: list[tuple[Stage, str, Json]] = [
        ("tool", f"{arguments}.delta", {**where, "delta": part})
        for part in halves(item["arguments"])
    ]
    return [
        ("open", "response.output_item.added", {"item": bare}),
        *deltas,
        ("finish", f"{arguments}.done", finished),
        ("finish", "response.output_item.done", {"item": item}),
    ]


def _output(ask: Ask) -> list[Json]:
    if ask.empty:
        return []
    items: list[Json] = []
    if ask.pieces:
        part = {"type": "output_text", "text": ask.text, "annotations": [], "logprobs": []}
        items.append(
            {
                "type": "message",
                "id": f"msg_sim{ask.serial:08d}",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        )
    for n, call in enumerate(ask.tool_calls):
        items.append(
            {
                "type": "function_call",
                "id": f"fc_sim{ask.serial:08d}_{n}",
                "call_id": f"call_sim{ask.serial:08d}_{n}",
                "status": "completed",
                "name": call.name,
                "arguments": call.arguments,
            }
        )
    return items


def _response(ask: Ask, status: str) -> Json:
    ended = status != "in_progress"
    return {
        "id": f"resp_sim{ask.serial:08d}",
        "object": "response",
        "created_at": ask.created_s,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": ask.body.get("instructions"),
        "metadata": ask.body.get("metadata") or {},
        "model": ask.model,
        "output": _output(ask) if ended else [],
        "parallel_tool_calls": True,
        "temperature": ask.body.get("temperature", 1.0),
        "tool_choice": ask.body.get("tool_choice") or "auto",
        "tools": ask.body.get("tools") or [],
        "top_p": ask.body.get("top_p", 1.0),
        "usage": _usage(ask) if ended else None,
    }


def _usage(ask: Ask) -> Json | None:
    if ask.usage is None:
        return None
    return {
        "input_tokens": ask.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": ask.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": ask.input_tokens + ask.output_tokens,
        **ask.usage,
    }
