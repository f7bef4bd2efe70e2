"""Writes what the journal holds: events, turns with attempts, durable candidate state."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.db import DatabaseError, DataError, transaction

from routeradmin.engine.state import Change
from routeradmin.journal.models import Event
from routeradmin.services import database, keeping, turn_rows

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

DATABASE = "database"  # the word in ``Runtime.degraded``


async def flush(runtime: Runtime) -> None:
    """Write what waits on the writer's own thread; the event loop never waits for the disk."""
    if not (runtime.journal.waiting or runtime.journal.is_state_dirty):
        return
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(runtime.writer, database.freshen)
    await loop.run_in_executor(runtime.writer, write, runtime)


def write(runtime: Runtime) -> None:
    """One batch, whole or not at all. Raises DatabaseError; the batch then waits for the next.

    A batch that can never be written, for the values it holds, would keep all later ones waiting:
    it is dropped and counted, and what refused it is raised.
    """
    journal = runtime.journal
    is_dirty, journal.is_state_dirty = journal.is_state_dirty, False
    batch = journal.take()
    if not runtime.keeps_state:
        runtime.kept.clear()  # another process writes it now: unknown what is stored
    if not batch and not is_dirty:
        return
    try:
        with transaction.atomic():
            Event.objects.bulk_create(map(event_of, batch.changes))
            turn_rows.write(batch.turns)
            if is_dirty and runtime.keeps_state:
                keeping.save(runtime.store, runtime.kept, runtime.clock())
    except Exception as problem:
        journal.is_state_dirty |= is_dirty
        runtime.kept.clear()  # unknown what is stored: write all of it next time
        if isinstance(problem, DatabaseError) and not isinstance(problem, DataError):
            journal.give_back(batch)
            runtime.degraded.add(DATABASE)
        else:
            journal.drop(batch)
        raise
    runtime.degraded.discard(DATABASE)


def moment(at: float) -> datetime:
    """Epoch seconds as a time in UTC."""
    return datetime.fromtimestamp(at, UTC)


def event_of(change: Change) -> Event:
    return Event(
        kind=change.kind,
        at=moment(change.at),
        deployment=change.key.deployment,
        credential=change.key.credential,
        matched=change.key.matched,
        set_by=change.set_by,
        failure_class=change.cls or "",
        status=change.status,
        message=change.message,
        until=moment(change.until) if change.until is not None else None,
        level=change.level,
    )
