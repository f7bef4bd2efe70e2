"""A client on a bare socket: it shows how an answer was framed and how it ended."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

CHAT = "/v1/chat/completions"
HELLO: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
TIMEOUT_S = 10
POLLS = 2000


@dataclass
class Answer:
    """What came: ``pieces`` are the chunks; ``ended`` is complete, closed, reset or open."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    pieces: list[bytes] = field(default_factory=list)
    ended: str = "complete"

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of every event; ``[DONE]`` as text."""
        lines = [line for line in self.body.decode().split("\n") if line.startswith("data: ")]
        texts = [line.removeprefix("data: ").rstrip("\r") for line in lines]
        return [text if text == "[DONE]" else json.loads(text) for text in texts]


class Line:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.buffer = b""

    def send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n{lines}\r\n"
        self.socket.sendall(head.encode() + body)

    def read_until(self, mark: bytes) -> bytes:
        """Everything up to and with ``mark``."""
        while mark not in self.buffer:
            self._more()
        found, _, self.buffer = self.buffer.partition(mark)
        return found + mark

    def read(self) -> Answer:
        """One answer, as far as it goes."""
        answer = Answer()
        try:
            self._head(answer)
            self._body(answer)
        except ConnectionResetError:
            answer.ended = "reset"
        except EOFError:
            answer.ended = "closed"
        answer.body = b"".join(answer.pieces)
        return answer

    def _more(self) -> None:
        got = self.socket.recv(65536)
        if not got:
            raise EOFError
        self.buffer += got

    def _take(self, size: int, pieces: list[bytes]) -> None:
        """Exactly ``size`` bytes as one piece; what came of it before a break is kept too."""
        try:
            while len(self.buffer) < size:
                self._more()
        finally:
            piece, self.buffer = self.buffer[:size], self.buffer[size:]
            pieces.append(piece)

    def _head(self, answer: Answer) -> None:
        status, *lines = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        answer.status = int(status.split(" ")[1])
        pairs = (line.split(": ", 1) for line in lines if line)
        answer.headers = dict(pairs)

    def _body(self, answer: Answer) -> None:
        if "content-length" in answer.headers:
            self._take(int(answer.headers["content-length"]), answer.pieces)
        elif answer.headers.get("transfer-encoding") == "chunked":
            while size := int(self.read_until(b"\r\n"), 16):
                self._take(size, answer.pieces)
                self.read_until(b"\r\n")
            self.read_until(b"\r\n")


class Raw:
    """Calls and scripts by hand."""

    def __init__(self, base_url: str) -> None:
        place = urlsplit(base_url)
        assert place.hostname is not None
        assert place.port is not None
        self.address = (place.hostname, place.port)

    @contextmanager
    def line(self) -> Iterator[Line]:
        with socket.create_connection(self.address, timeout=TIMEOUT_S) as connection:
            yield Line(connection)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        payload = b"" if body is None else json.dumps(body).encode()
        with self.line() as line:
            line.send(method, path, payload, headers or {})
            return line.read()

    def chat(self, key: str | None = None, **more: Any) -> Answer:
        """A small chat request, with more fields where given."""
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return self.call("POST", CHAT, {**HELLO, **more}, headers)

    def script(self, *steps: dict[str, Any], **more: Any) -> None:
        """Put a script for all models, or for what ``more`` says."""
        answer = self.call("PUT", "/_script", {"steps": list(steps), **more})
        assert answer.status == 200, answer.body

    def calls(self) -> Any:
        return self.call("GET", "/_calls").json

    def calls_when(self, reached: Callable[[Any], bool]) -> Any:
        """Ask for the counts until they are as they should be."""
        for _ in range(POLLS):
            counts = self.calls()
            if reached(counts):
                return counts
        raise AssertionError(f"never reached: {counts}")
