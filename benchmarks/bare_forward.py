"""The least that a Python gateway can do: take a request, send it on with aiohttp, pass the answer
back. ``BENCH_UPSTREAM`` is the URL it goes to. It checks, chooses, counts and records nothing."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import aiohttp

URL = os.environ.get("BENCH_UPSTREAM", "")
Message = MutableMapping[str, Any]
session: aiohttp.ClientSession | None = None


async def application(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    global session
    if scope["type"] != "http":
        return
    if session is None:
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    body = (await receive()).get("body", b"")
    async with session.post(URL, data=body or b"{}") as answer:
        kind = answer.headers.get("content-type", "").encode()
        start = {"type": "http.response.start", "status": answer.status}
        await send({**start, "headers": [(b"content-type", kind)]})
        async for part in answer.content.iter_any():
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
