"""The fastest upstream there can be: canned answers, whole or as a stream of a few frames.

``python -m benchmarks.mock_upstream PORT``. It reads just enough of a request to know where it
ends, so that it outruns whatever is measured in front of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import cast

import uvloop

from benchmarks.load import content_length

CHUNKS = 10
TEXT = "Straight on, then left at the old mill, over the bridge and up the hill to the church."


def chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    frame = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "small",
        "choices": [choice],
    }
    return b"data: " + json.dumps(frame).encode() + b"\n\n"


PLAIN = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": TEXT},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 20, "total_tokens": 32},
    }
).encode()
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
    len(PLAIN),
    PLAIN,
)


def framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
PARTS = [chunk({"role": "assistant"})] + [chunk({"content": "word "})] * CHUNKS
PARTS += [chunk({}, "stop"), b"data: [DONE]\n\n"]
WRITES = [STREAM_HEAD + framed(PARTS[0]), *map(framed, PARTS[1:-1])]
WRITES += [framed(PARTS[-1]) + b"0\r\n\r\n"]


class Upstream(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if not found or len(rest) < content_length(head):
            return
        self.buffer = b""
        streaming = b'"stream":true' in rest or b'"stream": true' in rest
        if streaming:
            self.write(0)
        else:
            self.transport.write(WHOLE)

    def write(self, number: int) -> None:
        """Each frame in a packet of its own, as a model writes them."""
        self.transport.write(WRITES[number])
        if number + 1 < len(WRITES):
            asyncio.get_running_loop().call_soon(self.write, number + 1)


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
