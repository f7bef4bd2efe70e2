"""Small recurring duties of the worker."""

from __future__ import annotations

import asyncio

from asgiref.sync import sync_to_async

from routeradmin.services import keys, publishing
from routeradmin.services.runtime import Runtime


async def note_key_use(runtime: Runtime) -> None:
    """Write down when keys were last used, on the writer's thread."""
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(runtime.writer, keys.write_used, runtime.keys)


async def refresh_secrets(runtime: Runtime) -> None:
    """Serve an outside secret that was replaced since; asks the database only when one was.

    Files are looked at in a thread: a file system that hangs must not hold the event loop.
    """
    if await asyncio.to_thread(publishing.outside_secrets_changed, runtime):
        await sync_to_async(publishing.refresh_secrets)(runtime)


async def catch_up(runtime: Runtime) -> None:
    """Serve what another process changed: a command, or another server on the same database."""
    await sync_to_async(publishing.catch_up)(runtime)
