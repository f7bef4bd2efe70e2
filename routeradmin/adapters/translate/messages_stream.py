"""A stream of chat-completion chunks as messages events."""

from __future__ import annotations

from routeradmin.adapters.translate.errors import error_to_messages
from routeradmin.adapters.translate.words import (
    BadAnswer,
    Json,
    arguments_text,
    call_id,
    is_cut,
    stop_reason,
    tool_input,
    usage_to_messages,
)


class MessageEvents:
    """Feed it one decoded chunk at a time, in order, and `finish` when the stream has ended well.

    A tool call is announced once its name is known; each is complete before the next begins, as
    the messages dialect has it. One whose arguments turn out to be no object is told at its end,
    like a stream that breaks off: what went out before was never said to be whole.
    """

    def __init__(self) -> None:
        self._started = False
        self._block = -1  # index of the latest block
        self._open: str | int | None = None  # "text", the open tool call's index, or nothing
        self._begun: set[int] = set()  # tool calls whose block was opened
        self._pending: dict[int, Json] = {}  # tool calls whose name has not come yet
        self._input: list[str] = []  # all fragments of the latest tool call's arguments
        self._passed_on = False  # whether they go out as they come
        self._usage: Json | None = None
        self._finish: str | None = None
        self._refused = False
        self._id = ""

    def feed(self, chunk: Json) -> list[Json]:
        """The events that the chunk makes. Raises BadAnswer."""
        try:
            return self._feed(chunk)
        except (KeyError, TypeError, AttributeError) as problem:
            raise BadAnswer("the stream holds a chunk of an unexpected shape") from problem

    def finish(self) -> list[Json]:
        """The end of the message. Raises BadAnswer if the upstream has not come to an end."""
        if not (self._finish or self._refused):
            raise BadAnswer("the stream has ended without an end")
        if self._pending and not is_cut(self._finish):
            raise BadAnswer("the stream has ended inside a tool call")
        if not is_cut(self._finish):
            self._end_call()
        stop = stop_reason(self._finish, has_calls=bool(self._begun))
        delta = {"stop_reason": "refusal" if self._refused else stop, "stop_sequence": None}
        usage = usage_to_messages(self._usage)
        return [
            *self._close(),
            {"type": "message_delta", "delta": delta, "usage": usage},
            {"type": "message_stop"},
        ]

    def _feed(self, chunk: Json) -> list[Json]:
        if chunk.get("error"):
            return [error_to_messages(500, chunk)]
        self._usage = chunk.get("usage") or self._usage
        events = [] if self._started else self._start(chunk)
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) == 0:
                events += self._choice(choice)
        return events

    def _start(self, chunk: Json) -> list[Json]:
        self._started = True
        self._id = chunk["id"]
        message = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": chunk["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_to_messages(self._usage),
        }
        return [{"type": "message_start", "message": message}]

    def _choice(self, choice: Json) -> list[Json]:
        delta = choice.get("delta") or {}
        events: list[Json] = []
        for text in (delta.get("content"), delta.get("refusal")):
            if text:
                events += self._text(text)
        for call in delta.get("tool_calls") or []:
            events += self._call(call)
        if delta.get("function_call"):  # from before there were tools
            events += self._call({"function": delta["function_call"]})
        if reason := choice.get("finish_reason"):
            self._finish = self._finish or str(reason)
        self._refused = self._refused or bool(delta.get("refusal"))
        return events

    def _text(self, text: str) -> list[Json]:
        events = self._begin("text", {"type": "text", "text": ""}) if self._open != "text" else []
        return [*events, self._delta({"type": "text_delta", "text": text})]

    def _call(self, call: Json) -> list[Json]:
        number = call.get("index", 0)
        function = call.get("function") or {}
        arguments = arguments_text(function.get("arguments"))
        if number in self._begun:
            if number != self._open:
                raise BadAnswer("the stream goes back to an earlier tool call")
            return self._arguments(arguments)
        known = self._pending.setdefault(number, {"id": "", "name": "", "arguments": ""})
        known["id"] = known["id"] or call.get("id") or ""
        known["name"] = known["name"] or function.get("name") or ""
        known["arguments"] += arguments
        if not known["name"]:
            return []
        self._end_call()
        del self._pending[number]
        self._begun.add(number)
        made = call_id(known["id"], self._id, number)
        block = {"type": "tool_use", "id": made, "name": known["name"], "input": {}}
        return [*self._begin(number, block), *self._arguments(known["arguments"])]

    def _arguments(self, text: str) -> list[Json]:
        """Held back while they may still become ``null``, which is no input, and said so by
        silence."""
        if not text:
            return []
        self._input.append(text)
        if not self._passed_on:
            text = "".join(self._input)
            self._passed_on = not "null".startswith(text.strip())
        delta = {"type": "input_json_delta", "partial_json": text}
        return [self._delta(delta)] if self._passed_on else []

    def _end_call(self) -> None:
        """Of the latest tool call, if any. Raises BadAnswer where its arguments are no object."""
        try:
            tool_input("".join(self._input))
        except ValueError as problem:
            raise BadAnswer("the stream holds a tool call without an input") from problem
        self._input, self._passed_on = [], False

    def _begin(self, what: str | int, block: Json) -> list[Json]:
        events = self._close()
        self._block += 1
        self._open = what
        start = {"type": "content_block_start", "index": self._block, "content_block": block}
        return [*events, start]

    def _close(self) -> list[Json]:
        if self._open is None:
            return []
        self._open = None
        return [{"type": "content_block_stop", "index": self._block}]

    def _delta(self, delta: Json) -> Json:
        return {"type": "content_block_delta", "index": self._block, "delta": delta}
