"""Incidents and deliveries as they are written down, for people and for whoever leads next."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q, QuerySet

from routeradmin.alerting.models import AlertEvent, Delivery, Incident, Undelivered, Webhook
from routeradmin.services import publishing
from routeradmin.services.alerts import incidents
from routeradmin.services.alerts.messages import Condition, Message
from routeradmin.services.alerts.outbox import Waiting
from routeradmin.services.alerts.sending import Sent

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

Key = tuple[str, str]
# A process tells of its own losses; all else is the leading one's.
OWN = frozenset({AlertEvent.JOURNAL_DROPS.value})
COMMON = frozenset(AlertEvent.values) - OWN
STALE_S = 3600.0  # what lasts was told anew by then, and what is over is no news


def open_ones() -> list[tuple[Condition, float]]:
    """What concerns all processes and goes on, with its beginning."""
    rows = Incident.objects.filter(ended_at=None, type__in=COMMON)
    return [(Condition(row.type, row.subject, row.facts), row.began_at.timestamp()) for row in rows]


def claim(runtime: Runtime, living: Collection[str]) -> list[tuple[str, Waiting]]:
    """By webhook, what is on its way still: from now on it is this process's to deliver. But for
    what ``living`` processes tell of themselves. Raises DatabaseError."""
    with transaction.atomic():
        Undelivered.objects.filter(_past(runtime)).delete()
        rows = Undelivered.objects.exclude(type__in=OWN, process__in=living)
        return _made_ours(runtime, rows)


def claim_left(runtime: Runtime, living: Collection[str]) -> list[tuple[str, Waiting]]:
    """The same of what processes left that are not ``living`` any more. Raises DatabaseError."""
    with transaction.atomic():
        rows = Undelivered.objects.exclude(process__in=living)
        return _made_ours(runtime, rows.exclude(_past(runtime)))


def _past(runtime: Runtime) -> Q:
    """What is sent no more."""
    since = datetime.fromtimestamp(runtime.clock() - STALE_S, UTC)
    return Q(due_at__lt=since) | Q(webhook__is_enabled=False)


def _made_ours(runtime: Runtime, rows: QuerySet[Undelivered]) -> list[tuple[str, Waiting]]:
    """Those that were read and no others: what is written meanwhile stays its process's."""
    read = list(rows.select_related("webhook"))
    ids = [row.pk for row in read]
    Undelivered.objects.filter(pk__in=ids).update(process=runtime.process_id)
    return [(row.webhook.uid, _waiting(row)) for row in read]


def _waiting(row: Undelivered) -> Waiting:
    message = Message(row.message_id, row.type, row.body.encode())
    return Waiting(message, row.due_at.timestamp(), row.attempts, is_kept=True)


def is_ours(runtime: Runtime, webhook: str, message: Message) -> bool:
    """Whether nobody else goes on with it, or has delivered it. Raises DatabaseError."""
    rows = Undelivered.objects.filter(webhook__uid=webhook, message_id=message.id)
    return rows.filter(process=runtime.process_id).exists()


def write(
    runtime: Runtime,
    begun: Mapping[Key, incidents.Incident],
    ended: Collection[Key],
    living: Collection[str] | None,
    posted: Collection[tuple[str, Waiting]] = (),
    settled: Mapping[Key, bool] = MappingProxyType({}),
) -> None:
    """``living``: the processes there are, by which the leading one ends what others left open.
    ``posted``, by webhook, is on its way: all or nothing, so that what is open has been told or
    will be. ``settled``, by webhook and message id, is on its way no more: of nobody, or of this
    process alone. Raises DatabaseError."""
    now = publishing.moment(runtime)
    with transaction.atomic():
        _keep(runtime, posted)
        for (webhook, message_id), for_all in settled.items():
            rows = Undelivered.objects.filter(webhook__uid=webhook, message_id=message_id)
            (rows if for_all else rows.filter(process=runtime.process_id)).delete()
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


def _keep(runtime: Runtime, posted: Collection[tuple[str, Waiting]]) -> None:
    hooks = Webhook.objects.in_bulk({webhook for webhook, _ in posted}, field_name="uid")
    rows = [
        Undelivered(
            webhook=hooks[webhook],
            message_id=one.message.id,
            type=one.message.type,
            body=one.message.body.decode(),
            process=runtime.process_id,
            attempts=one.attempts,
            due_at=datetime.fromtimestamp(one.due_at, UTC),
        )
        for webhook, one in posted
        if webhook in hooks
    ]
    Undelivered.objects.bulk_create(rows, ignore_conflicts=True)


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
        on_its_way = Undelivered.objects.filter(webhook=row, message_id=message.id)
        if wait_s is None:
            on_its_way.delete()
        else:
            due_at = datetime.fromtimestamp(now + wait_s, UTC)
            on_its_way.update(attempts=attempt, due_at=due_at)
        Webhook.objects.filter(pk=row.pk).update(
            last_attempt_at=publishing.moment(runtime),
            last_status=sent.status,
            last_error=sent.detail[:300],
            failures=0 if sent.ok else row.failures + 1,
        )
