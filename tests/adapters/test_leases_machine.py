"""Any order of taking, giving back, reporting, running out and cooling keeps the counts true."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from routeradmin.engine.state import Dispatch, FailureClass, Lease, LeaseFenced, Outcome
from tests.adapters.store_desk import OK, Desk
from tests.adapters.test_state_memory import made
from tests.engine.world import deployment

LIMIT, RPM, TPM = 3, 20, 500
names = st.sampled_from(["a", "b"])


def now_and_then(run: Any) -> Any:
    return asyncio.run(run)


class Leases(RuleBasedStateMachine):
    """The model: which leases are open until when, by deployment."""

    def __init__(self) -> None:
        super().__init__()
        limits = {"max_parallel_requests": LIMIT, "rpm_limit": RPM, "tpm_limit": TPM}
        self.desk = Desk(made, now_and_then, deployment("a", **limits), deployment("b", **limits))
        self.open: dict[str, tuple[Lease, float]] = {}
        self.over: list[Lease] = []

    def active(self, name: str) -> int:
        return sum(lease.key.deployment == name for lease, _ in self.open.values())

    def run_out(self) -> None:
        for lease, ends_at in list(self.open.values()):
            if ends_at <= self.desk.now:
                del self.open[lease.id]
                self.over.append(lease)

    def end(self, lease: Lease) -> None:
        self.open.pop(lease.id, None)
        self.over.append(lease)

    @rule(name=names, ttl_s=st.sampled_from([1.0, 30.0, 120.0]), tokens=st.integers(0, 200))
    def take(self, name: str, ttl_s: float, tokens: int) -> None:
        state = self.desk.state(name)
        full = self.active(name) >= LIMIT
        lease = self.desk.try_take(name, tokens, ttl_s)
        if lease is not None:
            assert not full
            self.open[lease.id] = (lease, self.desk.now + ttl_s)
        assert state is self.desk.state(name)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        lease, _ = data.draw(st.sampled_from(list(self.open.values())))
        assert self.desk.release(lease) is True
        self.end(lease)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), failure=st.sampled_from([None, *FailureClass]), used=st.integers(0, 90))
    def report(self, data: st.DataObject, failure: FailureClass | None, used: int) -> None:
        lease, _ = data.draw(st.sampled_from(list(self.open.values())))
        outcome = OK if failure is None else Outcome(failure, Dispatch.UNKNOWN)
        self.desk.settle(lease, replace(outcome, output_tokens=used))
        self.end(lease)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), ttl_s=st.sampled_from([1.0, 60.0]))
    def renew(self, data: st.DataObject, ttl_s: float) -> None:
        lease, _ = data.draw(st.sampled_from(list(self.open.values())))
        self.desk.run(self.desk.store.renew(lease.id, ttl_s, self.desk.now))
        self.open[lease.id] = (lease, self.desk.now + ttl_s)

    @precondition(lambda self: self.over)
    @rule(data=st.data(), by_report=st.booleans())
    def come_too_late(self, data: st.DataObject, by_report: bool) -> None:
        lease = data.draw(st.sampled_from(self.over))
        if by_report:
            self.desk.settle(lease)
            return
        try:
            assert self.desk.release(lease) is False
        except LeaseFenced:
            assert lease.id not in self.open

    @rule(name=names, seconds=st.sampled_from([1.0, 90.0]))
    def cool(self, name: str, seconds: float) -> None:
        key = self.desk.state(name).key
        store = self.desk.store
        self.desk.run(store.set_cooldown(key, seconds, "user:ann", "", self.desk.now))

    @rule(seconds=st.sampled_from([0.5, 1.0, 29.0, 61.0, 200.0]))
    def wait(self, seconds: float) -> None:
        self.desk.now += seconds
        self.desk.store.expire(self.desk.now)
        self.run_out()

    @rule()
    def publish(self) -> None:
        self.desk.store.bind(self.desk.snapshot)

    @invariant()
    def counts_are_true(self) -> None:
        for name in ("a", "b"):
            state = self.desk.state(name)
            assert state.active == self.active(name) <= LIMIT
            assert state.rpm_used <= RPM
            assert state.tpm_used >= 0

    def teardown(self) -> None:
        self.desk.now += 1000
        self.desk.store.expire(self.desk.now)
        assert [self.desk.state(name).active for name in ("a", "b")] == [0, 0]


TestLeases = Leases.TestCase
TestLeases.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
