"""Creating, changing and deleting one object of the catalog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from routeradmin.catalog import rows
from routeradmin.catalog.diff import Diff, diff
from routeradmin.catalog.document import Document, key_of
from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.services.changes import references, reports, stored_secrets
from routeradmin.services.changes.commit import Actor, Commit, Draft, Edit, commit, tried
from routeradmin.services.changes.documents import require_revision
from routeradmin.services.changes.errors import AlreadyExists, InUse, NotFound, Stale
from routeradmin.services.changes.nouns import (
    NOUNS,
    below,
    find,
    key_field,
    parsed,
    parsed_defaults,
    parsed_targets,
    patched,
    relocated,
    removed,
    replaced,
    stated,
    values_of,
)

NO_DIFFERENCE = Diff()
ANY = "*"  # an If-Match that fits every version


@dataclass(frozen=True, slots=True)
class Saved:
    """An object after a write: ``values`` as the API writes it, its version, what was warned of.

    ``changed`` False: it was like that already, nothing was written. ``diff``: what a write that
    was only tried would change. ``own``: those of ``warnings`` that are about the object, with
    their places below it.
    """

    noun: str
    id: str
    version: int
    values: dict[str, Any]
    revision: int
    changed: bool
    warnings: tuple[Problem, ...]
    own: tuple[Problem, ...] = ()
    diff: Diff = NO_DIFFERENCE


@dataclass(frozen=True, slots=True)
class Deleted:
    """What went, or with ``dry_run`` would go, with an object; ``document`` is what is left."""

    diff: Diff
    revision: int
    warnings: tuple[Problem, ...]
    document: Document


def create(
    noun: str, body: dict[str, Any], by: Actor, reason: str = "", *, dry_run: bool = False
) -> Saved:
    """A new object from its fields; a route with ``targets``, a credential with ``secret``.

    ``dry_run`` only tries: the same checks, nothing kept. Raises Invalid (pointers below the
    object), AlreadyExists.
    """
    body = dict(body)
    targets = body.pop("targets", []) if noun == "routes" else []
    secret = stored_secrets.taken_from(body) if noun == "credentials" else None
    if secret is not None:
        body.setdefault("secret_reference_id", body.get("id"))
    entry = parsed(noun, body)
    id = key_of(entry)

    def edit(draft: Draft) -> None:
        _refuse_taken(draft.before, noun, id)
        after = replaced(draft.before, NOUNS[noun], [entry])
        if noun == "routes":
            after = _with_targets(after, id, targets)
        draft.after = after
        draft.reports.append(reports.of_object("create", noun, id, None, after))
        if secret is not None:
            stored_secrets.keep_new(draft, id, secret)

    if dry_run:
        return _tried(noun, id, edit)
    return saved(noun, id, _committed(noun, id, edit, by, reason))


def update(
    noun: str,
    id: str,
    patch: dict[str, Any],
    by: Actor,
    *,
    if_match: int | str,
    reason: str = "",
    dry_run: bool = False,
) -> Saved:
    """The named fields take their new values; null takes one back to its default; tables merge.

    ``if_match`` is the version the edit is based on, or ``"*"``; ``dry_run`` only tries.
    Raises NotFound, Stale, Invalid.
    """
    patch = dict(patch)
    targets = patch.pop("targets", None) if noun == "routes" else None
    if patch.pop(key_field(noun), id) != id:
        raise Invalid([Problem(f"/{key_field(noun)}", "cannot be changed: create a new one")])

    def edit(draft: Draft) -> None:
        before = draft.before
        require_version(before, noun, id, if_match)
        entry = parsed(noun, patched(stated(find(before, noun, id)), patch))
        after = replaced(before, NOUNS[noun], [entry])
        draft.after = after if targets is None else _with_targets(after, id, targets)
        draft.reports.append(reports.of_object("update", noun, id, before, draft.after))

    if dry_run:
        return _tried(noun, id, edit)
    return saved(noun, id, _committed(noun, id, edit, by, reason))


def delete(
    noun: str,
    id: str,
    by: Actor,
    *,
    if_match: int | str,
    cascade: bool = False,
    revision: int | str = ANY,
    reason: str = "",
    dry_run: bool = False,
) -> Deleted:
    """``cascade`` takes along what cannot be without it, ``revision`` is that of the catalog in
    which this was looked at; ``dry_run`` only tries.

    Raises NotFound, Stale, and without ``cascade`` InUse listing who names it.
    """
    latest: list[Draft] = []

    def edit(draft: Draft) -> None:
        require_revision(revision)
        require_version(draft.before, noun, id, if_match)
        users = references.dependents(draft.before, noun, id)
        if users and not cascade:
            raise InUse(noun, id, users)
        draft.after = references.without(draft.before, noun, id)
        draft.reports.append(reports.of_object("delete", noun, id, draft.before, None))
        if users:
            report = reports.of_documents("cascade", id, draft.before, draft.after)
            draft.reports.append(report)
        latest.append(draft)

    done = tried(edit) if dry_run else commit(edit, by, reason)
    found = diff(latest[-1].before, done.document)
    return Deleted(found, done.revision, done.warnings, done.document)


def update_defaults(
    patch: dict[str, Any], by: Actor, *, if_match: int | str, reason: str = ""
) -> Commit:
    """The catalog's ``defaults`` table. Raises Stale, Invalid."""

    def edit(draft: Draft) -> None:
        before = draft.before
        version = rows.version_of("defaults", "") or 0
        values = stated(before.defaults)
        if if_match not in (ANY, version):
            raise Stale("defaults", "defaults", version, values)
        table = parsed_defaults(patched(values, patch))
        draft.after = before.model_copy(update={"defaults": table})
        draft.reports.append(reports.of_documents("update", "defaults", before, draft.after))

    return commit(edit, by, reason)


def require_version(document: Document, noun: str, id: str, if_match: int | str) -> None:
    """Raises NotFound, Stale."""
    version = rows.version_of(NOUNS[noun], id)
    if version is None:
        raise NotFound(noun, id)
    if if_match not in (ANY, version):
        raise Stale(noun, id, version, values_of(document, noun, id))


def _refuse_taken(document: Document, noun: str, id: str) -> None:
    if any(key_of(entry) == id for entry in getattr(document, NOUNS[noun])):
        raise AlreadyExists(noun, id)


def _with_targets(document: Document, route_id: str, values: Any) -> Document:
    """The route's targets replaced; those of the same id keep their place in the document."""
    targets = parsed_targets(route_id, values)
    kept = {target.id for target in targets}
    gone = {one.id for one in document.targets if one.route_id == route_id} - kept
    foreign = [one.id for one in document.targets if one.route_id != route_id and one.id in kept]
    if foreign:
        raise Invalid(
            Problem("/targets", f"the id {id} is another route's target: choose another")
            for id in foreign
        )
    return replaced(removed(document, "targets", gone), "targets", targets)


def _committed(noun: str, id: str, edit: Edit, by: Actor, reason: str) -> Commit:
    def committing(noting: Edit) -> Commit:
        return commit(noting, by, reason, about=(NOUNS[noun], id))

    return _done(noun, id, edit, committing)[0]


def _tried(noun: str, id: str, edit: Edit) -> Saved:
    done, before = _done(noun, id, edit, tried)
    return replace(saved(noun, id, done), diff=diff(before, done.document))


def _done(
    noun: str, id: str, edit: Edit, write: Callable[[Edit], Commit]
) -> tuple[Commit, Document]:
    """The write, and the document before it; problems have their places below the object."""
    latest: list[Draft] = []

    def noting(draft: Draft) -> None:
        edit(draft)
        latest.append(draft)

    try:
        done = write(noting)
        return done, latest[-1].before
    except Invalid as invalid:
        if not latest:
            raise
        raise relocated(invalid, latest[-1].after, noun, id) from invalid


def saved(noun: str, id: str, done: Commit) -> Saved:
    own = below(done.warnings, done.document, noun, id)
    return Saved(
        noun=noun,
        id=id,
        version=done.version or 1,
        values=values_of(done.document, noun, id),
        revision=done.revision,
        changed=done.changed,
        warnings=done.warnings,
        own=tuple(one for one in own if one is not None),
    )
