"""A small HTTP/1.1 load generator: one process, keep-alive connections, no pipelining.

Run as ``python -m benchmarks.load JSON`` (see :class:`Load`); prints one JSON object.
It parses just enough of an answer to know where it ends, so that it outruns what it measures.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import cast

import uvloop


@dataclass(frozen=True)
class Load:
    """``seconds`` of requests on ``connections`` connections; ``expect`` is the status wanted."""

    port: int
    path: str
    connections: int
    seconds: float
    method: str = "GET"
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    expect: int = 200
    cpu: int | None = None

    def request(self) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", "host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        body = self.body.encode()
        if body:
            lines += ["content-type: application/json", f"content-length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True)
class Measured:
    """Requests a second, and latency percentiles in milliseconds; ``wrong`` answers counted.

    ``first_ms`` is the median until the first byte of the answer's body.
    """

    rps: float
    p50_ms: float
    p99_ms: float
    requests: int
    wrong: int
    first_ms: float


class Connection(asyncio.Protocol):
    def __init__(
        self, request: bytes, expect: bytes, latencies: list[float], firsts: list[float]
    ) -> None:
        self.request, self.expect, self.latencies = request, expect, latencies
        self.firsts = firsts
        self.begun = False
        self.buffer = b""
        self.sent = 0.0
        self.wrong = 0
        self.stopping = False
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.fire()

    def fire(self) -> None:
        self.sent = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if rest and not self.begun:
            self.begun = True
            self.firsts.append(time.perf_counter() - self.sent)
        if not found or not is_whole(head, rest):
            return
        self.begun = False
        self.latencies.append(time.perf_counter() - self.sent)
        if head[9:12] != self.expect:
            self.wrong += 1
        self.buffer = b""
        if self.stopping:
            self.transport.close()
        else:
            self.fire()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


def is_whole(head: bytes, body: bytes) -> bool:
    if b"chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    return len(body) >= content_length(head)


def content_length(head: bytes) -> int:
    lower = head.lower()
    at = lower.find(b"content-length:")
    if at < 0:
        return 0
    end = lower.find(b"\r", at)
    return int(lower[at + 15 : end if end > 0 else None])


async def drive(load: Load) -> Measured:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    firsts: list[float] = []
    expect = str(load.expect).encode()
    made = []
    started = time.perf_counter()
    for _ in range(load.connections):
        _, protocol = await loop.create_connection(
            lambda: Connection(load.request(), expect, latencies, firsts), "127.0.0.1", load.port
        )
        made.append(protocol)
    await asyncio.sleep(load.seconds)
    for protocol in made:
        protocol.stopping = True
    took = time.perf_counter() - started
    count = len(latencies)
    await asyncio.wait([protocol.closed for protocol in made], timeout=10)
    latencies.sort()
    firsts.sort()
    return Measured(
        rps=count / took,
        p50_ms=1000 * latencies[len(latencies) // 2],
        p99_ms=1000 * latencies[int(len(latencies) * 0.99)],
        requests=count,
        wrong=sum(protocol.wrong for protocol in made),
        first_ms=1000 * firsts[len(firsts) // 2] if firsts else 0.0,
    )


def measure(load: Load) -> Measured:
    """Run the load in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load", json.dumps(asdict(load))],
        check=True,
        capture_output=True,
        text=True,
    )
    return Measured(**json.loads(done.stdout))


def main() -> None:
    load = Load(**json.loads(sys.argv[1]))
    if load.cpu is not None:
        os.sched_setaffinity(0, {load.cpu})
    print(json.dumps(asdict(uvloop.run(drive(load)))))


if __name__ == "__main__":
    main()
