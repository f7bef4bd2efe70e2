"""An answer as the wire gets it, and the plain way to make one."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, NamedTuple

import orjson

from routeradmin.adapters.simulated.ask import Json

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"
Ending = Literal["done", "close", "reset", "silence"]


class Part(NamedTuple):
    """A piece of the body, written at once after a wait."""

    payload: bytes
    wait_s: float = 0.0


@dataclass(slots=True)
class Reply:
    """A complete answer, or one that ends early.

    ``head`` is empty where nothing is answered at all. ``chunked`` parts are framed one by one.
    ``instant`` replies can be written in one go: they wait for nothing and end well.
    """

    status: int | None
    head: bytes
    parts: list[Part]
    chunked: bool = False
    wait_s: float = 0.0
    ending: Ending = "done"
    instant: bool = True

    def whole(self) -> bytes:
        """All bytes of an instant reply."""
        if not self.chunked:
            return self.head + b"".join(part.payload for part in self.parts)
        framed = b"".join(chunk(part.payload) for part in self.parts)
        return self.head + framed + b"0\r\n\r\n"


def head(status: int, headers: list[tuple[str, str]]) -> bytes:
    """Status line and headers."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    text = f"HTTP/1.1 {status} {_reason(status)}\r\n{lines}\r\n"
    return text.encode("latin-1", "replace")


def chunk(payload: bytes) -> bytes:
    """One piece in chunked framing; an empty one would end the body, so it is left out."""
    return b"%x\r\n%b\r\n" % (len(payload), payload) if payload else b""


def json_reply(status: int, body: Json, *, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """A plain JSON answer without faults."""
    payload = orjson.dumps(body)
    framing = [("content-type", JSON), ("content-length", str(len(payload))), *headers]
    return Reply(status, head(status, framing), [Part(payload)])


def stream_reply(payloads: list[bytes], *, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """An event stream without faults, each event a chunk of its own."""
    framing = [("content-type", EVENTS), ("transfer-encoding", "chunked"), *headers]
    return Reply(200, head(200, framing), [Part(payload) for payload in payloads], chunked=True)


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"
