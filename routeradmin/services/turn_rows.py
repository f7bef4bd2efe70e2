"""Turn records as rows, written with plain statements: under load there are thousands a second, and
making a model object of each would cost more than the decision it records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.db import connection, models

from routeradmin.journal.models import Attempt, Turn
from routeradmin.services.journal import TurnRecord

_TURN = (
    "uid",
    "request_id",
    "route",
    "model",
    "key",
    "revision",
    "halt",
    "started_at",
    "duration_ms",
    "overhead_ms",
    "warnings",
    "routing",
)
_ATTEMPT = (
    "turn",
    "n",
    "target",
    "deployment",
    "credential",
    "provenance",
    "auth_kind",
    "billing_kind",
    "failure_class",
    "status",
    "dispatch",
    "visible_events",
    "waited_ms",
    "duration_ms",
    "ttft_ms",
    "input_tokens",
    "output_tokens",
    "message",
)


def write(records: Sequence[TurnRecord]) -> None:
    """Insert finished turns; one that was written before is left as it is. In a transaction."""
    if not records:
        return
    with connection.cursor() as cursor:
        cursor.executemany(_insert(Turn, _TURN), list(map(_turn, records)))
    missing = Turn.objects.filter(
        uid__in=[record["id"] for record in records], attempts__isnull=True
    )
    rows = list(_attempts(records, dict(missing.values_list("uid", "pk"))))
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_insert(Attempt, _ATTEMPT), rows)


def _insert(model: type[models.Model], fields: Sequence[str]) -> str:
    quote = connection.ops.quote_name
    names = {field.name: str(field.column) for field in model._meta.concrete_fields}
    columns = ", ".join(quote(names[name]) for name in fields)
    places = ", ".join(["%s"] * len(fields))
    # SQLite and PostgreSQL agree on this form.
    return (
        f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places}) "  # noqa: S608
        "ON CONFLICT DO NOTHING"
    )


def _turn(record: TurnRecord) -> tuple[Any, ...]:
    started_at = datetime.fromisoformat(record["started_at"])
    warnings, routing = record.get("warnings"), record.get("routing")
    return (
        record["id"],
        record.get("request_id") or "",
        record.get("route") or "",
        record.get("model") or "",
        record.get("key") or "",
        record.get("revision") or 0,
        record.get("halt") or "",
        connection.ops.adapt_datetimefield_value(started_at),
        record.get("duration_ms"),
        record.get("overhead_ms"),
        orjson.dumps(list(warnings)).decode() if warnings else "[]",
        orjson.dumps(routing).decode() if routing else None,
    )


def _attempts(records: Iterable[TurnRecord], pks: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    seen: set[str] = set()
    for record in records:
        if record["id"] in pks and record["id"] not in seen:
            seen.add(record["id"])
            for attempt in record.get("attempts") or ():
                yield _attempt(attempt, pks[record["id"]])


def _attempt(attempt: Mapping[str, Any], turn_pk: int) -> tuple[Any, ...]:
    usage = attempt.get("usage") or {}
    return (
        turn_pk,
        attempt["n"],
        attempt.get("target") or "",
        attempt.get("deployment") or "",
        attempt.get("credential") or "",
        orjson.dumps(dict(attempt.get("provenance") or {})).decode(),
        attempt.get("auth_kind") or "",
        attempt.get("billing_kind") or "",
        attempt.get("class") or "",
        attempt.get("status"),
        attempt.get("dispatch") or "",
        attempt.get("visible_events") or 0,
        attempt.get("waited_ms") or 0,
        attempt.get("duration_ms"),
        attempt.get("ttft_ms"),
        usage.get("input"),
        usage.get("output"),
        attempt.get("message") or "",
    )
