"""One gateway for a module's tests, emptied between them: starting a server takes time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.services.admission import KeyLimits
from routeradmin.services.affinity import Affinity
from tests.conftest import START
from tests.dataplane.serving import Gateway, gateway


@pytest.fixture(scope="module")
def served() -> Iterator[Gateway]:
    with gateway() as held:
        yield held


@pytest.fixture
def gate(served: Gateway) -> Gateway:
    """As if it had just been started."""
    runtime = served.runtime
    runtime.store = MemoryStore(epoch="test")
    runtime.store.listen(runtime.journal.heard)
    runtime.limits, runtime.affinity = KeyLimits(), Affinity()
    runtime.journal.take()
    runtime.keys._by_hash.clear()
    served.key()
    served.clock.now = START
    served.slept.clear()
    served.provider.clear_scripts()
    served.provider.log.reset()
    return served
