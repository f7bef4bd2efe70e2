"""Turn records as rows, written with plain statements: under load there are thousands a second, and
making a model object of each would cost more than the decision it records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

import orjson
from django.db import connection, models

from routeradmin.engine.explain import provenance
from routeradmin.engine.snapshot import Candidate
from routeradmin.journal.models import Attempt, Turn
from routeradmin.services.journal import TurnRecord
from routeradmin.services.served import Served

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
Row = tuple[Any, ...]


def write(records: Sequence[TurnRecord]) -> None:
    """Insert finished turns; one that was written before is left as it is. In a transaction."""
    if not records:
        return
    turns: dict[str, Row] = {}
    attempts: list[Row] = []
    for record in records:
        uid = record.id if isinstance(record, Served) else record["id"]
        if uid not in turns:
            turns[uid] = turn_row(record)
            attempts += attempt_rows(record)
    with connection.cursor() as cursor:
        cursor.executemany(_insert_turn(), list(turns.values()))
        if attempts:
            cursor.executemany(_insert_attempt(), attempts)


def _insert_turn() -> str:
    table, columns = _names(Turn, _TURN)
    places = ", ".join(["%s"] * len(_TURN))
    # SQLite and PostgreSQL agree on this form.
    return f"INSERT INTO {table} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING"  # noqa: S608


def _insert_attempt() -> str:
    """With its turn's key looked up on the way; the last parameter is the turn's id."""
    table, columns = _names(Attempt, ("turn", *_ATTEMPT))
    turn, names = _names(Turn, ("id", "uid"))
    pk, uid = names.split(", ")
    places = ", ".join(["%s"] * len(_ATTEMPT))
    return (
        f"INSERT INTO {table} ({columns}) SELECT {pk}, {places} FROM {turn} "  # noqa: S608
        f"WHERE {uid} = %s ON CONFLICT DO NOTHING"
    )


def _names(model: type[models.Model], fields: Iterable[str]) -> tuple[str, str]:
    quote = connection.ops.quote_name
    names = {field.name: str(field.column) for field in model._meta.concrete_fields}
    return quote(model._meta.db_table), ", ".join(quote(names[name]) for name in fields)


def turn_row(record: TurnRecord) -> Row:
    if isinstance(record, Served):
        return _served_turn(record)
    warnings, routing = record.get("warnings"), record.get("routing")
    return (
        record["id"],
        record.get("request_id") or "",
        record.get("route") or "",
        record.get("model") or "",
        record.get("key") or "",
        record.get("revision") or 0,
        record.get("halt") or "",
        connection.ops.adapt_datetimefield_value(datetime.fromisoformat(record["started_at"])),
        record.get("duration_ms"),
        record.get("overhead_ms"),
        orjson.dumps(list(warnings)).decode() if warnings else "[]",
        orjson.dumps(routing).decode() if routing else None,
    )


def attempt_rows(record: TurnRecord) -> list[Row]:
    """Each with the id of its turn at the end."""
    if isinstance(record, Served):
        return [_served_attempt(record)]
    return [_attempt(attempt, record["id"]) for attempt in record.get("attempts") or ()]


def _attempt(attempt: Mapping[str, Any], uid: str) -> Row:
    usage = attempt.get("usage") or {}
    return (
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
        uid,
    )


def _served_turn(served: Served) -> Row:
    """``turn_row`` of its record, without the record."""
    started_at = datetime.fromtimestamp(round(served.started_at * 1000) / 1000, UTC)
    return (
        served.id,
        served.request_id,
        served.resolved.route.id,
        served.resolved.requested,
        served.key_id or "",
        served.resolved.snapshot.revision,
        "succeeded",
        connection.ops.adapt_datetimefield_value(started_at),
        round((served.ended_at - served.started_at) * 1000),
        served.overhead_ms,
        "[]",
        None,
    )


def _served_attempt(served: Served) -> Row:
    outcome = served.outcome
    return (
        1,
        *_whereabouts(served.step.candidate),
        "",
        outcome.status,
        outcome.dispatch.value,
        served.visible_events,
        0,
        round((served.ended_at - served.began_at) * 1000),
        outcome.ttft_ms,
        outcome.input_tokens,
        outcome.output_tokens,
        outcome.message,
        served.id,
    )


# Made once for each, and gone with its catalog.
_known: WeakKeyDictionary[Candidate, Row] = WeakKeyDictionary()


def _whereabouts(candidate: Candidate) -> Row:
    """The columns from ``target`` to ``billing_kind``: the same for all attempts there."""
    row = _known.get(candidate)
    if row is None:
        row = _known[candidate] = _columns(candidate)
    return row


def _columns(candidate: Candidate) -> Row:
    credential = candidate.credential
    return (
        candidate.target.id,
        candidate.key.deployment,
        candidate.key.credential,
        orjson.dumps(provenance(candidate)).decode(),
        credential.auth_kind.value,
        credential.billing_kind.value,
    )
