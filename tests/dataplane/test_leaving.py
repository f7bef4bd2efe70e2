"""Whoever leaves first: a client that waits for a lease, or the process while it is waited for."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from routeradmin.engine.state import CandidateKey
from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, WAIT_S, Gateway, chat


def asked(gate: Gateway, path: str, body: dict[str, Any]) -> socket.socket:
    """A request whose answer is not read."""
    raw = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n"
        f"authorization: Bearer {KEY}\r\ncontent-length: {len(raw)}\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", gate.port), timeout=WAIT_S)
    connection.sendall(head.encode() + raw)
    return connection


def rest_of(connection: socket.socket) -> str:
    with connection, connection.makefile("rb") as answer:
        return answer.read().decode()


@pytest.mark.parametrize("end", ["stays", "client leaves", "server stops"])
def test_only_a_client_that_stays_gets_what_it_waited_for(
    gate: Gateway, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    waits: list[str] = []
    is_over = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append("begun")
        try:
            await is_over.wait()
            gate.clock.advance(seconds)
        finally:
            waits.append("ended")

    monkeypatch.setattr(gate.runtime, "sleep", sleep)
    gate.use(document(gate.upstream, "a", when_exhausted="wait", max_wait_s=60))
    rest = gate.runtime.store.set_cooldown(CandidateKey("a", "a"), 20, "user:ada", "", gate.clock())
    assert gate.loop is not None
    asyncio.run_coroutine_threadsafe(rest, gate.loop).result(WAIT_S)
    connection = asked(gate, "/api/v1/select", {"model": "chat"})
    gate.until(lambda: waits == ["begun"])
    if end == "stays":
        gate.loop.call_soon_threadsafe(is_over.set)
    elif end == "client leaves":
        connection.close()
    else:
        stop(gate)
    gate.until(lambda: waits == ["begun", "ended"])
    gate.settle()
    assert gate.active == int(end == "stays")
    if end == "server stops":
        told = rest_of(connection)
        assert told.startswith("HTTP/1.1 503 ")
        assert "retry-after: 1\r\n" in told
        assert '"code":"server_stopping"' in told
    connection.close()


def stop(gate: Gateway) -> None:
    """What ``serve`` does once the requests under way have had their time."""
    assert gate.loop is not None
    gate.loop.call_soon_threadsafe(gate.runtime.under_way.end)


HANGS = {"silence": True}
STOPS = {"chunk_delay_ms": 60_000}  # after its first frame


@pytest.mark.parametrize(
    ("path", "stream", "step", "status", "words"),
    [
        ("chat/completions", True, STOPS, 200, 'data: {"error":{"message":"The server was stopped'),
        ("messages", True, STOPS, 200, 'event: error\ndata: {"type":"error"'),
        ("chat/completions", True, HANGS, 503, '{"error":{"message":"The server was stopped'),
        ("chat/completions", False, HANGS, 503, "x-routeradmin-halt: cancelled\r\n"),
    ],
)
def test_what_still_runs_when_the_server_has_to_go_ends_in_words_and_is_recorded(
    gate: Gateway, path: str, stream: bool, step: dict[str, Any], status: int, words: str
) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", step)
    connection = asked(gate, f"/v1/{path}", chat(max_tokens=9, stream=stream))
    gate.until(lambda: gate.calls("a") == 1)
    told = connection.recv(4096).decode() if status == 200 else ""
    stop(gate)
    told += rest_of(connection)
    assert told.startswith(f"HTTP/1.1 {status} ")
    assert words in told
    assert told.count('"code":"server_stopping"') == 1
    gate.until(lambda: len(gate.runtime.under_way) == gate.active == 0)
    (attempt,) = gate.record["attempts"]
    assert gate.record["halt"] == "cancelled"
    assert (attempt["class"], attempt["message"]) == ("cancelled", "cut off: the server stopped")
    assert gate.state("a").failures == 0
