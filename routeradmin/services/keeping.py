"""Runtime state that survives a restart: saved as it changes, restored at the start."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from routeradmin.engine.durable import key_of
from routeradmin.engine.state import CandidateKey
from routeradmin.engine.store import StateStore
from routeradmin.journal.models import CandidateRecord

Kept = dict[CandidateKey, dict[str, Any]]


def save(store: StateStore, kept: Kept, now: float) -> None:
    """Write the records that differ from ``kept``, what was last written, and update it.

    An empty ``kept`` stands for the unknown: then rows that have no record any more go too.
    """
    records = {key_of(record): record for record in store.export(now)}
    changed = [key for key, record in records.items() if kept.get(key) != record]
    gone = _stored_keys() - records.keys() if not kept else kept.keys() - records.keys()
    CandidateRecord.objects.bulk_create(
        (_row(key, records[key], now) for key in changed),
        update_conflicts=True,
        unique_fields=["deployment", "credential", "matched"],
        update_fields=["record", "saved_at"],
    )
    for key in gone:
        CandidateRecord.objects.filter(
            deployment=key.deployment, credential=key.credential, matched=key.matched
        ).delete()
    kept.clear()
    kept.update(records)


def restore(store: StateStore, now: float) -> None:
    store.restore(list(CandidateRecord.objects.values_list("record", flat=True)), now)


def _stored_keys() -> set[CandidateKey]:
    stored = CandidateRecord.objects.values_list("deployment", "credential", "matched")
    return {CandidateKey(*parts) for parts in stored}


def _row(key: CandidateKey, record: dict[str, Any], now: float) -> CandidateRecord:
    return CandidateRecord(
        deployment=key.deployment,
        credential=key.credential,
        matched=key.matched,
        record=record,
        saved_at=datetime.fromtimestamp(now, UTC),
    )
