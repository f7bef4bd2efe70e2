"""``python -m benchmarks.watchers PORT NUMBER``: open consoles; the session comes in ``COOKIE``."""

from __future__ import annotations

import asyncio
import os
import sys

import aiohttp

from benchmarks.servers import CLIENT_CPU


async def watch(port: int, number: int) -> None:
    headers = {"Cookie": os.environ["COOKIE"], "Origin": f"http://127.0.0.1:{port}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        url = f"ws://127.0.0.1:{port}/ws/console"
        sockets = [await session.ws_connect(url) for _ in range(number)]
        first = await asyncio.gather(*(socket.receive() for socket in sockets))
        let_in = all(one.type is aiohttp.WSMsgType.TEXT for one in first)
        print("watching" if let_in else "refused", flush=True)
        await asyncio.gather(*(read(socket) for socket in sockets))


async def read(socket: aiohttp.ClientWebSocketResponse) -> None:
    async for _ in socket:
        pass


if __name__ == "__main__":
    os.sched_setaffinity(0, {CLIENT_CPU})
    asyncio.run(watch(int(sys.argv[1]), int(sys.argv[2])))
