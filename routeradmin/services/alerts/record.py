"""Incidents and deliveries as they are written down, for people and for whoever leads next."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.db import transaction

from routeradmin.alerting.models import AlertEvent, Delivery, Incident, Webhook
from routeradmin.services import publishing
from routeradmin.services.alerts import incidents
from routeradmin.services.alerts.messages import Condition, Message
from routeradmin.services.alerts.sending import Sent

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

Key = tuple[str, str]
# A process tells of its own losses; all else is the leading one's.
OWN = frozenset({AlertEvent.JOURNAL_DROPS.value})
COMMON = frozenset(AlertEvent.values) - OWN


def open_ones() -> list[tuple[Condition, float]]:
    """What concerns all processes and goes on, with its beginning."""
    rows = Incident.objects.filter(ended_at=None, type__in=COMMON)
    return [(Condition(row.type, row.subject, row.facts), row.began_at.timestamp()) for row in rows]


def write(
    runtime: Runtime,
    begun: Mapping[Key, incidents.Incident],
    ended: Collection[Key],
    living: Collection[str] | None,
) -> None:
    """``living``: the processes there are, by which the leading one ends what others left open.
    Raises DatabaseError."""
    now = publishing.moment(runtime)
    with transaction.atomic():
        for (type, subject), one in begun.items():
            fresh = {
                "facts": dict(one.condition.facts),
                "process": runtime.process_id,
                "began_at": datetime.fromtimestamp(one.began_at, UTC),
            }
            Incident.objects.get_or_create(
                type=type, subject=subject, ended_at=None, defaults=fresh
            )
        for type, subject in ended:
            Incident.objects.filter(type=type, subject=subject, ended_at=None).update(ended_at=now)
        if living is not None:
            left = Incident.objects.filter(type__in=OWN, ended_at=None)
            left.exclude(process__in=living).update(ended_at=now)


def note(
    runtime: Runtime, webhook: str, message: Message, sent: Sent, attempt: int, wait_s: float | None
) -> None:
    """How an attempt went; ``wait_s``: until the next one. Raises DatabaseError."""
    now = runtime.clock()
    with transaction.atomic():
        row = Webhook.objects.filter(uid=webhook).first()
        if row is None:
            return
        Delivery.objects.create(
            webhook=row,
            message_id=message.id,
            type=message.type,
            at=datetime.fromtimestamp(now, UTC),
            attempt=attempt,
            ok=sent.ok,
            status=sent.status,
            detail=sent.detail[:300],
            duration_ms=sent.duration_ms,
            next_at=None if wait_s is None else datetime.fromtimestamp(now + wait_s, UTC),
        )
        Webhook.objects.filter(pk=row.pk).update(
            last_attempt_at=publishing.moment(runtime),
            last_status=sent.status,
            last_error=sent.detail[:300],
            failures=0 if sent.ok else row.failures + 1,
        )
