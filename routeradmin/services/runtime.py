"""Everything one process works with, in one value: clock, chance, state, catalog, keys, secrets."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import secrets as chance
import socket
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, Error, connection, connections

from routeradmin import logs
from routeradmin.adapters import open_telemetry
from routeradmin.adapters.addresses import Policy as AddressPolicy
from routeradmin.adapters.clock import SteadyClock
from routeradmin.adapters.references import References
from routeradmin.adapters.sealing import Sealer
from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.state_redis import RedisStore
from routeradmin.adapters.state_redis.election import Election
from routeradmin.adapters.upstream import UpstreamClient
from routeradmin.engine.store import StateStore
from routeradmin.engine.strategies import Selector
from routeradmin.services import database, journal_writing, peers, selectors
from routeradmin.services.affinity import Affinity
from routeradmin.services.alerts.alerts import Alerts
from routeradmin.services.current import Current
from routeradmin.services.heartbeats import Heartbeats
from routeradmin.services.intent.deciding import Intents
from routeradmin.services.journal import Journal
from routeradmin.services.keeping import Kept
from routeradmin.services.keys import KeyRing
from routeradmin.services.metering import Meters, Siblings
from routeradmin.services.postponed import Postponed
from routeradmin.services.secrets import SecretBook
from routeradmin.services.standing import JobStanding
from routeradmin.services.tracing import OFF, Tracer
from routeradmin.services.under_way import UnderWay

log = logging.getLogger(__name__)


def _one_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")


@dataclass(eq=False)
class Runtime:
    """``clock`` reads epoch seconds and never steps. ``degraded`` holds one word per thing that
    is amiss (``database``, ``store``); ``accepting`` is readiness; ``is_demo``: this process plays
    simulated providers. ``plane`` is what this process answers (``all``, ``data``, ``control``;
    ``none`` for a worker), ``peers`` the processes it shares state with. ``open_metrics``:
    scrapers need no key; ``siblings`` are the workers that share its port, ``metrics_listener``
    is their common one for scrapers. ``kept`` is the durable state as it was last written;
    ``writer`` the thread that writes. ``selectors``: the registered custom strategies by name."""

    clock: Callable[[], float]
    rng: random.Random
    store: StateStore
    sealer: Sealer
    upstream: UpstreamClient
    current: Current = field(default_factory=Current)
    keys: KeyRing = field(default_factory=KeyRing)
    secrets: SecretBook = field(default_factory=SecretBook)
    references: References = field(default_factory=References)
    journal: Journal = field(default_factory=Journal)
    affinity: Affinity = field(default_factory=Affinity)
    intents: Intents = field(default_factory=Intents)
    heartbeats: Heartbeats = field(default_factory=Heartbeats)
    selectors: dict[str, Selector] = field(default_factory=dict)
    postponed: Postponed = field(default_factory=Postponed)
    under_way: UnderWay = field(default_factory=UnderWay)
    jobs: dict[str, JobStanding] = field(default_factory=dict)
    degraded: set[str] = field(default_factory=set)
    accepting: bool = False
    is_demo: bool = False
    plane: str = "all"
    peers: peers.Peers | None = None
    open_metrics: bool = False
    tracer: Tracer = OFF
    alerts: Alerts = field(default_factory=Alerts)
    meters: Meters = field(default_factory=Meters)
    siblings: Siblings | None = None
    metrics_listener: socket.socket | None = None
    kept: Kept = field(default_factory=dict)
    writer: ThreadPoolExecutor = field(default_factory=_one_thread)
    process_id: str = field(default_factory=lambda: chance.token_hex(4))
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    publishing: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.keys.on_gone = lambda uids: self.store.forget_keys(uids)
        self.store.listen(self.journal.heard)
        self.store.listen(self.meters.heard)

    def redact(self, text: str) -> str:
        """Text that came from outside, without any secret held here."""
        return self.secrets.redactor.text(text)

    def processes(self) -> list[dict[str, Any]]:
        """Every process that serves, this one first, with the revision it was at last; ``lag_ms``:
        for how long there has been a newer one, or it has not been heard of."""
        own, now = self.current.revision, self.clock()
        if self.peers is None:
            return [{"id": self.process_id, "revision": own, "lag_ms": 0}]
        at = {self.process_id: own}
        at |= {name: beat["revision"] for name, beat in sorted(self.peers.others.items())}
        return [
            {"id": name, "revision": revision, "lag_ms": self.peers.behind_ms(name, revision, now)}
            for name, revision in at.items()
        ]

    def silence_ms(self, process: str) -> int:
        """For how long another process has said nothing; 0 while that is nothing special."""
        return self.peers.silence_ms(process, self.clock()) if self.peers else 0

    @property
    def leads(self) -> bool:
        """Whether this process does what only one may do."""
        return self.peers is None or self.peers.election.leads

    @property
    def keeps_state(self) -> bool:
        """Whether this process writes down the candidates' state: the leader does for all, and
        each for itself while it is on its own."""
        return self.peers is None or self.leads or not self.peers.store.is_shared

    def announce(self) -> None:
        """Have the other processes look at what was published."""
        if self.peers is not None:
            self.peers.store.tell(peers.PUBLISHED, self.process_id)


_installed: Runtime | None = None
_installing = Lock()


def get() -> Runtime:
    """This process's runtime, built on first use; ``start`` is what fills it."""
    global _installed
    if _installed is None:
        with _installing:
            if _installed is None:
                _installed = build()
    return _installed


def build() -> Runtime:
    """From the settings, with nothing loaded yet."""
    clock, process_id = SteadyClock(), chance.token_hex(4)
    shared = None
    if settings.REDIS_URL:
        limit_s = settings.REDIS_LIMIT_MS / 1000
        shared = RedisStore(settings.REDIS_URL, settings.REDIS_PREFIX, clock, limit_s=limit_s)
    return Runtime(
        clock=clock,
        rng=random.Random(),
        store=shared or MemoryStore(),
        sealer=Sealer(settings.ENCRYPTION_KEYS),
        upstream=UpstreamClient(upstream_policy()),
        peers=peers.Peers(shared, Election(shared, process_id)) if shared else None,
        process_id=process_id,
        selectors=selectors.usable(selectors.find(settings.SELECTORS)),
        open_metrics=settings.OPEN_METRICS,
    )


def upstream_policy() -> AddressPolicy:
    """Which addresses upstreams may have; the settings refused any other word at the start."""
    return cast(AddressPolicy, settings.PRIVATE_UPSTREAMS)


@contextmanager
def use(runtime: Runtime) -> Iterator[Runtime]:
    """Make it the process's runtime for the length of the block."""
    global _installed
    before, _installed = _installed, runtime
    try:
        yield runtime
    finally:
        _installed = before


async def start() -> Runtime:
    """Load what is stored and restore what survived; ready afterwards. Safe to call twice."""
    from routeradmin.services import bootstrap, publishing

    runtime = get()
    if not runtime.accepting:
        logs.clean_with(lambda: runtime.secrets.redactor)
        runtime.tracer = open_telemetry.from_environment(os.environ) or runtime.tracer
        if runtime.peers is not None:
            await runtime.peers.open(runtime)
        await sync_to_async(bootstrap.from_environment)()
        await sync_to_async(publishing.load)(runtime)
        database.be_impatient()
        runtime.accepting = True
    return runtime


async def stop() -> None:
    """Not ready any more; what waits is written, connections are closed."""
    from routeradmin.services import postponing

    global _installed
    runtime, _installed = _installed, None
    if runtime is None:
        return
    runtime.accepting = False
    await runtime.alerts.close()
    await postponing.tell_last(runtime)
    try:
        await journal_writing.finish(runtime)
    except Error as problem:
        log.error("%d records could not be written any more: %s", runtime.journal.waiting, problem)
    if runtime.peers is not None:
        await runtime.peers.close(runtime)
    runtime.writer.submit(_close_database).result()
    runtime.writer.shutdown()
    await runtime.upstream.close()
    await asyncio.to_thread(runtime.tracer.close)


def _close_database() -> None:
    """SQLite's write-ahead log goes into the database file, so that a copy of that one is whole."""
    if connection.vendor == "sqlite":
        try:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except DatabaseError as problem:
            log.warning("the write-ahead log stays beside the database: %s", problem)
    connections.close_all()
