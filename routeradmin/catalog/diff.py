"""What changes between two documents, as data and as text. Secrets are references throughout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from routeradmin.catalog.canonical import by_key, defaults_form, entry_form, plain
from routeradmin.catalog.document import KINDS, Defaults, Document
from routeradmin.catalog.table import Table

DEFAULTS = "defaults"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """``field`` is dotted for nested tables. A side that does not state it shows the default."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class EntryChange:
    """``kind`` is the name of the file's list; ``id`` an alias's name, empty for ``defaults``."""

    kind: str
    id: str
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Diff:
    added: tuple[EntryChange, ...] = ()
    removed: tuple[EntryChange, ...] = ()
    changed: tuple[EntryChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def as_json(self) -> dict[str, Any]:
        """Lists of ``{"kind", "id"}``; a changed one has ``fields: {name: {before, after}}``."""
        return {
            "added": [_named(entry) for entry in self.added],
            "removed": [_named(entry) for entry in self.removed],
            "changed": [
                {
                    **_named(entry),
                    "fields": {
                        one.field: {"before": one.before, "after": one.after}
                        for one in entry.fields
                    },
                }
                for entry in self.changed
            ],
        }

    def as_text(self) -> str:
        """One line per entry (``+``, ``-``) and per changed field (``~``); empty for no change."""
        lines = [f"+ {entry.kind} {entry.id}" for entry in self.added]
        lines += [f"- {entry.kind} {entry.id}" for entry in self.removed]
        lines += [
            f"~ {entry.kind} {entry.id}".rstrip() + f": {one.field} {_shown(one)}"
            for entry in self.changed
            for one in entry.fields
        ]
        return "\n".join(lines)


@dataclass(slots=True)
class _Found:
    added: list[EntryChange] = field(default_factory=list)
    removed: list[EntryChange] = field(default_factory=list)
    changed: list[EntryChange] = field(default_factory=list)


def diff(before: Document, after: Document) -> Diff:
    """Entries are matched by kind and id, aliases by name; order in the lists does not count."""
    found = _Found()
    for kind in KINDS:
        _compare(kind, before, after, found)
    fields = _fields(Defaults, defaults_form(before), defaults_form(after))
    if fields:
        found.changed.append(EntryChange(DEFAULTS, "", fields))
    return Diff(tuple(found.added), tuple(found.removed), tuple(found.changed))


def _compare(kind: str, before: Document, after: Document, found: _Found) -> None:
    old, new = by_key(getattr(before, kind)), by_key(getattr(after, kind))
    old_endpoints, new_endpoints = by_key(before.endpoints), by_key(after.endpoints)
    for key in sorted(old.keys() | new.keys()):
        if key not in old:
            found.added.append(EntryChange(kind, key))
        elif key not in new:
            found.removed.append(EntryChange(kind, key))
        else:
            fields = _fields(
                KINDS[kind],
                entry_form(before, old[key], old_endpoints),
                entry_form(after, new[key], new_endpoints),
            )
            if fields:
                found.changed.append(EntryChange(kind, key, fields))


def _fields(
    table: type[Table], before: dict[str, Any], after: dict[str, Any]
) -> tuple[FieldChange, ...]:
    old, new, default = dict(_flat(before)), dict(_flat(after)), dict(_flat(_defaults(table)))
    changes = (
        FieldChange(name, old.get(name, default.get(name)), new.get(name, default.get(name)))
        for name in dict.fromkeys([*old, *new])
    )
    return tuple(change for change in changes if change.before != change.after)


def _flat(form: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in form.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _defaults(table: type[Table]) -> dict[str, Any]:
    """Every optional field's default, nested tables written out in full."""
    values: dict[str, Any] = {}
    for name, info in table.model_fields.items():
        if not info.is_required():
            default = info.get_default(call_default_factory=True, validated_data={})
            nested = isinstance(default, Table)
            values[name] = _defaults(type(default)) if nested else plain(default)
    return values


def _named(entry: EntryChange) -> dict[str, Any]:
    return {"kind": entry.kind, "id": entry.id}


def _shown(change: FieldChange) -> str:
    before, after = (json.dumps(one, ensure_ascii=False) for one in (change.before, change.after))
    return f"{before} -> {after}"
