"""Two processes' stores over one Redis: what one does the other knows of."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import redis

from routeradmin.adapters.state_redis import RedisStore
from routeradmin.engine.key_use import Allowance, KeyRefused
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.resolve import resolve
from routeradmin.engine.select import Selected, select
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import (
    Binding,
    CandidateKey,
    CandidateState,
    Change,
    Grant,
    Lease,
    LeaseFenced,
    ReportState,
    Settlement,
)
from routeradmin.engine.turn_book import Kept, Told
from routeradmin.engine.turn_state import Opening
from tests.adapters.state_store_suite import BROKEN, LIMITED, OK, A, Run, kept_turn
from tests.engine.world import ASK, NOW, catalog, deployment, route
from tests.redis_at_hand import Prefix
from tests.scaleout.servers import until

pytestmark = pytest.mark.services


class Pair:
    """Two stores, ``one`` and ``two``, as two processes would have them."""

    def __init__(self, run: Run, prefix: Prefix) -> None:
        self.run = run
        self.prefix = prefix
        self.now = NOW
        self.stores: list[RedisStore] = []

    def start(self, snapshot: Snapshot) -> RedisStore:
        store = RedisStore(self.prefix.url, self.prefix.name, lambda: self.now, limit_s=5.0)
        self.stores.append(store)
        self.run(store.open(follow=False))
        store.bind(snapshot)
        return store

    def both(self, snapshot: Snapshot) -> tuple[RedisStore, RedisStore]:
        return self.start(snapshot), self.start(snapshot)

    def look(self, store: RedisStore) -> None:
        self.run(store.look(0))

    def take(
        self, store: RedisStore, snapshot: Snapshot, owner: str = "me", **more: Any
    ) -> Lease | None:
        candidate = snapshot.routes["r"].candidates[0]
        found: Lease | None = self.run(
            store.reserve(Grant(candidate, owner, 60.0, 0, "r", **more), self.now)
        )
        return found

    def settle(self, store: RedisStore, lease: Lease, outcome: Any = OK, **more: Any) -> Any:
        return self.run(store.settle(lease.id, outcome, DEFAULT_POLICY, self.now, **more))


@pytest.fixture
def run() -> Iterator[Run]:
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def pair(run: Run, redis_prefix: Prefix) -> Iterator[Pair]:
    pair = Pair(run, redis_prefix)
    yield pair
    for store in pair.stores:
        run(store.close())


def state_of(store: RedisStore, snapshot: Snapshot) -> CandidateState:
    return store.of(snapshot.routes["r"].candidates[0])


def keys(prefix: Prefix, part: str) -> list[str]:
    client = redis.Redis.from_url(prefix.url)
    found = [key.decode() for key in client.scan_iter(match=f"{{{prefix.name}}}:{part}*")]
    client.close()
    return found


def test_the_last_slot_is_given_once_whoever_asks(pair: Pair) -> None:
    snapshot = catalog([deployment("a", max_parallel_requests=1)])
    one, two = pair.both(snapshot)
    lease = pair.take(one, snapshot)
    assert lease is not None
    assert pair.take(two, snapshot) is None
    assert state_of(two, snapshot).active == 1, "the refusal told what stands in the way"
    pair.run(one.release(lease.id, NOW))
    assert pair.take(two, snapshot) is not None


def test_a_report_may_come_to_another_process(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    lease = pair.take(one, snapshot, turn_id="t")
    assert lease is not None
    assert pair.run(two.lease(lease.id)) == lease
    assert pair.run(two.phase(lease.id)) is ReportState.OPEN
    told = Told({"released": True}, None)
    settled = pair.settle(two, lease, LIMITED, tell=lambda *_: told)
    assert (settled.state, settled.lease) == (ReportState.OPEN, lease)
    again = pair.settle(one, lease, BROKEN)
    assert (again.state, again.answer) == (ReportState.REPEATED, {"released": True})
    state = state_of(one, snapshot)
    assert (state.active, state.failures, state.cooldown_until) == (0, 1, NOW + 20)


def test_a_lease_renewed_or_released_elsewhere_is_known_everywhere(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    lease = pair.take(one, snapshot)
    assert lease is not None
    renewed = pair.run(two.renew(lease.id, 90, NOW, lease.generation))
    assert renewed.expires_at == NOW + 90
    with pytest.raises(LeaseFenced):
        pair.run(two.release(lease.id, NOW, lease.generation + 1))
    assert pair.run(two.release(lease.id, NOW)) is True
    assert pair.run(one.release(lease.id, NOW)) is False
    with pytest.raises(LeaseFenced):
        pair.run(one.renew(lease.id, 5, NOW))


def test_verdicts_reached_at_once_do_not_undo_each_other(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    leases = [pair.take(one, snapshot) for _ in range(3)]
    stores = (one, two, one)
    heard: list[Change] = []
    for store in (one, two):
        store.listen(heard.extend)

    async def fail_together() -> None:
        await asyncio.gather(
            *(
                store.settle(lease.id, BROKEN, DEFAULT_POLICY, NOW)
                for store, lease in zip(stores, leases, strict=True)
                if lease is not None
            )
        )

    pair.run(fail_together())
    for store in (one, two):
        pair.look(store)
        state = state_of(store, snapshot)
        assert state.cooldown_until == NOW + 5, "the third failure in a row cools"
        assert (state.failures, state.active) == (3, 0)
    assert [one.kind for one in heard].count("cooldown-set") == 1


def test_successes_are_added_up(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)

    async def succeed(store: RedisStore) -> None:
        candidate = snapshot.routes["r"].candidates[0]
        lease = await store.reserve(Grant(candidate, "me", 60, 0, "r"), NOW)
        assert lease is not None
        await store.settle(lease.id, OK, DEFAULT_POLICY, NOW)

    async def all_at_once() -> None:
        await asyncio.gather(*(succeed(store) for store in (one, two) for _ in range(20)))

    pair.run(all_at_once())
    for store in (one, two):
        pair.look(store)
        state = state_of(store, snapshot)
        assert (state.successes, state.minute_successes, state.active) == (40, 40, 0)
        assert state.latency_ema_ms == pytest.approx(100.0)


def test_turns_are_taken_in_one_order_by_all(pair: Pair) -> None:
    """Round robin over two processes that ask at the same instant is even to within one."""
    snapshot = catalog(
        [deployment(name) for name in "abc"], route(list("abc"), strategy="round_robin")
    )
    one, two = pair.both(snapshot)
    counted: Counter[str] = Counter()

    async def ask(store: RedisStore) -> None:
        resolved = resolve(snapshot, "m")
        found = await select(resolved, ASK, store, NOW, random.Random(1))
        assert isinstance(found, Selected)
        assert found.pick.candidate.key == found.lease.key
        counted[found.lease.key.deployment] += 1

    async def all_at_once() -> None:
        await asyncio.gather(*(ask(store) for store in (one, two) for _ in range(50)))

    pair.run(all_at_once())
    assert sum(counted.values()) == 100
    assert max(counted.values()) - min(counted.values()) <= 1


def test_turns_may_go_on_in_another_process(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    assert pair.run(one.save_turn(kept_turn("t", "m"), NOW, 0))
    found = pair.run(two.load_turn("t", NOW + 10))
    assert found is not None
    assert (found.turn.id, found.turn.model) == ("t", "m")
    asked = replace(ASK, exclude=frozenset({"b"}), headers=(("x", "y"),), opaque=(None, "r"))
    lease = pair.take(one, snapshot, keep=Opening("", "m", "r", asked, A, 0, "", 0.0))
    assert lease is not None
    opened = pair.run(two.load_turn(lease.id, NOW))
    assert opened.turn == Opening(lease.id, "m", "r", asked, A, 0, lease.id, NOW)
    assert pair.run(two.save_turn(kept_turn("t", "m"), NOW, found.version))
    assert not pair.run(one.save_turn(kept_turn("t", "m"), NOW, found.version))


@pytest.mark.parametrize(
    "text",
    [
        b'[1.0, "turn", {"id": "t", "model": "m"}]',  # members are missing
        b'[1.0, "opening", {"id": "t", "unheard": 1, "key": ["a", "k", ""], "request": {}}]',
        b'[1.0, "turn", {"id": "t", "model": "m"}, "more"]',
        b'{"t": 1}',
        b"\x01\x02",
    ],
)
def test_a_turn_that_another_release_wrote_in_another_way_is_as_good_as_none(
    pair: Pair, text: bytes, redis_prefix: Prefix
) -> None:
    """While processes are replaced one after the other, both releases share one Redis."""
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    lease = pair.take(one, snapshot, keep=Opening("", "m", "r", ASK, A, 0, "", 0.0))
    assert lease is not None
    one.bind_session("s", Binding(A, NOW + 60), NOW)
    pair.look(one)
    with redis.Redis.from_url(redis_prefix.url) as client:
        (name,) = keys(redis_prefix, f"turn:{lease.id}")
        client.hset(name, "text", text)
        assert client.hset(f"{{{redis_prefix.name}}}:sessions", "s", text) == 0, "it was there"
    assert pair.run(two.load_turn(lease.id, NOW)) is None
    assert pair.run(two.binding(["s"], NOW)) is None
    heard: list[Kept | None] = []

    def tell(settlement: Settlement, kept: Kept | None) -> Told:
        heard.append(kept)
        return Told({"next": "stop"}, None)

    settled = pair.run(two.settle(lease.id, OK, DEFAULT_POLICY, NOW, None, tell))
    assert (settled.is_first, settled.answer, heard) == (True, {"next": "stop"}, [None])
    assert two.is_shared


def test_a_process_that_starts_knows_what_the_others_know(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one = pair.start(snapshot)
    lease, kept = pair.take(one, snapshot), pair.take(one, snapshot)
    assert lease is not None
    assert kept is not None
    pair.settle(one, lease, LIMITED)
    late = pair.start(snapshot)
    state = state_of(late, snapshot)
    assert (state.active, state.cooldown_until) == (1, NOW + 20)
    outdated = [{**record, "cooldown": None} for record in one.export(NOW)]
    late.restore(outdated, NOW)
    assert state_of(late, snapshot).cooldown_until == NOW + 20


def test_leases_of_a_process_that_died_run_out(pair: Pair) -> None:
    snapshot = catalog([deployment("a", max_parallel_requests=50)])
    one, two = pair.both(snapshot)
    for _ in range(50):
        assert pair.take(one, snapshot) is not None
    assert pair.take(two, snapshot) is None
    pair.now += 60
    pair.look(two)
    assert state_of(two, snapshot).active == 0
    assert pair.take(two, snapshot) is not None


def test_what_another_gave_back_is_known_once_it_is_asked_for(pair: Pair) -> None:
    """Without a look in between, which would bring everything."""
    snapshot = catalog([deployment("a", max_parallel_requests=1)])
    one, two = pair.both(snapshot)
    lease = pair.take(one, snapshot)
    assert lease is not None
    pair.look(two)
    assert state_of(two, snapshot).active == 1
    pair.run(one.release(lease.id, pair.now))
    assert state_of(two, snapshot).active == 1
    assert pair.run(two.recount([A], pair.now))
    assert state_of(two, snapshot).active == 0
    assert pair.take(two, snapshot) is not None


def test_leases_that_ran_out_are_not_counted_when_it_is_asked_for(pair: Pair) -> None:
    snapshot = catalog([deployment("a", max_parallel_requests=1)])
    one, two = pair.both(snapshot)
    assert pair.take(one, snapshot) is not None
    pair.look(two)
    pair.now += 61
    assert pair.run(two.recount([A], pair.now))
    assert state_of(two, snapshot).active == 0


def test_nobody_is_asked_while_redis_is_away(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one = pair.start(snapshot)
    one.link.fall("tested")
    assert not pair.run(one.recount([A], pair.now))


def test_what_leaves_the_catalog_leaves_redis(pair: Pair) -> None:
    both = catalog([deployment("a"), deployment("b")])
    one, two = pair.both(both)
    for candidate in both.routes["r"].candidates:
        pair.run(one.reserve(Grant(candidate, "me", 60, 0, "r"), NOW))
    assert len(keys(pair.prefix, "candidate:")) == 2
    less = catalog([deployment("a")])
    one.bind(less)
    two.bind(less)
    pair.look(two)
    pair.look(one)
    assert len(keys(pair.prefix, "candidate:")) == 1
    assert {state.key for state in two.states()} == {A}


def test_keys_of_a_catalog_long_gone_are_pruned_at_the_second_sight(pair: Pair) -> None:
    gone = catalog([deployment("gone")])
    one = pair.start(gone)
    assert pair.take(one, gone) is not None
    two = pair.start(catalog([deployment("a")]))
    suspected = pair.run(two.prune(frozenset()))
    assert len(keys(pair.prefix, "candidate:")) == 1
    assert pair.run(two.prune(suspected)) == frozenset()
    pair.look(two)
    assert keys(pair.prefix, "candidate:") == []


def test_a_new_secret_is_renewed_once_for_all(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    lease = pair.take(one, snapshot)
    assert lease is not None
    pair.settle(one, lease, LIMITED)
    pair.look(two)
    heard: list[str] = []
    for store in (one, two):
        store.listen(lambda changes: heard.extend(change.kind for change in changes))
    d = deployment("a")
    rotated = catalog([replace(d, credentials=(replace(d.credentials[0], secret_version=1),))])
    for store in (one, two):
        store.bind(rotated)
    for store in (one, two):
        pair.look(store)
        assert state_of(store, rotated).cooldown is None
    assert heard == ["cooldown-cleared"]


def test_the_end_of_a_cooldown_is_told_by_one(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    lease = pair.take(one, snapshot)
    assert lease is not None
    pair.settle(one, lease, LIMITED)
    pair.look(two)
    heard: list[str] = []
    for store in (one, two):
        store.listen(lambda changes: heard.extend(change.kind for change in changes))
    pair.now += 20
    for store in (one, two):
        store.expire(pair.now)
    for store in (one, two):
        pair.look(store)
        assert state_of(store, snapshot).recovering
    assert heard == ["recovering"]


def test_a_deposed_leaders_probe_changes_nothing(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    old = pair.run(one.link.call(("lead", "one", 60_000)))[0]
    assert pair.run(two.link.call(("lead", "two", 60_000))) == [False, "one"]
    pair.run(one.link.call(("abdicate", old)))
    two.fence = pair.run(two.link.call(("lead", "two", 60_000)))[0]
    one.fence = old
    assert pair.run(one.probed(A, False, 1, DEFAULT_POLICY, BROKEN, NOW)) == ()
    assert state_of(one, snapshot).health == "healthy"
    assert pair.run(two.probed(A, False, 1, DEFAULT_POLICY, BROKEN, NOW)) != ()


# limits of API keys


def pay(pair: Pair, store: RedisStore, snapshot: Snapshot, **limits: Any) -> Lease | None:
    return pair.take(store, snapshot, owner="k1", allowance=Allowance("k1", **limits))


def refusal(pair: Pair, store: RedisStore, snapshot: Snapshot, **limits: Any) -> str:
    with pytest.raises(KeyRefused) as refused:
        pay(pair, store, snapshot, **limits)
    return refused.value.limit


def test_a_keys_limits_are_those_of_all_processes_together(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    lease = pay(pair, one, snapshot, max_parallel_requests=1)
    assert lease is not None
    assert refusal(pair, two, snapshot, max_parallel_requests=1) == "max_parallel_requests"
    assert two.key_use("k1", NOW).active == 1
    pair.settle(two, lease)
    assert one.key_use("k1", NOW).active == 1, "one has not heard"
    pair.look(one)
    assert one.key_use("k1", NOW).active == 0
    for _ in range(2):
        assert pay(pair, one, snapshot, rpm_limit=3) is not None
    assert refusal(pair, two, snapshot, rpm_limit=3) == "rpm_limit"


def test_a_key_is_counted_exactly_by_processes_that_ask_at_once(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    stores = pair.both(snapshot)
    allowance = Allowance("k1", max_parallel_requests=7)
    grant = Grant(snapshot.routes["r"].candidates[0], "k1", 60, 5, "r", allowance=allowance)

    async def race() -> list[Any]:
        asked = (store.reserve(grant, NOW) for store in stores for _ in range(20))
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = pair.run(race())
    leases = [answer for answer in answers if isinstance(answer, Lease)]
    assert (len(leases), len(answers)) == (7, 40)
    assert all(isinstance(one, (Lease, KeyRefused)) for one in answers)
    for lease in leases:
        pair.settle(stores[0], lease)
    assert stores[0].key_use("k1", NOW).active == 0


def test_a_keys_leases_run_out_for_all(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    assert pay(pair, one, snapshot, max_parallel_requests=1) is not None
    pair.now += 61
    assert pay(pair, two, snapshot, max_parallel_requests=1) is not None
    assert two.key_use("k1", pair.now).active == 1


def test_a_minute_ends_for_all_processes_at_once(pair: Pair) -> None:
    """A process whose clock is a moment behind does not open the old window again."""
    snapshot = catalog([deployment("a", rpm_limit=2)])
    one, two = pair.both(snapshot)
    pair.now = NOW + 60
    assert pay(pair, one, snapshot, rpm_limit=2) is not None
    pair.now = NOW + 59.999
    assert pay(pair, two, snapshot, rpm_limit=2) is not None
    pair.now = NOW + 60.001
    assert refusal(pair, one, snapshot, rpm_limit=2) == "rpm_limit"
    assert pair.take(one, snapshot) is None, "nor the candidate's"


def test_what_a_deleted_key_used_leaves_redis_and_others_are_not_pruned(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    assert pay(pair, one, snapshot, rpm_limit=2) is not None
    suspected = pair.run(two.prune(frozenset()))
    pair.run(two.prune(suspected))
    pair.look(two)
    assert len(keys(pair.prefix, "candidate:\nk1")) == 1
    one.forget_keys(["k1"])
    pair.look(one)
    assert keys(pair.prefix, "candidate:\nk1") == []
    assert one.key_use("k1", NOW).requests == 0


def test_what_a_key_used_apart_is_added_when_redis_is_back(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    limits = {"rpm_limit": 6, "tokens_per_day": 10**6, "max_parallel_requests": 5}
    held = pay(pair, one, snapshot, **limits)
    assert held is not None
    assert pay(pair, two, snapshot, **limits) is not None
    pair.look(one)
    one.link.fall("a test")
    use = one.key_use("k1", NOW)
    assert (use.requests, use.active) == (2, 1), "others' leases count for nothing meanwhile"
    assert pay(pair, one, snapshot, **limits) is not None
    pair.settle(one, held, replace(OK, input_tokens=30))
    pair.run(joined(one))
    for store in (one, two):
        pair.look(store)
        use = store.key_use("k1", NOW)
        assert (use.requests, use.active, use.day_tokens) == (3, 2, 30)


def test_a_turn_that_began_apart_is_told_to_whoever_is_told_of_its_lease(pair: Pair) -> None:
    snapshot = catalog([deployment("a")])
    one, two = pair.both(snapshot)
    one.link.fall("a test")
    opening = Opening("", "m", "r", ASK, A, 0, "", NOW)
    lease = pair.take(one, snapshot, keep=opening)
    assert lease is not None
    pair.run(joined(one))
    met: list[Any] = []

    def tell(settlement: Any, kept: Any) -> Told:
        met.append(kept)
        return Told({}, None)

    pair.settle(two, lease, tell=tell)
    assert [kept.turn.lease_id for kept in met] == [lease.id]


async def joined(store: RedisStore) -> None:
    await until(lambda: store.is_shared, "shared again")


# sessions


def test_a_session_is_found_by_every_process_until_its_time_is_over(pair: Pair) -> None:
    one, two = pair.both(catalog([deployment("a")]))
    assert pair.run(two.binding(["s"], NOW)) is None
    bound = Binding(A, NOW + 60, CandidateKey("b", "k", "x"))
    one.bind_session("s", bound, NOW)
    pair.look(one)
    assert pair.run(two.binding(["unknown", "s"], NOW)) == bound
    assert pair.run(two.binding(["s"], NOW + 60)) is None
    two.bind_session("s", Binding(A, NOW + 30), NOW)
    pair.look(two)
    assert pair.run(one.binding(["s"], NOW)) == bound, "the one that was made last counts"
    one.link.fall("a test")
    assert pair.run(one.binding(["s"], NOW)) is None


def test_sessions_leave_redis_when_their_time_is_over(pair: Pair) -> None:
    (one,) = (pair.start(catalog([deployment("a")])),)
    for n in range(50):
        one.bind_session(f"s{n}", Binding(A, NOW + 60), NOW)
    one.bind_session("last", Binding(A, NOW + 200), NOW + 100)
    pair.look(one)
    client = redis.Redis.from_url(pair.prefix.url)
    assert client.hkeys(f"{{{pair.prefix.name}}}:sessions") == [b"last"]
    client.close()


# callers that leave


def test_a_slot_for_a_caller_that_left_is_given_back(pair: Pair) -> None:
    snapshot = catalog([deployment("a", max_parallel_requests=1)])
    one, two = pair.both(snapshot)
    grant = Grant(snapshot.routes["r"].candidates[0], "me", 60, 0, "r")

    async def leave() -> None:
        asked = asyncio.ensure_future(one.reserve(grant, NOW))
        await asyncio.sleep(0)  # the question is on its way
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        assert asked.cancelled()

    pair.run(leave())
    pair.look(one)
    assert state_of(one, snapshot).active == 0
    assert pair.take(two, snapshot) is not None
