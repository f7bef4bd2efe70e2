"""Putting a catalog into force: compile, swap, bind. One caller at a time per process."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.db import connection, transaction

from routeradmin.catalog import rows
from routeradmin.catalog.canonical import digest
from routeradmin.catalog.compile import compile
from routeradmin.catalog.document import Document
from routeradmin.catalog.models import Revision
from routeradmin.engine.condition import effective_state
from routeradmin.engine.snapshot import Snapshot
from routeradmin.journal.models import Event
from routeradmin.services import database, keeping, secrets
from routeradmin.services.secrets import Opened

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

WRITERS_LOCK = 0x726F7574  # PostgreSQL's advisory lock that serialises writers of all processes

log = logging.getLogger(__name__)


def load(runtime: Runtime) -> None:
    """At the start of a process: keys, catalog, and the state that survived. Idempotent."""
    runtime.keys.load()
    runtime.alerts.targets.load(runtime.sealer)
    with runtime.publishing:
        _serve_stored(runtime)
        keeping.restore(runtime.store, runtime.clock())


def catch_up(runtime: Runtime) -> bool:
    """Serve what another process published since; False when there is nothing newer."""
    database.freshen()
    runtime.keys.catch_up()
    runtime.alerts.targets.catch_up(runtime.sealer)
    with runtime.publishing:
        if latest_number() <= runtime.current.revision:
            return False
        _serve_stored(runtime)
    _note_lag(runtime)
    return True


def _note_lag(runtime: Runtime) -> None:
    number = runtime.current.revision
    published = Revision.objects.filter(number=number).values_list("created_at", flat=True).first()
    if published is not None:
        lag_s = runtime.clock() - published.timestamp()
        runtime.meters.push_lag.observe(max(0.0, lag_s))


def outside_secrets_changed(runtime: Runtime) -> bool:
    """Whether an ``env:`` or ``file:`` reference leads to another secret than the one in use."""
    known = runtime.secrets.outside
    return secrets.look_outside(runtime.references, known) != known


def refresh_secrets(runtime: Runtime) -> None:
    """Serve the outside secrets as they are now. The revision stays: the catalog did not change."""
    with runtime.publishing:
        current = runtime.current
        with writing():
            now = moment(runtime)
            opened = secrets.open_all(current.document, runtime.sealer, runtime.references, now)
            _tell_replaced(runtime.secrets.versions, opened, now)
        snapshot = compiled(runtime, current.document, current.revision, opened)
        put_in_force(runtime, snapshot, current.document, opened)


def _tell_replaced(known: Mapping[str, int], opened: Opened, now: datetime) -> None:
    """An event per credential whose outside secret is another than before."""
    Event.objects.bulk_create(
        Event(kind="secret-replaced", at=now, credential=credential, set_by="reference")
        for credential, version in opened.versions.items()
        if known.get(credential, version) != version
    )


@contextmanager
def writing() -> Iterator[None]:
    """A transaction that no other writer of any process is inside at the same time.

    SQLite: IMMEDIATE transactions (settings) take the write lock at their start.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [WRITERS_LOCK])
        yield


def latest_number() -> int:
    """0 before the first publish."""
    return Revision.objects.order_by("-number").values_list("number", flat=True).first() or 0


def _serve_stored(runtime: Runtime) -> None:
    with writing():
        number = latest_number()
        document = rows.load()
        opened = secrets.open_all(document, runtime.sealer, runtime.references, moment(runtime))
        snapshot = compiled(runtime, document, number, opened)
    put_in_force(runtime, snapshot, document, opened)
    stored = Revision.objects.filter(number=number).values_list("digest", flat=True).first()
    if stored is not None and stored != digest(document):
        log.warning("the stored catalog is not revision %d's: it was edited elsewhere", number)


def compiled(runtime: Runtime, document: Document, number: int, opened: Opened) -> Snapshot:
    return compile(
        document,
        number,
        opened.versions,
        missing_secrets=opened.missing,
        selectors=runtime.selectors,
    )


def put_in_force(runtime: Runtime, snapshot: Snapshot, document: Document, opened: Opened) -> None:
    """Secrets first: a reader of the new snapshot must find the secrets it names."""
    runtime.secrets.swap(opened)
    runtime.store.bind(snapshot)
    runtime.current.swap(snapshot, document)


def health_counts(runtime: Runtime) -> dict[str, int]:
    """Routed candidates by effective state, as they stand now."""
    now = runtime.clock()
    candidates = {
        candidate.key: candidate
        for route in runtime.current.snapshot.routes.values()
        for tier in route.tiers
        for candidate in tier.candidates
    }
    states = (
        effective_state(candidate, runtime.store.of(candidate), now)
        for candidate in candidates.values()
    )
    return dict(Counter(map(str, states)))


def moment(runtime: Runtime) -> datetime:
    return datetime.fromtimestamp(runtime.clock(), UTC)
