"""Many streams at once: none is cut, the count of running ones is exact, nothing piles up."""

from __future__ import annotations

import asyncio
import json
import resource

import pytest

from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, Gateway, chat

STREAMS = 1000
WORDS = 10


async def read_one(port: int, started: asyncio.Semaphore) -> bytes:
    raw = json.dumps(chat(stream=True)).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n"
        f"authorization: Bearer {KEY}\r\ncontent-length: {len(raw)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + raw)
    body = await reader.readuntil(b"data: ")
    started.release()
    body += await reader.read()
    writer.close()
    return body


@pytest.mark.slow
def test_a_thousand_streams_live_side_by_side(gate: Gateway) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 5 * STREAMS:
        pytest.skip("the system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 5 * STREAMS), hard))
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"chunk_delay_ms": 1000, "words": WORDS})

    async def scenario() -> tuple[int, list[bytes]]:
        started = asyncio.Semaphore(0)
        readers = [asyncio.create_task(read_one(gate.port, started)) for _ in range(STREAMS)]
        for _ in range(STREAMS):
            await started.acquire()
        return gate.active, await asyncio.gather(*readers)

    active, bodies = asyncio.run(scenario())
    assert active == STREAMS
    assert all(body.count(b"data: [DONE]") == 1 for body in bodies)
    assert {body.count(b'"content":') for body in bodies} == {bodies[0].count(b'"content":')}
    gate.until(lambda: gate.active == 0)
    assert {record["halt"] for record in gate.records} == {"succeeded"}
    assert len(gate.records) == STREAMS
