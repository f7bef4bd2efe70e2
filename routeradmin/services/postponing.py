"""The decision API where leases and turns of other processes are out of reach.

While Redis is gone, and for a moment after its return, what another process granted is unknown
here. That is no reason to say that it never was: a report or release is taken down and told when
Redis is back, and a select goes on with a turn of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.state import LeaseNotFound
from routeradmin.services import asking, reporting, selecting
from routeradmin.services.keys import Key
from routeradmin.services.messages import Release, Renew, Report, Select
from routeradmin.services.postponed import MOST_AT_ONCE
from routeradmin.services.refusals import StateUnknown, TurnNotFound
from routeradmin.services.runtime import Runtime
from routeradmin.services.selected import Selected
from routeradmin.services.tracing import Headers

log = logging.getLogger(__name__)

AGAIN_MS = 1000
LAST_S = 10.0
LOOK_S = 0.1
# A process that lost Redis for a moment has told by then what it granted meanwhile: mostly after
# the first wait, on a machine with more to do than it can after both.
SOON_S = (0.25, 0.75)


async def select(
    runtime: Runtime,
    message: Select,
    key: Key,
    request_id: str = "",
    headers: asking.Headers = (),
    **more: Any,
) -> Selected:
    """As ``selecting.select``; a turn that is out of reach is begun anew."""
    try:
        return await selecting.select(runtime, message, key, request_id, headers, **more)
    except TurnNotFound:
        if knows_all(runtime):
            raise
    anew = message.model_copy(update={"turn": None})
    return await selecting.select(runtime, anew, key, request_id, headers, **more)


async def report(
    runtime: Runtime,
    lease_id: str,
    message: Report,
    key: Key,
    request_id: str = "",
    headers: Headers = (),
) -> dict[str, Any]:
    """As ``reporting.report``; ``released`` false: not yet."""
    told = partial(reporting.report, runtime, lease_id, message, key, request_id, list(headers))
    answer = await now_or_later(runtime, told)
    return _advice(runtime, message) if answer is None else answer


async def release(runtime: Runtime, lease_id: str, message: Release, key: Key) -> dict[str, Any]:
    """As ``reporting.release``; ``released`` false: not yet."""
    told = partial(reporting.release, runtime, lease_id, message, key)
    return await now_or_later(runtime, told) or {"released": False}


async def renew(runtime: Runtime, lease_id: str, message: Renew, key: Key) -> dict[str, Any]:
    """As ``reporting.renew``; its answer is a promise, so it cannot wait. Raises StateUnknown."""
    try:
        return await reporting.renew(runtime, lease_id, message, key)
    except LeaseNotFound as problem:
        if knows_all(runtime):
            raise
        raise StateUnknown(
            "Leases of other processes are out of reach for the moment: renew again soon."
        ) from problem


async def now_or_later(
    runtime: Runtime, tell: Callable[[], Awaitable[dict[str, Any]]]
) -> dict[str, Any] | None:
    """What ``tell`` answers, waited for while it may only be too early; None: later.
    Raises LeaseNotFound, LeaseFenced."""
    try:
        return await tell()
    except LeaseNotFound:
        if runtime.peers is None:
            raise
    for wait_s in SOON_S:
        if not knows_all(runtime):
            break
        await runtime.sleep(wait_s)
        try:
            return await tell()
        except LeaseNotFound:
            if wait_s == SOON_S[-1] and knows_all(runtime):
                raise
    runtime.postponed.add(tell, runtime.clock())
    return None


def _advice(runtime: Runtime, message: Report) -> dict[str, Any]:
    """What a turn that nobody can look at does next: its own rule, without its history."""
    outcome = reporting.outcome_of(runtime, message, DEFAULT_POLICY, runtime.clock())
    goes_on = outcome.failure is not None and outcome.retriable and not outcome.visible_output
    again = {"action": "retry", "wait_ms": AGAIN_MS, "halt": None}
    over = reporting.STOP if outcome.failure is not None else reporting.DONE
    return {"released": False, "cooldown": None, "next": again if goes_on else over}


def knows_all(runtime: Runtime) -> bool:
    """Whether a lease that is unknown here was never granted anywhere."""
    return runtime.peers is None or runtime.peers.knows_all_for_s >= 0


async def tell(runtime: Runtime) -> None:
    """What waits, as soon as some of it may be known: who granted it might be the next to go."""
    peers = runtime.peers
    if peers is not None and len(runtime.postponed) and peers.store.is_shared:
        await runtime.postponed.tell(peers.knows_all_for_s, runtime.clock())


async def tell_last(runtime: Runtime) -> None:
    """All that waits, for the last time: the process stops. Where Redis is away it is waited for,
    since it is also to hear which leases have ended and that this process is gone."""
    peers = runtime.peers
    if peers is None:
        return
    ends = peers.steady() + LAST_S
    while peers.steady() < ends:
        knew_all, left = knows_all(runtime), len(runtime.postponed)
        for _ in range(0, left, MOST_AT_ONCE):
            if peers.steady() < ends:
                await tell(runtime)
        if peers.store.is_shared and (knew_all or not len(runtime.postponed)):
            break
        await runtime.sleep(LOOK_S)
    if left := len(runtime.postponed):
        log.error("%d reports of leases out of reach are lost", left)
