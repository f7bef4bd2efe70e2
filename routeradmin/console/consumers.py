"""The live socket: forwards the feed's frames to one viewer for as long as its right lasts.

Nothing is received over it. A refusal comes after ``accept``: browsers retry a refused handshake
for ever, while they respect a close code.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from routeradmin.console import fragments, tickets
from routeradmin.services import live, runtime

SIGNED_OUT = 4401
FORBIDDEN = 4403


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One viewer. ``tickets`` says whether it may look, at the start and again and again."""

    async def connect(self) -> None:
        await self.accept()
        self._forwarding: asyncio.Task[None] | None = None
        ticket = await tickets.of(self.scope)
        if isinstance(ticket, tickets.Refusal):
            await self.close(FORBIDDEN if ticket.known else SIGNED_OUT)
            return
        self._forwarding = asyncio.create_task(self._forward(ticket))

    async def disconnect(self, code: int) -> None:
        if self._forwarding:
            self._forwarding.cancel()
            with suppress(asyncio.CancelledError):
                await self._forwarding

    async def receive(self, text_data: str | None = None, bytes_data: Any = None) -> None:
        """Actions are POST requests; what a client sends here is ignored."""

    async def _forward(self, ticket: tickets.Ticket) -> None:
        feed = live.feed_of(runtime.get(), fragments.render)
        with feed.watching() as viewer, tickets.watch(ticket, viewer.end):
            feed.start()
            while (frame := await viewer.frames.get()) is not None:
                await self.send(text_data=frame)
        await self.close(FORBIDDEN if ticket.known else SIGNED_OUT)


class NowhereConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """A path that has no socket: the handshake is refused, no page of ours asks again."""

    async def connect(self) -> None:
        await self.close()
