"""Small recurring duties of the worker."""

from __future__ import annotations

import asyncio

from asgiref.sync import sync_to_async
from django.db import Error, OperationalError

from routeradmin.services import journal_writing, keys, publishing
from routeradmin.services.runtime import Runtime

DATABASE_LIMIT_S = 4.0  # a database that has not answered by then is out of reach


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
    try:
        async with asyncio.timeout(DATABASE_LIMIT_S):
            await sync_to_async(publishing.catch_up)(runtime)
    except TimeoutError:
        runtime.degraded.add(journal_writing.DATABASE)
        raise OperationalError(f"no answer within {DATABASE_LIMIT_S:g} s") from None
    except Error:
        runtime.degraded.add(journal_writing.DATABASE)
        raise
    if not runtime.journal.waiting:
        runtime.degraded.discard(journal_writing.DATABASE)


async def elect(runtime: Runtime) -> None:
    """Lead, or see that another does."""
    if runtime.peers is None:
        return
    led = runtime.leads
    await runtime.peers.election.tick()
    if runtime.leads and not led:
        runtime.journal.mark_state()  # what the last leader did not come to write down


async def beat(runtime: Runtime) -> None:
    """Tell the other processes where this one is."""
    if runtime.peers is not None:
        await runtime.peers.beat(runtime)


async def follow_clock(runtime: Runtime) -> None:
    if runtime.peers is not None:
        await runtime.peers.follow_clock(runtime)


async def prune(runtime: Runtime) -> None:
    """Forget shared state of what left the catalog."""
    if runtime.peers is not None:
        await runtime.peers.prune()
