"""The decision API's desk (no server, no database), and one gateway for a module's tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.services.affinity import Affinity
from routeradmin.services.intent.deciding import Intents
from routeradmin.services.metering import Meters
from routeradmin.services.runtime import Runtime
from routeradmin.services.under_way import UnderWay
from tests.conftest import START, FakeClock
from tests.dataplane.desk import Desk
from tests.dataplane.serving import Gateway, gateway


@pytest.fixture
def desk(bare_runtime: Runtime, clock: FakeClock) -> Iterator[Desk]:
    async def sleep(seconds: float) -> None:  # time passes at once
        clock.advance(seconds)

    bare_runtime.sleep = sleep
    with asyncio.Runner() as runner:
        yield Desk(bare_runtime, runner)


@pytest.fixture(scope="module")
def served() -> Iterator[Gateway]:
    """Kept for a whole module: starting a server takes time."""
    with gateway() as held:
        yield held


@pytest.fixture
def gate(served: Gateway) -> Gateway:
    """As if it had just been started."""
    runtime = served.runtime
    runtime.store = MemoryStore(epoch="test")
    runtime.store.listen(runtime.journal.heard)
    runtime.meters = Meters()
    runtime.store.listen(runtime.meters.heard)
    runtime.affinity, runtime.intents = Affinity(), Intents()
    runtime.under_way = UnderWay()
    runtime.journal.take()
    runtime.keys._by_hash.clear()
    served.key()
    served.clock.now = START
    served.slept.clear()
    served.provider.clear_scripts()
    served.provider.log.reset()
    return served
