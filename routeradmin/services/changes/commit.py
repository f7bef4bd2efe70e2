"""The one path of every configuration write: check, save, audit, new revision, publish.

All of it is one transaction; the snapshot is swapped once the transaction is in. Whatever fails
on the way leaves rows, revision and snapshot as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from routeradmin.adapters.addresses import check_url
from routeradmin.catalog import canonical, rows, validate
from routeradmin.catalog.document import Document
from routeradmin.catalog.models import Revision
from routeradmin.catalog.problems import Problem
from routeradmin.catalog.rows import Delta
from routeradmin.catalog.rows.writing import secret_ids
from routeradmin.engine.snapshot import Snapshot
from routeradmin.journal.models import AuditEntry, Event
from routeradmin.services import publishing, secrets
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.nouns import AUDITED
from routeradmin.services.changes.outlook import idle_now
from routeradmin.services.runtime import Runtime
from routeradmin.services.secrets import Opened


@dataclass(frozen=True, slots=True)
class Actor:
    """Who is answerable and from where: ``user:ada`` at an address, ``key:ci``, ``command``."""

    name: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Reported:
    """One audit entry to write. ``noun`` is one of AUDITED, so that it can be searched for;
    ``changes`` maps a field to [before, after]."""

    action: str
    noun: str
    id: str
    changes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.noun not in AUDITED:
            raise ValueError(f"{self.noun} is not among the kinds of the audit log: add it there")


@dataclass(frozen=True, slots=True)
class Commit:
    """How a write came out. ``changed`` False: nothing differed, no revision was made.

    ``version`` is that of the object the write was ``about``, None when it is gone.
    """

    revision: int
    changed: bool
    document: Document
    warnings: tuple[Problem, ...] = ()
    version: int | None = None


@dataclass(slots=True)
class Draft:
    """What a write works on, inside the transaction.

    ``secrets``: stored secrets that the write brings along, "added" or "replaced".
    """

    runtime: Runtime
    now: datetime
    before: Document
    after: Document
    touched_secrets: bool = False
    secrets: dict[str, str] = field(default_factory=dict)
    reports: list[Reported] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


Edit = Callable[[Draft], None]


def commit(edit: Edit, by: Actor, reason: str = "", about: tuple[str, str] | None = None) -> Commit:
    """Run ``edit``, which sets ``draft.after`` and reports; then check, save and publish it.

    ``about``: the document's kind and key of the one object it is about. Raises Invalid with
    every problem, and what ``edit`` raises.
    """
    runtime = runtimes.get()
    with runtime.publishing:
        with publishing.writing():
            draft, warnings = _drafted(runtime, edit)
            delta = rows.store(draft.before, draft.after, draft.now)
            version = rows.version_of(*about) if about else None
            if not delta and not draft.touched_secrets:
                warnings += tuple(idle_now(runtime, draft.before, runtime.current.snapshot))
                return Commit(publishing.latest_number(), False, draft.before, warnings, version)
            number = publishing.latest_number() + 1
            opened, snapshot = _prepared(draft, number)
            warnings += tuple(idle_now(runtime, draft.after, snapshot))
            _record(draft, number, by, reason, delta)
        publishing.put_in_force(runtime, snapshot, draft.after, opened)
    runtime.announce()
    return Commit(number, True, draft.after, warnings, version)


def tried(edit: Edit) -> Commit:
    """What ``commit`` would do: the same checks and warnings, nothing kept."""
    runtime = runtimes.get()
    with runtime.publishing, publishing.writing():
        draft, warnings = _drafted(runtime, edit)
        number = publishing.latest_number()
        changed = bool(rows.delta(draft.before, draft.after)) or draft.touched_secrets
        secret_ids({account.secret_reference_id for account in draft.after.accounts}, draft.now)
        _, snapshot = _prepared(draft, number)
        transaction.set_rollback(True)
    warnings += tuple(idle_now(runtime, draft.after, snapshot))
    return Commit(number, changed, draft.after, warnings)


def standing_warnings() -> tuple[Problem, ...]:
    """What is worth a look in the catalog in force, each told by kind and id. Raises Invalid where
    that catalog would be refused today."""
    runtime = runtimes.get()
    document, snapshot = runtime.current.document, runtime.current.snapshot
    found = [*checked(runtime, document, document), *idle_now(runtime, document, snapshot)]
    return tuple(validate.as_in_file(found, document, Document()))


def _drafted(runtime: Runtime, edit: Edit) -> tuple[Draft, tuple[Problem, ...]]:
    before = _current_document(runtime)
    draft = Draft(runtime, publishing.moment(runtime), before, before)
    edit(draft)
    return draft, checked(runtime, before, draft.after)


def _prepared(draft: Draft, number: int) -> tuple[Opened, Snapshot]:
    runtime = draft.runtime
    opened = secrets.open_all(draft.after, runtime.sealer, runtime.references, draft.now)
    return opened, publishing.compiled(runtime, draft.after, number, opened)


def _current_document(runtime: Runtime) -> Document:
    """What is stored: the document in force, unless another process has published since."""
    if publishing.latest_number() == runtime.current.revision and runtime.accepting:
        return runtime.current.document
    return rows.load()


def checked(runtime: Runtime, before: Document, after: Document) -> tuple[Problem, ...]:
    """The warnings. Raises Invalid with every error.

    An address that is saved already is not judged again, so that a stricter setting does not
    stand in the way of unrelated edits; the connection is refused anyway.
    """
    known = {url for endpoint in before.endpoints for url in (endpoint.base_url, endpoint.proxy)}
    policy = runtimes.upstream_policy()

    def judge(url: str) -> None:
        if url not in known:
            check_url(url, policy)

    is_set = secrets.settled(runtime.references)
    return tuple(validate.check(after, check_url=judge, is_set=is_set))


def _record(draft: Draft, number: int, by: Actor, reason: str, delta: Delta) -> None:
    form = canonical.canonical(draft.after)
    Revision.objects.create(
        number=number,
        author=by.name,
        reason=reason,
        created_at=draft.now,
        digest=canonical.sha256(form),
        document=canonical.dump(form).decode(),
        health=publishing.health_counts(draft.runtime),
    )
    audit(draft.reports, by, draft.now, reason, number)
    published = Event(
        kind="published",
        at=draft.now,
        set_by=by.name,
        message=reason,
        revision=number,
        facts=_counts(delta),
    )
    Event.objects.bulk_create([*draft.events, published])


def audit(
    reports: list[Reported], by: Actor, now: datetime, reason: str, revision: int | None = None
) -> None:
    AuditEntry.objects.bulk_create(
        AuditEntry(
            at=now,
            actor=by.name,
            source=by.source,
            action=report.action,
            kind=report.noun,
            object_id=report.id,
            changes=report.changes,
            reason=reason,
            revision=revision,
        )
        for report in reports
    )


def plain(value: Any) -> Any:
    """A field's value as ``Reported.changes`` and JSON hold it: a time is its text."""
    if isinstance(value, datetime):
        text = value.astimezone(UTC).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
    return value


def _counts(delta: Delta) -> dict[str, Any]:
    """How many entries of each kind were added, changed and removed."""
    return {
        kind: {"added": len(one.added), "changed": len(one.changed), "removed": len(one.removed)}
        for kind, one in delta.kinds.items()
        if one
    }
