"""A stream of messages events as chat-completion chunks."""

from __future__ import annotations

import orjson

from routeradmin.adapters.translate.errors import error_to_chat
from routeradmin.adapters.translate.words import BadAnswer, Json, finish_reason, usage_to_chat


class ChatChunks:
    """Feed it one decoded event at a time, in order.

    `ended` is true after `message_stop`; `[DONE]` is the caller's to write. The usage chunk comes
    last, if `include_usage` (the client's `stream_options`) is set.
    """

    def __init__(self, *, created_s: int, include_usage: bool) -> None:
        self._base: Json = {"object": "chat.completion.chunk", "created": created_s}
        self._include_usage = include_usage
        self._usage: Json = {}
        self._calls: dict[int, int] = {}  # block index -> index among the tool calls
        self._unwritten: dict[int, Json] = {}  # input of tool blocks that had no delta yet
        self.ended = False

    def feed(self, event: Json) -> list[Json]:
        """The chunks that the event makes. Raises BadAnswer."""
        try:
            return self._feed(event)
        except (KeyError, TypeError, AttributeError) as problem:
            raise BadAnswer("the stream holds an event of an unexpected shape") from problem

    def _feed(self, event: Json) -> list[Json]:
        match event["type"]:
            case "message_start":
                return self._start(event["message"])
            case "content_block_start":
                return self._block(event["index"], event["content_block"])
            case "content_block_delta":
                return self._delta(event["index"], event["delta"])
            case "content_block_stop":
                return self._block_end(event["index"])
            case "message_delta":
                self._count(event.get("usage") or {})
                reason = event["delta"].get("stop_reason")
                finish = finish_reason(reason, has_calls=bool(self._calls))
                return [self._chunk({}, finish)] if reason else []
            case "message_stop":
                self.ended = True
                return self._usage_chunk()
            case "error":
                return [error_to_chat(event)]
        return []  # ping, and what may be added: the dialect says to ignore unknown events

    def _start(self, message: Json) -> list[Json]:
        self._base = {"id": message["id"], **self._base, "model": message["model"]}
        self._count(message.get("usage") or {})
        return [self._chunk({"role": "assistant", "content": ""})]

    def _block(self, index: int, block: Json) -> list[Json]:
        if block["type"] == "text":
            return [self._chunk({"content": block["text"]})] if block.get("text") else []
        if block["type"] != "tool_use":
            return []
        self._calls[index] = len(self._calls)
        self._unwritten[index] = block.get("input") or {}
        function = {"name": block["name"], "arguments": ""}
        return [self._call(index, id=block["id"], type="function", function=function)]

    def _delta(self, index: int, delta: Json) -> list[Json]:
        match delta["type"]:
            case "text_delta":
                return [self._chunk({"content": delta["text"]})]
            case "input_json_delta" if delta["partial_json"]:
                self._unwritten.pop(index, None)
                return [self._call(index, function={"arguments": delta["partial_json"]})]
            case "thinking_delta":
                return [self._chunk({"reasoning_content": delta["thinking"]})]
        return []

    def _block_end(self, index: int) -> list[Json]:
        if index not in self._unwritten:
            return []
        arguments = orjson.dumps(self._unwritten.pop(index)).decode()
        return [self._call(index, function={"arguments": arguments})]

    def _call(self, index: int, **fields: object) -> Json:
        return self._chunk({"tool_calls": [{"index": self._calls[index], **fields}]})

    def _chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._base, "choices": [choice]}

    def _count(self, usage: Json) -> None:
        self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _usage_chunk(self) -> list[Json]:
        usage = usage_to_chat(self._usage) if self._include_usage else None
        return [{**self._base, "choices": [], "usage": usage}] if usage else []
