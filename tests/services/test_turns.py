"""Turns that go on after something about them was forgotten."""

from __future__ import annotations

import asyncio

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.catalog.document import Document
from routeradmin.engine.state import LeaseNotFound, ReportState
from routeradmin.services import selecting
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select
from routeradmin.services.runtime import Runtime
from tests.engine.world import catalog, deployment

KEY = Key("u", "caller", frozenset({"select"}))


class Forgetful(MemoryStore):
    """Its leases are forgotten sooner than its turns."""

    async def phase(self, lease_id: str) -> ReportState:
        raise LeaseNotFound(lease_id)


def test_a_turn_whose_lease_is_forgotten_goes_on_as_if_it_had_run_out(
    bare_runtime: Runtime,
) -> None:
    snapshot = catalog([deployment("a"), deployment("b")])
    bare_runtime.store = Forgetful()
    bare_runtime.store.bind(snapshot)
    bare_runtime.current.swap(snapshot, Document())

    async def story() -> None:
        first = await selecting.select(bare_runtime, Select(model="m"), KEY)
        again = Select(model="m", turn=first.turn_id)
        second = await selecting.select(bare_runtime, again, KEY)
        assert second.attempt == 2
        assert second.candidate.key != first.candidate.key

    asyncio.run(story())
