"""``python -m benchmarks.watchers PORT NUMBER``: open consoles; the session comes in ``COOKIE``.

Each does on the wire what the live page does: reads its board, follows the frames, and reads the
board again after a gap or when a candidate belongs on it that it does not show.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from typing import Any

import aiohttp

from benchmarks.servers import CLIENT_CPU
from routeradmin.console.board import RANK

SETTLE_S, REREAD_S = 0.4, 3.0  # as in static/js/live.js


class Console:
    def __init__(self, session: aiohttp.ClientSession, origin: str) -> None:
        self.session, self.origin = session, origin
        self.shown: set[str] = set()
        self.worst = 0
        self.waiting: dict[str, float] = {}  # since when
        self.seq = -1
        self.read_at = 0.0
        self.has_read = asyncio.Event()

    async def read(self, process: str) -> None:
        headers = {"HX-Request": "true", "Routeradmin-After": f"{process}:{self.seq}"}
        async with self.session.get(f"{self.origin}/", headers=headers) as answer:
            answer.raise_for_status()
            page = await answer.text()
        self.shown = set(re.findall(r'data-name="([^"]+)"', page))
        self.worst = max(map(int, re.findall(r'data-rank="(\d+)"', page)), default=99)
        self.waiting.clear()
        self.read_at = time.monotonic()
        self.has_read.set()

    async def watch(self, socket: aiohttp.ClientWebSocketResponse, hello: dict[str, Any]) -> None:
        self.seq = hello["seq"]
        await self.read(hello["process"])
        reading: asyncio.Task[None] | None = None
        async for message in socket:
            frame = json.loads(message.data)
            missing, self.seq = frame["previous_seq"] != self.seq, frame["seq"]
            if missing:
                await self.read(frame["process"])
            for one in frame.get("moved", ()):
                self.place(one)
            if self.waiting and (reading is None or reading.done()):
                reading = asyncio.create_task(self.read_later(frame["process"]))

    def place(self, one: dict[str, Any]) -> None:
        if one["id"] in self.shown or RANK[one["state"]] >= self.worst:
            self.waiting.pop(one["id"], None)
        else:
            self.waiting.setdefault(one["id"], time.monotonic())

    async def read_later(self, process: str) -> None:
        await asyncio.sleep(max(0.0, self.read_at + REREAD_S - time.monotonic()))
        while self.waiting:
            left = min(self.waiting.values()) + SETTLE_S - time.monotonic()
            if left <= 0:
                return await self.read(process)
            await asyncio.sleep(left)


async def watch(port: int, number: int) -> None:
    origin = f"http://127.0.0.1:{port}"
    headers = {"Cookie": os.environ["COOKIE"], "Origin": origin}
    async with aiohttp.ClientSession(headers=headers) as session:
        url = f"ws://127.0.0.1:{port}/ws/console"
        sockets = [await session.ws_connect(url) for _ in range(number)]
        first = await asyncio.gather(*(socket.receive() for socket in sockets))
        if any(one.type is not aiohttp.WSMsgType.TEXT for one in first):
            print("refused", flush=True)
            return
        consoles = [Console(session, origin) for _ in sockets]
        watching = [
            asyncio.create_task(console.watch(socket, json.loads(hello.data)))
            for console, socket, hello in zip(consoles, sockets, first, strict=True)
        ]
        await asyncio.gather(*(console.has_read.wait() for console in consoles))
        print("watching", flush=True)
        await asyncio.gather(*watching)


if __name__ == "__main__":
    os.sched_setaffinity(0, {CLIENT_CPU})
    asyncio.run(watch(int(sys.argv[1]), int(sys.argv[2])))
