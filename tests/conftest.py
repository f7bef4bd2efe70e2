"""What most tests need: three people, and a runtime whose clock and chance are the test's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import hypothesis
import pytest
from django.db import connections

from routeradmin.access.models import Role, User
from routeradmin.adapters.sealing import Sealer
from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.upstream import UpstreamClient
from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.runtime import Runtime
from tests import databases, needs
from tests import factories as make
from tests.redis_at_hand import redis_at_hand as redis_at_hand
from tests.redis_at_hand import redis_prefix as redis_prefix

# Examples may take as long as they need: a busy machine is no failure.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
FERNET_KEY = "c2l4dGVlbi1ieXRlcyEhc2l4dGVlbi1ieXRlcyEhMDA="


class FakeClock:
    """Stands still until it is told otherwise."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers():
        missing = needs.NEEDS[marker.name]() if marker.name in needs.NEEDS else None
        if missing and needs.REQUIRED:
            pytest.fail(f"{marker.name}: {missing}")
        if missing:
            pytest.skip(missing)


@pytest.fixture(scope="session", autouse=True)
def _databases() -> Iterator[None]:
    """Those of served instances, which end before; xdist does not wait long for an exit."""
    yield
    databases.drop_all()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def bare_runtime(clock: FakeClock) -> Iterator[Runtime]:
    """Installed as the process's own, with nothing loaded: needs no database."""
    runtime = Runtime(
        clock=clock,
        rng=random.Random(7),
        store=MemoryStore(epoch="test"),
        sealer=Sealer([FERNET_KEY]),
        upstream=UpstreamClient("loopback"),
    )
    with runtimes.use(runtime):
        yield runtime
    with suppress(RuntimeError):  # it was stopped, connections and all
        runtime.writer.submit(connections.close_all).result()
    runtime.writer.shutdown()


@pytest.fixture
def runtime(bare_runtime: Runtime, db: None) -> Runtime:
    """Loaded from the test's database, as a process is after its start."""
    publishing.load(bare_runtime)
    bare_runtime.accepting = True
    return bare_runtime


@pytest.fixture
def viewer(db: None) -> User:
    return make.person("vera", Role.VIEWER)


@pytest.fixture
def operator(db: None) -> User:
    return make.person("otto", Role.OPERATOR)


@pytest.fixture
def admin(db: None) -> User:
    return make.person("ada", Role.ADMIN)


@pytest.fixture(params=["viewer", "operator", "admin"])
def anyone(request: Any) -> User:
    """Each of the three people in turn."""
    person: User = request.getfixturevalue(request.param)
    return person
