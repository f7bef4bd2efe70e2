"""From an upstream's frames to the client's: as they are, or said in the client's protocol."""

from __future__ import annotations

from typing import Any, Protocol

from routeradmin.adapters.sse import Event
from routeradmin.adapters.translate import ChatChunks, MessageEvents, chat_frame, messages_frame
from routeradmin.services.inference.asked import Asked
from routeradmin.services.inference.facts import CHAT

Json = dict[str, Any]


class Passing(Protocol):
    def frames(self, event: Event, document: Json | None) -> bytes:
        """What the client gets for this frame, maybe nothing. Raises BadAnswer."""
        ...

    def tail(self) -> list[Json]:
        """Messages still to be said when the upstream has ended well. Raises BadAnswer."""
        ...


class AsIs:
    """The same protocol on both sides: the bytes are passed on."""

    __slots__ = ()

    def frames(self, event: Event, document: Json | None) -> bytes:
        return event.raw

    def tail(self) -> list[Json]:
        return []


class ToChat:
    """A messages upstream behind a chat-completions client."""

    __slots__ = ("_chunks",)

    def __init__(self, created_s: int, include_usage: bool) -> None:
        self._chunks = ChatChunks(created_s=created_s, include_usage=include_usage)

    def frames(self, event: Event, document: Json | None) -> bytes:
        if document is None:
            return b""
        return b"".join(map(chat_frame, self._chunks.feed(document)))

    def tail(self) -> list[Json]:
        return []


class ToMessages:
    """A chat-completions upstream behind a messages client."""

    __slots__ = ("_events",)

    def __init__(self) -> None:
        self._events = MessageEvents()

    def frames(self, event: Event, document: Json | None) -> bytes:
        if document is None:
            return b""
        return b"".join(map(messages_frame, self._events.feed(document)))

    def tail(self) -> list[Json]:
        return self._events.finish()


def passing_for(asked: Asked, protocol: str, now: float) -> Passing:
    """``protocol`` is the upstream's."""
    if protocol == asked.api:
        return AsIs()
    if asked.api == CHAT:
        return ToChat(int(now), asked.facts.usage_wanted)
    return ToMessages()
