"""Light traffic that behaves as a real caller does: select, call, report, do as ``next`` says."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from routeradmin.adapters.upstream import UpstreamFailure
from routeradmin.engine.errors import EngineError
from routeradmin.engine.objects import Deployment
from routeradmin.engine.snapshot import Candidate
from routeradmin.services import answers, calling, demo_catalog, refusals, reporting, selecting
from routeradmin.services.keys import Key
from routeradmin.services.messages import Report, Select
from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)

CALLER = Key(uid="demo", name="demo", scopes=frozenset({"select"}))
PER_SECOND = {"chat": 2.0, "fast": 1.0, "batch": 0.4, "local": 0.5}  # by route id
MOST_AT_ONCE = 40
GIVES_UP = 0.02  # the share of callers that hang up early
QUESTIONS = (
    "Summarise the minutes of Monday's meeting for somebody who was not there",
    "Why is the sky blue, in words for a child of six",
    "Write a polite reminder that the invoice of last month is still open",
    "Name three risks of moving the warehouse in December",
)
REFUSED = (
    refusals.Refused,
    refusals.TurnHalted,
    refusals.TurnWaiting,
    refusals.TurnNotFound,
    EngineError,
)


@dataclass(slots=True)
class Told:
    """What the caller saw of one call, as it reports it."""

    outcome: str = "failure"
    facts: dict[str, Any] = field(default_factory=dict)


class Traffic:
    """Starts callers as they come due; asks only for routes that are simulated throughout."""

    def __init__(self, port: int, clock: Callable[[], float], seed: int = 5) -> None:
        self._port = port
        self._rng = random.Random(seed)
        self._due_at = {route: clock() + self._pause_s(route) for route in PER_SECOND}
        self._callers: set[asyncio.Task[None]] = set()

    def _pause_s(self, route: str) -> float:
        return self._rng.expovariate(PER_SECOND[route])

    async def tick(self, runtime: Runtime) -> None:
        """Start who is due, unless too many are under way already."""
        now, snapshot = runtime.clock(), runtime.current.snapshot
        playable = demo_catalog.playable(snapshot, self._port)
        for route, due_at in self._due_at.items():
            if due_at > now:
                continue
            self._due_at[route] = now + self._pause_s(route)
            if route in playable and len(self._callers) < MOST_AT_ONCE:
                alias = snapshot.routes[route].alias
                caller = asyncio.create_task(self._ask(runtime, alias), name=f"demo {alias}")
                self._callers.add(caller)
                caller.add_done_callback(self._callers.discard)

    async def stop(self) -> None:
        callers = list(self._callers)
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)

    async def _ask(self, runtime: Runtime, model: str) -> None:
        try:
            await self._turn(runtime, model)
        except REFUSED:
            pass  # the console shows why; a caller would tell its user
        except Exception:
            log.exception("a demo caller failed")

    async def _turn(self, runtime: Runtime, model: str) -> None:
        question = self._rng.choice(QUESTIONS)
        most_tokens = self._rng.choice((24, 60, 120))
        turn: str | None = None
        while True:
            wanted = Select(
                model=model, input_tokens=len(question), max_output_tokens=most_tokens, turn=turn
            )
            chosen = await selecting.select(runtime, wanted, CALLER)
            turn = chosen.turn_id
            try:
                told = await self._call(runtime, chosen.candidate, question, most_tokens)
            except asyncio.CancelledError:
                await tell(runtime, chosen.lease.id, Told("cancelled"))
                raise
            answer = await tell(runtime, chosen.lease.id, told)
            if answer["next"]["action"] not in ("next", "retry"):
                return
            await runtime.sleep(answer["next"]["wait_ms"] / 1000)

    async def _call(
        self, runtime: Runtime, chosen: Candidate, question: str, most_tokens: int
    ) -> Told:
        deployment, credential = chosen.deployment, chosen.credential
        if not demo_catalog.is_demo_deployment(deployment, self._port):
            return Told("cancelled")  # not simulated any more: nothing is sent there
        body = request_body(deployment, question, most_tokens)
        secret = runtime.secrets.get(credential)
        began = runtime.clock()
        try:
            call = calling.post(
                deployment.endpoint, credential, secret, deployment.protocol, orjson.dumps(body)
            )
            async with runtime.upstream.send(call) as answer:
                if answer.status >= 300:
                    return refused(answer.status, answer.headers, await answer.read())
                return await self._read(runtime, answer, began)
        except calling.NoSecret:
            return Told(facts={"status": 401, "message": "no secret is stored"})
        except UpstreamFailure as failure:
            return Told(facts={"dispatch": failure.dispatch, "message": failure.message})

    async def _read(self, runtime: Runtime, answer: Any, began: float) -> Told:
        """Follow the stream as it comes; some callers do not wait for its end."""
        patience = 3 if self._rng.random() < GIVES_UP else None
        ttft_ms, events = None, 0
        async for part in answer.chunks():
            ttft_ms = ttft_ms or (runtime.clock() - began) * 1000
            events += part.count(b"data: ")
            if patience is not None and events > patience:
                return Told("cancelled", {"visible_output": True})
        return Told(
            "success",
            {
                "status": answer.status,
                "latency_ms": (runtime.clock() - began) * 1000,
                "ttft_ms": ttft_ms,
                "output_tokens": events,
                "visible_output": True,
            },
        )


async def tell(runtime: Runtime, lease_id: str, told: Told) -> dict[str, Any]:
    """The report's answer: what the turn does next."""
    report = Report.model_validate({"outcome": told.outcome, **told.facts})
    return await reporting.report(runtime, lease_id, report, CALLER)


def request_body(deployment: Deployment, question: str, most_tokens: int) -> dict[str, Any]:
    return {
        "model": deployment.model.upstream_name,
        "messages": [{"role": "user", "content": question}],
        "max_tokens": most_tokens,
        "stream": True,
    }


def refused(status: int, headers: Any, body: bytes) -> Told:
    """What an upstream said instead of an answer."""
    message = answers.message_of(answers.as_json(body), "")
    facts = {"status": status, "retry_after": headers.get("retry-after"), "message": message}
    return Told(facts=facts)
