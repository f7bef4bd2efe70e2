"""Judges of event streams, one for each protocol: what a frame is, and whether the end has come.

A stream has ended well with a finish reason for each choice, ``message_stop``,
``response.completed`` or ``[DONE]``; one that merely stops has not. What an upstream says after its
own last word is nothing of the answer. (After a finish reason the usage still comes.)
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Protocol

import orjson

from routeradmin.adapters import json_text
from routeradmin.adapters.sse import Event
from routeradmin.services.answers import error_in
from routeradmin.services.inference.facts import CHAT, COMPLETIONS, MESSAGES, RESPONSES
from routeradmin.services.inference.usage import UNKNOWN, Usage, of

DONE = b"[DONE]"


class Kind(Enum):
    """What to do with a frame."""

    VISIBLE = auto()  # passed on; from the first one on the client has seen something
    QUIET = auto()  # passed on, but nothing of the answer is in it
    HIDDEN = auto()  # not for the client
    LAST = auto()  # the answer's own end: visible, and nothing comes after it


class ErrorFrame(Exception):
    """An error object inside the stream."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__("the stream holds an error")
        self.document = document


class BadFrame(Exception):
    """A frame that is not what its protocol promises; the message says what is wrong."""


class Judge(Protocol):
    usage: Usage

    @property
    def ended(self) -> bool:
        """Whether the stream may stop now."""
        ...

    def see(self, event: Event) -> tuple[Kind, dict[str, Any] | None]:
        """What the frame is, and its document. Raises ErrorFrame, BadFrame."""
        ...


def judge_for(protocol: str, choices: int, *, hide_usage: bool) -> Judge:
    """``choices`` are the answers that were asked for; ``hide_usage``: the client did not ask for
    the chunk that only reports usage."""
    if protocol == MESSAGES:
        return MessagesJudge()
    if protocol == RESPONSES:
        return ResponsesJudge()
    if protocol in (CHAT, COMPLETIONS):
        return ChoicesJudge(choices, hide_usage)
    raise ValueError(f"{protocol} has no streams")


def document_of(event: Event) -> dict[str, Any]:
    try:
        document = json_text.loads(event.data)
    except orjson.JSONDecodeError:
        raise BadFrame("the stream holds a frame that is not JSON") from None
    if not isinstance(document, dict):
        raise BadFrame("the stream holds a frame that is not an object")
    if error_in(document):
        raise ErrorFrame(document)
    return document


class ChoicesJudge:
    """Chat completions and completions: chunks with choices, ``[DONE]`` at the end."""

    __slots__ = ("_choices", "_done", "_finished", "_hide_usage", "_over", "_seen", "usage")

    def __init__(self, choices: int, hide_usage: bool) -> None:
        self._choices = choices
        self._hide_usage = hide_usage
        self._finished: set[int] = set()
        self._seen = False
        self._done = False  # maybe too early
        self._over = False
        self.usage = UNKNOWN

    @property
    def ended(self) -> bool:
        return self._seen and (self._done or len(self._finished) >= self._choices)

    def see(self, event: Event) -> tuple[Kind, dict[str, Any] | None]:
        if self._over:
            return Kind.HIDDEN, None
        if event.data.strip() == DONE:
            self._done = True
            self._over = self._seen
            return Kind.HIDDEN, None  # exactly one is written, by whoever knows that all went well
        document = document_of(event)
        figures, choices = document.get("usage"), document.get("choices")
        if figures:
            self.usage = self.usage.updated(of(figures))
        if not choices:
            hidden = self._hide_usage and figures
            return (Kind.HIDDEN if hidden else Kind.QUIET), document
        if not isinstance(choices, list):
            raise BadFrame("the stream holds a frame whose choices are no list")
        self._seen = True
        for choice in choices:
            if isinstance(choice, dict) and choice.get("finish_reason"):
                index = choice.get("index")
                self._finished.add(index if isinstance(index, int) else 0)
        return Kind.VISIBLE, document


class MessagesJudge:
    """Anthropic messages: typed events, ``message_stop`` at the end."""

    __slots__ = ("ended", "usage")

    def __init__(self) -> None:
        self.ended = False
        self.usage = UNKNOWN

    def see(self, event: Event) -> tuple[Kind, dict[str, Any] | None]:
        if self.ended or event.data.strip() == DONE:
            return Kind.HIDDEN, None
        document = document_of(event)
        kind = document.get("type") or event.name
        if kind == "ping":
            return Kind.QUIET, document
        if kind == "message_start":
            message = document.get("message")
            self.usage = of(message.get("usage")) if isinstance(message, dict) else UNKNOWN
        elif kind == "message_delta":
            self.usage = self.usage.updated(of(document.get("usage")))
        elif kind == "message_stop":
            self.ended = True
            return Kind.LAST, document
        return Kind.VISIBLE, document


_LAST_OF_RESPONSE = frozenset({"response.completed", "response.incomplete"})


class ResponsesJudge:
    """Responses: typed events, ``response.completed`` at the end (``incomplete`` at a bound)."""

    __slots__ = ("ended", "usage")

    def __init__(self) -> None:
        self.ended = False
        self.usage = UNKNOWN

    def see(self, event: Event) -> tuple[Kind, dict[str, Any] | None]:
        if self.ended or event.data.strip() == DONE:
            return Kind.HIDDEN, None
        document = document_of(event)
        kind = document.get("type") or event.name
        response = document.get("response")
        if kind == "response.failed":
            raise ErrorFrame(response if isinstance(response, dict) else document)
        if isinstance(kind, str) and kind in _LAST_OF_RESPONSE:
            self.ended = True
            if isinstance(response, dict):
                self.usage = of(response.get("usage"))
            return Kind.LAST, document
        return (Kind.QUIET if kind == "keepalive" else Kind.VISIBLE), document
