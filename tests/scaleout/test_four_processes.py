"""Four processes are one system: limits, turns, cooldowns and edits hold over all of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.process.server import Server, until
from tests.scaleout.conftest import CATALOG
from tests.scaleout.system import Askers, System, revision_of

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.usefixtures("fresh")]

RACES = 1000
STAR = b"""
[[models]]
id = "any"
upstream_name = "*"

[[serving_models]]
id = "star"
endpoint_id = "box"
model_id = "any"
protocol = "chat-completions"

[[routes]]
id = "star"
alias = "star-*"

[[targets]]
id = "star-star"
route_id = "star"
serving_model_id = "star"
position = 0
"""
SLOTS, ASKING = 3, 8


async def leases(answers: list[tuple[int, Any]]) -> list[str]:
    return [answer["lease_id"] for status, answer in answers if status == 200]


@pytest.mark.timeout(240)
def test_the_parallel_limit_is_exact_in_a_thousand_races(four: list[Server]) -> None:
    async def race() -> None:
        async with Askers(four) as askers:
            for number in range(RACES):
                answers = await askers.together(ASKING, "parallel")
                granted = await leases(answers)
                assert len(granted) == SLOTS, (number, Counter(s for s, _ in answers))
                refused = [status for status, _ in answers if status != 200]
                assert set(refused) == {429}
                # Given back by other processes than those that granted.
                await asyncio.gather(
                    *(askers.release(number + n, one) for n, one in enumerate(granted))
                )

    asyncio.run(race())


def test_a_slot_that_another_process_gave_back_is_free_at_once(four: list[Server]) -> None:
    """Nobody is refused for a slot whose release was answered before the question."""

    async def pass_on() -> None:
        async with Askers(four) as askers:
            for number in range(100):
                granted = await leases(await askers.together(ASKING, "parallel"))
                assert len(granted) == SLOTS
                await asyncio.gather(*(askers.release(number, one) for one in granted))
                status, answer = await askers.select(number + 1, "parallel")
                assert status == 200, answer
                await askers.release(number + 2, answer["lease_id"])

    asyncio.run(pass_on())


def test_requests_of_a_minute_are_counted_together(four: list[Server]) -> None:
    """Twenty at one instant against a limit of five: five are granted."""

    async def race() -> None:
        async with Askers(four) as askers:
            if time.time() % 60 > 57:
                await asyncio.sleep(3.1)  # the minute must not end meanwhile
            statuses = Counter(status for status, _ in await askers.together(20, "rpm"))
            assert statuses == {200: 5, 429: 15}

    asyncio.run(race())


def test_tokens_of_a_minute_are_counted_together(four: list[Server]) -> None:
    async def race() -> None:
        async with Askers(four) as askers:
            if time.time() % 60 > 57:
                await asyncio.sleep(3.1)
            answers = await askers.together(20, "tpm", input_tokens=150, max_output_tokens=50)
            assert Counter(status for status, _ in answers) == {200: 5, 429: 15}

    asyncio.run(race())


def key_with(servers: list[Server], **limits: int) -> str:
    """An API key that all four know."""
    made = servers[0].post("/api/v1/keys", {"name": "limited", "scopes": ["select"], **limits})

    def is_known(server: Server) -> bool:
        path = "/api/v1/leases/none/release"
        return server.call("POST", path, {}, key=made["key"]).status == 404

    until(lambda: all(map(is_known, servers)), 10)
    return str(made["key"])


@pytest.mark.timeout(600)
def test_a_keys_attempts_at_once_are_exact_in_a_thousand_races(four: list[Server]) -> None:
    key = key_with(four, max_parallel_requests=SLOTS)

    async def race() -> None:
        async with Askers(four, key) as askers:
            for number in range(RACES):
                answers = await askers.together(ASKING, "turns", max_output_tokens=10)
                granted = await leases(answers)
                assert len(granted) == SLOTS, (number, Counter(s for s, _ in answers))
                await asyncio.gather(
                    *(askers.release(number + n, one) for n, one in enumerate(granted))
                )

    asyncio.run(race())


@pytest.mark.parametrize(
    "limits", [{"rpm_limit": 5}, {"tpm_limit": 1000}, {"tokens_per_day": 1000}], ids=str
)
def test_what_a_key_may_use_is_counted_together(four: list[Server], limits: dict[str, int]) -> None:
    key = key_with(four, **limits)

    async def race() -> None:
        async with Askers(four, key) as askers:
            if time.time() % 60 > 57:
                await asyncio.sleep(3.1)
            answers = await askers.together(20, "turns", input_tokens=150, max_output_tokens=50)
            assert Counter(status for status, _ in answers) == {200: 5, 429: 15}

    asyncio.run(race())


def test_turns_are_even_to_within_one(four: list[Server]) -> None:
    async def ask() -> Counter[str]:
        async with Askers(four) as askers:
            counted: Counter[str] = Counter()
            for _ in range(10):
                for status, answer in await askers.together(31, "turns"):
                    assert status == 200
                    counted[answer["deployment"]] += 1
            return counted

    counted = asyncio.run(ask())
    assert sum(counted.values()) == 310
    assert max(counted.values()) - min(counted.values()) <= 1, counted


@pytest.mark.timeout(240)
def test_a_cooldown_is_respected_elsewhere_within_200_ms(four: list[Server]) -> None:
    """Reported to one process, then asked of another until it knows: p99 of 1,000 tries."""

    async def tries() -> list[float]:
        late: list[float] = []
        async with Askers(four) as askers:
            for number in range(RACES):
                status, answer = await askers.select(number, "cooled")
                assert status == 200, answer
                failed = {"outcome": "failure", "status": 429, "retry_after": "20"}
                await askers.report(number, answer["lease_id"], **failed)
                told_at = time.perf_counter()
                while (await askers.select(number + 1, "cooled"))[0] == 200:
                    pass
                late.append(time.perf_counter() - told_at)
                await askers.clear(number, "cooled")
                for server in range(4):
                    while (await askers.select(server, "cooled"))[0] != 200:
                        pass
        return sorted(late)

    late = asyncio.run(tries())
    assert late[int(len(late) * 0.99)] < 0.2


def test_an_edit_reaches_all_within_a_second(four: list[Server], system: System) -> None:
    for number in range(5):
        catalog = CATALOG.replace(b'id = "a"\n', f'id = "a"\nweight = {number + 2}\n'.encode(), 1)
        system.put_catalog(four[number % 4], catalog)
        revision = revision_of(four[number % 4])
        until(lambda: all(revision_of(one) == revision for one in four), 1.0)  # noqa: B023


def test_each_process_tells_of_all_of_them(four: list[Server]) -> None:
    def told() -> bool:
        found = four[1].get("/api/v1/state")["processes"]
        return len(found) == 4 and {one["lag_ms"] for one in found} == {0}

    until(told, 5.0)


def test_a_429_with_one_worker_keeps_the_other_away(four: list[Server]) -> None:
    """A cooldown of 20 s, reported to one; half a second later the other does not choose it."""
    one, two = four[:2]
    chosen = one.post("/api/v1/select", {"model": "pair"})
    assert chosen["deployment"] == "a"
    report = {"outcome": "failure", "status": 429, "retry_after": "20"}
    one.post(f"/api/v1/leases/{chosen['lease_id']}/report", report)
    until(lambda: two.candidate("a/open")["state"] == "cooling", 0.5)
    assert two.post("/api/v1/select", {"model": "pair"})["deployment"] == "b"


def test_what_is_disabled_or_deleted_is_asked_by_nobody(
    four: list[Server], put_catalog: Callable[[bytes], None]
) -> None:
    """By its own name or by a pattern's, with one worker or another, without a restart."""
    star = CATALOG + STAR
    put_catalog(star)
    for server in four:
        assert server.call("POST", "/api/v1/select", {"model": "star-x"}).status == 200
        assert server.call("POST", "/api/v1/select", {"model": "cooled"}).status == 200
    for name in (b"star", b"cooled"):
        enabled = b'id = "%s"\nendpoint_id' % name
        star = star.replace(enabled, b'admin_state = "disabled"\n' + enabled)
    put_catalog(star)
    for server in four:
        for model in ("star-x", "cooled"):
            answer = server.call("POST", "/api/v1/select", {"model": model})
            assert answer.status == 503, (model, answer.body)
    put_catalog(CATALOG.replace(b'alias = "cooled"', b'alias = "other"'))
    for server in four:
        for model in ("star-x", "cooled"):
            answer = server.call("POST", "/api/v1/select", {"model": model})
            assert answer.status == 404, (model, answer.body)
