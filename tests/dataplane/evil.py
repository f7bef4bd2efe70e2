"""An upstream that speaks to the gateway in raw bytes: all that is wrong below the protocols.

It does so for every request until it is told to be good; then it answers as one should.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import repeat

from tests.dataplane.fault_table import GOOD, RETRIED, VISIBLE, Expected
from tests.dataplane.serving import WAIT_S, Gateway

LEAKED = "not-yours"  # stands in everything that nobody asked for
SAID = "yours"


def _json(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode()


def _events(text: str) -> bytes:
    def frame(delta: dict[str, str], finish: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: %b\n\n" % json.dumps({"id": "x", "choices": [choice]}).encode()

    said = frame({"role": "assistant", "content": text}, None)
    return said + frame({}, "stop") + b"data: [DONE]\n\n"


def _body(stream: bool, text: str = SAID) -> bytes:
    return _events(text) if stream else _json(text)


def _kind(stream: bool) -> bytes:
    return b"Content-Type: %b\r\n" % (b"text/event-stream" if stream else b"application/json")


@dataclass(frozen=True)
class Evil:
    """What it writes to each request, ``{}`` standing for the content type. ``more`` is written
    again and again while the gateway listens."""

    name: str
    stream: bool
    expected: Expected
    parts: tuple[bytes, ...]
    end: str = "keep"  # or close, half-close, reset
    bytewise: bool = False
    more: bytes = b""

    @property
    def id(self) -> str:
        return f"{'stream' if self.stream else 'plain'}-{self.name}"


@dataclass
class EvilUpstream:
    evil: Evil
    url: str = ""
    calls: int = 0
    good: bool = False
    connections: int = 0
    open: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while await self._request(reader):
                if self.good:
                    writer.write(_head(False, len(_body(False))) + _body(False))
                    continue
                self.calls += 1
                await self._do_evil(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
        await reader.readexactly(int(length))
        return True

    async def _do_evil(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        evil = self.evil
        pieces: Iterator[bytes] = iter(evil.parts)
        if evil.bytewise:
            pieces = (bytes([byte]) for part in evil.parts for byte in part)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        for piece in repeat(evil.more) if evil.more else ():
            writer.write(piece)
            await writer.drain()
        if evil.end == "close":
            raise ConnectionError
        if evil.end == "half-close":
            writer.write_eof()
        if evil.end == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            raise ConnectionError


@asynccontextmanager
async def running(upstream: EvilUpstream) -> AsyncIterator[None]:
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/"
    try:
        yield
    finally:
        server.close()


@contextmanager
def beside(gate: Gateway, evil: Evil) -> Iterator[EvilUpstream]:
    """In the gateway's own loop, so that both see the bytes in one order."""
    upstream = EvilUpstream(evil)
    serving = running(upstream)
    assert gate.loop is not None
    asyncio.run_coroutine_threadsafe(serving.__aenter__(), gate.loop).result(WAIT_S)
    try:
        yield upstream
    finally:
        gate.drop_connections()
        gate.until(lambda: upstream.open == 0)
        asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), gate.loop).result(
            WAIT_S
        )


def _head(
    stream: bool, length: int | None, *lines: bytes, start: bytes = b"HTTP/1.1 200 OK"
) -> bytes:
    counted = [] if length is None else [b"Content-Length: %d" % length]
    return b"\r\n".join([start, *lines, *counted, _kind(stream), b""])


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


CHUNKED = b"Transfer-Encoding: chunked"
LAST = b"0\r\n\r\n"


def evils() -> Iterator[Evil]:
    for stream in (False, True):
        yield from _lengths(stream)
        yield from _heads(stream)
        yield from _unasked(stream)
        yield from _encodings(stream)
        yield from _ends(stream)
        yield from _floods(stream)
        yield from _shapes(stream)


def _lengths(stream: bool) -> Iterator[Evil]:
    body = _body(stream)
    size = len(body)
    # A stream whose finish reason was seen has ended, whatever becomes of its connection.
    late = GOOD if stream else RETRIED
    short = body[: -40 if stream else -4]
    rows: list[tuple[str, Expected, bytes, str]] = [
        ("longer-length", late, _head(stream, size + 9) + body, "close"),
        ("shorter-length", GOOD if stream else RETRIED, _head(stream, size - 9) + body, "keep"),
        ("cut-body", VISIBLE if stream else RETRIED, _head(stream, size) + short, "close"),
        ("no-length", GOOD, _head(stream, None) + body, "close"),
        ("no-length-half-closed", GOOD, _head(stream, None) + body, "half-close"),
        ("no-length-reset", late, _head(stream, None) + body, "reset"),
        ("length-and-chunked", RETRIED, _head(stream, 5, CHUNKED) + _chunk(body) + LAST, "keep"),
        ("two-lengths", RETRIED, _head(stream, size, b"Content-Length: 5") + body, "keep"),
        ("length-list", RETRIED, _head(stream, None, b"Content-Length: 5, 5") + body, "keep"),
        ("length-below-0", RETRIED, _head(stream, -5) + body, "keep"),
        ("length-of-2^64-1", RETRIED, _head(stream, 2**64 - 1) + body, "keep"),
        ("length-of-2^64", RETRIED, _head(stream, 2**64) + body, "keep"),
        (
            "trailers",
            GOOD,
            _head(stream, None, CHUNKED) + _chunk(body) + b"0\r\nX: 1\r\n\r\n",
            "keep",
        ),
        ("bad-chunk", late, _head(stream, None, CHUNKED) + _chunk(body) + b"zz\r\n", "keep"),
        ("huge-chunk", RETRIED, _head(stream, None, CHUNKED) + b"f" * 17 + b"\r\n", "keep"),
        (
            "extended-chunk",
            GOOD,
            _head(stream, None, CHUNKED) + _chunk(body).replace(b"\r\n", b";a=b\r\n", 1) + LAST,
            "keep",
        ),
    ]
    for name, expected, answer, end in rows:
        yield Evil(name, stream, expected, (answer,), end)
        if end == "keep":
            yield Evil(f"{name}-bytewise", stream, expected, (answer,), end, bytewise=True)


def _heads(stream: bool) -> Iterator[Evil]:
    body = _body(stream)
    lines: list[tuple[str, Expected, bytes]] = [
        ("9k-line", GOOD, b"X: " + b"a" * 9_000),
        ("70k-line", RETRIED, b"X: " + b"a" * 70_000),
        ("600-lines", RETRIED, b"\r\n".join([b"X: 1"] * 600)),
        ("no-colon", RETRIED, b"no colon"),
        ("space-before-colon", RETRIED, b"X : 1"),
        ("nul", RETRIED, b"X: a\0b"),
        ("bare-cr", RETRIED, b"X: a\rY: b"),
        ("folded", GOOD, b"X: a\r\n b"),
        ("not-utf8", GOOD, b"Retry-After: \xe9\xff"),
    ]
    for name, expected, line in lines:
        yield Evil(name, stream, expected, (_head(stream, len(body), line) + body,))
    starts: list[tuple[str, Expected, bytes]] = [
        ("no-reason", GOOD, b"HTTP/1.1 200"),
        ("http-1.0", GOOD, b"HTTP/1.0 200 OK"),
        ("http-1.0-kept", GOOD, b"HTTP/1.0 200 OK\r\nConnection: keep-alive"),
        ("http-1.2", RETRIED, b"HTTP/1.2 200 OK"),
        ("short-status", RETRIED, b"HTTP/1.1 20 OK"),
        ("status-999", RETRIED, b"HTTP/1.1 999 What"),
        ("status-000", RETRIED, b"HTTP/1.1 000 What"),
        ("status-101", RETRIED, b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade"),
        ("70k-reason", RETRIED, b"HTTP/1.1 200 " + b"a" * 70_000),
    ]
    for name, expected, start in starts:
        answer = _head(stream, len(body), start=start) + body
        yield Evil(name, stream, expected, (answer,))
    whole = _head(stream, len(body)) + body
    yield Evil("status-204", stream, RETRIED, (b"HTTP/1.1 204 No Content\r\n\r\n",))
    refused = Expected(1, "ineligible-failure", 502, "upstream_error")
    yield Evil("status-304", stream, refused, (b"HTTP/1.1 304 Not Modified\r\n\r\n",))
    yield Evil("http-0.9", stream, RETRIED, (body,), "close")
    yield Evil("announced", stream, GOOD, (b"HTTP/1.1 103 Hints\r\nX: 1\r\n\r\n" * 3 + whole,))
    yield Evil("bytewise", stream, GOOD, (whole,), bytewise=True)


def _unasked(stream: bool) -> Iterator[Evil]:
    body, other = _body(stream), _body(False, LEAKED)
    counted = _head(stream, len(body)) + body
    closing = _head(stream, len(body), b"Connection: close") + body
    chunked = _head(stream, None, CHUNKED) + _chunk(body) + LAST
    second = _head(False, len(other)) + other
    for name, tail in (("second", second), ("half", second[:-9]), ("garbage", LEAKED.encode())):
        for kind, answer in (("counted", counted), ("closing", closing), ("chunked", chunked)):
            yield Evil(f"{name}-behind-{kind}", stream, GOOD, (answer + tail,))
            yield Evil(f"{name}-after-{kind}", stream, GOOD, (answer, tail))
    busy = _head(False, 2, start=b"HTTP/1.1 503 Busy") + b"{}" + second
    yield Evil("second-behind-503", stream, RETRIED, (busy,))
    empty = b"HTTP/1.1 204 No Content\r\n\r\n" + second
    yield Evil("second-behind-204", stream, RETRIED, (empty,))


def _encodings(stream: bool) -> Iterator[Evil]:
    body = _body(stream)
    packed, deflated = gzip.compress(body), zlib.compress(body)
    zipped = b"Content-Encoding: gzip"

    def encoded(line: bytes, data: bytes) -> bytes:
        return _head(stream, len(data), line) + data

    yield Evil("gzip-bytewise", stream, GOOD, (encoded(zipped, packed),), bytewise=True)
    yield Evil("gzip-cut", stream, RETRIED, (encoded(zipped, packed[:30]),))
    yield Evil(
        "gzip-broken-off", stream, RETRIED, (_head(stream, None, zipped) + packed[:30],), "close"
    )
    yield Evil("gzip-bad-sum", stream, RETRIED, (encoded(zipped, packed[:-8] + b"12345678"),))
    yield Evil("no-gzip", stream, RETRIED, (encoded(zipped, body),))
    yield Evil("gzip-of-nothing", stream, RETRIED, (encoded(zipped, b""),))
    cut = encoded(b"Content-Encoding: deflate", deflated[:20])
    yield Evil("deflate-cut", stream, RETRIED, (cut,))
    bomb = gzip.compress(b"data: " * stream + b"[" * 80_000_000, 1)
    yield Evil("gzip-bomb", stream, RETRIED, (encoded(zipped, bomb),))


def _ends(stream: bool) -> Iterator[Evil]:
    body = _body(stream)
    whole = _head(stream, len(body)) + body
    yield Evil("half-closed", stream, GOOD, (whole,), "half-close")
    yield Evil("closed-behind", stream, GOOD, (whole,), "close")
    yield Evil("half-closed-in-head", stream, RETRIED, (whole[:20],), "half-close")
    yield Evil("half-closed-unanswered", stream, RETRIED, (), "half-close")


def _floods(stream: bool) -> Iterator[Evil]:
    head = _head(stream, None)
    yield Evil("endless-head", stream, RETRIED, (b"HTTP/1.1 200 OK\r\n",), more=b"X: 1\r\n" * 1000)
    yield Evil("endless-line", stream, RETRIED, (b"HTTP/1.1 200 OK\r\nX: ",), more=b"a" * 60_000)
    announced = b"HTTP/1.1 100 Continue\r\n\r\n" * 100
    yield Evil("endless-announcements", stream, RETRIED, (), more=announced)
    yield Evil("endless-body", stream, RETRIED, (head,), more=b"[" * 4_000_000)
    if stream:
        quiet = b'data: {"choices": []}\n\n' * 10_000
        yield Evil("endless-quiet-frames", stream, RETRIED, (head,), more=quiet)
        ended = head + _body(stream)
        yield Evil("endless-marks", stream, GOOD, (ended,), more=b"data: [DONE]\n\n")
        yield Evil("endless-event", stream, RETRIED, (head,), more=b"data: [\n" * 100_000)


def _shapes(stream: bool) -> Iterator[Evil]:
    # A stream of choices without a finish reason has begun and not ended.
    begun = VISIBLE if stream else GOOD
    ended: dict[str, object] = {"index": 0, "finish_reason": "stop"}
    rows: list[tuple[str, Expected, dict[str, object]]] = [
        ("choices-a-number", RETRIED, {"choices": 5}),
        ("choices-a-text", RETRIED, {"choices": "abc"}),
        ("choices-an-object", RETRIED, {"choices": {"a": 1}}),
        ("choices-of-null", begun, {"choices": [None]}),
        ("choice-a-number", begun, {"choices": [{"index": 0, "delta": 5, "message": 5}]}),
        ("index-a-list", GOOD, {"choices": [{**ended, "index": [1]}]}),
        ("usage-a-text", GOOD, {"choices": [ended], "usage": "much"}),
        ("usage-of-texts", GOOD, {"choices": [ended], "usage": {"prompt_tokens": "x"}}),
        ("usage-below-0", GOOD, {"choices": [ended], "usage": {"completion_tokens": -1}}),
        ("error-a-number", RETRIED, {"error": 5}),
        ("error-of-lists", RETRIED, {"error": {"message": {"a": 1}, "code": [1], "type": {}}}),
    ]
    for name, expected, value in rows:
        body = json.dumps(value).encode()
        if stream:
            body = b"data: %b\n\n" % body
        yield Evil(name, stream, expected, (_head(stream, len(body)) + body,))
    body = b"[" * 100_000
    if stream:
        body = b"data: %b\n\n" % body
    yield Evil("deep", stream, RETRIED, (_head(stream, len(body)) + body,))
