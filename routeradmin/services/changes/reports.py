"""What an audit entry says of a change: each field before and after, secrets as fingerprints."""

from __future__ import annotations

from typing import Any

from routeradmin.catalog.diff import EntryChange, diff
from routeradmin.catalog.document import Document
from routeradmin.services.changes.commit import Reported
from routeradmin.services.changes.nouns import NOUN_OF_KIND, values_of

MOST_LISTED = 1000  # objects named in one entry; the revisions' diff has all


def of_object(
    action: str, noun: str, id: str, before: Document | None, after: Document | None
) -> Reported:
    """One object's fields that differ; a document that lacks the object is None."""
    old = values_of(before, noun, id) if before is not None else {}
    new = values_of(after, noun, id) if after is not None else {}
    changes = {
        name: [old.get(name), new.get(name)]
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    }
    return Reported(action, noun, id, changes)


def of_documents(action: str, id: str, before: Document, after: Document) -> Reported:
    """A change of the whole catalog, object by object."""
    found = diff(before, after)
    changes: dict[str, Any] = {}
    for entry in found.added[:MOST_LISTED]:
        changes[_name(entry)] = [None, "added"]
    for entry in found.removed[:MOST_LISTED]:
        changes[_name(entry)] = ["removed", None]
    for entry in found.changed[:MOST_LISTED]:
        for one in entry.fields:
            changes[f"{_name(entry)} {one.field}"] = [one.before, one.after]
    return Reported(action, "catalog", id, changes)


def _name(entry: EntryChange) -> str:
    return f"{NOUN_OF_KIND.get(entry.kind, entry.kind)} {entry.id}".rstrip()
