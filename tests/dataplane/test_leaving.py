"""A client that hangs up while it waits for a lease takes none."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from routeradmin.engine.state import CandidateKey
from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, WAIT_S, Gateway


def asked(gate: Gateway) -> socket.socket:
    """A select whose answer is not read."""
    raw = json.dumps({"model": "chat"}).encode()
    head = (
        "POST /api/v1/select HTTP/1.1\r\nhost: gateway\r\n"
        f"authorization: Bearer {KEY}\r\ncontent-length: {len(raw)}\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", gate.port), timeout=WAIT_S)
    connection.sendall(head.encode() + raw)
    return connection


@pytest.mark.parametrize("stays", [True, False])
def test_only_a_client_that_stays_gets_what_it_waited_for(
    gate: Gateway, monkeypatch: pytest.MonkeyPatch, stays: bool
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
    connection = asked(gate)
    gate.until(lambda: waits == ["begun"])
    if stays:
        gate.loop.call_soon_threadsafe(is_over.set)
    else:
        connection.close()
    gate.until(lambda: waits == ["begun", "ended"])
    gate.settle()
    assert gate.active == int(stays)
    connection.close()
