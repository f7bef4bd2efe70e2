"""Writes what the journal holds: events, turns with attempts, durable candidate state."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, close_old_connections, transaction

from routeradmin.engine.state import Change
from routeradmin.journal.models import Attempt, Event, Turn
from routeradmin.services import keeping
from routeradmin.services.journal import TurnRecord

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

DATABASE = "database"  # the word in ``Runtime.degraded``


async def flush(runtime: Runtime) -> None:
    """Write what waits on the writer's own thread; the event loop never waits for the disk."""
    if not (runtime.journal.waiting or runtime.journal.is_state_dirty):
        return
    loop = asyncio.get_running_loop()
    # A long-lived thread has no request whose end would drop a broken connection.
    await loop.run_in_executor(runtime.writer, close_old_connections)
    await loop.run_in_executor(runtime.writer, write, runtime)


def write(runtime: Runtime) -> None:
    """One batch, whole or not at all. Raises DatabaseError; the batch then waits for the next."""
    journal = runtime.journal
    is_dirty, journal.is_state_dirty = journal.is_state_dirty, False
    batch = journal.take()
    if not batch and not is_dirty:
        return
    try:
        with transaction.atomic():
            Event.objects.bulk_create(map(event_of, batch.changes))
            write_turns(batch.turns)
            if is_dirty:
                keeping.save(runtime.store, runtime.kept, runtime.clock())
    except DatabaseError:
        journal.give_back(batch)
        journal.is_state_dirty |= is_dirty
        runtime.kept.clear()  # unknown what is stored: write all of it next time
        runtime.degraded.add(DATABASE)
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


def write_turns(records: Sequence[TurnRecord]) -> None:
    """Insert finished turns; one that was written before is left as it is."""
    if not records:
        return
    Turn.objects.bulk_create(map(turn_of, records), ignore_conflicts=True)
    pks = dict(
        Turn.objects.filter(
            uid__in=[record["id"] for record in records], attempts__isnull=True
        ).values_list("uid", "pk")
    )
    Attempt.objects.bulk_create(_attempts(records, pks))


def turn_of(record: TurnRecord) -> Turn:
    return Turn(
        uid=record["id"],
        request_id=record.get("request_id") or "",
        route=record.get("route") or "",
        model=record.get("model") or "",
        key=record.get("key") or "",
        revision=record.get("revision") or 0,
        halt=record.get("halt") or "",
        started_at=datetime.fromisoformat(record["started_at"]),
        duration_ms=record.get("duration_ms"),
        overhead_ms=record.get("overhead_ms"),
        warnings=list(record.get("warnings") or ()),
        routing=record.get("routing"),
    )


def _attempts(records: Iterable[TurnRecord], pks: Mapping[str, int]) -> Iterable[Attempt]:
    seen: set[str] = set()
    for record in records:
        if record["id"] in pks and record["id"] not in seen:
            seen.add(record["id"])
            for attempt in record.get("attempts") or ():
                yield attempt_of(attempt, pks[record["id"]])


def attempt_of(attempt: Mapping[str, Any], turn_pk: int) -> Attempt:
    usage = attempt.get("usage") or {}
    return Attempt(
        turn_id=turn_pk,
        n=attempt["n"],
        target=attempt.get("target") or "",
        deployment=attempt.get("deployment") or "",
        credential=attempt.get("credential") or "",
        provenance=dict(attempt.get("provenance") or {}),
        auth_kind=attempt.get("auth_kind") or "",
        billing_kind=attempt.get("billing_kind") or "",
        failure_class=attempt.get("class") or "",
        status=attempt.get("status"),
        dispatch=attempt.get("dispatch") or "",
        visible_events=attempt.get("visible_events") or 0,
        waited_ms=attempt.get("waited_ms") or 0,
        duration_ms=attempt.get("duration_ms"),
        ttft_ms=attempt.get("ttft_ms"),
        input_tokens=usage.get("input"),
        output_tokens=usage.get("output"),
        message=attempt.get("message") or "",
    )
