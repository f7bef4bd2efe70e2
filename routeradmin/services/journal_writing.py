"""Writes what the journal holds: events, turns with attempts, durable candidate state."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.db import DataError, Error, IntegrityError, transaction

from routeradmin.engine.state import Change
from routeradmin.journal.models import Event
from routeradmin.services import database, keeping, turn_rows

if TYPE_CHECKING:
    from routeradmin.services.journal import Batch
    from routeradmin.services.runtime import Runtime

# What is wrong with the values stays wrong; the rest of a database's errors may pass.
LASTING = (DataError, IntegrityError)

DATABASE = "database"  # the word in ``Runtime.degraded``


async def flush(runtime: Runtime) -> None:
    """Write what waits on the writer's own thread; the event loop never waits for the disk."""
    if runtime.journal.waiting or runtime.journal.is_state_dirty:
        await finish(runtime)


async def finish(runtime: Runtime) -> None:
    """``flush`` after the batch that may be under way, and with it where it came to nothing."""
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(runtime.writer, database.freshen)
    await loop.run_in_executor(runtime.writer, write, runtime)


def write(runtime: Runtime) -> None:
    """One batch, whole or not at all. Raises DatabaseError; the batch then waits for the next.

    One that cannot be written for a value that some record holds is written in parts, and that
    record is dropped and counted; what refused it is raised.
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
            insert(batch)
            if is_dirty and runtime.keeps_state:
                keeping.save(runtime.store, runtime.kept, runtime.clock())
    except Exception as problem:
        journal.is_state_dirty |= is_dirty
        runtime.kept.clear()  # unknown what is stored: write all of it next time
        if may_pass(problem):
            journal.give_back(batch)
            runtime.degraded.add(DATABASE)
        else:
            write_in_parts(runtime, batch)
        raise
    runtime.degraded.discard(DATABASE)


def insert(batch: Batch) -> None:
    """In a transaction."""
    Event.objects.bulk_create(map(event_of, batch.changes))
    turn_rows.write(batch.turns)


def may_pass(problem: Exception) -> bool:
    return isinstance(problem, Error) and not isinstance(problem, LASTING)


def write_in_parts(runtime: Runtime, batch: Batch) -> None:
    """All but the records that cannot be written. Raises Error where the database goes on the
    way; what is left then waits."""
    waiting = [batch]
    while waiting:
        part = waiting.pop()
        try:
            with transaction.atomic():
                insert(part)
        except Exception as problem:
            if may_pass(problem):
                for left in (*waiting, part):  # the oldest last, so that it is in front
                    runtime.journal.give_back(left)
                runtime.degraded.add(DATABASE)
                raise
            if halves := part.halves():
                waiting += reversed(halves)
            else:
                runtime.journal.drop(part)


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
