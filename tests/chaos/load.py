"""Steady traffic of every kind, by clients that keep account of what they were told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from random import Random
from typing import Any

import aiohttp

from tests.chaos.book import Book, Cooled, Held, Sample
from tests.chaos.faults import Hurt
from tests.process.server import KEY

LEASE_S = 4.0
CLIENTS = 12
FORGETS = 0.05  # this share of leases is left to run out
REPEATS = 0.05  # this share of reports is made a second time, later
COOLED_S = 8
PATIENCE_S = 30.0
MARGIN_S = 0.05  # between two clocks on one machine


class Traffic:
    """``run`` until ``stop``. Every request goes by a client drawn at random, so that what one
    worker granted is reported to another."""

    def __init__(self, address: tuple[str, int], book: Book, seed: int, pace: float = 1.0) -> None:
        self.pace = pace
        self.base = "http://{}:{}".format(*address)
        self.book = book
        self.rng = Random(seed)
        self.weight = 1
        self._going = True
        self._clients: list[aiohttp.ClientSession] = []

    def stop(self) -> None:
        self._going = False

    async def run(self, *, with_consoles: bool = False) -> None:
        """``with_consoles``: live pages come and go as well."""
        async with AsyncExitStack() as stack:
            headers = {"authorization": f"Bearer {KEY}"}
            timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
            for _ in range(CLIENTS):
                client = aiohttp.ClientSession(headers=headers, timeout=timeout)
                self._clients.append(await stack.enter_async_context(client))
            async with asyncio.TaskGroup() as group:
                if with_consoles:
                    group.create_task(self._repeat(self._console, 0.5))
                for work, pause_s, askers in (
                    (self._free, 0.02, 5),
                    (self._slot, 0.02, 6),
                    (self._of_minute, 0.3, 1),
                    (self._cooled, 0.1, 2),
                    (self._chat, 0.2, 2),
                    (self._stream, 0.1, 3),
                    (self._edit, 0.8, 1),
                ):
                    for _ in range(askers):
                        group.create_task(self._repeat(work, pause_s))

    async def _repeat(self, work: Callable[[], Awaitable[None]], pause_s: float) -> None:
        while self._going:
            await work()
            await asyncio.sleep(pause_s / self.pace * self.rng.uniform(0.5, 1.5))

    async def ask(
        self, kind: str, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        """Status and document; (0, None) when the connection broke, and then asked once more."""
        for is_last in (False, True):
            client = self.rng.choice(self._clients)
            if self.rng.random() < 0.03:
                headers["connection"] = "close"  # the next one comes to some other worker
            at, started = time.time(), time.perf_counter()
            try:
                async with client.request(
                    method, self.base + path, json=body, headers=headers
                ) as answer:
                    text = await answer.text()
                    took_s = time.perf_counter() - started
                    status = answer.status
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as problem:
                took_s = time.perf_counter() - started
                self.book.samples.append(Sample(kind, at, took_s, 0, repr(problem)))
                if is_last:
                    return 0, None
                continue
            detail = "" if status < 400 else text[:200]
            self.book.samples.append(Sample(kind, at, took_s, status, detail))
            is_json = answer.content_type.endswith("json")
            return status, await answer.json() if is_json else text
        raise AssertionError("unreachable")

    async def select(self, model: str) -> Any:
        body = {"model": model, "lease_ttl_s": LEASE_S}
        status, answer = await self.ask(f"select {model}", "POST", "/api/v1/select", body)
        return answer if status == 200 else None

    async def report(self, lease: Any, **outcome: Any) -> Any:
        path = f"/api/v1/leases/{lease['lease_id']}/report"
        status, answer = await self.ask("report", "POST", path, outcome)
        if status != 200:
            return None
        self.book.told(lease["turn"], answer, time.time())
        if self.rng.random() < REPEATS:
            self.book.reports[path] = time.time(), (outcome, answer)
        return answer

    async def _free(self) -> None:
        lease = await self.select("free")
        if lease is None or self.rng.random() < FORGETS:
            return
        await asyncio.sleep(self.rng.uniform(0, 0.2))
        await self.report(lease, outcome="success", latency_ms=100)

    async def _slot(self) -> None:
        lease = await self.select("slots")
        if lease is None:
            return
        began_at, runs_out_at = time.time(), seconds(lease["expires_at"]) - MARGIN_S
        if self.rng.random() < FORGETS:
            self.book.slots.append(Held(began_at, runs_out_at))
            return
        await asyncio.sleep(self.rng.uniform(0, 0.3))
        self.book.slots.append(Held(began_at, min(time.time(), runs_out_at)))
        path = f"/api/v1/leases/{lease['lease_id']}/release"
        await self.ask("release", "POST", path, {})

    async def _of_minute(self) -> None:
        lease = await self.select("minute")
        if lease is not None:
            self.book.of_minute[int(granted_at(lease) // 60)] += 1
            await self.report(lease, outcome="success")

    async def _cooled(self) -> None:
        lease = await self.select("cooled")
        if lease is None:
            return
        self.book.granted_while_cooled.append(granted_at(lease))
        told = {"outcome": "failure", "status": 429, "retry_after": COOLED_S}
        answer = await self.report(lease, **told)
        if answer and answer["cooldown"]:
            self.book.cooldowns.append(Cooled(time.time(), seconds(answer["cooldown"]["until"])))

    async def _chat(self) -> None:
        await self.ask("chat", "POST", "/v1/chat/completions", chat())

    async def _stream(self) -> None:
        status, text = await self.ask("stream", "POST", "/v1/chat/completions", chat(stream=True))
        if status == 200 and not text.rstrip().endswith("data: [DONE]"):
            self.book.samples.append(Sample("stream", time.time(), 0, 0, f"cut off: {text[-200:]}"))

    async def _console(self) -> None:
        client = self.rng.choice(self._clients)
        async with client.ws_connect(self.base + "/ws/console") as socket:
            for _ in range(3):
                with suppress(TimeoutError):
                    await socket.receive(timeout=1)

    async def _edit(self) -> None:
        weight = self.weight = self.weight + 1
        path = "/api/v1/deployments/edited"
        headers = {"if-match": "*"}
        status, _ = await self.ask("edit", "PATCH", path, {"weight": weight}, **headers)
        if status == 200:
            self.book.edits.append(weight)

    async def repeat_reports(self) -> None:
        """Ask again for what was told: a repeated report gets the first answer."""
        for path, (told_at, (outcome, told)) in list(self.book.reports.items()):
            if self.book.was_hurt(Hurt.REDIS, told_at, after_s=1.0) or any(
                span.began_at > told_at for span in self.book.hurt(Hurt.REDIS)
            ):
                continue  # a Redis that lost its data does not know its old answers
            status, answer = await self.ask("repeated report", "POST", path, outcome)
            if status != 200 or answer != told:
                text = f"{path}: {status} {answer} after {told}"
                self.book.other_answers.append((told_at, text))
        self.book.reports.clear()


def chat(*, stream: bool = False) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": "free", "messages": [{"role": "user", "content": "go on"}]}
    return {**asked, "stream": True} if stream else asked


def seconds(utc: str) -> float:
    return datetime.fromisoformat(utc).timestamp()


def granted_at(lease: Any) -> float:
    return seconds(lease["expires_at"]) - LEASE_S
