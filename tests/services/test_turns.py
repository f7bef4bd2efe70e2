"""Turns that go on, or are recorded, after something about them was forgotten."""

from __future__ import annotations

import asyncio
from typing import cast

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.catalog.document import Document
from routeradmin.engine.state import LeaseNotFound, ReportState
from routeradmin.services import reporting, selecting
from routeradmin.services.keys import Key
from routeradmin.services.messages import Report, Select
from routeradmin.services.peers import Peers
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


def test_a_repeated_report_records_the_turn_whose_end_nobody_could_write_down(
    bare_runtime: Runtime,
) -> None:
    snapshot = catalog([deployment("a"), deployment("b")])
    bare_runtime.store.bind(snapshot)
    bare_runtime.current.swap(snapshot, Document())
    bare_runtime.peers = cast(Peers, "others")  # whoever granted it may have been one of them

    async def told_twice(turn_id: str | None, report: Report) -> tuple[str, list[str]]:
        """The turn, and those that the second report had recorded."""
        lease = await selecting.select(bare_runtime, Select(model="m", turn=turn_id), KEY)
        first = await reporting.report(bare_runtime, lease.lease.id, report, KEY)
        bare_runtime.journal.take()  # killed before it was written
        assert await reporting.report(bare_runtime, lease.lease.id, report, KEY) == first
        return lease.turn_id, [record["id"] for record in bare_runtime.journal.take().turns]

    async def story() -> None:
        failed = Report(outcome="failure", status=429)
        turn_id, recorded = await told_twice(None, failed)
        assert recorded == []  # it goes on
        assert await told_twice(turn_id, Report(outcome="success")) == (turn_id, [turn_id])

    asyncio.run(story())
