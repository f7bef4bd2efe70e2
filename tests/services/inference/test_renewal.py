"""Leases live as long as their attempts."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from routeradmin.engine.state import CandidateKey, Lease, LeaseFenced
from routeradmin.services.inference.renewal import Renewal
from routeradmin.services.runtime import Runtime

LEASE = Lease("l1", CandidateKey("a", "k"), 3, "", 0, 0, 0, 0, 0, "chat")


class Store:
    def __init__(self, fenced: bool = False) -> None:
        self.renewed: list[tuple[str, float, int | None]] = []
        self.fenced = fenced
        self.enough = asyncio.Event()

    async def renew(self, lease_id: str, ttl_s: float, now: float, generation: int | None) -> None:
        self.renewed.append((lease_id, ttl_s, generation))
        if self.fenced or len(self.renewed) == 3:
            self.enough.set()
        if self.fenced:
            raise LeaseFenced("another has it")


class Host:
    def __init__(self, store: Store) -> None:
        self.store = store

    def clock(self) -> float:
        return 5.0


def run(fenced: bool) -> Store:
    async def scenario() -> Store:
        store = Store(fenced)
        runtime: Any = Host(store)
        renewal = Renewal(cast(Runtime, runtime), LEASE, 0.006)
        await asyncio.wait_for(store.enough.wait(), 5)
        await asyncio.sleep(0.01 if fenced else 0)
        renewal.stop()
        count = len(store.renewed)
        await asyncio.sleep(0.01)
        assert len(store.renewed) == count
        return store

    return asyncio.run(scenario())


def test_a_lease_is_renewed_again_and_again_until_it_is_stopped() -> None:
    assert run(fenced=False).renewed[:3] == [("l1", 0.006, 3)] * 3


def test_one_that_was_lost_is_not_asked_for_again() -> None:
    assert len(run(fenced=True).renewed) == 1
