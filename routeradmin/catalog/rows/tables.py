"""Writing many rows at once: upsert by id with the version moved on, delete, ordered lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import models

CHUNK = 500  # ids per statement: SQLite bounds the variables of one
KEPT = frozenset({"id", "uid", "created_at"})  # columns that an upsert leaves as they are


class Ids:
    """Primary keys by natural id, read once per table and again after it was written."""

    def __init__(self) -> None:
        self._known: dict[Any, dict[str, int]] = {}

    def of(self, kind: Any) -> dict[str, int]:
        if kind not in self._known:
            self._known[kind] = dict(kind.objects.values_list("uid", "pk"))
        return self._known[kind]

    def forget(self, kind: Any) -> None:
        self._known.pop(kind, None)


def chunks(values: Iterable[Any]) -> Iterator[list[Any]]:
    listed = list(values)
    for start in range(0, len(listed), CHUNK):
        yield listed[start : start + CHUNK]


def upsert(kind: Any, rows: Sequence[Any], now: datetime) -> None:
    """Insert or replace by ``uid``; a replaced row's version is one higher."""
    if not rows:
        return
    versions: dict[str, int] = {}
    for uids in chunks(row.uid for row in rows):
        versions |= dict(kind.objects.filter(uid__in=uids).values_list("uid", "version"))
    for row in rows:
        row.version = versions.get(row.uid, 0) + 1
        row.created_at = row.updated_at = now
    fields = [
        field.name
        for field in kind._meta.concrete_fields
        if field.name not in KEPT and not field.primary_key
    ]
    kind.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["uid"], update_fields=fields
    )


def delete(kind: type[models.Model], field: str, values: Iterable[Any]) -> None:
    """Delete without collecting: references are the caller's to remove in the same transaction.

    The database checks them when the transaction commits, so their order does not matter.
    """
    for part in chunks(values):
        found = kind._default_manager.filter(**{f"{field}__in": part})
        found._raw_delete(found.db)


def rewrite_places(kind: Any, owner: str, item: str, lists: dict[int, list[int]]) -> None:
    """Replace the ordered lists of these owners."""
    delete(kind, f"{owner}_id", lists)
    kind.objects.bulk_create(
        kind(**{f"{owner}_id": owner_pk, f"{item}_id": item_pk, "position": position})
        for owner_pk, items in lists.items()
        for position, item_pk in enumerate(items)
    )
