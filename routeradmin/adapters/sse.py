"""Incremental parser of event streams (text/event-stream): bytes in, whole events out.

Only CR, LF and CRLF end a line (WHATWG HTML, section 9.2.6): U+2028 and its kin are ordinary
characters inside JSON. Every event keeps the bytes it came as, so that it can be passed on as is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# A CR that may be the first half of a CRLF is no line end yet, and never two line ends.
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"

MAX_EVENT_BYTES = 16 * 1024 * 1024


class EventTooLarge(Exception):
    """One event is larger than the parser's bound; the stream cannot be read any further."""

    def __init__(self, max_event_bytes: int) -> None:
        super().__init__(f"an event of the stream is larger than {max_event_bytes} bytes")


class Event(NamedTuple):
    """One block of the stream. `data` is empty only for a block of comments."""

    raw: bytes
    data: bytes
    name: str = ""
    id: str | None = None


class EventStream:
    """Feed it whatever the network gives; the events do not depend on where the bytes were cut.

    Events without data are left out, as the standard says; with `comments` blocks that hold a
    comment and no data come out as well, with empty `data`, so that keep-alives can be passed on.
    A stream that ends its lines with bare CR is one byte late: a LF may still follow.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES, comments: bool = False) -> None:
        self._max_event_bytes = max_event_bytes
        self._comments = comments
        self._buffer = bytearray()
        self._scanned = 0
        self._at_start = True
        self._too_large = False

    @property
    def unfinished(self) -> bytes:
        """The bytes of the event that has not ended yet."""
        return bytes(self._buffer)

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes. Raises EventTooLarge, after the events before it."""
        if self._too_large:
            raise EventTooLarge(self._max_event_bytes)
        if not self._buffer and self._is_plain(chunk):
            return self._whole(chunk)
        self._buffer += chunk
        return self._take(len(self._buffer) - 1 if self._buffer[-1:] == b"\r" else None)

    def finish(self) -> list[Event]:
        """The event that only waited for a LF after its last CR; `unfinished` is what is left."""
        return self._take(None)

    def _is_plain(self, chunk: bytes) -> bool:
        """Whether it ends with an event, and LF alone ends its lines."""
        ends = chunk[-2:] == b"\n\n" and chunk[-3:-2] != b"\n"
        return ends and b"\r" not in chunk and len(chunk) <= self._max_event_bytes

    def _whole(self, chunk: bytes) -> list[Event]:
        """``feed`` for whole events whose lines end in LF, which nearly all chunks are: nothing of
        them has to be kept."""
        events: list[Event] = []
        for block in chunk[:-2].split(b"\n\n"):
            if block[:6] == b"data: " and b"\n" not in block and not self._at_start:
                if len(block) > 6:
                    events.append(Event(block + b"\n\n", block[6:]))
            else:
                self._add(block + b"\n\n", events)
        return events

    def _take(self, hold_from: int | None) -> list[Event]:
        events: list[Event] = []
        buffer, start = self._buffer, 0
        limit = len(buffer) if hold_from is None else hold_from
        position = self._scanned
        while (end := _BLANK_LINE.search(buffer, position)) and end.end() <= limit:
            if end.end() - start > self._max_event_bytes:
                break
            self._add(bytes(buffer[start : end.end()]), events)
            start = position = end.end()
        del buffer[:start]
        # A blank line may begin in the last three bytes seen (CR LF CR).
        self._scanned = max(0, len(buffer) - 3)
        if len(buffer) > self._max_event_bytes:
            self._too_large = True
            if not events:
                raise EventTooLarge(self._max_event_bytes)
        return events

    def _add(self, raw: bytes, events: list[Event]) -> None:
        block = raw
        if self._at_start:
            self._at_start = False
            block = raw.removeprefix(_BOM)
        event, commented = _parse(raw, block)
        if event.data or (self._comments and commented):
            events.append(event)


def _parse(raw: bytes, block: bytes) -> tuple[Event, bool]:
    lines = _LINE_END.split(block) if b"\r" in block else block.split(b"\n")
    data: list[bytes] = []
    name = ""
    identity: str | None = None
    commented = False
    for line in lines:
        field, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"id" and b"\0" not in value:
            identity = value.decode("utf-8", "replace")
        elif line[:1] == b":":
            commented = True
    joined = data[0] if len(data) == 1 else b"\n".join(data)
    return Event(raw, joined, name, identity), commented
