"""One request as the dialects see it: what was asked, and what the model is going to say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from routeradmin.adapters.simulated import text
from routeradmin.adapters.simulated.schema_sample import sample

Json = dict[str, Any]
Stage = Literal["role", "open", "text", "tool", "finish", "usage", "done"]
Finish = Literal["stop", "length", "tool"]

# Written where a step wants broken UTF-8, and replaced by bytes that no decoder accepts.
BROKEN_MARK = "\ue000"


class Frame(NamedTuple):
    """One event of a stream, ready for the wire, and the part of the answer it carries."""

    stage: Stage
    payload: bytes


class ToolCall(NamedTuple):
    name: str
    arguments: str


@dataclass(slots=True)
class Ask:
    """A parsed request; ``serial`` makes ids that repeat from run to run."""

    kind: str
    model: str
    body: Json
    serial: int
    created_s: int
    input_tokens: int = 0
    pieces: list[str] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    finish: Finish = "stop"
    finish_word: str | None = None
    usage: Json | None = field(default_factory=dict)
    empty: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def output_tokens(self) -> int:
        return len(self.pieces) + sum(text.tokens_in(call.arguments) for call in self.tool_calls)


def event(data: Json, name: str | None = None) -> bytes:
    """A server-sent event with JSON data."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + orjson.dumps(data) + b"\n\n"


def read(kind: str, body: Json, *, serial: int, created_s: int) -> Ask:
    """Decide what the model answers to ``body``: text, or a tool call where the request forces one.

    Forced means ``tool_choice`` required, any, or a named tool, in any of the three dialects.
    """
    prompt = prompt_of(body)
    messages = body.get("messages") or body.get("input")
    overhead = 3 * len(messages) if isinstance(messages, list) else 0
    ask = Ask(kind, str(body["model"]), body, serial, created_s)
    ask.input_tokens = text.tokens_in(prompt) + overhead
    called = forced_tool(body)
    if called is not None:
        ask.tool_calls, ask.finish = [called], "tool"
        return ask
    ask.pieces = _structured(body) or text.answer_pieces(prompt)
    limit = _limit(body)
    if limit is not None and limit < len(ask.pieces):
        ask.pieces, ask.finish = ask.pieces[:limit], "length"
    return ask


def prompt_of(body: Json) -> str:
    """All text a request sends to the model, whatever its dialect."""
    keys = ("instructions", "system", "messages", "prompt", "input")
    return text.all_text([body[key] for key in keys if key in body])


def forced_tool(body: Json) -> ToolCall | None:
    """The tool call that ``tool_choice`` makes unavoidable."""
    choice = body.get("tool_choice")
    if choice in ("required", {"type": "any"}):
        return tool_call(body, None)
    if isinstance(choice, dict) and choice.get("type") in ("function", "tool", "any"):
        nested = choice.get("function")
        named = choice.get("name") or (nested.get("name") if isinstance(nested, dict) else None)
        return tool_call(body, named)
    return None


def tool_call(body: Json, name: str | None) -> ToolCall | None:
    """A call of the named tool, or of the first, with arguments that fit its schema."""
    for tool in body.get("tools") or ():
        described = tool.get("function") or tool
        if name is None or described.get("name") == name:
            schema = described.get("parameters") or described.get("input_schema") or {}
            return ToolCall(str(described.get("name")), orjson.dumps(sample(schema)).decode())
    return None


def _structured(body: Json) -> list[str]:
    wanted = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    kind = wanted.get("type")
    if kind == "json_object":
        return text.pieces_of('{"answer": "simulated"}')
    if kind == "json_schema":
        schema = (wanted.get("json_schema") or wanted).get("schema") or {}
        return text.pieces_of(orjson.dumps(sample(schema)).decode())
    return []


def _limit(body: Json) -> int | None:
    for key in ("max_completion_tokens", "max_output_tokens", "max_tokens"):
        if isinstance(body.get(key), int) and body[key] >= 0:  # below 0: none, at local servers
            return int(body[key])
    return None
