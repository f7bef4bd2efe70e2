"""One upstream call of our own through a route: picked, leased, made once, settled. No retry.

What the call finds out about its deployment counts like any other request's result.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import orjson

from routeradmin.adapters import json_text
from routeradmin.engine.compile import normal
from routeradmin.engine.errors import ModelNotFound
from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.refusal import Refusal
from routeradmin.engine.resolve import AUTO, Resolved, resolve
from routeradmin.engine.select import Selected, select
from routeradmin.engine.snapshot import Snapshot
from routeradmin.services.calling import NoSecret
from routeradmin.services.inference import asked as asking
from routeradmin.services.inference import attempt
from routeradmin.services.inference.asked import Asked
from routeradmin.services.inference.attempt import Attempted, Job, Progress
from routeradmin.services.inference.calls import CallMaker, protocol_of, translatable
from routeradmin.services.runtime import Runtime

OWNER = "intent"  # of the leases
LEASE_TTL_S = 120.0


class Unanswered(Exception):
    """No good answer; the text says why, without quoting anything."""


@dataclass(frozen=True, slots=True)
class Question:
    """``body`` lacks only its model. ``local_only``: no other deployment may read it."""

    name: str
    api: str
    body: dict[str, Any]
    timeout_s: float
    local_only: bool


async def ask(runtime: Runtime, snapshot: Snapshot, question: Question) -> dict[str, Any]:
    """The answer's document, within the question's time. Raises Unanswered."""
    resolved = _resolved(snapshot, question.name)
    raw = orjson.dumps({**question.body, "model": question.name})
    asked = asking.read(question.api, question.api, raw)
    request = replace(
        asking.request_of(asked, OWNER, translatable=translatable(snapshot, asked)),
        local_only=question.local_only,
        lease_ttl_s=LEASE_TTL_S,
    )
    found = await select(
        resolved, request, runtime.store, runtime.clock(), runtime.rng, owner=OWNER
    )
    if isinstance(found, Refusal):
        raise Unanswered(f"nothing of {question.name} may be asked now ({found.kind})")
    attempted = await _carried_out(runtime, snapshot, question, asked, found, resolved)
    if attempted is None:
        raise Unanswered(f"no answer within {question.timeout_s:g} s")
    if attempted.whole is None:
        status = attempted.facts.status
        raise Unanswered(f"the call failed ({attempted.facts.ending.value}, status {status})")
    document = json_text.loads(attempted.whole.body)
    if not isinstance(document, dict):
        raise Unanswered("the answer is no object")
    return document


def _resolved(snapshot: Snapshot, name: str) -> Resolved:
    """Never ``auto``, so that a question cannot lead to another. Raises Unanswered."""
    if normal(name) == AUTO:
        raise Unanswered("auto cannot decide for auto")
    try:
        return resolve(snapshot, name)
    except ModelNotFound:
        raise Unanswered(f"there is no {name}") from None


async def _carried_out(
    runtime: Runtime,
    snapshot: Snapshot,
    question: Question,
    asked: Asked,
    found: Selected,
    resolved: Resolved,
) -> Attempted | None:
    """What came of the one attempt, None where time ran out. The slot is given back whatever
    happens."""
    candidate = found.pick.candidate
    protocol = protocol_of(candidate, asked)
    calls = CallMaker(runtime, snapshot, asked, secrets.token_hex(16))
    progress = Progress(perf_counter())
    facts, attempted = AttemptFacts(Ending.CANCELLED), None
    try:
        async with asyncio.timeout(question.timeout_s):
            call, clean = calls.make(candidate, protocol), calls.redactor(candidate)
            now = runtime.clock()
            job = Job(runtime.upstream, call, asked, protocol, runtime.redact, clean, now)
            attempted = await attempt.plain(job, progress)
            facts = attempted.facts
    except TimeoutError:
        facts = AttemptFacts(Ending.DEADLINE)
    except NoSecret:
        raise Unanswered(f"{candidate.key} has no secret at hand") from None
    finally:
        policy, now = resolved.route.policy, runtime.clock()
        outcome = classify(
            progress.complete(facts),
            policy.classify,
            now=now,
            replay_unanswered=policy.turn.replay_unanswered,
        )
        await runtime.store.settle(found.lease.id, outcome, policy, now)
    return attempted
