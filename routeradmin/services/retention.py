"""How long records are kept: turns and events by age and by count, unused secrets by age.

Audit entries and revisions are kept for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import close_old_connections

from routeradmin.alerting.models import Delivery, Incident, Undelivered
from routeradmin.catalog.models import Secret
from routeradmin.journal.models import Attempt, Event, IntentFeedback, Turn
from routeradmin.services import publishing
from routeradmin.services.alerts import record
from routeradmin.services.runtime import Runtime

BATCH = 2_000  # rows per statement: a writer on SQLite waits for no longer than one takes


@dataclass(frozen=True, slots=True)
class Keeping:
    """What goes: whatever is older than ``days``, then the oldest beyond ``most``."""

    days: float
    most: int


TURNS = Keeping(days=14, most=200_000)
EVENTS = Keeping(days=90, most=500_000)
FEEDBACK = Keeping(days=90, most=100_000)
DELIVERIES = Keeping(days=30, most=20_000)
UNDELIVERED = Keeping(days=record.STALE_S / 86_400, most=20_000)
INCIDENTS = Keeping(days=90, most=50_000)
UNUSED_SECRETS_DAYS = 30


async def retain(runtime: Runtime) -> None:
    """Delete what is too old, in steps, so that the journal's own writes get in between."""
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(runtime.writer, close_old_connections)
    steps = delete_old(publishing.moment(runtime))
    while await loop.run_in_executor(runtime.writer, next, steps, None) is not None:
        pass


def delete_old(
    now: datetime, turns: Keeping = TURNS, events: Keeping = EVENTS
) -> Iterator[tuple[str, int]]:
    """One statement per step; tells what it deleted: (kind, rows)."""
    for pks in _old(Turn, "started_at", now, turns):
        attempts = Attempt.objects.filter(turn_id__in=pks)
        attempts._raw_delete(attempts.db)
        yield "turns", _delete(Turn, pks)
    for pks in _old(Event, "at", now, events):
        yield "events", _delete(Event, pks)
    for pks in _old(IntentFeedback, "at", now, FEEDBACK):
        yield "intent feedback", _delete(IntentFeedback, pks)
    for pks in _old(Delivery, "at", now, DELIVERIES):
        yield "deliveries", _delete(Delivery, pks)
    for pks in _old(Undelivered, "due_at", now, UNDELIVERED):
        yield "undelivered", _delete(Undelivered, pks)
    for pks in _old(Incident, "ended_at", now, INCIDENTS):
        yield "incidents", _delete(Incident, pks)
    unused = Secret.objects.filter(
        unused_since__lt=now - timedelta(days=UNUSED_SECRETS_DAYS), credentials__isnull=True
    )
    if count := unused.delete()[0]:
        yield "secrets", count


def _old(kind: Any, field: str, now: datetime, keeping: Keeping) -> Iterator[list[int]]:
    """Ids to delete, oldest first. Ids grow with time, so the count goes by id."""
    newest = kind.objects.order_by("-pk").values_list("pk", flat=True).first()
    if newest is None:
        return
    limit = kind.objects.order_by("-pk").values_list("pk", flat=True)[keeping.most :][:1]
    last_over = next(iter(limit), 0)
    old = kind.objects.filter(**{f"{field}__lt": now - timedelta(days=keeping.days)})
    over = kind.objects.filter(pk__lte=last_over)
    while pks := list((old | over).order_by("pk").values_list("pk", flat=True)[:BATCH]):
        yield pks


def _delete(kind: Any, pks: list[int]) -> int:
    rows = kind.objects.filter(pk__in=pks)
    return int(rows._raw_delete(rows.db))
