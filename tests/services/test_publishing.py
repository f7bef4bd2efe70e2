"""A process serves what is stored: at its start, and what others publish while it runs."""

from __future__ import annotations

import random
from typing import Any

from asgiref.sync import async_to_sync

from routeradmin.adapters.sealing import Sealer
from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.upstream import UpstreamClient
from routeradmin.catalog.models import Revision
from routeradmin.engine.state import CandidateKey
from routeradmin.services import changes, publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.conftest import FERNET_KEY, FakeClock

ADA = Actor("user:ada")


def another_process(clock: FakeClock) -> Runtime:
    runtime = Runtime(
        clock=clock,
        rng=random.Random(1),
        store=MemoryStore(),
        sealer=Sealer([FERNET_KEY]),
        upstream=UpstreamClient("loopback"),
    )
    publishing.load(runtime)
    runtime.accepting = True
    return runtime


def test_an_empty_catalog_is_served_as_revision_zero(runtime: Runtime) -> None:
    assert runtime.current.revision == 0
    assert runtime.current.snapshot.routes == {}
    assert runtime.processes() == [{"id": runtime.process_id, "revision": 0, "lag_ms": 0}]


def test_a_start_serves_the_last_revision(runtime: Runtime, clock: FakeClock) -> None:
    changes.replace_document(make.document(), ADA)
    changes.replace_secret("acme-key", "sk-0123456789", ADA)
    other = another_process(clock)
    assert other.current.revision == 2
    assert other.current.snapshot.config_digest == runtime.current.snapshot.config_digest
    assert "acme-key" in other.secrets


def test_another_process_catches_up_with_catalog_secrets_and_keys(
    runtime: Runtime, clock: FakeClock
) -> None:
    other = another_process(clock)
    changes.replace_document(make.document(), ADA)
    changes.replace_secret("acme-key", "sk-0123456789", ADA)
    _, token = changes.create_key({"name": "ci", "scopes": ["read"]}, ADA)
    assert publishing.catch_up(other)
    assert other.current.revision == 2
    assert "acme-key" in other.secrets
    assert other.keys.find(token, clock()) is not None
    assert not publishing.catch_up(other)


def test_a_write_builds_on_what_another_process_published(
    runtime: Runtime, clock: FakeClock
) -> None:
    changes.replace_document(make.document(), ADA)
    other = another_process(clock)
    changes.create("providers", make.provider("second"), ADA)
    with runtimes.use(other):
        saved = changes.create("providers", make.provider("third"), ADA)
    assert saved.revision == 3
    assert {one.id for one in other.current.document.providers} == {"acme", "second", "third"}


def test_catching_up_with_nothing_new_takes_three_queries(
    runtime: Runtime, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(3):
        publishing.catch_up(runtime)


def test_a_rotated_secret_clears_the_cooldowns_of_the_old_one(runtime: Runtime) -> None:
    changes.replace_document(make.document(), ADA)
    changes.replace_secret("acme-key", "sk-0123456789", ADA)
    key = CandidateKey("acme-large", "acme-key")
    async_to_sync(runtime.store.set_cooldown)(key, 600, "user:ada", "", runtime.clock())
    changes.replace_secret("acme-key", "sk-9876543210", ADA)
    candidate = runtime.current.snapshot.routes["chat"].tiers[0].candidates[0]
    assert runtime.store.of(candidate).cooldown_until == 0


def test_a_revision_remembers_how_candidates_stood(runtime: Runtime) -> None:
    changes.replace_document(make.document(make.full_catalog()), ADA)
    changes.update("models", "large", {"name": "L"}, ADA, if_match="*")
    health = Revision.objects.get(number=2).health
    assert sum(health.values()) == 4
