"""Changing the catalog as a whole: import (merge or replace) and rollback."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from routeradmin.catalog import validate
from routeradmin.catalog.canonical import by_key
from routeradmin.catalog.diff import Diff, diff
from routeradmin.catalog.document import KINDS, Document
from routeradmin.catalog.files.reading import from_values
from routeradmin.catalog.models import Revision
from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.services import publishing
from routeradmin.services.changes import imported_secrets, reports
from routeradmin.services.changes.commit import Actor, Draft, commit, tried
from routeradmin.services.changes.errors import NotFound, Stale
from routeradmin.services.changes.nouns import removed, replaced

Mode = Literal["merge", "replace"]
NO_SECRETS: Mapping[str, str] = MappingProxyType({})
WITH_ADMIN_STATE = ("providers", "accounts", "serving_models", "routes")


@dataclass(frozen=True, slots=True)
class Imported:
    """What a change of the whole did, or with ``dry_run`` would do, and the catalog after it.

    ``secrets`` maps a stored secret that the file brought to "added" or "replaced".
    """

    diff: Diff
    revision: int
    changed: bool
    warnings: tuple[Problem, ...]
    document: Document
    secrets: Mapping[str, str] = field(default_factory=dict)


def replace_document(
    document: Document,
    by: Actor,
    *,
    mode: Mode = "merge",
    dry_run: bool = False,
    if_match: int | str = "*",
    reason: str = "",
    secrets: Mapping[str, str] = NO_SECRETS,
) -> Imported:
    """Apply a whole file, all or nothing. ``if_match`` is the revision it is based on.

    ``merge`` puts the file's objects over those of the same id, a route together with its
    targets; ``replace`` leaves nothing else. Where the file is silent about ``admin_state`` the
    object keeps its own. ``secrets``: values by the reference that the document names, to be
    stored sealed. Raises Invalid with every problem at its place in the file, Stale.
    """
    twice = validate.duplicates(document)
    if twice:
        raise Invalid(twice)

    def edit(draft: Draft) -> None:
        require_revision(if_match)
        draft.after = _applied(draft.before, document, mode)
        draft.reports.append(reports.of_documents("import", mode, draft.before, draft.after))
        imported_secrets.keep(draft, secrets)

    return _changed(edit, by, reason, document, dry_run=dry_run)


def rollback(
    number: int,
    by: Actor,
    reason: str = "",
    *,
    if_match: int | str = "*",
    dry_run: bool = False,
) -> Imported:
    """A new revision with the catalog of an old one, but for ``admin_state`` and its drain.

    ``if_match`` is the revision in force that was looked at. Raises NotFound, Stale, and Invalid
    where the old catalog would be refused today.
    """
    row = Revision.objects.filter(number=number).first()
    if row is None:
        raise NotFound("revisions", str(number))
    wanted = revision_document(row)

    def edit(draft: Draft) -> None:
        require_revision(if_match)
        draft.after = _with_current_states(draft.before, wanted, is_rollback=True)
        draft.reports.append(
            reports.of_documents("rollback", str(number), draft.before, draft.after)
        )

    return _changed(edit, by, reason or f"rollback to r{number}", wanted, dry_run=dry_run)


def _changed(
    edit: Callable[[Draft], None], by: Actor, reason: str, given: Document, *, dry_run: bool
) -> Imported:
    """Commit, or only try; places are those in ``given``."""
    latest: list[Draft] = []

    def noting(draft: Draft) -> None:
        latest.append(draft)
        edit(draft)

    try:
        done = tried(noting) if dry_run else commit(noting, by, reason)
    except Invalid as invalid:
        found = validate.as_in_file(invalid.problems, latest[-1].after, given)
        raise Invalid(found, invalid.code) from invalid
    draft = latest[-1]
    warnings = validate.as_in_file(done.warnings, draft.after, given)
    found_diff = diff(draft.before, draft.after)
    return Imported(
        found_diff, done.revision, done.changed, tuple(warnings), draft.after, draft.secrets
    )


def revision_document(row: Revision) -> Document:
    """The catalog as that revision published it."""
    return from_values(json.loads(row.document))


def require_revision(if_match: int | str) -> None:
    """Raises Stale where the catalog in force is another revision."""
    current = publishing.latest_number()
    if if_match not in ("*", current):
        raise Stale("catalog", f"r{current}", current, {"revision": current})


def _applied(before: Document, given: Document, mode: Mode) -> Document:
    after = _with_current_states(before, given)
    return after if mode == "replace" else _merged(before, after)


def _merged(before: Document, given: Document) -> Document:
    """The given objects over the present ones; a given route's targets are all it has."""
    routes = {route.id for route in given.routes}
    kept = {target.id for target in given.targets}
    gone = {one.id for one in before.targets if one.route_id in routes} - kept
    result = removed(before, "targets", gone)
    for kind in KINDS:
        result = replaced(result, kind, list(getattr(given, kind)))
    stated = {name: getattr(given.defaults, name) for name in given.defaults.model_fields_set}
    return result.model_copy(
        update={"defaults": before.defaults.model_copy(update=stated)} if stated else {}
    )


def _with_current_states(
    before: Document, given: Document, *, is_rollback: bool = False
) -> Document:
    """Objects that exist keep ``admin_state`` and ``drain_until`` where the file is silent."""
    for kind in WITH_ADMIN_STATE:
        present = by_key(getattr(before, kind))
        entries = tuple(
            _keeping_state(entry, present.get(entry.id), is_rollback)
            for entry in getattr(given, kind)
        )
        given = given.model_copy(update={kind: entries})
    return given


def _keeping_state(entry: Any, present: Any, is_rollback: bool) -> Any:
    silent = is_rollback or "admin_state" not in entry.model_fields_set
    if present is None or not silent:
        return entry
    kept = {"admin_state": present.admin_state}
    if hasattr(present, "drain_until"):
        kept["drain_until"] = present.drain_until
        if not is_rollback and "drain_until" in entry.model_fields_set:
            kept["drain_until"] = entry.drain_until
    return entry.model_copy(update=kept)
